"""Words cut by lemma and affixes, against segmentations written by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.outside import without
from workbench import inflection
from workbench.affixes import affixes, languages, read
from workbench.errors import MissingExtra, UnknownName
from workbench.inflection import KNOWN, Analyser, lowered
from workbench.lexicon import ROLES

pytest.importorskip("simplemma")
pytest.importorskip("wordfreq")

GOLD = {
    "en": """
        house|s box|es citi|es mak|ing runn|ing stopp|ed lik|ed happi|er bigg|est tak|en writt|en know|n
        wolv|es ly|ing children went un|happy re|start|ed table the walk|s play|er|s
    """,
    "de": """
        Häus|er Häus|er|n Kind|er|n Frau|en Tag|e|s Lehrerinn|en ge|mach|t auf|ge|mach|t an|zu|fang|en
        mach|te|st sag|te ge|seh|en fähr|t spiel|end klein|er|en größ|t|e schön|es Anlage|n|techniker
        Arbeit|s|amt Haus|tür Tisch gegangen Hund|e|n
    """,
    "fr": """
        maison|s bonn|e|s premièr|e heureus|e|s chevau|x petit|e aim|ons aim|erons mange|ait fin|issent
        vend|u|e|s parl|é|e|s dis|ent vienn|ent table journau|x commenç|ait achèt|e part|ons jou|ant
    """,
    "es": """
        casa|s flor|es cancion|es vec|es gat|a|s habl|o habl|amos canta|ba|s canta|ré come|ría|mos
        viv|iendo habl|ado|s habl|ad|a|s escribir|lo da|ndo|me quier|o trabajador|a|s busqu|é mesa
        com|ió
    """,
    "it": """
        libr|i cas|e amich|e bell|issim|a parl|o parl|ava parl|eranno mangi|at|o mangi|at|e finisc|ono
        guardar|lo ved|endo|lo sent|it|o cant|iamo tavolo ragazz|e dorm|ono figl|i largh|i perd|ut|o
    """,
    "tr": """
        ev|ler|imiz|de kitap|lar|ı kitab|ım gel|iyor|um gel|di|k yap|acak yap|acağ|ım oku|ma|dı|m
        çocuk|lar|a araba|nız|dan göz|ler|i gör|ül|dü ağaç okul|da|ki sev|me|mek iç|ti|ler güzel şehr|i
        su|yu gid|er|sin
    """,
    "fi": """
        talo|ssa talo|i|ssa talo|ssa|ni kadu|n hevose|n nais|i|lle nime|n puhu|n puhu|tt|iin luke|e
        kirjasto|kortti huonee|ssa vieraa|n auto|t auto|j|a sano|i|vat halua|isi|n maa|han kala vede|stä
    """,
    "hu": """
        ház|ak|ban kert|ek könyv|eim kez|é|ben olvas|ok olvas|t|am olvas|ná|m fiú|val ír|ni iskolá|ban
        szép|ek ember|ek|nek város|ok|ból ad|j|on autó|m|at asztal megy lát|juk kutyá|k madar|ak
    """,
    "ru": """
        дом|ами книг|и стол|ом чита|ю чита|л|а говор|ит красив|ого нов|ыми ночь ноч|и рису|ют музе|я
        сдела|л смея|л|ся город|ов пиш|у девушк|и большо|й рук|ой земл|ёй работа|ет
    """,
    "sw": """
        wa|tu vi|tabu wa|na|som|a ni|li|som|a ha|tu|som|i ku|som|a a|na|ye|som|a ni|na|ku|pend|a
        tu|ta|end|a si|ju|i wa|toto m|ta|pik|a a|me|fik|a som|e|ni kitabu u|na|fikiri tw|a|som|a
        tu|som|e ma|tunda wa|zuri
    """,
}
"""Morphs as a grammar gives them, chosen without looking at what the segmenter makes of the words."""


analyser_of = cache(Analyser.of)


@pytest.fixture(name="analyser", scope="module", params=sorted(GOLD))
def analyser_fixture(request):
    return analyser_of(request.param)


def places(morphs):
    return set(np.cumsum([len(morph) for morph in morphs]).tolist()[:-1])


def test_hand_written_segmentations_are_found(analyser):
    right = made = true = 0
    wrong = []
    for entry in GOLD[analyser.affixes.language].split():
        morphs = entry.split("|")
        found = analyser.analyse("".join(morphs)).morphs
        right += len(places(found) & places(morphs))
        made += len(places(found))
        true += len(places(morphs))
        if places(found) != places(morphs):
            wrong.append(f"{entry} -> {'|'.join(found)}")
    assert right / made >= 0.95, wrong
    assert right / true >= 0.85, wrong


def test_every_language_has_a_hand_written_sample():
    assert set(GOLD) == set(languages())
    assert all(len(entries.split()) >= 19 for entries in GOLD.values())


@given(word=st.text(st.characters(categories=["L", "M"]), min_size=1, max_size=14))
def test_morphs_of_any_word_join_to_it(analyser, word):
    holds(analyser, word)


@given(data=st.data())
def test_morphs_of_words_made_of_affixes_join_to_them(analyser, data):
    stems = [entry.replace("|", "") for entry in GOLD[analyser.affixes.language].split()]
    tables = [
        table
        for paradigm in analyser.affixes.paradigms
        for slots in (paradigm.prefixes, paradigm.suffixes, paradigm.clitics)
        for table in slots.tables
    ]
    pieces = sorted({form for table in tables for form in table})
    affix = st.sampled_from(pieces) | st.just("")
    holds(
        analyser, data.draw(affix) + data.draw(st.sampled_from(stems)) + data.draw(affix) + data.draw(affix)
    )


def holds(analyser, word):
    found = analyser.analyse(word)
    assert "".join(found.morphs) == word
    assert all(found.morphs)
    assert len(found.roles) == len(found.morphs)
    assert set(found.roles) <= set(ROLES)
    assert "root" in found.roles
    assert found.known in KNOWN
    assert (found.process is None) == (len(found.morphs) == 1)
    assert (found.lemma is None) == (found.known == "none")
    assert (
        found.known not in {"irregular", "none"} or found.process is None or "inflection" not in found.process
    )
    assert analyser.analyse(word) == found


@pytest.mark.parametrize(
    ("language", "word", "roles", "process", "lemma", "known"),
    [
        ("de", "aufgemacht", "prefix prefix root suffix", "inflection", "aufmachen", "affixes"),
        ("de", "Anlagentechniker", "root link root", "compound", "Anlagentechniker", "parts"),
        (
            "de",
            "Anlagentechnikern",
            "root link root suffix",
            "inflection+compound",
            "Anlagentechniker",
            "end",
        ),
        ("es", "escribirlo", "root clitic", "inflection", "escribir", "stem"),
        ("ru", "смеялся", "root suffix clitic", "inflection", "смеяться", "affixes"),
        ("sw", "wanasoma", "prefix prefix root suffix", "inflection", "soma", "affixes"),
        ("en", "went", "root", None, "go", "irregular"),
        ("en", "table", "root", None, "table", "lemma"),
        ("en", "qwrtzx", "root", None, None, "none"),
        ("en", "motorhomes", "root suffix", "inflection", "motorhome", "end"),
    ],
)
def test_what_an_analysis_tells(language, word, roles, process, lemma, known):
    found = analyser_of(language).analyse(word)
    assert (" ".join(found.roles), found.process, found.lemma, found.known) == (roles, process, lemma, known)


def test_morphs_are_spelled_as_in_the_word():
    assert analyser_of("en").analyse("HOUSES").morphs == ("HOUSE", "S")
    assert analyser_of("tr").analyse("EVLERİMİZDE").morphs == ("EV", "LER", "İMİZ", "DE")
    assert lowered("ISPARTA", "tr") == "ısparta"
    assert lowered("İ", "en") == "İ"  # in lower case it would be two characters


def made_up(paradigms: str, lemmas: dict[str, str], shares: dict[str, float] | None = None) -> Analyser:
    """An analyser of an invented language."""
    return Analyser(read(f'language = "xx"\n{paradigms}'), lemmas, shares or {})


def test_rank_of_readings():
    text = """
        [[paradigm]]
        name = "one"
        suffixes = ["+ a b", "b c"]
        [[paradigm]]
        name = "two"
        lemma = ["o"]
        suffixes = ["+ abc bc"]
    """
    analyser = made_up(text, {"kimabc": "kimo", "kimac": "kim", "kimabb": "kim", "kimd": "kim"})
    assert analyser.analyse("kimabc").morphs == ("kim", "abc")
    assert analyser.analyse("kimac").morphs == ("kim", "a", "c")
    assert analyser.analyse("kimabb").known == "irregular"
    assert analyser.analyse("kimd") == ((("kimd",), ("root",), "kim", None, "irregular"))


def test_a_derived_word_more_frequent_than_its_base_stays_whole():
    text = """
        [[paradigm]]
        name = "one"
        suffixes = ["+ s"]
        [derivation]
        prefixes = "re"
        suffixes = "er"
    """
    lemmas = {word: word for word in ("cause", "recause", "causeer")}
    shares = {"cause": 1e-5, "recause": 1e-6, "causeer": 1e-4}
    analyser = made_up(text, lemmas, shares)
    assert analyser.analyse("recause").morphs == ("re", "cause")
    assert analyser.analyse("causeer").morphs == ("causeer",)


def test_a_lemma_of_a_lemma_is_followed():
    text = """
        [[paradigm]]
        name = "one"
        suffixes = ["+ ei eik k"]
    """
    lemmas = {"terveik": "tervei", "tervei": "terv", "terv": "terv"}
    assert made_up(text, lemmas).analyse("terveik").morphs == ("terv", "eik")


@pytest.mark.parametrize("package", ["simplemma", "wordfreq"])
def test_missing_packages_are_named(monkeypatch, package):
    without(monkeypatch, package)
    with pytest.raises(MissingExtra, match=rf"^{package}.*pip install 'suture\[linguistics\]'"):
        Analyser.of("en")


def test_languages_without_a_dictionary_or_an_inventory():
    with pytest.raises(UnknownName, match="one of de, en"):
        Analyser.of("xx")
    with pytest.raises(UnknownName, match="has none for 'xx'"):
        inflection.lemmas("xx")
    assert inflection.frequencies("sw") == {}
    assert affixes("de").links
