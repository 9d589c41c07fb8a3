"""Entries taken out of a tokenizer, against reference encoders and the upstream libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sentencepiece
import tiktoken
import tokenizers
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests import builders
from workbench.adapters import load
from workbench.adapters.editing import edit
from workbench.bpe import BPE, merges_from_ranks, pretokens, train
from workbench.corpora import open_corpus
from workbench.edits import write
from workbench.errors import SutureError
from workbench.removal import holding, recost, removable, simulate

LETTERS = "abc "
MARKED = {"type": "Metaspace", "replacement": builders.MARK, "prepend_scheme": "never", "split": True}
WORDS = st.text(LETTERS, min_size=1, max_size=14)
TEXTS = st.lists(WORDS, min_size=4, max_size=20)


def learned(texts: list[str]) -> BPE:
    """A BPE trained on the texts; one whose training gives two ids for the same bytes is passed over."""
    try:
        return train([*texts, "abab"], 280, builders.ANYTHING, least=1)
    except SutureError:
        reject()


def picked(data, model: BPE) -> list[int]:
    return sorted(data.draw(st.sets(st.sampled_from(sorted(model.merges.values())), min_size=1)))


def document_of(model: BPE, **options) -> tokenizers.Tokenizer:
    spelled = {token: piece for piece, token in model.ranks.items()}
    extra = [spelled[token] for token in range(256, len(spelled))]
    pairs = [(spelled[left], spelled[right]) for left, right in model.merges]
    return builders.byte_level(extra, pairs, pattern=builders.ANYTHING, **options)


def without(model: BPE, gone: list[int]) -> BPE:
    """The reference encoder with every merge that names a removed entry left out, and what hung on them."""
    made = set(range(256))
    kept = {}
    for (left, right), token in model.merges.items():
        if token not in gone and {left, right} <= made:
            kept[left, right] = token
            made.add(token)
    return BPE(kept, builders.ANYTHING)


@settings(max_examples=40)
@given(st.data(), TEXTS, st.sampled_from(["drop", "mask"]))
def test_a_bpe_by_merges_encodes_as_the_reference_without_them(data, texts, mode):
    model = learned(texts)
    gone = picked(data, model)
    removal = simulate(load(document_of(model)), gone, mode)
    reference = without(model, gone)
    for text in texts:
        ids = removal.after.encode(text)
        assert ids == reference.encode(text)
        assert removal.after.decode(ids) == text.encode()
        assert set(ids).isdisjoint(gone)
    spelled = {token: piece for piece, token in model.ranks.items()}
    rest = [token for token in model.merges.values() if token not in gone]
    assert removal.lost.tolist() == [token for token in rest if not reference.builds(spelled[token])]
    assert removal.won.tolist() == []  # a trained merge is always in use
    assert [tuple(row) for row in removal.broken.tolist()] == [
        (*pair, token) for pair, token in model.merges.items() if {*pair, token} & set(gone)
    ]


@settings(max_examples=40)
@given(st.data(), TEXTS)
def test_ranks_encode_as_the_reference_built_anew(data, texts):
    model = learned(texts)
    gone = picked(data, model)
    removal = simulate(load(builders.encoding(ranks=model.ranks)), gone)
    ranks = {piece: rank for piece, rank in model.ranks.items() if rank not in gone}
    reference = BPE.from_ranks(ranks, builders.ANYTHING)
    for text in texts:
        whole = ranks.get(text.encode())
        assert removal.after.encode(text) == ([whole] if whole is not None else reference.encode(text))
    before, after = set(merges_from_ranks(model.ranks).unbuilt), set(merges_from_ranks(ranks).unbuilt)
    assert removal.lost.tolist() == sorted(after - before)
    assert removal.won.tolist() == sorted(before - after - set(gone))
    assert set(removal.whole) <= set(removal.lost)


@settings(max_examples=30)
@given(st.data(), TEXTS, st.sampled_from(["drop", "mask"]))
def test_an_entry_that_spells_a_whole_pretoken_is_not_used_once_removed(data, texts, mode):
    model = learned(texts)
    gone = picked(data, model)
    removal = simulate(load(document_of(model, ignore_merges=True)), gone, mode)
    reference = without(model, gone)
    left = {piece: token for piece, token in model.ranks.items() if token not in gone}
    for text in [*texts, *(piece.decode() for piece in model.ranks if len(piece) > 1)]:
        whole = left.get(text.encode())
        assert removal.after.encode(text) == ([whole] if whole is not None else reference.encode(text))


def longest_first(vocab: dict[str, int], word: str) -> list[int]:
    """WordPiece by its definition (Schuster and Nakajima 2012; BERT): the longest entry at each place."""
    at, found = 0, []
    while at < len(word):
        ends = [end for end in range(len(word), at, -1) if "##" * (at > 0) + word[at:end] in vocab]
        if not ends:
            return [vocab["[UNK]"]]
        found.append(vocab["##" * (at > 0) + word[at : ends[0]]])
        at = ends[0]
    return found


@settings(max_examples=40)
@given(st.data(), st.sampled_from(["drop", "mask"]))
def test_wordpiece_encodes_as_its_definition(data, mode):
    inner = st.text("abc", min_size=1, max_size=3)
    entries = data.draw(st.lists(st.tuples(st.booleans(), inner), min_size=3, max_size=14, unique=True))
    texts = ["##" * later + text for later, text in entries]
    tokenizer = load(builders.wordpiece(texts))
    gone = sorted(data.draw(st.sets(st.integers(1, len(texts)), min_size=1)))
    removal = simulate(tokenizer, gone, mode)
    vocab = {"[UNK]": 0} | {text: token for token, text in enumerate(texts, 1) if token not in gone}
    words = data.draw(st.lists(st.text("abc", min_size=1, max_size=6), min_size=1, max_size=12))
    for word in words:
        assert removal.after.encode(word) == longest_first(vocab, word)
    encoded = tokenizer.encode_batch(words)
    changed = [tokenizer.encode(word) != removal.after.encode(word) for word in words]
    assert all(removal.touched(encoded)[index] for index, differs in enumerate(changed) if differs)


def best_sums(pieces: dict[str, float], text: str) -> float:
    """The best sum of scores over every way to cut a text into pieces (Kudo 2018), by enumeration."""
    best = [0.0, *[-math.inf] * len(text)]
    for end in range(1, len(text) + 1):
        for start in range(end):
            if text[start:end] in pieces:
                best[end] = max(best[end], best[start] + pieces[text[start:end]])
    return best[-1]


@settings(max_examples=40)
@given(st.data())
def test_unigram_takes_the_best_of_what_is_left(data):
    texts = data.draw(st.lists(st.text("abc", min_size=2, max_size=4), min_size=1, max_size=8, unique=True))
    scores = st.integers(-40, -1).map(lambda value: value / 4)
    pieces = dict.fromkeys("abc", -12.0) | {text: data.draw(scores) for text in texts}
    tokenizer = load(builders.unigram(pieces, pre_tokenizer=MARKED, decoder=MARKED))
    ids = {text: token for token, text in enumerate(pieces, 1)}
    gone = sorted(data.draw(st.sets(st.sampled_from([ids[text] for text in texts]), min_size=1)))
    removal = simulate(tokenizer, gone, "mask")
    left = {text: score for text, score in pieces.items() if ids[text] not in gone}
    names = {token: text for text, token in ids.items()}
    for text in data.draw(st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=8)):
        found = removal.after.encode(text)
        assert set(found).isdisjoint(gone)
        assert "".join(names[token] for token in found) == text
        assert sum(left[names[token]] for token in found) == pytest.approx(best_sums(left, text))
    with pytest.raises(SutureError, match="places in a list"):
        simulate(tokenizer, gone, "drop")


@settings(max_examples=60)
@given(st.data(), TEXTS, st.sampled_from(["merges", "whole", "ranks"]))
def test_what_is_not_touched_is_cut_as_before(data, texts, kind):
    model = learned(texts)
    made = {
        "merges": lambda: document_of(model),
        "whole": lambda: document_of(model, ignore_merges=True),
        "ranks": lambda: builders.encoding(ranks=model.ranks),
    }
    removal = simulate(load(made[kind]()), picked(data, model))
    encoded = removal.before.encode_batch(texts)
    for index, touched in enumerate(removal.touched(encoded).tolist()):
        if not touched:
            assert removal.after.encode(texts[index]) == encoded.row(index).tolist()


@pytest.mark.parametrize("mode", ["drop", "mask"])
def test_removing_nothing_changes_nothing(mode):
    model = learned(["abc abc ab", "cab cab"])
    for tokenizer in (load(document_of(model)), load(builders.encoding(ranks=model.ranks))):
        made = edit(tokenizer, [], mode).tokenizer
        assert made.inventory.digest == tokenizer.inventory.digest
        assert made.encode("abc cab ab") == tokenizer.encode("abc cab ab")


def test_an_entry_in_the_way_of_another_lets_it_be_built():
    # In "abcd", "bc" joins first and leaves a, bc, d; without it "ab" and "cd" join to the whole.
    tokenizer = load(builders.encoding([b"bc", b"ab", b"cd", b"abcd"], pattern=r"x?[a-d]+"))
    removal = simulate(tokenizer, [256])
    assert removal.won.tolist() == [259]
    assert tokenizer.encode("xabcd") == [120, 97, 256, 100]
    assert removal.after.encode("xabcd") == [120, 259]


def test_an_entry_with_another_pair_is_not_lost():
    pairs = [(b"b", b"c"), (b"a", b"b"), (b"ab", b"c"), (b"a", b"bc"), (b"abc", b"a")]
    backend = builders.byte_level([b"bc", b"ab", b"abc", b"abca"], pairs)
    tokenizer = load(backend)
    removal = simulate(tokenizer, [256])  # "bc" joined first; now "ab" does, and "c" after it
    assert removal.lost.tolist() == removal.won.tolist() == []
    assert removal.after.encode("abca") == [259]
    assert removal.broken.tolist() == [[98, 99, 256], [97, 256, 258]]
    both = simulate(tokenizer, [256, 257])
    assert both.lost.tolist() == both.idle.tolist()[2:] == [258, 259]


def test_the_entries_that_hold_another_are_all_found():
    tokenizer = load(builders.encoding([b"th", b"the", b" the", b"hen", b"t\x68\xe4"]))
    pieces = tokenizer.inventory.pieces
    found = set(holding(tokenizer.inventory, np.array([256], np.int32)))
    assert {token for token, piece in enumerate(pieces) if b"th" in piece and token != 256} <= found


def test_a_corpus_costs_what_encoding_all_of_it_costs(tmp_path):
    lines = ["abc cab", "ab", "", "bca bca abc", "ccc"]
    for language, step in (("de", 1), ("en", -1)):
        (tmp_path / f"{language}.txt").write_text("\n".join(lines[::step]) + "\n")
    model = learned(lines * 2)
    told: list[int] = []
    corpus = open_corpus(str(tmp_path))
    removal = simulate(load(document_of(model)), [256, 258])
    table = recost(removal, corpus, progress=told.append)
    assert table["language"].to_list() == ["de", "en"]
    old = [removal.before.encode(line) for line in lines]
    new = [removal.after.encode(line) for line in lines]
    for row in table.to_dicts():
        assert row["documents"] == len(lines)
        assert row["tokens_before"] == sum(map(len, old))
        assert row["tokens_after"] == sum(map(len, new)) > row["tokens_before"]
        assert row["changed"] == sum(one != two for one, two in zip(old, new, strict=True))
        assert row["unknown_before"] == row["unknown_after"] == 0
    assert sum(told) == table["bytes"].sum() == 2 * sum(map(len, lines))


def test_text_without_an_entry_is_counted():
    tokenizer = load(builders.wordpiece(["ab", "a", "##b"]))
    removal = simulate(tokenizer, [2, 1])
    encoded = removal.after.encode("ab")
    assert encoded == [0]
    assert removal.lost.tolist() == []


def test_added_tokens_keep_their_ids():
    backend = builders.byte_level([b"ab"], [(b"a", b"b")], special=["<end>"], added=["zork"])
    tokenizer = load(backend)
    removal = simulate(tokenizer, [256])
    assert removal.after.encode_control("ab<end>zork") == [97, 98, 258, 257]
    assert removal.after.inventory.frame["kind"][256] == "gap"
    assert removal.after.inventory.rows_needed == tokenizer.inventory.rows_needed == 259
    assert simulate(tokenizer, [256], "mask").after.inventory.frame["kind"][256] == "piece"


def test_a_masked_piece_of_sentencepiece_is_unused_and_loses_no_other(tmp_path):
    lines = ["the theme of these themes", "then the other thesis", "lather, rather, gather"] * 8
    for kind in ("bpe", "unigram"):
        data = builders.sentencepiece_model(lines, 60, kind)
        path = tmp_path / f"{kind}.model"
        path.write_bytes(data)
        tokenizer = load(path)
        longer = [
            token for token in range(tokenizer.inventory.rows_needed)
            if tokenizer.inventory.frame["kind"][token] == "piece" and tokenizer.inventory.lengths[token] > 2
        ][:4]  # fmt: skip
        removal = simulate(tokenizer, longer, "mask")
        assert removal.lost.tolist() == []
        corpus = tmp_path / "en.txt"
        corpus.write_text("\n".join(lines))
        proof = write(removal, tmp_path / f"edited-{kind}.model", open_corpus(str(corpus)))
        assert proof.documents == proof.alike == len(lines)
        upstream = sentencepiece.SentencePieceProcessor(model_file=proof.address)
        assert all(upstream.is_unused(token) for token in longer)
        assert all(set(upstream.encode(line)).isdisjoint(longer) for line in lines)
        with pytest.raises(SutureError, match="places in a list"):
            simulate(tokenizer, longer, "drop")


def test_the_least_score_of_a_sentencepiece_unigram_may_change_every_text(tmp_path):
    lines = ["the theme of these themes", "then the other thesis", "lather, rather, gather"] * 8
    path = tmp_path / "unigram.model"
    path.write_bytes(builders.sentencepiece_model(lines, 60, "unigram"))
    (tmp_path / "en.txt").write_text("\n".join([*lines, "thé ünknown theme 漢 the"]))
    tokenizer, corpus = load(path), open_corpus(str(tmp_path / "en.txt"))
    pieces = tokenizer.inventory.frame.filter(tokenizer.inventory.frame["kind"] == "piece").sort("score")
    for ids in (sorted(pieces["id"].head(3)), sorted(pieces["id"].tail(3))):
        removal = simulate(tokenizer, ids, "mask")
        assert removal.edited.everywhere == (pieces["id"][0] in ids)
        table = recost(removal, corpus)
        texts = [text for batch in corpus.batches() for text in batch.texts]
        assert table["tokens_after"].sum() == len(removal.after.encode_batch(texts).ids)
        unknown = np.isin(removal.after.encode_batch(texts).ids, [*tokenizer.unknown]).sum()
        assert table["unknown_after"].sum() == unknown > 0


def test_a_single_character_of_a_sentencepiece_bpe_stays(tmp_path):
    path = tmp_path / "small.model"
    path.write_bytes(builders.sentencepiece_model(["the theme"] * 9, 20, "bpe"))
    tokenizer = load(path)
    (token,) = tokenizer.inventory.find(b"h")
    with pytest.raises(SutureError, match="is one character"):
        simulate(tokenizer, [token], "mask")


@pytest.mark.parametrize(
    ("ids", "sentence"),
    [
        ([], "at least one entry must be named"),
        ([257 + 3], r"whole number in 0\.\.258; got 260"),
        ([-1], "got -1"),
        ([math.nan], "got nan"),
        ([256.0], "got 256.0"),
        ([True], "got True"),
        (["256"], "got '256'"),
        ([256, 256], "named once; got 256 2 times"),
        ([97], "97 stands for a byte"),
        ([258], "258 is a special token"),
        ([257], "257 is an added token"),
    ],
)
def test_what_cannot_be_taken_out_is_one_sentence(ids, sentence):
    tokenizer = load(builders.byte_level([b"ab"], [(b"a", b"b")], special=["<end>"], added=["zork"]))
    with pytest.raises(SutureError, match=sentence):
        simulate(tokenizer, ids)


def test_a_wrong_mode_and_another_format_are_one_sentence(tmp_path):
    tokenizer = load(builders.byte_level([b"ab"], [(b"a", b"b")]))
    with pytest.raises(SutureError, match="'drop' or 'mask'; got 'burn'"):
        simulate(tokenizer, [256], "burn")
    path = tmp_path / "rwkv.txt"
    path.write_text("1 'a' 1\n2 'ab' 2\n")
    with pytest.raises(SutureError, match="must come from"):
        simulate(load(path), [2])


def test_an_entry_whose_text_another_has_is_one_sentence(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("[UNK]\nab\na\nab\n##b\n")
    tokenizer = load(path)
    with pytest.raises(SutureError, match=r"1 of .* has no text of its own"):
        simulate(tokenizer, [1])
    assert simulate(tokenizer, [3]).after.encode("ab") == [2, 4]


def test_a_placeholder_that_text_could_spell_is_refused():
    backend = builders.bpe(["a", "b", *" []mskedz0123456789", "ab"], ["a b"], ignore_merges=True)
    tokenizer = load(backend)
    (token,) = tokenizer.inventory.find(b"ab")
    with pytest.raises(SutureError, match="use --mode drop"):
        simulate(tokenizer, [token], "mask")
    assert simulate(tokenizer, [token], "drop").after.encode("ab") == [0, 1]


@pytest.fixture(name="small")
def small_fixture(tmp_path):
    path = tmp_path / "tokenizer.json"
    builders.byte_level([b"th", b"the"], [(b"t", b"h"), (b"th", b"e")]).save(str(path))
    (tmp_path / "en.txt").write_text("the other\n\nöther\n")
    return path


def test_a_file_is_written_whole_and_read_by_the_library(small, tmp_path):
    removal = simulate(load(small), [257], "drop")
    proof = write(removal, tmp_path / "edited.json", open_corpus(str(tmp_path / "en.txt")))
    assert proof.documents == proof.exact == proof.alike == 3
    upstream = tokenizers.Tokenizer.from_file(str(tmp_path / "edited.json"))
    assert upstream.encode("the", add_special_tokens=False).ids == [256, 101]
    assert 257 not in upstream.get_vocab().values()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edited.json", "en.txt", "tokenizer.json"]


def test_no_file_is_lost(small, tmp_path):
    removal, corpus = simulate(load(small), [257]), open_corpus(str(tmp_path / "en.txt"))
    former = small.read_bytes()
    with pytest.raises(SutureError, match="is the tokenizer itself"):
        write(removal, small, corpus)
    with pytest.raises(SutureError, match="exists already"):
        write(removal, tmp_path / "en.txt", corpus)
    with pytest.raises(SutureError, match=r"named ….json"):
        write(removal, tmp_path / "edited.model", corpus)
    with pytest.raises(SutureError, match="writable"):
        write(removal, tmp_path / "nowhere" / "edited.json", corpus)
    assert small.read_bytes() == former
    assert len(list(tmp_path.iterdir())) == 2


def test_a_file_that_does_not_read_as_it_should_is_not_written(small, tmp_path, monkeypatch):
    removal = simulate(load(small), [257])
    wrong = small.read_bytes()  # the old document: it still gives the entry
    object.__setattr__(removal.edited, "data", lambda: wrong)
    with pytest.raises(SutureError, match="must encode as the tokenizer in memory does"):
        write(removal, tmp_path / "edited.json", open_corpus(str(tmp_path / "en.txt")))
    assert not (tmp_path / "edited.json").exists()


def drawn(tokenizer, number: int, least: int = 4) -> list[int]:
    frame, lengths = tokenizer.inventory.frame, tokenizer.inventory.lengths
    pool = np.flatnonzero((frame["kind"] == "piece").to_numpy() & (lengths >= least))
    used = np.unique(tokenizer.encode_batch(next(open_corpus("sample").batches()).texts).ids)
    some = np.random.default_rng(1).choice(pool, number, replace=False)
    both = np.union1d(some, np.intersect1d(pool, used)[:: max(1, len(used) // 40)]).tolist()
    return removable(tokenizer, both, "mask")[0]


REAL = [
    ("gpt2", "drop"), ("cl100k", "drop"), ("o200k", "mask"), ("tekken", "drop"), ("bert", "drop"),
    ("bert", "mask"), ("llama3", "drop"), ("llama3", "mask"), ("mistral-v1", "mask"), ("mistral-v3", "mask"),
]  # fmt: skip


@pytest.mark.vocabs
@pytest.mark.parametrize(("name", "mode"), REAL, ids=lambda value: value)
def test_a_published_vocabulary_reads_after_removal(need, tmp_path, name, mode):
    tokenizer = load(need(name))
    removal = simulate(tokenizer, drawn(tokenizer, 200), mode)
    corpus = open_corpus("sample")
    table = recost(removal, corpus)
    whole = sum(len(removal.after.encode_batch(batch.texts).ids) for batch in corpus.batches())
    assert table["tokens_after"].sum() == whole
    assert table["changed"].sum() > 0
    proof = write(removal, tmp_path / f"edited{removal.edited.suffix}", corpus)
    assert proof.documents == proof.alike + proof.unspelled == table["documents"].sum()
    again = load(proof.address)
    same = again.inventory.frame.join(tokenizer.inventory.frame, on=["id", "bytes"], how="inner").height
    special = (
        0 if removal.edited.suffix != ".tiktoken" else (tokenizer.inventory.frame["kind"] == "special").sum()
    )
    assert same >= len(tokenizer.inventory) - len(removal.ids) - special


@pytest.mark.vocabs
def test_entries_of_a_published_table_are_lost_as_a_whole_rebuild_says(need):
    tokenizer = load(need("gpt2"))
    gone = drawn(tokenizer, 100, least=2)
    removal = simulate(tokenizer, gone)
    ranks = {piece: rank for rank, piece in enumerate(tokenizer.inventory.pieces) if rank < 50_256}
    kept = {piece: rank for piece, rank in ranks.items() if rank not in set(gone)}
    before, after = merges_from_ranks(ranks), merges_from_ranks(kept)
    assert removal.lost.tolist() == np.setdiff1d(after.unbuilt, before.unbuilt).tolist()
    assert removal.won.tolist() == np.setdiff1d(before.unbuilt, [*after.unbuilt, *gone]).tolist()
    rows = before.merges[np.isin(before.merges, gone).any(axis=1)]
    assert {tuple(row) for row in removal.broken.tolist()} == {tuple(row) for row in rows.tolist()}


@pytest.mark.vocabs
def test_a_published_table_encodes_as_the_library_on_its_own(need):
    tokenizer = load(need("gpt2"))
    removal = simulate(tokenizer, drawn(tokenizer, 300, least=2))
    gone = set(removal.ids.tolist())
    pieces = tokenizer.inventory.pieces[:50_256]
    kept = {piece: rank for rank, piece in enumerate(pieces) if rank not in gone}
    library = tiktoken.Encoding("bare", pat_str=builders.GPT2, mergeable_ranks=kept, special_tokens={})
    reference = BPE.from_ranks(kept, builders.GPT2)
    for batch in open_corpus("sample", limit=4).batches():
        for text in batch.texts:
            ids = removal.after.encode(text)
            assert ids == library.encode_ordinary(text)
            assert ids == [
                token
                for piece in pretokens(text, builders.GPT2)
                for token in (
                    [kept[piece.encode()]] if piece.encode() in kept else reference.segment(piece.encode())
                )
            ]
