"""Where each family of models keeps what a trace looks at: blocks, final norm, head, sub-layers.

Paths are those of the headless model in transformers 5; tests build a small model of every row and hold it
against the library's own hidden states and logits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.errors import SutureError

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Family:
    """One family.

    Attributes:
        kind: its ``model_type``.
        base: class of the model without a head.
        blocks: path of the list of blocks.
        norm: path of the norm after the last block; None where a block ends with its own.
        head: class of the model with a language-model head, None where there is none.
        path: modules of that class which turn the last state into logits, one after the other.
        mark: end of a parameter's name that a checkpoint with the head holds; None where a tied input
            embedding is all of it.
        causal: a token sees only those before it.
        attention: path in a block of what attention adds to the state.
        mlp: likewise of what the feed-forward part adds.
        between: path of a module between the final norm and the head.
        offset: the first position is the padding id plus one, so that there are as many fewer.
        pooler: the class would add a pooler, random where the checkpoint has none, unless told not to.
        shared: one group of blocks is called again and again.
    """

    kind: str
    base: str
    blocks: str
    norm: str | None = None
    head: str | None = None
    path: tuple[str, ...] = ()
    mark: str | None = None
    causal: bool = False
    attention: str | None = None
    mlp: str | None = None
    between: str | None = None
    offset: bool = False
    pooler: bool = False
    shared: bool = False


def _encoder(kind: str, name: str, path: tuple[str, ...], mark: str, **rest: Any) -> Family:
    shape: dict[str, Any] = {
        "blocks": "encoder.layer",
        "attention": "attention.output.dense",
        "mlp": "output.dense",
    } | rest
    return Family(kind, f"{name}Model", head=f"{name}ForMaskedLM", path=path, mark=mark, **shape)


def _decoder(kind: str, name: str, **rest: Any) -> Family:
    shape: dict[str, Any] = {
        "blocks": "layers",
        "norm": "norm",
        "attention": "self_attn",
        "mlp": "mlp",
    } | rest
    head = shape.pop("head", f"{name}ForCausalLM")
    return Family(kind, f"{name}Model", head=head, path=("lm_head",), causal=True, **shape)


_BERT: dict[str, Any] = {"path": ("cls",), "mark": "cls.predictions.transform.dense.weight"}
_ROBERTA: dict[str, Any] = {"path": ("lm_head",), "mark": "lm_head.dense.weight", "offset": True}
_T5: dict[str, Any] = {
    "blocks": "encoder.block",
    "norm": "encoder.final_layer_norm",
    "attention": "layer.0.SelfAttention",
    "mlp": "layer.1.DenseReluDense",
}
_GEMMA = {"attention": "post_attention_layernorm", "mlp": "post_feedforward_layernorm"}
"""Gemma's later generations norm what a sub-layer gives before they add it."""

# fmt: off
ROWS = (
    _encoder("bert", "Bert", pooler=True, **_BERT),
    _encoder("roberta", "Roberta", pooler=True, **_ROBERTA),
    _encoder("xlm-roberta", "XLMRoberta", pooler=True, **_ROBERTA),
    _encoder("camembert", "Camembert", pooler=True, **_ROBERTA),
    _encoder("mpnet", "MPNet", pooler=True, **_ROBERTA, attention="attention.attn.o"),
    _encoder("deberta-v2", "DebertaV2", **_BERT),
    _encoder("electra", "Electra", ("generator_predictions", "generator_lm_head"),
             "generator_predictions.dense.weight"),
    _encoder("distilbert", "DistilBert",
             ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
             "vocab_transform.weight", blocks="transformer.layer", attention="attention.out_lin", mlp="ffn"),
    _encoder("albert", "Albert", ("predictions",), "predictions.dense.weight", pooler=True, shared=True,
             blocks="encoder.albert_layer_groups", attention="albert_layers.0.attention.dense",
             mlp="albert_layers.0.ffn_output"),
    _encoder("modernbert", "ModernBert", ("head", "decoder"), "head.dense.weight",
             blocks="layers", norm="final_norm", attention="attn", mlp="mlp"),
    Family("t5", "T5EncoderModel", **_T5),
    Family("mt5", "MT5EncoderModel", **_T5),
    _decoder("gpt2", "GPT2", blocks="h", norm="ln_f", head="GPT2LMHeadModel", attention="attn"),
    _decoder("gpt_neox", "GPTNeoX", norm="final_layer_norm", attention="attention"),
    _decoder("llama", "Llama"),
    _decoder("mistral", "Mistral"),
    _decoder("qwen2", "Qwen2"),
    _decoder("qwen3", "Qwen3"),
    _decoder("gemma", "Gemma"),
    _decoder("gemma2", "Gemma2", **_GEMMA),
    _decoder("gemma3_text", "Gemma3Text", head="Gemma3ForCausalLM", **_GEMMA),
    _decoder("opt", "OPT", blocks="decoder.layers", norm="decoder.final_layer_norm",
             between="decoder.project_out", mlp="fc2"),
    _decoder("bloom", "Bloom", blocks="h", norm="ln_f", attention="self_attention.dense",
             mlp="mlp.dense_4h_to_h"),
)
# fmt: on

FAMILIES = {family.kind: family for family in ROWS}

NORMS = ("norm", "final_norm", "final_layer_norm", "final_layernorm", "ln_f", "layer_norm")
"""Names under which a family that has no row keeps a norm beside its blocks."""


def family_of(config: dict[str, Any], place: object) -> Family:
    """The family of a ``config.json``; of a type without a row, one that is to be looked over by ``found``.

    Raises:
        SutureError: the config names no type, or one that transformers does not have.
    """
    kind = config.get("model_type")
    if isinstance(kind, str) and kind in FAMILIES:
        return FAMILIES[kind]
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    base = MODEL_MAPPING_NAMES.get(str(kind))
    if not isinstance(base, str) or config.get("is_encoder_decoder"):
        raise SutureError(
            f"a config must be of a type whose blocks can be found, such as {', '.join(sorted(FAMILIES))}; "
            f"{place} is of type {kind!r}; give a checkpoint of one of these"
        )
    return Family(str(kind), base, "")


def found(family: Family, module: nn.Module, layers: int) -> Family:
    """The family with its blocks and final norm as this model has them.

    A type without a row is looked over: its blocks are the one list of as many modules as the config has
    layers, and a norm beside them is the final one.

    Raises:
        SutureError: there is no such list, or several.
    """
    from torch import nn

    if family.blocks:
        norm = family.norm if family.norm and _has(module, family.norm) else None
        between = family.between if family.between and _has(module, family.between) else None
        return replace(family, norm=norm, between=between)
    lists = [
        name
        for name, each in module.named_modules()
        if isinstance(each, nn.ModuleList) and len(each) == layers > 1
    ]
    if len(lists) != 1:
        raise SutureError(
            f"a model must have one list of {layers} blocks; {family.base} has {len(lists)}"
            f"{' (' + ', '.join(lists) + ')' if lists else ''}; give a model of another family"
        )
    stem = lists[0].rpartition(".")[0]
    norms = [f"{stem}.{name}".lstrip(".") for name in NORMS]
    return replace(family, blocks=lists[0], norm=next((name for name in norms if _has(module, name)), None))


def _has(module: nn.Module, path: str) -> bool:
    try:
        return module.get_submodule(path) is not None
    except AttributeError:
        return False
