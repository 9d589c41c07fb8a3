"""SentencePiece models: small ones trained here, and Mistral's."""

from __future__ import annotations

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from tests.builders import sentencepiece_model
from workbench.adapters import spm, spm_proto
from workbench.errors import UnreadableFile
from workbench.testing import HARD, check_tokenizer

CORPUS = [
    "the lower tower lowers the flower",
    "new newer newest lowest widest",
    "ein Turm, zwei Türme; die Straße führt hinauf",
    "final office efficient affine",
    "해요 각 하다 했다 한국어",
] * 4
OPTIONS = {
    "unigram": {"kind": "unigram", "size": 120, "user_defined_symbols": ["<sep>", "ab cd"]},
    "bpe": {"kind": "bpe", "size": 420, "byte_fallback": True, "user_defined_symbols": ["<sep>"]},
    "suffix": {"kind": "bpe", "size": 150, "treat_whitespace_as_suffix": True},
    "crossing": {"kind": "bpe", "size": 200, "split_by_whitespace": False, "remove_extra_whitespaces": False},
    "identity": {
        "kind": "bpe",
        "size": 420,
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    },
    "plain": {"kind": "unigram", "size": 100, "add_dummy_prefix": False},
}
MODELS = {name: sentencepiece_model(CORPUS, **options) for name, options in OPTIONS.items()}
TOKENIZERS = {name: spm.from_proto(data, name, "here") for name, data in MODELS.items()}

every_model = pytest.mark.parametrize("name", MODELS)
CHARACTERS = [*"abeno wT,.\t\n\x00<>", *"\u0301ﬁ\u1112\u1161\u11ab각\u3000\u200b▁ß½ﷺ😀"]
WORDS = ["<sep>", "ab cd", " ", "lower", "½", "  ", "e\u0301"]
texts = st.lists(st.sampled_from(CHARACTERS) | st.sampled_from(WORDS), max_size=16).map("".join)


def upstream(name):
    return sentencepiece.SentencePieceProcessor(model_proto=MODELS[name])


@every_model
def test_contract(name):
    check_tokenizer(TOKENIZERS[name])


@every_model
def test_ids_equal_upstream(name):
    processor, tokenizer = upstream(name), TOKENIZERS[name]
    found = tokenizer.encode_batch(list(HARD))
    assert found.ids.dtype == np.int32
    for index, text in enumerate(HARD):
        assert found.row(index).tolist() == processor.encode(text, out_type=int)


def test_no_texts():
    found = TOKENIZERS["bpe"].encode_batch([])
    assert found.ids.tolist() == []
    assert found.offsets.tolist() == [0]


def test_kinds_and_bytes():
    tokenizer, processor = TOKENIZERS["bpe"], upstream("bpe")
    inventory = tokenizer.inventory
    for token in range(processor.get_piece_size()):
        text, entry = processor.id_to_piece(token), inventory.entry(token)
        assert entry.score == processor.get_score(token)
        if processor.is_byte(token):
            expected = ("byte", bytes([int(text[3:5], 16)]))
        elif processor.is_unknown(token) or processor.is_control(token):
            expected = ("special", text.encode())
        elif text == "<sep>":
            expected = ("added", b"<sep>")
        else:
            expected = ("piece", text.replace("▁", " ").encode())
        assert (entry.kind, entry.bytes) == expected
    assert (inventory.frame["kind"] == "byte").sum() == 256
    assert tokenizer.unknown == {processor.unk_id()}


def test_unused_piece_is_no_learned_one():
    data = spm_proto.write(
        [b"<unk>", b"a", "▁".encode(), b"b", b"ab"], [0, 0, 0, 0, 1], [2, 1, 1, 1, 5], "BPE",
        dummy_prefix=False, remove_extra=False,
    )  # fmt: skip
    tokenizer = spm.from_proto(data, "small", "here")
    assert tokenizer.inventory.frame["kind"].to_list() == ["special", "piece", "piece", "piece", "unused"]
    assert tokenizer.encode("ab") == [1, 3]


def blocks(name, text):
    (stage,) = TOKENIZERS[name].engine.normalise(text).stages
    source = text.encode()
    spans = zip(
        np.column_stack([stage.source_cuts[:-1], stage.source_cuts[1:]]).tolist(),
        np.column_stack([stage.target_cuts[:-1], stage.target_cuts[1:]]).tolist(),
        stage.equal.tolist(),
        strict=True,
    )
    merged = [["", "", True]]
    for (a, b), (c, d), equal in spans:
        pair = [source[a:b].decode(), stage.target[c:d].decode(), equal]
        if equal and merged[-1][2]:
            merged[-1][0] += pair[0]
            merged[-1][1] += pair[1]
        else:
            merged.append(pair)
    return [(left, right) for left, right, _ in merged if left or right]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("unigram", "ab", [("", " "), ("ab", "ab")]),
        ("unigram", "  a", [("  ", ""), ("", " "), ("a", "a")]),
        ("unigram", "a  b ", [("", " "), ("a ", "a "), (" ", ""), ("b", "b"), (" ", "")]),
        ("unigram", "e\u0301t", [("", " "), ("e\u0301", "é"), ("t", "t")]),
        ("unigram", "\u1112\u1161\u11ab!", [("", " "), ("\u1112\u1161\u11ab", "한"), ("!", "!")]),
        ("unigram", "oﬁn", [("", " "), ("o", "o"), ("ﬁ", "fi"), ("n", "n")]),
        ("unigram", "a\u3000b", [("", " "), ("a", "a"), ("\u3000", " "), ("b", "b")]),
        ("unigram", "   ", [("   ", "")]),
        ("unigram", "", []),
        ("suffix", " a b ", [(" ", ""), ("a b", "a b"), ("", " "), (" ", "")]),
        ("identity", "  ▁é", [("", " "), ("  ", "  "), ("▁", " "), ("é", "é")]),
        ("plain", "a b", [("a b", "a b")]),
    ],
)
def test_blocks(name, text, expected):
    assert blocks(name, text) == expected


@every_model
@given(texts)
def test_normalisation_is_the_models_own_and_aligned(name, text):
    found = TOKENIZERS[name].engine.normalise(text)
    (stage,) = found.stages
    assert stage.target.decode() == upstream(name).normalize(text).replace("▁", " ")
    for cuts, size in ((stage.source_cuts, len(text.encode())), (stage.target_cuts, len(stage.target))):
        assert cuts[0] == 0
        assert cuts[-1] == size
        assert (np.diff(cuts) >= 0).all()
    assert len(stage.equal) == len(stage.source_cuts) - 1 == len(stage.target_cuts) - 1
    pairs = blocks(name, text)
    assert "".join(left for left, _ in pairs) == text
    assert "".join(right for _, right in pairs).encode() == stage.target


@every_model
@given(texts)
def test_spans_tile_the_text(name, text):
    found = TOKENIZERS[name].segment(text)
    painted = np.zeros(len(text.encode()), int)
    for low, high in zip(found.starts, found.ends, strict=True):
        painted[low:high] = 1
    for low, high in [*found.uncovered, *found.absorbed]:
        painted[low:high] += 1
    assert (painted == 1).all()
    removed = {place for low, high in found.dropped for place in range(low, high)}
    assert {place for low, high in found.uncovered for place in range(low, high)} <= removed


@every_model
@given(texts)
def test_words_give_the_ids_of_the_text(name, text):
    tokenizer = TOKENIZERS[name]
    words = tokenizer.engine.pretokenize(text)
    assert "".join(words) == upstream(name).normalize(text).replace("▁", " ")
    ids = [token for word in words for token in tokenizer.engine.model_ids(word)]
    unknown = upstream(name).unk_id()
    if unknown not in ids:
        assert ids == tokenizer.encode(text)


def test_words_carry_their_spaces():
    assert TOKENIZERS["unigram"].engine.pretokenize("the  tower!") == [" the", " tower!"]
    assert TOKENIZERS["identity"].engine.pretokenize("the  tower!") == [" the", "  tower!"]
    assert TOKENIZERS["suffix"].engine.pretokenize("the  tower!") == ["the ", "tower! "]
    assert TOKENIZERS["crossing"].engine.pretokenize("the tower") == [" the tower"]


def test_decomposed_syllable_is_one_span():
    for syllable in (
        "\u1100\u1161\u11a8",
        "\u1112\u1161\u11ab",
    ):  # 각 is an entry, 한 falls back to three bytes
        found = TOKENIZERS["bpe"].segment(f"x{syllable}x")
        assert set(found.pieces) == {b"", b"x", syllable.encode()}


def test_byte_fallback_splits_an_emoji():
    found = TOKENIZERS["bpe"].segment("x😀")
    assert found.pieces[-4:] == [b"\xf0", b"\x9f", b"\x98", b"\x80"]
    assert found.unknown == ()


def test_unknown_characters_are_one_unknown_token_with_their_span():
    found = TOKENIZERS["unigram"].segment("new 日本 lower")
    assert [found.pieces[index] for index in found.unknown] == ["日本".encode()]
    assert found.uncovered.tolist() == []


def test_unknown_characters_inside_a_symbol_with_a_space():
    """The library reports the span of the whole symbol for each of its tokens."""
    found = TOKENIZERS["unigram"].segment("ab cd")
    assert b"".join(found.pieces) == b"ab cd"
    assert found.uncovered.tolist() == []


def test_user_defined_symbol_is_kept_whole_and_control_text_is_data():
    tokenizer = TOKENIZERS["bpe"]
    found = tokenizer.segment("lower<sep></s>")
    assert b"<sep>" in found.pieces
    assert upstream("bpe").eos_id() not in found.ids.tolist()


def test_decoding_each_id_is_the_librarys():
    ids = list(range(0, 400, 7))
    assert TOKENIZERS["bpe"].engine.decode_each(ids) == [upstream("bpe").decode([token]) for token in ids]


def test_control_text_in_a_prompt():
    tokenizer, processor = TOKENIZERS["bpe"], upstream("bpe")
    bos, eos = processor.bos_id(), processor.eos_id()
    expected = [bos, *processor.encode("lower"), eos]
    assert tokenizer.encode_control("<s>lower</s>") == expected
    found = tokenizer.segment_control("<s>lower</s>")
    assert found.ids.tolist() == expected
    assert (found.pieces[0], found.pieces[-1]) == (b"<s>", b"</s>")


def rebuilt(name, tokenizer):
    """The same BPE in another library, from the recovered merges."""
    processor = tokenizer.engine.processor
    pieces = processor.id_to_piece(list(range(processor.get_piece_size())))
    pairs = [(pieces[left], pieces[right]) for left, right, _ in tokenizer.inventory.merges.tolist()]
    vocab = {piece: index for index, piece in enumerate(pieces)}
    options = {"byte_fallback": True, "unk_token": "<unk>", "fuse_unk": True}
    return Tokenizer(models.BPE(vocab=vocab, merges=pairs, **options))


@pytest.mark.parametrize("name", ["bpe", "identity"])
@given(text=st.text(st.sampled_from([*"lowerstnTü ", "각", "해", "ß"]), max_size=20))
def test_merges_from_scores_make_the_same_tokens(name, text):
    tokenizer = TOKENIZERS[name]
    normalised = upstream(name).normalize(text)
    assert rebuilt(name, tokenizer).encode(normalised).ids == tokenizer.encode(text)


def test_results_of_merges_join_their_parts():
    inventory = TOKENIZERS["bpe"].inventory
    left, right, result = (inventory.frame["bytes"].gather(column).to_list() for column in inventory.merges.T)
    assert [one + other for one, other in zip(left, right, strict=True)] == result
    scores = inventory.frame["score"].to_numpy()[inventory.merges[:, 2]]
    assert (np.diff(scores) <= 0).all()


def test_unigram_and_tied_scores_have_no_merges():
    assert TOKENIZERS["unigram"].inventory.merges is None
    tied = spm_proto.write(
        [b"<unk>", b"a", b"b", b"ab", b"ba"], [0, -3, -4, -1, -1], [2, 1, 1, 1, 1], "BPE",
        dummy_prefix=False, remove_extra=False,
    )  # fmt: skip
    inventory = spm.from_proto(tied, "tied", "here").inventory
    assert inventory.merges is None
    assert any("share a score" in note for note in inventory.notes)


def test_pipeline_says_what_the_normaliser_does():
    assert TOKENIZERS["unigram"].pipeline.prefix_space
    assert not TOKENIZERS["plain"].pipeline.prefix_space
    (step,) = [step for step in TOKENIZERS["suffix"].pipeline.steps if step.stage == "normaliser"]
    assert step.name == "nmt_nfkc"
    assert "after the text" in step.detail


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_truncated_model(tmp_path, share):
    path = tmp_path / "cut.model"
    path.write_bytes(MODELS["bpe"][: int(len(MODELS["bpe"]) * share)])
    with pytest.raises(UnreadableFile, match=r"cut\.model is damaged"):
        spm.from_path(path)


def test_model_cut_between_two_pieces_is_refused_although_the_library_takes_it():
    data, at = MODELS["plain"], 0
    for _ in range(20):
        at += 2 + data[at + 1]
    cut = data[:at]
    assert sentencepiece.SentencePieceProcessor(model_proto=cut).get_piece_size() == 20
    with pytest.raises(UnreadableFile, match="trainer or normaliser part"):
        spm.from_proto(cut, "cut", "here")


@given(st.binary(max_size=60))
def test_garbage_is_refused_by_sentence(data):
    with pytest.raises(UnreadableFile, match="must be complete"):
        spm.from_proto(data, "noise", "noise.model")


def test_missing_and_oversized_files(tmp_path, monkeypatch):
    with pytest.raises(UnreadableFile, match="check the path"):
        spm.from_path(tmp_path / "none.model")
    path = tmp_path / "big.model"
    path.write_bytes(MODELS["plain"])
    monkeypatch.setattr(spm, "LIMIT", 100)
    with pytest.raises(UnreadableFile, match="has more"):
        spm.from_path(path)


def test_name_and_source(tmp_path):
    path = tmp_path / "small.model"
    path.write_bytes(MODELS["plain"])
    assert (spm.from_path(path).name, spm.from_path(str(path)).inventory.source) == ("small", str(path))
    assert spm.from_path(path, "mine").name == "mine"


scored = st.dictionaries(st.text(min_size=1, max_size=4), st.floats(-9, 0, width=32), min_size=1)


@given(scored, st.booleans(), st.booleans())
def test_written_model_is_read_by_the_library(rows, prefix, extra):
    rows = {"<unk>": 0.0} | {text: score for text, score in rows.items() if "\x00" not in text}
    pieces, scores = list(rows), list(rows.values())
    types = [2] + [1] * (len(pieces) - 1)
    data = spm_proto.write(
        [piece.encode() for piece in pieces],
        scores,
        types,
        "Unigram",
        dummy_prefix=prefix,
        remove_extra=extra,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    ids = list(range(len(pieces)))
    assert processor.id_to_piece(ids) == pieces
    assert processor.get_score(ids) == pytest.approx(scores)
    spec = spm_proto.read(data)
    assert (spec.model, spec.dummy_prefix, spec.remove_extra, spec.user_defined) == (
        "Unigram",
        prefix,
        extra,
        (),
    )
    assert processor.normalize(" a ").startswith(
        "▁▁" if prefix and not extra else "▁" if prefix or not extra else "a"
    )


@pytest.mark.vocabs
@pytest.mark.parametrize("name", ["mistral-v1", "mistral-v3"])
def test_mistral(need, name):
    path = need(name)
    tokenizer = spm.from_path(path)
    processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
    check_tokenizer(tokenizer)
    for text in HARD:
        ids = processor.encode(text, out_type=int)
        assert tokenizer.encode(text) == ids
        if text:
            assert tokenizer.decode(ids).decode() == " " + text.replace("▁", " ")
    assert len(tokenizer.inventory) == processor.get_piece_size()
    backend = rebuilt(name, tokenizer)
    for text in HARD:
        if len(text) < 200:  # longer runs of one tied score meet in another order
            assert backend.encode(processor.normalize(text)).ids == tokenizer.encode(text)


@pytest.mark.vocabs
def test_mistral_equals_its_own_wrapper(need):
    upstream_module = pytest.importorskip("mistral_common.tokens.tokenizers.sentencepiece")
    path = need("mistral-v3")
    theirs, ours = upstream_module.SentencePieceTokenizer(str(path)), spm.from_path(path)
    for text in HARD:
        assert ours.encode(text) == theirs.encode(text, bos=False, eos=False)
