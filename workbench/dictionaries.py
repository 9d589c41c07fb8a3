"""Lemmas and frequencies of words from simplemma and wordfreq, both of the extra ``linguistics``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import MissingExtra, UnknownName

if TYPE_CHECKING:
    from collections.abc import Mapping


def lemmas(language: str) -> Mapping[str, str]:
    """The dictionary of a language in simplemma, forms to lemmas, held compressed and decoded on look-up.

    Raises:
        MissingExtra: simplemma is not installed.
        UnknownName: it has no such language.
    """
    try:
        from simplemma.strategies.dictionaries import StreamDictionaryFactory  # noqa: PLC0415 an extra
    except ImportError as error:
        raise MissingExtra(
            f"simplemma must be installed to look up lemmas; it is not ({error}); "
            "run pip install 'suture[linguistics]'"
        ) from None
    try:
        found: Mapping[str, str] = StreamDictionaryFactory(cache_max_size=1).get_dictionary(language)
    except ValueError:
        raise UnknownName(
            f"simplemma must have a dictionary of the language; it has none for {language!r}; give another"
        ) from None
    return found


def frequencies(language: str) -> Mapping[str, float]:
    """Share of each word of a language in running text, from wordfreq's largest list.

    Raises:
        MissingExtra: wordfreq is not installed.
    """
    try:
        import wordfreq  # noqa: PLC0415 an extra
    except ImportError as error:
        raise MissingExtra(
            f"wordfreq must be installed for the frequencies of words; it is not ({error}); "
            "run pip install 'suture[linguistics]'"
        ) from None
    if language not in wordfreq.available_languages("small"):
        return {}
    found: Mapping[str, float] = wordfreq.get_frequency_dict(language, "best")
    return found
