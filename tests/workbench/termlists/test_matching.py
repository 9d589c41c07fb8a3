"""Hits by one automaton against brute force, and what must and must not be hit."""

import polars as pl
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workbench.inventory import Inventory
from workbench.termlists import folding, open_lists
from workbench.termlists.files import framed
from workbench.termlists.matching import HITS, match, occurrences
from workbench.termlists.rows import About, built


def lists(*terms, **more):
    rows = [(line, {"term": term, "category": "slur", **more}) for line, term in enumerate(terms, 1)]
    return built(framed(rows), About("made", "made", "CC0", "0" * 64), {})


def inventory(*pieces, positions=None):
    columns = {
        "id": range(len(pieces)),
        "bytes": [piece.encode() if isinstance(piece, str) else piece for piece in pieces],
    }
    return Inventory.build("made", "made", columns | ({"position": positions} if positions else {}))


def kinds(found):
    return {(row["token_id"], row["term"]): row["kind"] for row in found.iter_rows(named=True)}


def test_a_neutral_twin_comes_with_its_entry():
    found = match(inventory(" zork", "zork", " grue", "grue"), lists("zork", twin="grue"))
    assert found.select("token_id", "twin", "twin_id").rows() == [(0, "grue", 2), (1, "grue", 3)]
    assert match(inventory(" zork"), lists("zork", twin="grue"))["twin_id"].to_list() == [None]


def test_boundaries():
    pieces = (
        "(zork)",
        "_zork",
        " zork's",
        "zorks",
        "zork1",
        "my zork",
        "zork my",
        " zork-blarf",
        "彩zork票",
        "ZorkZork",
        " #zork",
    )
    assert kinds(match(inventory(*pieces), lists("zork"))) == {
        (0, "zork"): "word", (1, "zork"): "word", (2, "zork"): "word", (5, "zork"): "word",
        (6, "zork"): "fragment",
        (7, "zork"): "word", (8, "zork"): "word", (10, "zork"): "word",
    }  # fmt: skip


def test_an_entry_that_begins_a_word_needs_no_space():
    found = match(inventory("zork", "zork", "zork", positions=["initial", "inner", "final"]), lists("zork"))
    assert found["kind"].to_list() == ["word", "fragment", "fragment"]


def test_scripts_without_spaces():
    terms = lists("彩票", "カジ", "エロ", "หวย", "賭")
    pieces = ("大彩票网", " 彩票", "カジ", "カジノ", "新カジ店", "エロ", "ピエロ", "ซื้อหวย", "賭", "賭場")
    assert kinds(match(inventory(*pieces), terms)) == {
        (0, "彩票"): "contains", (1, "彩票"): "word", (2, "カジ"): "word", (4, "カジ"): "contains",
        (5, "エロ"): "word",
        (7, "หวย"): "contains", (8, "賭"): "word",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["byte", "special", "unused"])
def test_entries_that_no_text_spells_are_not_searched(kind):
    made = Inventory.build("x", "x", {"id": [0, 1, 2], "bytes": [b"zork", b" zork", b"\xff zork"],
                                      "kind": [kind, "piece", "piece"]})  # fmt: skip
    assert match(made, lists("zork"))["token_id"].to_list() == [1]


def test_nothing_comes_of_nothing():
    for pieces, terms in (((), ("zork",)), ((" zork",), ())):
        found = match(inventory(*pieces), lists(*terms))
        assert found.schema == HITS
        assert found.is_empty()


def test_an_edge_inside_an_entry_parts_nothing_else():
    assert kinds(match(inventory("a\U0010ffff zork", " blarf"), lists("zork", "blarf"))).keys() >= {
        (1, "blarf")
    }


def test_leetspeak_on_request_and_twins_of_letters_always():
    made = inventory(" z0rk", " zоrk", " ｚｏｒｋ", " zo\u200brk", " ZORK")
    assert match(made, lists("zork"))["token_id"].to_list() == [1, 2, 3, 4]
    found = match(made, lists("zork"), leet=True)
    assert found.select("token_id", pl.col("via").cast(pl.String)).rows() == [
        (0, "leetspeak"), (1, "look-alike"), (2, "spelling"), (3, "spelling"), (4, "spelling"),
    ]  # fmt: skip


TWINS = {latin: other for other, latin in folding.LOOKALIKES.items()}


@given(st.text("".join(TWINS), min_size=4, max_size=9), st.data())
def test_any_mixed_twin_and_any_wide_twin_of_a_word_is_found(word, data):
    first, second = data.draw(st.permutations(range(len(word))))[:2]
    letters = list(word)
    letters[first] = TWINS[letters[first]]  # one letter of another script, and one at least stays
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in word)
    assert letters[second] == word[second]
    found = match(inventory(f" {''.join(letters)}", f" {wide}", f" {word.upper()}"), lists(word))
    assert found["token_id"].to_list() == [0, 1, 2]
    assert set(found["kind"].cast(pl.String)) == {"word"}


BENIGN = """
Scunthorpe Penistone Essex Sussex Middlesex Lightwater Clitheroe class classic classes assassin
assassinate assess assume asset passage grass brass compass embassy massage cocktail peacock Hancock
Dickens dickinson cockpit shuttlecock analysis analyst therapist psychotherapist title titles
constitution institute competitive button buttress document circumstance accumulate cucumber vacuum scrap
skyscraper grape drape parapet hello shell shellac Michelle matsushita shiitake Hitchcock Babcock Moby
manuscript canal finally banana arsenal Arsenic specialist socialism magnificent significant signature
Niger Nigeria denigrate bigger trigger figment snicker spice spices conspicuous despicable suspicious
japan Japanese chinchilla mandate basement bassoon cumin document
""".split()  # noqa: SIM905 a hundred words read best as text
"""Ordinary words that hold a shorter string which lists have."""


def clean(words):
    """Words that no list holds itself, which is for the list to answer."""
    found = open_lists("all")
    listed = set(found.terms["key"].to_list())
    return [word for word in words if folding.key(word) not in listed], found


def test_the_benign_set_stays_clean_with_every_list():
    words, found = clean(BENIGN)
    assert len(words) >= 0.9 * len(BENIGN)
    pieces = [form for word in words for form in (f" {word}", word, f" {word.capitalize()}", word.upper())]
    hits = match(inventory(*pieces), found)
    assert hits.select("token", "list", "term").rows() == []


HONEST = """
一片 一级 大发展 大发现 娱乐 娱乐活动 中文 久久 人人 在线 视频 手机 公司 北京 微信 官网 平台 色彩 综合 精品
国产 亚洲 欧美 播放 观看 免费 天天 快速 电影 赛车 计划 代理商 彩虹 彩色 奖学金 经济 福利 体育 六合区 加勒比
走势 一区 成人教育 网站 自拍 性别 性格 生活 真实 安全 合法 公司网站 邀请 客服 开户银行
""".split()  # noqa: SIM905 as above
"""Chinese words that share characters with adverts."""


def test_honest_chinese_words_are_no_adverts():
    assert match(inventory(*HONEST), open_lists("patterns"))["term"].to_list() == []


def test_every_planted_hit_is_found_among_them():
    planted = [" zork", " Zork", "zork", " ｚｏｒｋ", " zоrk", "的彩票网"]
    made = inventory(*(f" {word}" for word in BENIGN), *planted)
    found = match(made, lists("zork", "彩票"))
    assert found["token_id"].to_list() == list(range(len(BENIGN), len(BENIGN) + len(planted)))


# The oracle

LETTERS = "abZ é彩票カ.1 "
PIECES = st.lists(st.text(LETTERS, min_size=1, max_size=7), max_size=12)
TERMS = st.lists(st.text(LETTERS, min_size=1, max_size=4), max_size=8)


def brute(pieces, terms):
    """Term by entry, with lookarounds in the documentation's words, as a list × vocabulary loop."""
    found = set()
    for token, piece in enumerate(pieces):
        text = folding.key(piece)
        for term in terms:
            one_space = " ".join(folding.key(term).split())  # as a list is read: any white space is one space
            if kind := kind_of(text, one_space):
                found.add((token, folding.key(term).strip(), kind))
    return found


WORD, UNSPACED = r"[\p{L}\p{M}\p{N}]", r"[\p{Han}\p{Katakana}ー]"


def kind_of(text, term):
    escaped = regex.escape(term)
    if regex.search(UNSPACED, term):
        if regex.fullmatch(f" ?{escaped} ?", text):
            return "word"
        left = r"(?<![\p{Katakana}ー])" if regex.match(r"[\p{Katakana}ー]", term) else ""
        right = r"(?![\p{Katakana}ー])" if regex.search(r"[\p{Katakana}ー]$", term) else ""
        native = bool(regex.match(r"[\p{Han}\p{Katakana}ー]", term))
        if len(term) >= (2 if native else 3) and regex.search(left + escaped + right, text):
            return "contains"
        return None
    ends_open = not regex.search(f"{WORD}$", term)
    right = "" if ends_open else f"(?:(?!{WORD})|(?={UNSPACED}))"
    starts_open = not regex.match(WORD, term)
    left = r"(?<!\A)" if starts_open else rf"(?<!\A)(?:(?<!{WORD})|(?<={UNSPACED}))"
    if regex.search(left + escaped + right, text):
        return "word"
    return "fragment" if regex.match(escaped + right, text) else None


@given(PIECES, TERMS)
@example(["1 Z"], ["1  Z"])
@settings(max_examples=300)
def test_one_pass_equals_term_by_entry(pieces, terms):
    made = lists(*terms)
    found = match(inventory(*pieces), made)
    got = {
        (row["token_id"], folding.key(row["term"]).strip(), row["kind"])
        for row in found.iter_rows(named=True)
    }
    assert got == brute(pieces, made.terms["term"].to_list())


@given(st.text("ab", max_size=30), st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, unique=True))
def test_every_occurrence_is_found(text, keys):
    first, last, number = occurrences(text, keys)
    got = sorted(zip(first.tolist(), last.tolist(), number.tolist(), strict=True))
    each = [(at, at + len(key), place) for place, key in enumerate(keys)
            for at in range(len(text)) if text.startswith(key, at)]  # fmt: skip
    assert got == sorted(each)
