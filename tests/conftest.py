"""What every test session needs: the tokenizer libraries look into the cache, never at the network."""

from __future__ import annotations

import os

import hypothesis
import pytest

from tests import vocabs

# Set when this file is imported, so before any test module imports tiktoken, tokenizers or transformers.
# Two workers share the cores; several threads in each only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["TIKTOKEN_CACHE_DIR"] = str(vocabs.tiktoken_dir())
os.environ["HF_HUB_OFFLINE"] = "1"


# A loaded machine is slow, not wrong: examples have no deadline, and the same ones are tried each time.
hypothesis.settings.register_profile("suture", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suture")


@pytest.fixture(name="need", scope="session")
def need_fixture():
    """Give `need(name) -> Path`, which skips the test that asks for a vocabulary the cache lacks."""
    return vocabs.need
