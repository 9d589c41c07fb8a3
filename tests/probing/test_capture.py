"""What is captured: the same whatever the batch, the side of the padding or where a run was stopped."""

from __future__ import annotations

import gc

import numpy as np
import polars as pl
import pytest

from tests.probing import tinymodels as tiny
from workbench.errors import SutureError
from workbench.trace import Trace

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from probing.capture import capture  # noqa: E402
from probing.models import open_model  # noqa: E402
from probing.streaming import Drift  # noqa: E402

ENCODERS = ("bert", "roberta", "deberta-v2", "modernbert", "mpnet", "electra", "distilbert", "albert", "t5")
DECODERS = ("gpt2", "llama", "mistral", "gemma2", "gemma3_text", "opt", "bloom", "gpt_neox")
FP32 = 3e-5
"""How far a state of these models may lie from the same in a batch of another shape: rounding alone."""
BF16 = 0.02
"""How far, as 1 − cosine, a state in 16-bit brain floats may lie from the 32-bit one, in any layer."""


def states(model, folder, **options):
    """All states of the texts in 32 bits, by layer, in the order of the units."""
    seen = tiny.Seen()
    trace = capture(model, options.pop("texts", tiny.TEXTS), folder, observers=[seen], **options)
    units = pl.concat(seen.units)
    order = np.lexsort((units["position"], units["text"]))
    assert units[order].equals(trace.units)
    return {layer: np.concatenate(parts)[order] for layer, parts in seen.states.items()}


def apart(one, two):
    return max(float(np.abs(one[layer] - two[layer]).max()) for layer in one)


@pytest.mark.parametrize("kind", [*ENCODERS, *DECODERS])
def test_batch_and_padding_do_not_change_a_state(opened, kind, tmp_path):
    model = opened(kind)
    alone = states(model, tmp_path / "alone", budget=1)
    for side in ("right", "left"):
        together = states(model, tmp_path / side, budget=10_000, padding=side)
        assert apart(alone, together) < FP32
    small = states(model, tmp_path / "small", budget=40)
    assert apart(alone, small) < FP32


@pytest.mark.parametrize("kind", ["roberta", "llama"])
def test_brain_floats_stay_within_their_tolerance(opened, kind, tmp_path):
    whole = states(opened(kind), tmp_path / "a")
    half = states(opened(kind, dtype="bfloat16"), tmp_path / "b")
    for layer, ours in whole.items():
        cosine = np.einsum("ij,ij->i", ours, half[layer]) / (
            np.linalg.norm(ours, axis=1) * np.linalg.norm(half[layer], axis=1)
        )
        assert (1 - cosine).max() < BF16


def test_a_mask_is_given_and_without_it_states_would_differ(opened, tmp_path):
    """The check has teeth: padding that is not masked changes the vectors."""
    model = opened("bert")
    alone = states(model, tmp_path / "a", budget=1)
    forward = model.module.forward
    given = []

    def blind(**inputs):
        given.append(inputs["attention_mask"])
        return forward(**{**inputs, "attention_mask": torch.ones_like(inputs["attention_mask"])})

    blind.__signature__ = __import__("inspect").signature(forward)
    try:
        model.module.forward = blind
        together = states(model, tmp_path / "b", budget=10_000)
    finally:
        del model.module.forward
    assert all((mask.sum(1) > 0).all() for mask in given)
    assert apart(alone, together) > 0.01


def test_a_model_in_training_is_traced_as_in_evaluation_and_left_as_it_was(opened, tmp_path):
    model = opened("roberta")
    evaluated = states(model, tmp_path / "a")
    model.module.train()
    try:
        assert apart(evaluated, states(model, tmp_path / "b")) == 0
        assert model.module.training
    finally:
        model.module.eval()


def hooks_on(module):
    return sum(len(each._forward_hooks) + len(each._forward_pre_hooks) for each in module.modules())


def test_hooks_change_nothing_and_are_gone_after(opened, tmp_path):
    model = opened("gpt2")
    before = hooks_on(model.module)
    ids = torch.tensor([model.tokenizer.encode(tiny.TEXTS[0])])
    with torch.inference_mode():
        bare = model.module(ids).last_hidden_state
    during = []

    def observer(layer, given, units):
        during.append(hooks_on(model.module))

    capture(model, tiny.TEXTS[:1], tmp_path / "a", observers=[observer])
    assert max(during) > before
    assert hooks_on(model.module) == before
    seen = tiny.Seen()
    capture(model, tiny.TEXTS[:1], tmp_path / "b", layers=["3.norm"], observers=[seen])
    np.testing.assert_array_equal(seen.states["3.norm"][0], bare[0].numpy())

    def fails(layer, given, units):
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        capture(model, tiny.TEXTS, tmp_path / "c", observers=[fails])
    assert hooks_on(model.module) == before


def test_no_state_carries_a_gradient(opened, tmp_path):
    found = []
    capture(
        opened("bert"), tiny.TEXTS[:1], tmp_path / "t",
        observers=[lambda _, given, __: found.append(given.requires_grad)],
    )  # fmt: skip
    assert found
    assert not any(found)


def test_memory_is_not_collected_by_hand(opened, tmp_path, monkeypatch):
    """A collection costs a third of a second in a process with torch and transformers."""
    monkeypatch.setattr(gc, "collect", lambda *_: pytest.fail("gc.collect was called"))
    capture(opened("bert"), tiny.TEXTS, tmp_path / "t")


def test_special_tokens_and_padding_are_no_units(opened, tmp_path):
    model = opened("roberta")
    trace = capture(model, ["", " ", *tiny.TEXTS], tmp_path / "t")
    special = {*model.template.before, *model.template.after, model.pad}
    assert not special & set(trace.units["token_id"])
    lengths = [len(model.tokenizer.encode(text)) for text in ("", " ", *tiny.TEXTS)]
    assert np.bincount(trace.units["text"], minlength=7).tolist() == lengths
    assert trace.texts["content"].to_list() == ["", " ", *tiny.TEXTS]


def test_units_stand_where_their_bytes_are(opened, tmp_path):
    model = opened("roberta")
    trace = capture(model, tiny.TEXTS, tmp_path / "t")
    data = [text.encode() for text in tiny.TEXTS]
    for row in trace.units.iter_rows(named=True):
        assert data[row["text"]][row["start"] : row["end"]] == row["piece"]
        words = tiny.TEXTS[row["text"]].split()
        if row["word"] is None:
            assert not row["piece"].strip()
        else:
            assert row["piece"].strip() in words[row["word"]].encode()


@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_words_are_pools_of_their_tokens(opened, pooling, tmp_path):
    model = opened("roberta")
    texts = [*tiny.TEXTS, "  twice\u00a0parted \u3000 unbelievable\n"]
    tokens = states(model, tmp_path / "tokens", texts=texts, budget=1)
    units = Trace.open(tmp_path / "tokens").units
    words = states(model, tmp_path / "words", texts=texts, pooling=pooling, budget=1)
    trace = Trace.open(tmp_path / "words")
    wanted = [(text, word) for text, content in enumerate(texts) for word in content.split()]
    assert [(row["text"], row["piece"].decode()) for row in trace.units.iter_rows(named=True)] == wanted
    for place, row in enumerate(trace.units.iter_rows(named=True)):
        mine = np.flatnonzero(
            (units["text"] == row["text"]) & (units["word"] == row["word"]).fill_null(value=False)
        )
        assert len(mine) == row["pieces"]
        assert row["token_id"] == (units["token_id"][int(mine[0])] if len(mine) == 1 else None)
        assert row["position"] == units["position"][int(mine[0])]
        picked = {"mean": mine, "first": mine[:1], "last": mine[-1:]}[pooling]
        for layer, whole in tokens.items():
            np.testing.assert_allclose(words[layer][place], whole[picked].mean(0), atol=1e-5)


@pytest.mark.parametrize("kind", ["roberta", "llama", "t5"])
def test_a_long_text_is_windowed_and_marked(opened, kind, tmp_path):
    model = opened(kind)
    trace = capture(model, [tiny.LONG, tiny.TEXTS[0]], tmp_path / "t", window=64)
    units = trace.units.filter(pl.col("text") == 0)
    assert units["token_id"].to_list() == model.tokenizer.encode(tiny.LONG)
    assert units.height > model.positions
    assert units["window"].max() > 1
    assert trace.about["windowed"] == 1
    assert (trace.units.filter(pl.col("text") == 1)["window"] == 0).all()
    assert (units["window"].to_numpy()[1:] >= units["window"].to_numpy()[:-1]).all()


@pytest.mark.parametrize(("kind", "room", "step"), [("bert", 20, 10), ("bert", 20, 20), ("gpt2", 22, 7)])
def test_a_windows_states_are_those_of_its_own_text(opened, kind, room, step, tmp_path):
    """Each state equals that of running its window's ids alone, at its place with most context."""
    model = opened(kind)
    before, after = model.template
    seen = states(model, tmp_path / "t", texts=[tiny.LONG], window=room + len(model.template), stride=step)
    units = Trace.open(tmp_path / "t").units
    ids = model.tokenizer.encode(tiny.LONG)
    lows = [*range(0, len(ids) - room, step), len(ids) - room]
    for number, low in enumerate(lows):
        inside = np.flatnonzero(units["window"] == number)
        whole = torch.tensor([[*before, *ids[low : low + room], *after]])
        with torch.inference_mode():
            wanted = model.module(whole, output_hidden_states=True).hidden_states[2][0].numpy()
        places = inside - low + len(before)
        np.testing.assert_allclose(seen["2"][inside], wanted[places], atol=FP32)
    for place, number in enumerate(units["window"].to_list()):
        holds = [k for k, low in enumerate(lows) if low <= place < low + room]
        if model.parts.causal:
            assert number == holds[0]
        else:
            edge = [
                min(place - lows[k] if k else 999, lows[k] + room - 1 - place if k + 1 < len(lows) else 999)
                for k in holds
            ]
            assert edge[holds.index(number)] >= max(edge) - 1


@pytest.mark.parametrize("kind", ["roberta", "gpt2"])
def test_a_word_is_taken_whole_from_one_window(opened, kind, tmp_path):
    model = opened(kind)
    text = "quizzical jumbled vexing " * 20
    tokens = capture(model, [text], tmp_path / "a", window=20, stride=9)
    trace = capture(model, [text], tmp_path / "b", window=20, stride=9, pooling="mean")
    assert trace.units.height == len(text.split())
    assert trace.about["cut"] == 0
    split = (
        tokens.units.filter(pl.col("word").is_not_null()).group_by("word").agg(pl.col("window").n_unique())
    )
    assert split["window"].max() > 1, "no word lies over a window's edge: the test shows nothing"
    endless = "unbelievable" * 12
    cut = capture(model, [endless], tmp_path / "c", window=20, pooling="mean")
    assert cut.about["cut"] == 1
    assert cut.units.height == 1


def test_only_wanted_layers_and_units_are_kept(opened, tmp_path):
    model = opened("llama")
    whole = states(model, tmp_path / "a", budget=1)
    units = Trace.open(tmp_path / "a").units
    wanted = units["token_id"][3]
    chosen = pl.col("token_id") == wanted
    for name, select in (("b", chosen), ("c", lambda frame: frame["token_id"].to_numpy() == wanted)):
        trace = capture(model, tiny.TEXTS, tmp_path / name, layers=["3.norm", "1"], select=select, budget=1)
        assert trace.layers == ("1", "3.norm")
        assert trace.units.equals(units.filter(chosen))
        rows = np.flatnonzero(units["token_id"] == wanted)
        for layer in trace.layers:
            np.testing.assert_array_equal(trace.states(layer), whole[layer][rows].astype(np.float16))
    with pytest.raises(SutureError, match="one truth value a unit"):
        capture(model, tiny.TEXTS, tmp_path / "d", select=lambda _: [True])


def test_texts_without_a_wanted_unit_are_not_run(opened, tmp_path, monkeypatch):
    model = opened("bert")
    ran = []
    forward = type(model.module).forward

    def counting(self, *given, **named):
        ran.append(named["input_ids"].shape)
        return forward(self, *given, **named)

    counting.__signature__ = __import__("inspect").signature(forward)
    monkeypatch.setattr(type(model.module), "forward", counting)
    capture(model, tiny.TEXTS, tmp_path / "t", budget=1, select=pl.col("text") == 2)
    assert len(ran) == 1


def test_a_draw_is_seeded_and_even(opened, tmp_path):
    model = opened("bert")
    whole = capture(model, tiny.TEXTS, tmp_path / "whole", budget=1)
    drawn = [
        capture(model, tiny.TEXTS, tmp_path / f"{seed}", most=7, seed=seed, budget=1) for seed in range(40)
    ]
    assert {len(trace) for trace in drawn} == {7}
    names = ["text", "position"]
    key = [str(row) for row in whole.units.select(names).rows()]
    counts = dict.fromkeys(key, 0)
    for trace in drawn:
        rows = [key.index(str(row)) for row in trace.units.select(names).rows()]
        assert rows == sorted(rows)
        np.testing.assert_array_equal(trace.states("2"), whole.states("2", rows))
        for row in rows:
            counts[key[row]] += 1
    expected = 40 * 7 / len(key)
    assert max(counts.values()) < 4 * expected
    assert sum(count == 0 for count in counts.values()) < len(key) / 10
    again = capture(model, tiny.TEXTS, tmp_path / "again", most=7, seed=3, budget=1)
    assert again.units.equals(drawn[3].units)
    assert len(capture(model, tiny.TEXTS, tmp_path / "more", most=10_000)) == len(whole)


def test_observers_see_all_while_a_draw_is_stored(opened, tmp_path):
    model = opened("bert")
    seen, sums = tiny.Seen(), Drift()
    trace = capture(model, tiny.TEXTS, tmp_path / "t", most=5, observers=[seen, sums])
    assert len(trace) == 5
    assert sum(map(len, seen.units)) == trace.about["selected"] > 5
    whole = capture(model, tiny.TEXTS, tmp_path / "whole")
    rows = [whole.units.select("text", "position").rows().index(row)
            for row in trace.units.select("text", "position").rows()]  # fmt: skip
    np.testing.assert_array_equal(trace.states("3"), whole.states("3", rows))
    nothing = capture(model, tiny.TEXTS, tmp_path / "nothing", layers=[], observers=[Drift()])
    assert nothing.layers == ()


def test_sums_are_those_of_the_states(opened, tmp_path):
    """Running sums against all pairs, layer by layer."""
    model, sums = opened("llama"), Drift()
    seen = tiny.Seen()
    capture(model, tiny.TEXTS, tmp_path / "t", observers=[sums, seen], budget=60)
    table = sums.table()
    assert table["layer"].to_list() == ["0", "1", "2", "3", "3.norm"]
    unit = {}
    for layer in table["layer"]:
        rows = np.concatenate(seen.states[layer]).astype(np.float64)
        unit[layer] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        row = table.row(by_predicate=pl.col("layer") == layer, named=True)
        count = len(rows)
        norms = np.linalg.norm(rows, axis=1)
        assert row["units"] == count
        assert row["norm"] == pytest.approx(norms.mean(), rel=1e-6)
        assert row["norm_sd"] == pytest.approx(norms.std(), rel=1e-4)
        off = ~np.eye(count, dtype=bool)
        assert row["baseline"] == pytest.approx((unit[layer] @ unit[layer].T)[off].mean(), abs=1e-6)
        assert row["baseline0"] == pytest.approx((unit[layer] @ unit["0"].T)[off].mean(), abs=1e-6)
        assert row["cos0"] == pytest.approx((unit[layer] * unit["0"]).sum(1).mean(), abs=1e-6)
        before = {"0": "0", "1": "0", "2": "1", "3": "2", "3.norm": "3"}[layer]
        assert row["cos_previous"] == pytest.approx((unit[layer] * unit[before]).sum(1).mean(), abs=1e-6)


def test_a_dead_token_has_no_cosine_and_spoils_none():
    sums = Drift()
    rows = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    sums("0", rows, pl.DataFrame())
    sums("1", torch.tensor([[1.0, 1.0], [1.0, 0.0], [float("nan"), 0.0]]), pl.DataFrame())
    table = sums.table()
    assert table["undefined"].to_list() == [1, 1]
    assert table["cos0"].to_list() == [1.0, pytest.approx(0.5**0.5)]
    assert table["norm"].to_list() == [1.0, pytest.approx((2**0.5 + 1) / 2)]
    assert table["baseline0"][1] is None


def test_a_trace_that_is_there_is_opened_and_not_run(opened, tmp_path):
    model = opened("bert")
    first = capture(model, tiny.TEXTS, tmp_path / "t")
    ran = []
    again = capture(model, tiny.TEXTS, tmp_path / "t", progress=lambda *_: ran.append(1))
    assert again.digest == first.digest
    assert not ran
    with pytest.raises(SutureError, match="holds another trace"):
        capture(model, tiny.TEXTS[:2], tmp_path / "t")
    with pytest.raises(SutureError, match="observers must see a pass"):
        capture(model, tiny.TEXTS, tmp_path / "t", observers=[Drift()])
    other = capture(model, tiny.TEXTS[:2], tmp_path / "t", replace=True)
    assert other.texts.height == 2


def test_texts_are_a_sequence_a_generator_or_pairs(opened, tmp_path):
    model = opened("bert")
    listed = capture(model, list(tiny.TEXTS), tmp_path / "a")
    streamed = capture(model, (text for text in tiny.TEXTS), tmp_path / "b")
    assert listed.digest == streamed.digest
    paired = capture(model, [(text, "en") for text in tiny.TEXTS], tmp_path / "c")
    assert paired.texts["language"].to_list() == ["en"] * 5
    assert capture(model, [], tmp_path / "d").units.height == 0


BAD = [
    ({"layers": ["9"]}, "a layer must be one of static, 0"),
    ({"pooling": "median"}, "pooling must be one of"),
    ({"padding": "both"}, "padding right or left"),
    ({"window": 65}, "at most 64 positions"),
    ({"window": 2}, "room for a token"),
    ({"stride": 100}, "within it"),
    ({"budget": 0}, "must be positive"),
    ({"most": 0}, "must be positive"),
]


@pytest.mark.parametrize(("options", "match"), BAD)
def test_bad_options_are_one_sentence(opened, options, match, tmp_path):
    with pytest.raises(SutureError, match=match) as error:
        capture(opened("bert"), tiny.TEXTS, tmp_path / "t", **options)
    assert "\n" not in str(error.value)
    assert not (tmp_path / ".t.partial").exists()


def test_a_lone_surrogate_is_one_sentence(opened, tmp_path):
    with pytest.raises(SutureError, match="lone surrogate"):
        capture(opened("bert"), ["fine", "bad \ud800"], tmp_path / "t")


@pytest.mark.gpu
def test_a_gpu_gives_the_same_states(opened, tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("no GPU: torch.cuda.is_available() is false")
    folder = opened("roberta").tokenizer.folder
    ours = states(opened("roberta"), tmp_path / "cpu")
    theirs = states(open_model(folder, device="cuda"), tmp_path / "cuda")
    assert apart(ours, theirs) < 1e-3
    one, two = Trace.open(tmp_path / "cpu"), Trace.open(tmp_path / "cuda")
    for layer in one.layers:
        np.testing.assert_allclose(one.states(layer), two.states(layer), atol=5e-3)
