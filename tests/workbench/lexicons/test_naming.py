"""What names and neighbours of a file say: language, licence, and options of a spec."""

import pytest

from workbench.errors import SutureError
from workbench.lexicons import open_lexicon
from workbench.lexicons.naming import Named, language_named, licence_beside, named


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("eng.word.dev.tsv", "eng"),
        ("de.tsv", "de"),
        ("pt-BR.tsv", "pt-BR"),
        ("english_morph_data.csv", "eng"),
        ("kurdish_morph_data.csv", "kmr"),
        ("es_ancora-ud-dev.conllu", "es"),
        ("goldstd_trainset.segmentation.fin", "fin"),
        ("words.tsv", "und"),
        ("mon/words.tsv", "mon"),
        ("mon/deu.tsv", "deu"),
    ],
)
def test_the_language_of_a_file(tmp_path, name, language):
    assert language_named(tmp_path / "x y" / name) == language


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        ("Released under CC BY-SA 3.0.", "CC BY-SA 3.0"),
        ("https://creativecommons.org/licenses/by-nc-sa/4.0/", "CC BY-NC-SA 4.0"),
        ("Creative Commons Attribution-ShareAlike 4.0 International", "CC BY-SA 4.0"),
        ("CC-BY 4.0, that is creativecommons.org/licenses/by/4.0/", "CC BY 4.0"),
        ("Dedicated to the public, CC0", "CC0"),
        ("CC BY 4.0 for some, CC BY-SA 3.0 for others", None),
        ("All rights reserved.", None),
    ],
)
def test_one_licence_named_beside_a_file_is_its_licence(tmp_path, text, licence):
    (tmp_path / "README.md").write_text(text)
    path = tmp_path / "tr.tsv"
    path.write_text("evler\tev ler\n")
    said = licence and f"{licence} (README.md)"
    assert licence_beside(path) == said
    assert open_lexicon(str(path)).licence == said


def test_a_spec_with_options(tmp_path):
    assert named("a#b.tsv") == Named("a#b.tsv")
    assert named("a#b.tsv#language=de") == Named("a#b.tsv", None, "de")
    assert named("a.tsv#format=plain&language=de") == Named("a.tsv", "plain", "de")
    (tmp_path / "words.tsv").write_text("evler\tev ler\nHaus\tHaus\tdeu\n")
    assert open_lexicon(f"{tmp_path}/words.tsv#language=tr").languages == ["tr", "deu"]
    with pytest.raises(SutureError, match="may say format and language"):
        named("a.tsv#form=plain")
    with pytest.raises(SutureError, match="must be a code"):
        named("a.tsv#language=turkish")
