"""Bridges between vocabularies, against plain loops over entries."""

import pytest

from tests import builders
from vocab_audits.bridgeable import bridgeable
from workbench.adapters import load
from workbench.corpora import open_corpus
from workbench.errors import SutureError


def figures(outcome, subject):
    return {row.measure: row.value for row in outcome.findings if row.subject == subject}


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "en.txt").write_text("the then there cat catch\nthe cat the cat\n")
    return open_corpus(str(tmp_path))


def vocabularies():
    one = builders.byte_level(
        [b"th", b"the", b"ca", b"cat"], [(b"t", b"h"), (b"th", b"e"), (b"c", b"a"), (b"ca", b"t")]
    )
    merges = [(b"c", b"a"), (b"h", b"e"), (b"t", b"he"), (b"the", b"n"), (b"t", b"h")]
    two = builders.byte_level([b"ca", b"he", b"the", b"then", b"th"], merges)
    return load(one, "one"), load(two, "two")


def test_every_figure_by_a_loop(corpus):
    one, two = vocabularies()
    outcome = bridgeable([one, two], corpus, cache=False)
    texts = [text for batch in corpus.batches() for text in batch.texts]
    for teacher, student in ((one, two), (two, one)):
        entries = {at: piece for at, piece in enumerate(teacher.inventory.pieces) if piece}
        known = {piece for piece in student.inventory.pieces if piece}
        tokens = [token for text in texts for token in teacher.encode(text)]
        home = {
            at: max(
                (piece[:n] for n in range(1, len(piece) + 1) if piece[:n] in known), key=len, default=None
            )
            for at, piece in entries.items()
        }
        span = {at for at, piece in entries.items() if any(k.startswith(piece) and k != piece for k in known)}
        twin = {at for at, piece in entries.items() if piece in known}
        found = figures(outcome, f"{teacher.name} to {student.name}")
        assert found == pytest.approx({
            "entries_compared": len(entries),
            "entries_with_twin": len(twin) / len(entries),
            "entries_with_home": sum(value is not None for value in home.values()) / len(entries),
            "entries_spannable": len(span) / len(entries),
            "residual_expected": sum(home[token] is None for token in tokens) / len(tokens),
            "spannable_expected": sum(token in span for token in tokens) / len(tokens),
            "twins_expected": sum(token in twin for token in tokens) / len(tokens),
            "student_entries_reached": len({value for value in home.values() if value}) / len(known),
        })  # fmt: skip
    table = outcome.tables["bridgeable_map"].filter(subject="one to two")
    pieces = two.inventory.pieces
    for row in table.iter_rows(named=True):
        assert row["bytes"].startswith(pieces[row["home"]])
        assert row["twin"] == (row["bytes"] == pieces[row["home"]])


def test_a_vocabulary_bound_to_places_in_words_is_left_out_with_the_reason(corpus):
    one, _ = vocabularies()
    pieces = load(builders.wordpiece(["[UNK]", "the", "##n"]), "pieces")
    outcome = bridgeable([one, pieces], corpus, cache=False)
    assert outcome.tables == {}
    assert all(row.value is None and row.note.startswith("not applicable") for row in outcome.findings)


def test_one_tokenizer_is_no_pair(corpus):
    with pytest.raises(SutureError, match="needs two tokenizers"):
        bridgeable(list(vocabularies()[:1]), corpus)


def test_published_vocabularies():
    small, large = load("tiktoken:r50k_base"), load("tiktoken:o200k_base")
    outcome = bridgeable([large, small], open_corpus("sample"), cache=False)
    found = figures(outcome, f"{large.name} to {small.name}")
    assert found["residual_expected"] == 0, "both spell every byte"
    assert found["entries_with_home"] == 1
    twins = found["entries_with_twin"] * found["entries_compared"]
    union = len(small.inventory) + len(large.inventory) - twins
    assert twins / union == pytest.approx(0.2067, abs=1e-4), "the byte Jaccard that two codes agree on"
