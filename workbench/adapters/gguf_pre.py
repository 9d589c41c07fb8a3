"""Pre-token patterns behind the names that GGUF files give them.

A GGUF file of a byte-level BPE model names its pre-tokenizer and leaves the patterns to the program
that reads it. Those here are the ones of the models that the names come from; where a name has several,
they cut one after the other, and what a pattern does not match stays a pre-token of its own.
"""

from __future__ import annotations

from workbench.adapters.hf import GPT2_PATTERN

CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TAIL_SLASH = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
LEAD = r"[^\r\n\p{L}\p{N}]?"
CASED = rf"{LEAD}{UPPER}*{LOWER}+|{LEAD}{UPPER}+{LOWER}*"
CASED_CONTRACTED = rf"{LEAD}{UPPER}*{LOWER}+{CONTRACTION}?|{LEAD}{UPPER}+{LOWER}*{CONTRACTION}?"

LLAMA3 = (rf"{CONTRACTION}|{LEAD}\p{{L}}+|\p{{N}}{{1,3}}|{TAIL}",)
QWEN2 = (rf"{CONTRACTION}|{LEAD}\p{{L}}+|\p{{N}}|{TAIL}",)
GPT2 = (GPT2_PATTERN,)
GPT4O = (rf"{CASED_CONTRACTED}|\p{{N}}{{1,3}}|{TAIL_SLASH}",)
TEKKEN = (rf"{CASED}|\p{{N}}|{TAIL_SLASH}",)
DIGITS = (r"\p{N}", GPT2_PATTERN)
DEEPSEEK3 = (
    r"\p{N}{1,3}",
    "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",  # noqa: E501 one expression
)
DEEPSEEK_CODER = (
    r"[\r\n]",
    r"\s?\p{L}+",
    r"\s?\p{P}+",
    "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+",
    r"\p{N}",
)
FALCON = (r"[\p{P}\$\+<=>\^~\|`]+", GPT2_PATTERN, "[0-9][0-9][0-9]")
UNNAMED = (r"[\p{P}\$\+<=>\^~\|]+", GPT2_PATTERN, r"\p{N}+", "[0-9][0-9][0-9]")

FAMILIES: tuple[tuple[tuple[str, ...], str], ...] = (
    (LLAMA3, "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano"),
    (LLAMA3, "dbrx smaug-bpe glm4 chatglm-bpe"),
    (QWEN2, "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2"),
    (GPT2, "gpt-2 phi-2 jina-es jina-de jina-v1-en jina-v2-es jina-v2-de jina-v2-code roberta-bpe mpt olmo"),
    (GPT2, "jais trillion granite-docling exaone4 gigachat a.x-4.0 mellum modern-bert"),
    (GPT4O, "gpt-4o llama4 kanana2 talkie minimax-m2"),
    (TEKKEN, "tekken"),
    (DIGITS, "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2"),
    (DEEPSEEK3, "deepseek-v3 hunyuan-dense joyai-llm"),
    (DEEPSEEK_CODER, "deepseek-coder"),
    (FALCON, "falcon"),
    (UNNAMED, "default"),
)

PATTERNS = {name: patterns for patterns, names in FAMILIES for name in names.split()}
"""Patterns by the name that a file gives; ``default`` is what llama.cpp takes for files without one."""

IGNORE_MERGES = frozenset((*FAMILIES[0][1].split(), "tekken"))
"""Names under which an entry that spells a whole pre-token is used even where no merges build it."""
