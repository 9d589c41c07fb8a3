"""How frequent words are: what their lexicon says, or wordfreq's lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.languages import TWO_TO_THREE

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

THREE_TO_TWO = {three: two for two, three in TWO_TO_THREE.items()}


def frequencies(frame: pl.DataFrame) -> tuple[NDArray[np.float64] | None, str]:
    """Frequency of each word (words,), NaN where it is not known, and where it comes from.

    Args:
        frame: entries of a lexicon.

    Returns:
        None without any: the lexicon has no frequencies, and wordfreq is missing or does not know the
        languages. Figures of different sources are never mixed.
    """
    own = frame["frequency"]
    if own.count():
        return own.fill_null(np.nan).to_numpy(), "the lexicon's frequencies"
    try:
        from wordfreq import available_languages, get_frequency_dict
    except ImportError:
        return None, "nothing"
    known = available_languages()
    found = np.full(frame.height, np.nan)
    some = False
    for language in frame["language"].unique(maintain_order=True).to_list():
        code = THREE_TO_TWO.get(language, language)
        if code not in known:
            continue
        some = True
        rows = np.flatnonzero((frame["language"] == language).to_numpy())
        listed = get_frequency_dict(code)
        words = frame["word"].gather(rows).str.to_lowercase().to_list()
        found[rows] = [listed.get(word, 0.0) for word in words]
    return (found, "wordfreq") if some else (None, "nothing")
