import json

import tiktoken

from tests import builders
from vocab_audits.pipeline import against_class, pipeline, special_text, steps
from workbench.adapters import load


def values(outcome, measure: str) -> list[tuple[float | None, str | None]]:
    table = outcome.table().filter(outcome.table()["measure"] == measure)
    return list(table.select("value", "evidence").iter_rows())


def byte_level(added=(), **parts):
    doc = {
        "version": "1.0",
        "added_tokens": [
            {
                "id": 256 + k,
                "content": text,
                "special": special,
                "single_word": word,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
            }
            for k, (text, special, word) in enumerate(added)
        ],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "ByteLevel",
            "add_prefix_space": False,
            "trim_offsets": True,
            "use_regex": True,
        },
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": builders_alphabet(), "merges": []},
        **parts,
    }
    return json.dumps(doc)


def builders_alphabet() -> dict[str, int]:
    from tokenizers.pre_tokenizers import ByteLevel

    return {character: index for index, character in enumerate(sorted(ByteLevel.alphabet()))}


def loaded(text: str):
    import tokenizers

    return load(tokenizers.Tokenizer.from_str(text), "made")


def test_special_text_is_data_here_and_control_in_a_prompt() -> None:
    encoding = tiktoken.Encoding(
        "made",
        pat_str=r"[\s\S]+",
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={"<|end|>": 300},
    )
    tokenizer = load(encoding)
    row = special_text(tokenizer).row(0, named=True)
    assert (row["as_data"], row["as_prompt"]) == (7, True)
    assert tokenizer.encode("x<|end|>") == [*b"x<|end|>"]
    assert tokenizer.encode_control("x<|end|>") == [ord("x"), 300]
    outcome = pipeline(tokenizer)
    assert values(outcome, "special_text_is_control") == [(1.0, "300 '<|end|>'")]


def test_an_added_word_matches_inside_words_unless_it_is_single() -> None:
    tokenizer = loaded(byte_level([("ham", False, False), ("spam", False, True), ("<x>", True, False)]))
    assert values(pipeline(tokenizer), "added_matches_in_words") == [(1.0, "256 'ham'")]


def test_a_decoder_that_breaks_an_added_token_is_named() -> None:
    tokenizer = loaded(byte_level([("n\u00e9", False, False), ("\u65e5\u672c", False, False)]))
    assert values(pipeline(tokenizer), "decoder_breaks") == [(1.0, "256 'n\u00e9'")]


def test_spellings_are_told_apart_or_made_one() -> None:
    plain, folded = loaded(byte_level()), loaded(byte_level(normalizer={"type": "NFC"}))
    assert values(pipeline(plain), "canonical_spellings_differ")[0][0] == 10.0
    # One of the ten is excluded from composition, so NFC leaves its decomposed spelling, for both inputs.
    assert values(pipeline(folded), "canonical_spellings_differ")[0][0] == 0.0
    lower = loaded(byte_level(normalizer={"type": "Lowercase"}))
    count, evidence = values(pipeline(lower), "distinct_texts_merged")[0]
    assert count == 1.0
    assert evidence == "Polish = polish"


def test_stages_are_listed_in_order() -> None:
    tokenizer = loaded(byte_level([("<x>", True, True)], normalizer={"type": "NFC"}))
    assert steps(tokenizer)["stage"].to_list() == [
        "added token",
        "normaliser",
        "pre-tokenizer",
        "model",
        "decoder",
    ]


def test_without_a_folder_the_comparison_is_not_applicable() -> None:
    differs = against_class(loaded(byte_level()))
    assert differs.probes is None
    assert "not applicable" in (differs.note or "")


def test_ids_of_added_tokens_are_those_that_the_library_gives() -> None:
    text = byte_level([("<x>", True, False)]).replace('"id": 256', '"id": 999')
    tokenizer = loaded(text)
    assert tokenizer.inventory.find(b"<x>") == tokenizer.encode_control("<x>")


def test_a_control_token_that_data_makes_is_flagged() -> None:
    backend = builders.unigram({"<s>": -1.0, "a": -2.0, "b": -3.0})
    backend.add_special_tokens(["<unk>", "<s>"])
    table = pipeline(load(backend)).table().filter(measure="data_makes_control")
    assert table.select("value", "severity").row(0) == (1.0, "flag")
    assert "<s>" in table["evidence"][0]


def test_a_literal_letter_of_the_byte_alphabet_is_shown() -> None:
    tokenizer = load(builders.byte_level(added=["\u00e9"]))
    assert pipeline(tokenizer).tables["special_text"].height == 1
