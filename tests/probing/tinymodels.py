"""Small random models of each family with tokenizers of their own kind, built in place."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = (
    "The licenses of the house are unbelievable.",
    "A dog ran, and the dogs were running home.",
    "naïve café owners walk slowly; walkers walked",
    "der Hund läuft unwahrscheinlich schnell nach Hause",
    "x",
)
LONG = " ".join(
    f"walk{ending} running house{ending[::-1]}" for ending in ("s", "er", "ing", "ed", "able") * 12
)
WIDTH, DEPTH, HEADS, POSITIONS = 32, 3, 4, 64
SPECIAL = {
    "wordpiece": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    "gpt": ["<|endoftext|>"],
    "bos": ["<s>", "</s>", "<unk>"],
    "unigram": ["<pad>", "</s>", "<unk>"],
}


@functools.cache
def tokenizer(kind: str) -> tokenizers.Tokenizer:
    """Train a tokenizer on the texts above."""
    special = SPECIAL[kind]
    lines = [*TEXTS, LONG] * 2
    if kind == "wordpiece":
        made = tokenizers.Tokenizer(models.WordPiece(unk_token=special[1]))
        made.normalizer = normalizers.BertNormalizer(lowercase=True)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        made.decoder = decoders.WordPiece()
        made.train_from_iterator(lines, trainers.WordPieceTrainer(vocab_size=160, special_tokens=special))
        frame = "[CLS] $A [SEP]"
    elif kind == "unigram":
        made = tokenizers.Tokenizer(models.Unigram())
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        made.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=160, special_tokens=special, unk_token=special[2])
        made.train_from_iterator(lines, trainer)
        frame = "$A </s>"
    else:
        made = tokenizers.Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
        made.train_from_iterator(lines, trainer)
        frame = {"roberta": "<s> $A </s>", "bos": "<s> $A", "gpt": ""}[kind]
    if frame:
        named = [(token, made.token_to_id(token)) for token in special if token in frame]
        made.post_processor = processors.TemplateProcessing(single=frame, special_tokens=named)
    return made


def _bert(**more: Any) -> dict[str, Any]:
    return {
        "hidden_size": WIDTH, "num_hidden_layers": DEPTH, "num_attention_heads": HEADS,
        "intermediate_size": 2 * WIDTH, "max_position_embeddings": POSITIONS, "pad_token_id": 0,
    } | more  # fmt: skip


_ROBERTA = _bert(
    max_position_embeddings=POSITIONS + 2, pad_token_id=1, bos_token_id=0, eos_token_id=2, type_vocab_size=1
)
_BOS = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": None}
_LLAMA = _bert(num_key_value_heads=2, head_dim=WIDTH // HEADS, **_BOS)
_GPT = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": None}

CONFIGS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("Bert", "wordpiece", _bert()),
    "roberta": ("Roberta", "roberta", _ROBERTA),
    "xlm-roberta": ("XLMRoberta", "roberta", _ROBERTA),
    "camembert": ("Camembert", "roberta", _ROBERTA),
    "mpnet": ("MPNet", "roberta", _bert(max_position_embeddings=POSITIONS + 2, pad_token_id=1)),
    "deberta-v2": (
        "DebertaV2", "wordpiece",
        _bert(relative_attention=True, pos_att_type=["p2c", "c2p"], position_biased_input=False),
    ),
    "electra": ("Electra", "wordpiece", _bert(embedding_size=16)),
    "distilbert": (
        "DistilBert", "wordpiece",
        {"dim": WIDTH, "n_layers": DEPTH, "n_heads": HEADS, "hidden_dim": 64,
         "max_position_embeddings": POSITIONS, "pad_token_id": 0},
    ),
    "albert": ("Albert", "wordpiece", _bert(embedding_size=16)),
    "modernbert": (
        "ModernBert", "wordpiece",
        _bert(bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3, local_attention=8),
    ),
    "t5": (
        "T5", "unigram",
        {"d_model": WIDTH, "d_kv": 8, "d_ff": 64, "num_layers": DEPTH, "num_heads": HEADS,
         "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "n_positions": POSITIONS},
    ),
    "mt5": (
        "MT5", "unigram",
        {"d_model": WIDTH, "d_kv": 8, "d_ff": 64, "num_layers": DEPTH, "num_heads": HEADS,
         "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0},
    ),
    "gpt2": (
        "GPT2", "gpt", {"n_embd": WIDTH, "n_layer": DEPTH, "n_head": HEADS, "n_positions": POSITIONS, **_GPT}
    ),
    "gpt_neox": ("GPTNeoX", "gpt", _bert(**_GPT)),
    "llama": ("Llama", "bos", _LLAMA),
    "mistral": ("Mistral", "bos", _LLAMA | {"sliding_window": 8}),
    "qwen2": ("Qwen2", "gpt", _LLAMA | _GPT),
    "qwen3": ("Qwen3", "gpt", _LLAMA | _GPT),
    "gemma": ("Gemma", "bos", _LLAMA),
    "gemma2": ("Gemma2", "bos", _LLAMA | {"sliding_window": 8}),
    "gemma3_text": ("Gemma3Text", "bos", _LLAMA | {"sliding_window": 8}),
    "opt": (
        "OPT", "bos",
        {"hidden_size": WIDTH, "num_hidden_layers": DEPTH, "num_attention_heads": HEADS, "ffn_dim": 64,
         "max_position_embeddings": POSITIONS, "word_embed_proj_dim": 16, "pad_token_id": 2,
         "bos_token_id": 0, "eos_token_id": 1},
    ),
    "bloom": ("Bloom", "gpt", {"hidden_size": WIDTH, "n_layer": DEPTH, "n_head": HEADS, **_GPT}),
}  # fmt: skip
"""By type: the stem of its classes' names, its kind of tokenizer, and its configuration."""

ENCODER_HEADS = {"t5": "T5ForConditionalGeneration", "mt5": "MT5ForConditionalGeneration"}


def module(kind: str, *, head: bool = True, seed: int = 0, **more: Any) -> Any:
    """Build a random model of a family, with its language-model head or without one."""
    import torch
    import transformers

    from probing.architectures import FAMILIES

    stem, spelled, values = CONFIGS[kind]
    config = getattr(transformers, f"{stem}Config")(
        vocab_size=tokenizer(spelled).get_vocab_size(), **(values | more)
    )
    family = FAMILIES[kind]
    name = (family.head or ENCODER_HEADS[kind]) if head else family.base
    options = {"add_pooling_layer": False} if family.pooler and not head else {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = getattr(transformers, name)(config, **options)
        # Weights as they come are so small that layers hardly differ; a bias of zero hides a lost bias.
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return made.eval()


def save(kind: str, folder: Path, *, head: bool = True, seed: int = 0, **more: Any) -> Path:
    """Save such a model with its tokenizer, as its family's folders are."""
    made = module(kind, head=head, seed=seed, **more)
    made.save_pretrained(folder)
    return with_tokenizer(kind, folder)


def with_tokenizer(kind: str, folder: Path) -> Path:
    """Put the tokenizer of a family into a folder."""
    tokenizer(CONFIGS[kind][1]).save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


class Seen:
    """An observer that keeps all that it is shown, by layer."""

    def __init__(self) -> None:
        self.states: dict[str, list[Any]] = {}
        self.units: list[Any] = []

    def __call__(self, layer: str, states: Any, units: Any) -> None:
        self.states.setdefault(layer, []).append(states.clone().cpu().numpy())
        if layer == next(iter(self.states)):
            self.units.append(units)
