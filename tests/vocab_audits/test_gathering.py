"""Segmenters of a run, with an inventory and without."""

import pytest

from tests import builders
from vocab_audits.census import census
from vocab_audits.gathering import able, card, fitting, gather, identity
from vocab_audits.overlap import overlap
from workbench.adapters import load, load_segmenter
from workbench.audit import Outcome, audit
from workbench.errors import SutureError


@audit("Cuts")
def cuts(segmenter) -> Outcome:
    """Cuts of one."""
    return Outcome([])


@audit("Of a corpus")
def trained(corpus) -> Outcome:
    """Needs no tokenizer."""
    return Outcome([])


def made():
    return [load_segmenter("spacy:en"), load(builders.byte_level())]


def test_an_audit_is_given_what_it_can_use():
    bare, whole = both = made()
    assert fitting(cuts, both) == both
    assert fitting(census, both) == [whole]
    assert fitting(overlap, both) == [whole]
    assert fitting(trained, both) == []
    assert (cuts.once, census.once, overlap.once, trained.once) == (False, False, True, True)
    assert card(bare).keys() == card(whole).keys()
    assert identity(bare) != identity(whole)


def test_what_has_no_inventory_is_left_out_by_name():
    kept, skipped = able([census, cuts, trained], made())
    assert kept == [census, cuts, trained]
    assert [item["what"] for item in skipped] == ["census of spacy:en"]
    kept, skipped = able([census, cuts], made()[:1])
    assert kept == [cuts]
    assert "needs an inventory" in skipped[0]["why"]


def test_a_run_without_anything_to_do_is_refused():
    with pytest.raises(SutureError, match="census must have a tokenizer with an inventory; got spacy:en"):
        able([census], made()[:1])


def test_names_are_told_apart_for_bare_segmenters_too():
    loaded = gather(["spacy:en", "spacy:en", "mine=spacy:de"])
    assert [each.name for each in loaded.segmenters] == ["spacy:en", "spacy:en (2)", "mine"]
    assert loaded.tokenizers == []


def test_an_audit_of_no_tokenizer_needs_none():
    assert gather([], needed=False).segmenters == []
    with pytest.raises(SutureError, match="at least one tokenizer"):
        gather([])
