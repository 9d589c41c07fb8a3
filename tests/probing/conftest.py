"""Tiny models that several files of tests read."""

from __future__ import annotations

import pytest

from tests.probing import tinymodels as tiny


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Give `saved(kind)`, a folder that is written once; tests copy it before they break it."""
    kept = {}

    def get(kind, **options):
        key = (kind, *sorted(options.items()))
        if key not in kept:
            kept[key] = tiny.save(kind, tmp_path_factory.mktemp("saved") / "tiny", **options)
        return kept[key]

    return get


@pytest.fixture(scope="session")
def opened(saved):
    """Give `opened(kind)`, a model that is read once."""
    from probing.models import open_model

    kept = {}

    def get(kind, **options):
        key = (kind, *sorted(options.items()))
        if key not in kept:
            kept[key] = open_model(saved(kind), **options)
        return kept[key]

    return get
