"""What the tokenizer libraries do today where Suture reports otherwise, or leans on them.

Nothing here is a defect of Suture. A failure says that a library has changed, so that a note, a
workaround or a comparison in Suture may be out of date.
"""

from __future__ import annotations

import unicodedata

import pytest
import tiktoken
from tokenizers import AddedToken

from tests import builders

LONE = "\ud83d"


def offsets(backend, text: str) -> list[tuple[int, int]]:
    return backend.encode(text, add_special_tokens=False).offsets


class TestTiktoken:
    def test_parts_of_a_character_decode_to_replacement_characters(self):
        encoding = builders.encoding([b"\xe2\x82"])
        assert [encoding.decode([token]) for token in encoding.encode("€")] == ["\ufffd", "\ufffd"]

    def test_offsets_of_parts_of_a_character_repeat(self):
        encoding = builders.encoding([b"\xe2\x82"])
        assert encoding.decode_with_offsets(encoding.encode_ordinary("a€b"))[1] == [0, 1, 1, 2]

    def test_lone_surrogates_are_replaced_in_one_call_and_refused_in_another(self):
        encoding = builders.encoding()
        assert encoding.encode(LONE) == encoding.encode_ordinary(LONE) == [239, 191, 189]
        with pytest.raises(UnicodeEncodeError):
            encoding.encode_with_unstable(LONE)

    def test_control_text_is_refused_by_default(self):
        encoding = builders.encoding(special={"<|end|>": 300})
        with pytest.raises(ValueError, match="disallowed special token"):
            encoding.encode("x<|end|>")
        assert encoding.encode("x<|end|>", allowed_special="all") == [120, 300]

    def test_a_hole_counts_in_the_size_and_cannot_be_decoded(self):
        encoding = builders.encoding(special={"<|end|>": 300})
        assert encoding.n_vocab == 301
        with pytest.raises(KeyError):
            encoding.decode_single_token_bytes(280)

    def test_its_pattern_engine_reads_possessive_counts(self):
        encoding = builders.encoding([b"20", b"202", b"2023"], pattern=builders.CL100K)
        assert encoding.encode("2023") == [257, 51]


class TestTokenizers:
    def test_its_pattern_engine_reads_a_possessive_count_as_a_repeated_group(self):
        backend = builders.byte_level(pattern=builders.CL100K)
        assert [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str("2023")] == ["2023"]

    def test_lone_surrogates_are_refused(self):
        with pytest.raises(TypeError):
            builders.byte_level().encode(LONE)

    def test_its_decoder_breaks_added_tokens_that_fit_the_byte_alphabet(self):
        backend = builders.byte_level(added=["né", "日本"])
        assert [backend.decode([token]) for token in (256, 257)] == ["n\ufffd", "日本"]

    def test_decoding_takes_a_leading_space_off(self):
        backend = builders.metaspace(["▁", "▁A", "A"], ["▁ A"])
        assert backend.decode([1]) == backend.decode([2]) == "A"

    def test_without_a_decoder_byte_entries_decode_to_their_names(self):
        backend = builders.bpe(["<unk>", "<0xE2>", "a"], unk="<unk>", byte_fallback=True)
        assert backend.decode([2, 1]) == "a <0xE2>"

    def test_a_letter_after_a_control_token_loses_its_offsets(self):
        backend = builders.byte_level(
            [b" b"], [(b" ", b"b")], prefix_space=True, trimming=True, special=["<d>"]
        )
        assert offsets(backend, "<d>bc<d>") == [(0, 3), (4, 4), (4, 5), (5, 8)]

    def test_a_prefix_mark_borrows_the_first_character(self):
        backend = builders.metaspace(["▁", "中", "文", "中文"], ["中 文"])
        assert offsets(backend, "中文") == [(0, 1), (0, 2)]

    def test_whole_word_entries_keep_their_offsets(self):
        backend = builders.byte_level([b"are", b" you"], ignore_merges=True)
        assert offsets(backend, "are you") == [(0, 3), (3, 7)]

    def test_composition_reports_the_first_jamo_alone(self):
        backend = builders.bpe(["해", "요"], normalizer={"type": "NFC"})
        assert offsets(backend, unicodedata.normalize("NFD", "해요")) == [(0, 1), (2, 3)]

    def test_swallowed_whitespace_is_in_the_span(self):
        backend = builders.byte_level(special=[AddedToken("<m>", special=True, lstrip=True)])
        assert offsets(backend, "a <m>b") == [(0, 1), (1, 5), (5, 6)]

    def test_characters_without_an_entry_shift_what_follows(self):
        assert offsets(builders.bpe(["a", "b"]), "axb") == [(0, 1), (1, 2)]

    def test_control_text_becomes_a_control_id_by_default(self):
        assert builders.byte_level(special=["<|end|>"]).encode("x<|end|>").ids == [120, 256]

    @pytest.mark.parametrize(
        "backend",
        [
            builders.unigram({"<s>": -1.0, "<": -2.0, "s": -2.0, ">": -2.0}),
            builders.document(
                {"type": "WordLevel", "vocab": {"<unk>": 0, "<s>": 1}, "unk_token": "<unk>"},
                pre_tokenizer={"type": "WhitespaceSplit"},
            ),
        ],
        ids=["Unigram", "WordLevel"],
    )
    def test_a_model_that_lists_control_text_makes_it_of_data_too(self, backend):
        backend.add_special_tokens(["<s>"])
        backend.encode_special_tokens = True
        assert backend.encode("<s>").ids == [1]


class TestTransformers:
    @pytest.mark.parametrize(
        ("tokenizer_class", "model_type", "ids"),
        [
            ("GPT2Tokenizer", "gpt2", [258, 32, 97, 98]),
            ("LlamaTokenizerFast", "llama", [257, 51, 32, 97, 98]),
        ],
    )
    def test_a_class_name_may_rebuild_what_the_file_says(self, tmp_path, tokenizer_class, model_type, ids):
        transformers = pytest.importorskip("transformers")
        from tests.cases.test_loader import years

        folder = years(tmp_path, tokenizer_class, model_type)
        loaded = transformers.AutoTokenizer.from_pretrained(folder)
        assert loaded.encode("2023 ab", add_special_tokens=False) == ids


def test_the_versions_that_these_were_seen_with_are_installed_or_newer():
    import tokenizers

    seen = {tokenizers: (0, 23), tiktoken: (0, 14)}
    for library, version in seen.items():
        assert tuple(map(int, library.__version__.split(".")[:2])) >= version
