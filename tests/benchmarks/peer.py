"""The named baseline of the benchmarks: glotscope in an environment of its own, run and measured.

`python -m tests.benchmarks.peer [--data DIR] [--runs N]` prints what each of its commands costs on the
o200k vocabulary. A benchmark imports the functions, runs our command beside the peer's and prints the ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import vocabs
from tests.benchmarks.measure import Measured, measure

if TYPE_CHECKING:
    from collections.abc import Iterator

PEER = "glotscope"
VERSION = "0.1.0"
LANGUAGES = ("ar", "de", "en", "es", "ru")
RENYI_ALPHA = 2.5
# The type of each language's morphology, which the peer must be told and computes nothing from.
MORPHOLOGICAL_TYPES = {
    "ces": "fusional",
    "eng": "fusional",
    "fra": "fusional",
    "hun": "agglutinative",
    "ita": "fusional",
    "lat": "fusional",
    "mon": "agglutinative",
    "spa": "fusional",
}
# The same tier-1 work as `glotscope analyze`, without the vocabulary lint that the command always adds.
_TIER1_ALONE = """
import json, sys
from glotscope import Tokenizer
from glotscope.corpus import Corpus
from glotscope.enums import Segmenter
path, root, languages, alpha = sys.argv[1:]
corpus = Corpus.resolve("flores_plus", languages.split(",")).load(root)
report = Tokenizer.from_file(path).analyze(corpus, segmenter=Segmenter.WHITESPACE)
report.gini(), report.renyi_efficiency(float(alpha)), report.parity("en")
print("{}")
"""


def data_dir() -> Path:
    """Return the folder with `parallel` and `sigmorphon2022`: SUTURE_DATA, else beside the checkout."""
    return Path(os.environ.get("SUTURE_DATA") or vocabs.ROOT.parent / "shared" / "data")


def peers_dir() -> Path:
    """Return the ignored folder that holds the peer's environment and its inputs."""
    return vocabs.ROOT / ".cache" / "peers"


def environment(peer: str = PEER, release: str = VERSION, first: tuple[str, ...] = ()) -> Path:
    """Return the `bin` folder of a peer's own virtual environment, made on the first call.

    Args:
        peer: The distribution.
        release: Its version.
        first: What is installed before it, by exact release where its own choice would not do.
    """
    folder = peers_dir() / peer
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    python = str(binaries / "python")
    version = [python, "-c", f"import importlib.metadata as m; print(m.version({peer!r}))"]
    found = binaries.is_dir() and subprocess.run(version, capture_output=True, text=True, check=False).stdout
    if not found or found.strip() != release:
        venv.create(folder, with_pip=True, clear=True)
        for wanted in (*first, f"{peer}=={release}"):
            subprocess.run([python, "-m", "pip", "install", "-q", wanted], check=True)
    return binaries


def o200k_json() -> Path:
    """Return o200k as a tokenizer.json with tiktoken's very ids, made on the first call."""
    path = peers_dir() / "o200k" / "tokenizer.json"
    if not path.is_file():
        convert("o200k", path)
    return path


def convert(name: str, path: Path) -> None:
    """Write a tiktoken vocabulary of the cache as a tokenizer.json.

    Every split of an entry into two others becomes a merge at the entry's rank, since tiktoken joins any
    two neighbours whose join it knows; an entry that is a whole pre-token is taken without merging.
    """
    os.environ["TIKTOKEN_CACHE_DIR"] = str(vocabs.tiktoken_dir())
    import tiktoken
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers.convert_slow_tokenizer import TikTokenConverter

    encoding = tiktoken.get_encoding(vocabs.ITEMS[name].encoding or name)
    converter = TikTokenConverter(str(vocabs.vocab(name)))  # type: ignore[no-untyped-call]
    vocabulary, merges = converter.extract_vocab_merges_from_model(converter.vocab_file)
    # In the model's own vocabulary the special tokens keep their ids, though an id below them is unused.
    vocabulary |= encoding._special_tokens
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=True))
    split = pre_tokenizers.Split(Regex(encoding._pat_str), behavior="isolated")
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, as_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    special = sorted(encoding._special_tokens, key=encoding._special_tokens.__getitem__)
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    tokenizer.save(str(temporary), pretty=False)
    temporary.replace(path)


def peer_lint(tokenizer: Path | None = None, *, runs: int = 1) -> Measured:
    """Measure the peer's vocabulary lint, reachability included.

    It takes an entry for unreachable if its decoded text encodes otherwise, so its count includes every
    entry that is no whole UTF-8 by itself.
    """
    return _run(["lint", str(tokenizer or o200k_json())], "lint", runs)


def peer_tier1(tokenizer: Path | None = None, *, data: Path | None = None, runs: int = 1) -> Measured:
    """Measure the peer's corpus metrics on the parallel corpus; its command lints the vocabulary as well."""
    root = _parallel_root(data or data_dir())
    command = [
        "analyze",
        str(tokenizer or o200k_json()),
        "--corpus",
        "flores_plus",
        "--corpus-root",
        str(root),
    ]
    command += ["--languages", ",".join(LANGUAGES), "--segmenter", "whitespace", "--parity-reference", "en"]
    return _run([*command, "--gini", "--renyi-alpha", str(RENYI_ALPHA)], "tier1", runs)


def peer_tier1_alone(tokenizer: Path | None = None, *, data: Path | None = None, runs: int = 1) -> Measured:
    """Measure the same corpus metrics through the peer's library, so without the lint."""
    root = _parallel_root(data or data_dir())
    command = [str(environment() / "python"), "-c", _TIER1_ALONE, str(tokenizer or o200k_json()), str(root)]
    command += [",".join(LANGUAGES), str(RENYI_ALPHA)]
    return measure(command, stdout=peers_dir() / "tier1_alone.json", runs=runs)


def peer_morphology(tokenizer: Path | None = None, *, data: Path | None = None, runs: int = 1) -> Measured:
    """Measure the peer's full-boundary morphology on eight languages; its command lints as well."""
    root = _morphology_root(data or data_dir())
    command = ["analyze", str(tokenizer or o200k_json()), "--corpus", "morphynet", "--corpus-root", str(root)]
    command += ["--corpus-version", "dev", "--languages", ",".join(MORPHOLOGICAL_TYPES)]
    command += ["--frequency-weighted", "false", "--include-single-token-words", "true"]
    for language, kind in MORPHOLOGICAL_TYPES.items():
        command += ["--morphological-type", f"{language}={kind}"]
    return _run(command, "morphology", runs)


def _run(arguments: list[str], name: str, runs: int) -> Measured:
    output = peers_dir() / f"{name}.json"
    result = measure([str(environment() / PEER), *arguments], stdout=output, runs=runs)
    document = json.loads(output.read_text(encoding="utf-8"))
    return result._replace(numbers=document.get("tier1", document))


def _parallel_root(data: Path) -> Path:
    """Lay the parallel corpus as the peer wants it: a folder of links, no text copied."""
    root = peers_dir() / "corpora"
    folder = root / "flores_plus" / "2024.08" / "devtest"
    folder.mkdir(parents=True, exist_ok=True)
    for language in LANGUAGES:
        link = folder / f"{language}.txt"
        link.unlink(missing_ok=True)
        link.symlink_to((data / "parallel" / f"{language}.txt").resolve(strict=True))
    return root


def _morphology_root(data: Path) -> Path:
    """Write the gold segmentations in the columns that the peer reads: lemma, form, features, segments."""
    root = peers_dir() / "corpora"
    folder = root / "morphynet" / "dev" / "train"
    folder.mkdir(parents=True, exist_ok=True)
    for language in MORPHOLOGICAL_TYPES:
        rows = _gold_rows(data / "sigmorphon2022" / f"{language}.word.dev.tsv")
        (folder / f"{language}.txt").write_text("".join(rows), encoding="utf-8")
    return root


def _gold_rows(path: Path) -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        word, morphemes = line.split("\t")[:2]
        yield f"\t{word}\t\t{morphemes.replace(' @@', '|')}\n"


def _summary(numbers: dict[str, Any]) -> str:
    text = json.dumps(numbers, ensure_ascii=False)
    return text if len(text) <= 1500 else text[:1500] + " …"


def main() -> int:
    """Measure each of the peer's commands and print the figures."""
    parser = argparse.ArgumentParser(description=f"Measure {PEER} {VERSION} on o200k.")
    parser.add_argument("--data", type=Path, default=data_dir(), help="default: %(default)s")
    parser.add_argument("--runs", type=int, default=1, help="the least CPU time of N runs is given")
    options = parser.parse_args()
    results = {
        "lint": peer_lint(runs=options.runs),
        "tier 1 (with lint)": peer_tier1(data=options.data, runs=options.runs),
        "tier 1 alone": peer_tier1_alone(data=options.data, runs=options.runs),
        "morphology (with lint)": peer_morphology(data=options.data, runs=options.runs),
    }
    for name, result in results.items():
        print(f"{name}: {result.cpu_s:.2f} CPU s, {result.rss_mb:.0f} MiB, {result.wall_s:.2f} s")
        print(f"  {' '.join(word for word in result.command if word != _TIER1_ALONE)}", file=sys.stderr)
        print(f"  {_summary(result.numbers)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
