"""Unequal treatment: the lists, the figures against a slow way to them, and what must not be shown."""

from __future__ import annotations

import hashlib
import importlib.util
import tomllib
import unicodedata

import numpy as np
import polars as pl
import pytest

from tests import builders
from vocab_audits.asymmetry import asymmetry
from vocab_audits.run import Plan, run
from vocab_audits.termcosts import zipf
from vocab_audits.twins import embedded, read_names, read_twins
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.paths import bundle

FAST = {"resamples": 0, "draws": 99}


@pytest.fixture(scope="module", name="small")
def small_fixture():
    """Bytes, and the masculine forms of three words as one token after a space and alone."""
    words = [b"Lehrer", b" Lehrer", b"maestro", b" maestro", b"color", b" color"]
    ranks = builders.byte_ranks()
    for word in words:
        for end in range(2, len(word) + 1):
            ranks.setdefault(word[:end], len(ranks))
    return load(builders.encoding(ranks=ranks, pattern=builders.GPT2), "small")


def lists():
    return {(each.kind, each.language): each for each in embedded()}


def test_our_own_pairs_are_whole():
    found = lists()
    assert {language for kind, language in found if kind == "gender"} == {"de", "es", "fr", "it", "ru"}
    assert {language for kind, language in found if kind == "spelling"} == {"en", "de", "pt"}
    for each in found.values():
        assert len(each.first) == len(each.second) >= 60
        assert len(set(each.first)) == len(set(each.second)) == len(each.first)
        terms = [*each.first, *each.second]
        assert all(unicodedata.is_normalized("NFC", term) and term.isalpha() for term in terms)
        assert all(one != two for one, two in zip(each.first, each.second, strict=True))


def test_their_digests_are_those_of_the_catalog():
    rows = tomllib.loads((bundle("corpora") / "catalog.toml").read_text("utf-8"))["pairs"]["files"]
    for row in rows:
        data = (bundle("corpora") / row["path"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == row["sha256"]


def test_differences_are_those_of_encoding_term_by_term(small):
    table = asymmetry(small, **FAST).tables["asymmetry"]
    for each in embedded():
        for context, before in (("alone", ""), ("after a space", " ")):
            sides = [
                [len(small.encode(before + term)) for term in terms] for terms in (each.first, each.second)
            ]
            sizes = [[len(term.encode()) for term in terms] for terms in (each.first, each.second)]
            own = table.filter(kind=each.kind, language=each.language, context=context, matching="twins")
            rows = {row["measure"]: row for row in own.to_dicts()}
            tokens = np.array(sides, float)
            assert rows["tokens"]["difference"] == pytest.approx((tokens[1] - tokens[0]).mean())
            ratio = np.array(sizes, float) / tokens
            assert rows["bytes_per_token"]["difference"] == pytest.approx((ratio[1] - ratio[0]).mean())
            assert rows["whole"]["mean_first"] == pytest.approx((tokens[0] == 1).mean())
            assert rows["whole"]["pairs"] == len(each.first)
    whole = table.filter(
        kind="gender", language="de", measure="whole", matching="twins", context="after a space"
    )
    assert whole["mean_first"].item() == pytest.approx(1 / 70)
    assert whole["mean_second"].item() == 0


def test_no_difference_where_there_is_none():
    letters = load(builders.encoding(pattern=r"[\s\S]"), "bytes")
    table = asymmetry(letters, **FAST).tables["asymmetry"].filter(matching="twins", context="alone")
    table = table.filter(measure="bytes_per_token")
    assert table["difference"].to_list() == [0.0] * table.height
    assert table["p"].to_list() == [1.0] * table.height
    assert table["dz"].null_count() == table.height


def test_the_other_way_round_changes_the_sign_alone(small, tmp_path):
    names = ["zork", "blarf", "Lehrer", "maestro", "quux", "color"]
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("term,twin\n" + "".join(f"{a},{b}\n" for a, b in zip(names[:3], names[3:], strict=True)))
    two.write_text("term,twin\n" + "".join(f"{b},{a}\n" for a, b in zip(names[:3], names[3:], strict=True)))
    tables = [
        asymmetry(small, twins=str(path), **FAST).tables["asymmetry"].filter(kind="twins", matching="twins")
        for path in (one, two)
    ]
    assert np.allclose(tables[0]["difference"], -tables[1]["difference"].to_numpy())
    assert tables[0]["p"].to_list() == tables[1]["p"].to_list()
    assert tables[0]["language"].null_count() == tables[0].height


def test_names_are_compared_by_group_and_weight(small, tmp_path):
    path = tmp_path / "names.tsv"
    rows = [("Lehrer", "a", 3), ("zork", "a", 1), ("blarf", "b", 2), ("color", "b", 2), ("quux", "c", 1)]
    path.write_text("name\tgroup\tweight\n" + "".join(f"{n}\t{g}\t{w}\n" for n, g, w in rows))
    table = asymmetry(small, names=str(path), **FAST).tables["asymmetry"].filter(kind="names", matching="all")
    assert set(zip(table["first"], table["second"], strict=True)) == {("a", "b"), ("a", "c")}
    row = table.filter(second="b", context="alone", measure="tokens").to_dicts()[0]
    assert row["mean_first"] == pytest.approx((3 * 1 + 1 * 4) / 4)
    assert row["mean_second"] == pytest.approx((2 * 5 + 2 * 1) / 4)
    assert row["dz"] is None
    assert row["pairs"] is None


def test_equal_frequency_pairs_alike_words(small):
    pytest.importorskip("wordfreq", reason='wordfreq is not installed: pip install "suture[linguistics]"')
    table = asymmetry(small, apart=0.1, **FAST).tables["asymmetry"].filter(matching="frequency")
    assert table["pairs"].min() > 5
    assert (table["zipf_first"] - table["zipf_second"]).abs().max() <= 0.1 + 1e-9
    before = (
        asymmetry(small, **FAST).tables["asymmetry"].filter(matching="twins", language="de", kind="gender")
    )
    assert (before["zipf_first"] - before["zipf_second"]).min() > 0.5  # the feminine is the rarer word


def test_frequencies_are_those_of_wordfreq():
    wordfreq = pytest.importorskip("wordfreq", reason='not installed: pip install "suture[linguistics]"')
    for each in embedded():
        terms = [*each.first, *each.second, "zorkblarf", "the house", "Mary-Ann", "!?"]
        theirs = np.array([wordfreq.zipf_frequency(term, each.language) for term in terms])
        ours = zipf(terms, each.language)
        assert np.array_equal(np.isnan(ours), theirs == 0)
        assert np.allclose(ours[theirs > 0], theirs[theirs > 0], atol=0.011)
    assert np.isnan(zipf(["zork"], "xx")).all()


def test_without_wordfreq_it_is_said(small, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "wordfreq" else real(name, *rest)
    )
    found = asymmetry(small, **FAST).table()
    missing = found.filter(pl.col("variant").str.contains("equal frequency"))
    assert missing["value"].null_count() == missing.height > 0
    assert missing["note"].str.contains("suture\\[linguistics\\]").all()
    assert found.filter(measure="frequency_known")["value"].to_list() == [None]


def test_terms_without_an_entry_are_left_out_with_their_twin():
    tokenizer = load(
        builders.wordpiece([*"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz")])
    )
    table = asymmetry(tokenizer, **FAST).tables["asymmetry"].filter(matching="twins")
    russian = table.filter(language="ru")
    assert russian["pairs"].to_list() == [0] * russian.height
    assert russian["unspelled"].to_list() == [70] * russian.height
    assert russian["difference"].null_count() == russian.height
    assert table.filter(kind="spelling", language="en")["unspelled"].max() == 0


def test_many_languages_are_corrected_for(small):
    table = (
        asymmetry(small, **FAST).tables["asymmetry"].filter(kind="gender", context="alone", measure="tokens")
    )
    twins = table.filter(matching="twins")
    assert (twins["p_holm"] >= twins["p"]).all()
    assert twins["p_holm"].min() == pytest.approx(min(1.0, 5 * twins["p"].min()))


def test_a_warning_needs_both_ways(small):
    outcome = asymmetry(small, **FAST)
    rows, found = outcome.tables["asymmetry"], outcome.table()
    wanted = set()
    own = rows.filter(matching="twins", context="after a space", measure="tokens")
    for row in own.to_dicts():
        key = {name: row[name] for name in ("kind", "language", "context", "measure")}
        even = rows.filter(matching="frequency", **key).to_dicts()[0]
        values = [row, *([even] if even["p_holm"] is not None else [])]
        if (
            all(each["p_holm"] < 0.05 for each in values)
            and len({each["difference"] > 0 for each in values}) == 1
        ):
            wanted.add((row["kind"], row["language"]))
    assert wanted
    warned = found.filter(pl.col("severity") != "info")
    kinds = warned["variant"].str.split(":").list.first()
    assert set(zip(kinds, warned["language"], strict=True)) == wanted
    assert warned["measure"].is_in(["tokens_difference"]).all()


def test_it_is_the_same_twice(small):
    one, two = asymmetry(small, resamples=50), asymmetry(small, resamples=50)
    assert one.table().equals(two.table())
    assert one.tables["asymmetry"].equals(two.tables["asymmetry"])


def test_intervals_hold_the_value(small):
    table = asymmetry(small, resamples=200).tables["asymmetry"].filter(matching="twins")
    assert (
        (table["low"] <= table["difference"] + 1e-9) & (table["difference"] <= table["high"] + 1e-9)
    ).all()


def test_no_term_stands_outside_its_table(small, tmp_path):
    path = tmp_path / "names.csv"
    path.write_text("name,group\nZorkblat,a\nQuuxilda,b\nBlarfine,b\n")
    found = asymmetry(small, names=str(path), **FAST)
    assert asymmetry.sensitive
    told = found.table().drop("token").write_csv()
    assert found.table()["token"].null_count() == found.table().height
    assert all(name not in told for name in ("Zorkblat", "Quuxilda", "Blarfine", "Lehrerin"))
    assert "Zorkblat" in found.tables["asymmetry_terms"]["term"].to_list()
    assert "Zorkblat" not in found.tables["asymmetry"].write_csv()


def test_a_report_draws_it_without_terms(small, tmp_path):
    path = tmp_path / "tokenizer.json"
    builders.byte_level([b"ab"], [(b"a", b"b")]).save(str(path))
    plan = Plan((f"one={path}",), only=("asymmetry",), options={"asymmetry": FAST})
    page = run(plan, tmp_path / "run", ["suture"]).run.folder / "report.html"
    text = page.read_text(encoding="utf-8")
    assert "Each term against its twin" in text
    assert "feminine − masculine (de)" in text
    assert "Lehrerin" not in text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"name\nzork\n", "must have the columns name and group"),
        (b"name,group\n", "1 to 200,000 rows"),
        (b"", "must be a table in UTF-8"),
        (b"name,group\nzork,\xff\n", "must be a table in UTF-8"),
        (b"name,group\nzork,a\n", "two groups or more"),
        (b"name,group\nzork,a\n,b\n", "fill name and group in each row"),
        (b"name,group,weight\nzork,a,1\nblarf,b,-1\n", "a number above 0"),
        (b"name,group,weight\nzork,a,1\nblarf,b,nan\n", "a number above 0"),
        (b"name,group,weight\nzork,a,1\nblarf,b,\n", "a number above 0"),
        (b"name,group\nzork,a,b,c,d\n", "must be a table in UTF-8"),
    ],
)
def test_a_broken_list_is_one_sentence(tmp_path, content, sentence):
    path = tmp_path / "names.csv"
    path.write_bytes(content)
    with pytest.raises(SutureError, match=sentence) as caught:
        read_names(str(path), "en")
    assert str(caught.value).count("\n") == 0


def test_a_list_too_long_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "twins.csv"
    path.write_text("term,twin\n" + "zork,blarf\n" * 10)
    monkeypatch.setattr("vocab_audits.twins.MOST", 9)
    with pytest.raises(SutureError, match="1 to 9 rows"):
        read_twins(str(path))
    monkeypatch.setattr("vocab_audits.twins.LARGEST", 20)
    with pytest.raises(SutureError, match="at most"):
        read_twins(str(path))
    with pytest.raises(SutureError, match="readable file"):
        read_twins(str(tmp_path / "none.csv"))


def test_cells_that_act_elsewhere_are_text_here(small, tmp_path):
    path = tmp_path / "twins.tsv"
    path.write_text("\ufeffterm\ttwin\tlanguage\n=1+1\t<b>zork</b>\txx\n@cmd\tblarf\t\n")
    found = read_twins(str(path))
    assert [(each.language, each.first, each.second) for each in found] == [
        ("xx", ("<b>zork</b>",), ("=1+1",)),
        ("und", ("blarf",), ("@cmd",)),
    ]
    assert asymmetry(small, twins=str(path), **FAST).table().filter(language="xx").height > 0


@pytest.mark.parametrize(
    "options", [{"draws": 0}, {"resamples": -1}, {"apart": -0.1}, {"apart": float("nan")}]
)
def test_a_number_without_sense_is_one_sentence(small, options):
    with pytest.raises(SutureError, match="draws must be above 0"):
        asymmetry(small, **options)


@pytest.mark.vocabs
def test_a_published_vocabulary_splits_the_feminine_more(need):
    found = asymmetry(load(need("o200k")), resamples=0).tables["asymmetry"]
    rows = found.filter(kind="gender", context="after a space", measure="tokens", matching="twins")
    assert (rows["difference"] > 0).all()
    assert (rows["p_holm"] < 0.05).all()
    german = rows.filter(language="de")
    assert german["difference"].item() == pytest.approx(62 / 70)
