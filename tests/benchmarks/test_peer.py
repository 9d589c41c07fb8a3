from __future__ import annotations

import subprocess
import sys

import pytest

from tests import vocabs
from tests.benchmarks import peer
from tests.benchmarks.measure import measure

TEXTS = (
    "Hello, world!  Two spaces, a tab\tand\r\nlines.\n\n\n",
    "naïve café, Größe, Łódź — “quotes”",
    "Ночь тиха. مرحبا بالعالم 漢字かな交じり文 한국어 ไทย",
    "👩‍👩‍👧‍👦 é\u200d\ufeff\x00 1234567890",
    "def f(x):\n        return x ** 2  # " + "=" * 70,
    " " * 300 + "a" * 300,
)


def test_memory_is_that_of_the_command_and_not_of_the_process_that_asks(tmp_path):
    # What this process holds must not be charged to the command: a child starts with its parent's peak.
    ballast = bytearray(b"x") * (300 * 2**20)
    idle = measure([sys.executable, "-S", "-c", "pass"], stdout=tmp_path / "out")
    assert idle.rss_mb < 100
    assert len(ballast) == 300 * 2**20
    # A grandchild's memory counts.
    code = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'bytearray(b\"x\") * (200 * 2**20)'])"
    )
    assert measure([sys.executable, "-c", code], stdout=tmp_path / "out").rss_mb > 200


def test_output_goes_to_the_file_and_a_failure_is_an_error(tmp_path):
    measure([sys.executable, "-c", "print('found')"], stdout=tmp_path / "out", env={"A": "b"})
    assert (tmp_path / "out").read_text() == "found\n"
    with pytest.raises(subprocess.CalledProcessError, match="status 3") as caught:
        measure(
            [sys.executable, "-c", "import sys; sys.stderr.write('why'); sys.exit(3)"],
            stdout=tmp_path / "out",
        )
    assert caught.value.stderr == "why"


def test_gold_rows_have_the_peers_four_columns(tmp_path):
    (tmp_path / "x.tsv").write_text("cats\tcat @@s\t100\nкниги\tкниг @@и\n", encoding="utf-8")
    assert list(peer._gold_rows(tmp_path / "x.tsv")) == ["\tcats\t\tcat|s\n", "\tкниги\t\tкниг|и\n"]


@pytest.mark.vocabs
def test_the_converted_vocabulary_gives_tiktokens_ids(need, tmp_path):
    import tiktoken
    from tokenizers import Tokenizer

    need("p50k")  # its special token lies in the middle of the ids
    peer.convert("p50k", tmp_path / "tokenizer.json")
    converted = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    encoding = tiktoken.get_encoding(vocabs.ITEMS["p50k"].encoding)
    entries = [encoding.decode([i]) for i in range(0, encoding.n_vocab, 7) if i != encoding.eot_token]
    texts = [*TEXTS, *entries]
    assert [e.ids for e in converted.encode_batch(texts)] == encoding.encode_ordinary_batch(texts)
    assert converted.encode("<|endoftext|>").ids == [encoding.eot_token]
    assert converted.get_vocab_size() == encoding.n_vocab
