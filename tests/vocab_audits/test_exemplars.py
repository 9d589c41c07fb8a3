"""Word families against plain loops, digit groupings of known tokenizers, and what a page shows of them."""

from __future__ import annotations

import itertools
import unicodedata

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders, reports
from tests.vocabs import need
from vocab_audits.digitgroups import drawn, grouped
from vocab_audits.exemplars import exemplars
from vocab_audits.families import KINDS, read_families
from vocab_audits.familymeasures import MEASURES, Cut, edges, measured
from vocab_audits.gathering import card
from workbench.adapters import load
from workbench.errors import SutureError
from workbench.report.writing import write_report
from workbench.segmentation import Segmentation

NAMES = [f"{measure.name}, {measure.variant.partition(',')[0]}" for measure in MEASURES]


class Marked:
    """A segmenter whose cuts are those of a table from texts to pieces; others are cut into characters."""

    name = "marked"

    def __init__(self, *texts):
        self.cuts = {text.replace("|", ""): text.split("|") for text in texts}

    def segment(self, text):
        pieces = self.cuts.get(text, list(text))
        return Segmentation.from_cuts(
            text.encode(), [0, *itertools.accumulate(len(p.encode()) for p in pieces)]
        )

    def segment_batch(self, texts):
        return [self.segment(text) for text in texts]


def family_file(folder, text, name="own.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def own(folder, *forms, kind="inflection", stem=None, boundary=None):
    lines = ["[[family]]", 'name = "own"', f'kind = "{kind}"', 'language = "en"',
             f"forms = [{', '.join(map(repr, forms))}]"]  # fmt: skip
    lines += [f'stem = "{stem}"'] if stem else []
    lines += [f'boundary = "{boundary}"'] if boundary else []
    return family_file(folder, "\n".join(lines))


def figures(folder, segmenter, *forms, **about):
    (found,) = read_families(own(folder, *forms, **about))
    cuts = [Cut.of(form, segmenter.segment(form)) for form in found.forms]
    spaced = [Cut.of(f" {form}", segmenter.segment(f" {form}")) for form in found.forms]
    return dict(zip(NAMES, measured(found, cuts, spaced), strict=True))


def test_figures_by_hand(tmp_path):
    segmenter = Marked("walk", "walk|s", "wal|ked", " walk", " walk|s", " walked")
    found = figures(tmp_path, segmenter, "walk", "walk/s", "walk/ed", stem="walk", boundary="/")
    assert found == {
        "tokens_per_form, mean over forms": pytest.approx(5 / 3),
        "whole_forms, one token": pytest.approx(1 / 3),
        "jaccard, tokens by id": None,
        "jaccard, pieces": pytest.approx((1 / 2 + 0 + 0) / 3),
        "stem_alike, same cuts inside the stem": pytest.approx(1 / 3),
        "boundary_recall, micro over forms": 0.5,
        "boundary_precision, micro over forms": 0.5,
        "same_cuts, pairs with as many grapheme clusters": None,
        "space_alike, same cuts after a space as without": pytest.approx(2 / 3),
        "edges_cut, between the words of an identifier": None,
        "cuts_on_edges, between the words of an identifier": None,
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=4), min_size=2,
                max_size=5, unique_by="".join))  # fmt: skip
def test_consistency_as_a_loop_has_it(tmp_path_factory, forms):
    segmenter = Marked(*("|".join(form) for form in forms))
    texts = ["".join(form) for form in forms]
    found = figures(tmp_path_factory.mktemp("own"), segmenter, *texts, kind="spelling")
    shares, same = [], []
    for one, two in itertools.combinations(forms, 2):
        shares.append(len(set(one) & set(two)) / len(set(one) | set(two)))
        if len("".join(one)) == len("".join(two)):
            same.append(list(map(len, one)) == list(map(len, two)))
    assert found["jaccard, pieces"] == pytest.approx(np.mean(shares))
    assert found["same_cuts, pairs with as many grapheme clusters"] == (
        pytest.approx(np.mean(same)) if same else None
    )


def test_writing_is_compared_by_what_the_reader_sees(tmp_path):
    composed, decomposed = "caf\u00e9s", "cafe\u0301s"
    alike = figures(tmp_path, Marked("caf\u00e9|s", "cafe\u0301|s"), composed, decomposed, kind="unicode")
    other = figures(tmp_path, Marked("caf\u00e9|s", "cafe|\u0301s"), composed, decomposed, kind="unicode")
    assert alike["same_cuts, pairs with as many grapheme clusters"] == 1
    assert other["same_cuts, pairs with as many grapheme clusters"] == 0


def test_an_unknown_token_is_shared_with_no_form(tmp_path):
    tokenizer = load(builders.wordpiece(["walk", "##s"]), "small")
    found = exemplars([tokenizer], families=own(tmp_path, "zzz", "qqq", "walk", "walks", kind="spelling"))
    rows = found.tables["exemplars_families"].filter(measure="jaccard")
    pairs = dict(rows.select("variant", "value").iter_rows())
    assert pairs["tokens by id, mean over pairs of forms"] == pytest.approx((1 / 2) / 6)
    lost = found.table().filter(measure="forms_not_spelled").row(0, named=True)
    assert (lost["value"], lost["severity"]) == (2.0, "warn")
    assert lost["evidence"] == "zzz, qqq"


def test_a_space_that_a_tokenizer_drops_is_no_loss_and_no_cut(tmp_path):
    tokenizer = load(builders.wordpiece(["walk", "##s"]), "small")
    found = exemplars([tokenizer], families=own(tmp_path, "walk", " walks", kind="space"))
    table = found.tables["exemplars"]
    assert table["spelled"].to_list() == [True, True]
    assert table["cuts"].to_list() == [[], [5]]
    assert table["tokens"].to_list() == [[1], [1, 2]]


@pytest.mark.parametrize(
    ("form", "expected"),
    [("getUserName", [(3, 3), (7, 7)]), ("get_user", [(3, 4)]), ("HTTPServer", [(4, 4)]), ("a--b", [(1, 3)]),
     ("_private", []), ("size2Max", [(5, 5)]), ("übEr_x", [(3, 3), (5, 6)]), ("plain", [])],
)  # fmt: skip
def test_word_edges_of_identifiers(form, expected):
    assert list(edges(form)) == expected


def test_identifiers_cut_at_their_words(tmp_path):
    segmenter = Marked("get|User", "get|_user")
    good = figures(tmp_path, segmenter, "getUser", "get_user", kind="code")
    assert good["edges_cut, between the words of an identifier"] == 1
    assert good["cuts_on_edges, between the words of an identifier"] == 1
    bad = figures(tmp_path, Marked("ge|tU|ser", "get_|us|er"), "getUser", "get_user", kind="code")
    assert bad["edges_cut, between the words of an identifier"] == 0.5
    assert bad["cuts_on_edges, between the words of an identifier"] == 0.25


# Digits


class Threes:
    """Cuts digits in groups from the left or from the right."""

    name = "threes"

    def __init__(self, size, *, right=False):
        self.size, self.right = size, right

    def segment(self, text):
        first = len(text) % self.size if self.right else 0
        cuts = sorted({0, *range(first, len(text), self.size), len(text)})
        return Segmentation.from_cuts(text.encode(), cuts)

    def segment_batch(self, texts):
        return [self.segment(text) for text in texts]


@pytest.mark.parametrize(
    ("segmenter", "seven", "pattern", "recall", "precision"),
    [(Threes(3), "3+3+1", "threes from the left", 1 / 3, 1 / 3),
     (Threes(3, right=True), "1+3+3", "threes from the right", 1, 1),
     (Threes(1), "1+1+1+1+1+1+1", "single digits", 1, 1 / 3),
     (Threes(9), "7", "whole", 0, None), (Threes(2), "2+2+2+1", "other", None, None)],
)  # fmt: skip
def test_groupings_that_length_alone_decides(segmenter, seven, pattern, recall, precision):
    found = grouped(segmenter, drawn(9, 50, 0))
    assert found.consistency == 1
    row = found.table.filter(length=7).row(0, named=True)
    assert (row["grouping"], row["pattern"], row["share"]) == (seven, pattern, 1)
    lengths = dict(found.table.group_by("length").agg(pl.col("numbers").sum()).iter_rows())
    places = sum((length - 1) // 3 * count for length, count in lengths.items() if length > 3)
    hits = made = 0
    for length, count in lengths.items():
        if length > 3:
            cuts = segmenter.segment("1" * length).boundaries
            made += len(cuts) * count
            hits += sum((length - cut) % 3 == 0 for cut in cuts.tolist()) * count
    assert found.thousands_cut == pytest.approx(hits / places)
    assert found.cuts_on_thousands == (pytest.approx(hits / made) if made else None)
    if pattern.startswith("threes from the right") or pattern == "single digits":
        assert found.thousands_cut == recall
    if pattern == "threes from the right":
        assert found.cuts_on_thousands == precision


def test_groupings_of_a_merge_that_meets_some_numbers():
    tokenizer = load(builders.encoding([b"12"], pattern=r"\d+|\D+"), "small")
    found = grouped(tokenizer, ["11", "12", "13", "120", "121"])
    assert found.table.select("length", "grouping", "numbers").rows() == [
        (2, "1+1", 2), (2, "2", 1), (3, "2+1", 2)
    ]  # fmt: skip
    assert found.consistency == pytest.approx(4 / 5)


def test_numbers_are_all_or_drawn_the_same_each_time():
    assert drawn(2, 90, 0) == [str(value) for value in range(100)]
    some = drawn(12, 30, 1)
    assert some == drawn(12, 30, 1)
    assert some != drawn(12, 30, 2)
    assert all(number == str(int(number)) for number in some)
    assert {len(number) for number in some} == set(range(1, 13))
    with pytest.raises(SutureError, match="digits must be 1 to"):
        drawn(40, 5, 0)
    with pytest.raises(SutureError, match="numbers 1 and more"):
        drawn(4, 0, 0)


# Files of families


def test_our_own_families_are_sound():
    found = read_families()
    assert {family.kind for family in found} == set(KINDS)
    for family in found:
        assert family.stem is None or sum(family.stem in form for form in family.forms) > 1
        if family.kind == "unicode":
            one, two = family.forms
            assert unicodedata.normalize("NFC", two) == one
            assert unicodedata.normalize("NFD", one) == two
        for form, places in zip(family.forms, family.boundaries or (), strict=family.boundaries is not None):
            assert all(form.encode()[:place].decode() for place in places)


def test_a_table_says_the_same_as_toml(tmp_path):
    rows = ["family\tkind\tlanguage\tform\tmorphs\tstem", "own\tinflection\ten\twalk\twalk\twalk",
            "own\tinflection\ten\twalks\twalk|s\twalk"]  # fmt: skip
    table = read_families(family_file(tmp_path, "\n".join(rows), "own.tsv"))
    assert table == read_families(own(tmp_path, "walk", "walk/s", stem="walk", boundary="/"))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "family = [", "must be TOML"),
        ("a.toml", "family = 3", "must be tables"),
        ("a.toml", "", "must hold 1 to"),
        ("a.toml", '[[family]]\nname = "a"\nkind = "odd"\nforms = ["a", "b"]', "one of inflection"),
        ("a.toml", '[[family]]\nname = "a"\nkind = "case"\nforms = ["a"]', "two forms and more"),
        ("a.toml", '[[family]]\nname = "a"\nkind = "case"\nforms = ["a", ""]', "two forms and more"),
        ("a.toml", '[[family]]\nname = "a"\nkind = "case"\nforms = ["a", 3]', "must be text"),
        ("a.toml", '[[family]]\nname = "a"\nkind = "case"\nforms = ["a", "a"]', "must differ"),
        ("a.toml", '[[family]]\nname = "a"\nkind = "case"\nforms = ["a", "b"]\nstem = "x"', "hold its stem"),
        (
            "a.toml",
            '[[family]]\nname = "a"\nkind = "case"\nforms = ["a", "b"]\nboundary = ""',
            "must be a sign",
        ),
        ("a.toml", '[[family]]\nname = "a"\nkind = "case"\nform = ["a", "b"]', "a family holds"),
        ("a.toml", '[[family]]\nname = "a"\nkind = "case"\nforms = ["a", "b"]\n' * 2, "twice"),
        ("a.tsv", "family\tform\na\tb", "must begin with the columns"),
        ("a.tsv", "family\tkind\tlanguage\tform\na\tcase\ten", "must have 4 columns; line 2"),
        ("a.tsv", "family\tkind\tlanguage\tform\tmorphs\na\tcase\ten\tab\ta|c", "must join to it; line 2"),
    ],
)
def test_a_malformed_file_is_refused_in_a_sentence(tmp_path, name, text, said):
    with pytest.raises(SutureError, match=said) as caught:
        read_families(family_file(tmp_path, text, name))
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(SutureError, match="readable file in UTF-8"):
        read_families(str(tmp_path / "none.toml"))
    (tmp_path / "odd.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SutureError, match="readable file in UTF-8"):
        read_families(str(tmp_path / "odd.toml"))


# The audit and its page


def test_every_form_is_in_the_grid_for_every_segmenter():
    segmenters = [load(builders.byte_level([b"wa", b"walk"], [(b"w", b"a")]), "small"), Marked("walk|s")]
    outcome = exemplars(segmenters, digits=3, numbers=5)
    forms = sum(len(family.forms) for family in read_families())
    table = outcome.tables["exemplars"]
    assert table.group_by("subject", maintain_order=True).len().rows() == [
        ("small", forms),
        ("marked", forms),
    ]
    assert table.filter(subject="marked")["tokens"].null_count() == forms
    for row in table.iter_rows(named=True):  # bytes in, bytes out
        assert b"".join(row["pieces"]) == row["form"].encode()
    assert exemplars([]).tables["exemplars"].is_empty()


@pytest.mark.parametrize(("name", "spec", "commonest"), [
    ("cl100k", "{}#pattern=cl100k_base", "3+3+1"), ("mistral-v1", "{}", "1+1+1+1+1+1+1"),
])  # fmt: skip
def test_real_vocabularies_group_digits_as_their_makers_say(name, spec, commonest):
    tokenizer = load(spec.format(need(name)))
    outcome = exemplars([tokenizer], digits=7, numbers=40)
    rows = outcome.tables["exemplars_digits"].filter(length=7)
    assert rows.select("grouping", "share").rows() == [(commonest, 1.0)]


def shown(folder, outcome):
    run = reports.write(folder / "run", [outcome], known=[exemplars], subjects=[card(Marked())])
    return write_report(run)[0].read_text("utf-8")


def test_what_a_family_says_is_shown_and_not_run(tmp_path):
    forms = ["<script>alert(1)</script>", "</td><b>x", "\u202eabc", "x\n|y"]
    lines = [f"[[family]]\nname = {name!r}\nkind = 'code'\nlanguage = '<i>'\nforms = {forms!r}"
             for name in ("<img src=x onerror=alert(1)>", "b")]  # fmt: skip
    path = family_file(
        tmp_path, "\n".join(lines).replace("'\\u202eabc'", '"\\u202eabc"').replace("'x\\n|y'", '"x\\n|y"')
    )
    outcome = exemplars([Marked()], families=path, digits=2, numbers=3)
    page = shown(tmp_path, outcome)
    for raw in ("<script>alert", "<img", "<i>", "</td><b>", "\u202e"):
        assert raw not in page
    assert "&lt;" in page


def test_a_page_draws_pieces_in_boxes_and_hebrew_from_the_right(tmp_path):
    lines = ["family\tkind\tlanguage\tform\tmorphs", "w\tplural\the\tספר\tספר",
             "w\tplural\the\tספרים\tספר|ים",
             "v\tplural\ten\tcat\tcat", "v\tplural\ten\tcats\tcat|s"]  # fmt: skip
    path = family_file(tmp_path, "\n".join(lines), "own.tsv")
    outcome = exemplars([Marked("ספר|ים", "cats")], families=path, digits=2, numbers=3)
    page = shown(tmp_path, outcome)
    stem, plural = (f'<bdi class="token chip" dir="rtl">{piece}</bdi>' for piece in ("ספר", "ים"))
    assert f'{stem}<span class="joint">|</span>{plural}' in page
    assert 'dir="ltr">cat<bdi class="name" dir="ltr">○</bdi>s</bdi>' in page


def test_findings_name_a_definition_and_a_unit(tmp_path):
    outcome = exemplars([Marked("walk|s")], digits=3, numbers=5)
    table = outcome.table()
    assert table.filter(pl.col("unit").is_null() | pl.col("variant").is_null()).is_empty()
    assert table.filter(pl.col("value").is_null() & pl.col("note").is_null()).is_empty()
    assert table.select("subject", "measure", "variant", "language").is_duplicated().sum() == 0
