"""Treebank tokens: what is segmented, what is whole, and what a treebank does not say."""

import gzip

import pytest

from workbench.lexicons import open_lexicon

ROWS = [
    "# text = Don't sleep in cafés du port",
    "1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_",
    "1\tdo\tdo\tAUX\t_\tMood=Imp\t3\taux\t_\t_",
    "2\tn't\tnot\tPART\t_\t_\t3\tadvmod\t_\t_",
    "3\tsleep\tsleep\tVERB\t_\tVerbForm=Inf\t0\troot\t_\t_",
    "3.1\tghost\tghost\tVERB\t_\t_\t_\t_\t_\t_",
    "4\tcafés\tcafé\tNOUN\t_\tNumber=Plur\t3\tobl\t_\t_",
    "5-6\tdu\t_\t_\t_\t_\t_\t_\t_\t_",
    "5\tde\tde\tADP\t_\t_\t7\tcase\t_\t_",
    "6\tle\tle\tDET\t_\t_\t7\tdet\t_\t_",
    "7\tPort\tport\tNOUN\t_\t_\t3\tobl\t_\t_",
    "8\t,\t,\tPUNCT\t_\t_\t3\tpunct\t_\t_",
    "9-\tbroken\t_\t_\t_\t_\t_\t_\t_\t_",
    "",
]


@pytest.fixture
def place(tmp_path):
    (tmp_path / "fr_some-ud-dev.conllu").write_text("\n".join(ROWS) + "\n")
    return tmp_path / "fr_some-ud-dev.conllu"


def test_what_is_taken_and_what_is_not(place):
    lexicon = open_lexicon(str(place))
    assert lexicon.languages == ["fr"]
    rows = {row["word"]: row for row in lexicon.frame.iter_rows(named=True)}
    assert {word: row["morphs"] for word, row in rows.items()} == {
        "Don't": ["Do", "n't"], "sleep": ["sleep"], "Port": ["Port"],
    }  # fmt: skip
    assert (rows["sleep"]["lemma"], rows["sleep"]["pos"]) == ("sleep", "VERB")
    assert rows["sleep"]["features"] == "VerbForm=Inf"
    found = {
        row["reason"]: (row["first_line"], row["example"]) for row in lexicon.ledger.iter_rows(named=True)
    }
    assert found["unanalysed"] == (7, "cafés: cafés")
    assert found["not_concatenative"] == (8, "du: de + le")
    assert found["noise"][0] == 12
    assert found["malformed"][0] == 13


def test_words_of_a_token_may_lie_in_the_next_block(place, monkeypatch):
    whole = open_lexicon(str(place))
    for size in (1, 60, 130):
        monkeypatch.setattr("workbench.lexicons.files.BLOCK", size)
        again = open_lexicon(str(place))
        assert again.frame.equals(whole.frame)
        assert again.ledger.equals(whole.ledger)


def test_content_tells_it_without_the_name_and_packed(place):
    other = place.with_name("fr.txt.gz")
    other.write_bytes(gzip.compress(place.read_bytes()))
    assert open_lexicon(str(other)).frame.equals(open_lexicon(str(place)).frame)
