"""Where models lie: the folder that a spec names, and the checkpoints of one training in order."""

from __future__ import annotations

import re
from pathlib import Path

from workbench.errors import SutureError, Unreachable, UnreadableFile

STEP = re.compile(r"(?:^|[-_.])(?:checkpoint|ckpt|global_step|step|iter|epoch)[-_]?(\d+)$")
"""Names of the folders that trainers keep checkpoints in, with the step."""

WANTED = (
    "config.json", "*.safetensors", "*.safetensors.index.json", "tokenizer.json", "tokenizer_config.json",
    "tekken.json", "tokenizer.model", "*.tiktoken", "vocab.json", "vocab.txt", "merges.txt",
)  # fmt: skip
"""Files of a repository that a model is read from; never a pickle."""


def folder_of(spec: str | Path) -> Path:
    """The folder of a model.

    Args:
        spec: ``hf:org/name[@revision]``, ``pkg:distribution/path/inside``, or a folder.

    Raises:
        UnreadableFile: it is no folder.
        Unreachable: a name of the Hub that is neither in its cache nor to be reached.
    """
    if isinstance(spec, str) and spec.startswith("hf:"):
        return _from_hub(spec.removeprefix("hf:"))
    if isinstance(spec, str) and spec.startswith("pkg:"):
        from workbench.adapters import load

        folder = load(spec).folder
        if folder is None:
            raise UnreadableFile(
                f"a model must be named by its folder; {spec} names a file of another kind; name the folder "
                "with config.json"
            )
        return folder
    folder = Path(spec).expanduser()
    if not folder.is_dir():
        raise UnreadableFile(
            f"a model must be a folder, hf:org/name or pkg:distribution/path; {spec} is none; check the path"
        )
    return folder


def _from_hub(address: str) -> Path:
    from huggingface_hub import snapshot_download

    repo, _, revision = address.partition("@")
    for local in (True, False):
        try:
            folder = Path(
                snapshot_download(
                    repo, revision=revision or None, allow_patterns=list(WANTED), local_files_only=local
                )
            )
        except Exception as error:  # noqa: BLE001 the library raises many kinds, offline and on
            reason = type(error).__name__
            continue
        if not local or any(folder.glob("*.safetensors")):
            return folder
        reason = "its weights are not in the cache"
    raise Unreachable(
        f"hf:{address} must be in the Hub's cache or reachable; it is not ({reason}); copy config.json, the "
        "safetensors and the tokenizer's files into a folder and give that, or set HF_HOME to a cache that "
        "has it"
    )


def series(spec: str | Path) -> list[tuple[int | None, str]]:
    """The checkpoints of a training in order: step and place.

    A folder that holds ``checkpoint-100``, ``step-100``, ``step100`` and the like is a training; anything
    else is one checkpoint, whose step is in its own name or None.

    Raises:
        SutureError: two folders are of one step.
    """
    folder = Path(spec).expanduser()
    if not folder.is_dir():
        return [(None, str(spec))]
    found: dict[int, Path] = {}
    for place in sorted(folder.iterdir()):
        step = _step(place)
        if step is None or not (place / "config.json").is_file():
            continue
        if step in found:
            raise SutureError(
                f"each step must have one checkpoint; {folder} has {found[step].name} and {place.name}; "
                "remove one of them"
            )
        found[step] = place
    if not found or (folder / "config.json").is_file():
        return [(_step(folder), str(spec))]
    return [(step, str(found[step])) for step in sorted(found)]


def _step(place: Path) -> int | None:
    match = STEP.search(place.name)
    return int(match[1]) if match and place.is_dir() else None
