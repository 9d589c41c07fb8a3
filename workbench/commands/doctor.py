"""The verb ``doctor``: what is installed or missing and where things lie, told without the network."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench import __version__
from workbench.commands.printing import console, fields, put_json, safe, table

if TYPE_CHECKING:
    from packaging.requirements import Requirement

DISTRIBUTION = "suture"
OWN = ("workbench", "vocab_audits", "probing")
"""Import names of ours; unrelated distributions on PyPI own two of them as well."""

UNLISTED = ("dev", "all")
"""Extras that say nothing about what the installation can do."""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Report versions, extras, caches and conflicts, offline.

    Example: `suture doctor`
    """
    found = {
        "versions": versions(),
        "required": required(),
        "extras": extras(),
        "caches": caches(),
        "offline": offline(),
        "conflicts": conflicts(),
    }
    if as_json:
        put_json(found)
    else:
        _put(found)


def versions() -> dict[str, str]:
    """Suture's and Python's versions, and where both are run from."""
    import workbench

    return {
        "suture": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "interpreter": sys.executable,
        "installed in": os.path.dirname(os.path.dirname(workbench.__file__)),  # noqa: PTH120 a string is wanted
    }


def _requirements() -> list[tuple[str | None, Requirement]]:
    """Extra (None for the base) and requirement of every declared dependency."""
    from packaging.requirements import Requirement

    try:
        declared = list(map(Requirement, metadata.requires(DISTRIBUTION) or []))
        names = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        return []
    found: list[tuple[str | None, Requirement]] = []
    for need in declared:
        if need.marker is None or need.marker.evaluate({"extra": ""}):
            found.append((None, need))
            continue
        found += [(name, need) for name in names if need.marker.evaluate({"extra": name})]
    return found


def _state(need: Requirement) -> dict[str, str | None]:
    """Installed version of a requirement, and ``ok``, ``too old or new`` or ``missing``."""
    try:
        version = metadata.version(need.name)
    except metadata.PackageNotFoundError:
        return {"name": need.name, "needs": str(need.specifier), "version": None, "state": "missing"}
    fits = need.specifier.contains(version, prereleases=True)
    state = "ok" if fits else "other version"
    return {"name": need.name, "needs": str(need.specifier), "version": version, "state": state}


def required() -> list[dict[str, str | None]]:
    """The packages that the base installation needs."""
    return [_state(need) for extra, need in _requirements() if extra is None]


def extras() -> list[dict[str, Any]]:
    """The optional extras: what each needs, what is missing, and the line that installs it."""
    found: dict[str, list[dict[str, str | None]]] = {}
    for extra, need in _requirements():
        if extra is not None and extra not in UNLISTED:
            found.setdefault(extra, []).append(_state(need))
    return [
        {
            "name": name,
            "complete": all(package["state"] == "ok" for package in packages),
            "packages": packages,
            "install": f'pip install "{DISTRIBUTION}[{name}]"',
        }
        for name, packages in sorted(found.items())
    ]


def caches() -> list[dict[str, Any]]:
    """The folders in which tokenizers are looked for, and whether they exist."""
    from huggingface_hub.constants import HF_HUB_CACHE

    from workbench.commands.at_hand import tiktoken_cache
    from workbench.paths import cache_dir

    folders = [
        ("tiktoken", "TIKTOKEN_CACHE_DIR", tiktoken_cache()),
        ("Hub", "HF_HOME", HF_HUB_CACHE),
        ("Suture", "SUTURE_CACHE", cache_dir()),
    ]
    return [
        {
            "name": name,
            "variable": variable,
            "set": variable in os.environ,
            "folder": None if folder is None else str(folder),
            "exists": folder is not None and os.path.isdir(folder),  # noqa: PTH112 a string or a path
        }
        for name, variable, folder in folders
    ]


def offline() -> dict[str, Any]:
    """What the settings say about the network, and what can be read without it; nothing is tried."""
    from huggingface_hub.constants import HF_HUB_OFFLINE

    from workbench.commands.at_hand import at_hand

    return {"hub_is_asked": not HF_HUB_OFFLINE, "inventories_at_hand": [item.spec for item in at_hand()]}


def conflicts() -> list[str]:
    """One sentence for each of our import names that another installed distribution owns too."""
    owners = metadata.packages_distributions()
    found = []
    for name in OWN:
        others = sorted(set(owners.get(name, ())) - {DISTRIBUTION})
        if others:
            found.append(
                f"the import name {name!r} must be Suture's alone; {', '.join(others)} has it too; "
                "uninstall that, or give Suture an environment of its own"
            )
    return found


def _put(found: dict[str, Any]) -> None:
    out = console()
    out.print(fields(found["versions"].items()))
    rows = [[package["name"], package["needs"], package["version"] or "none", package["state"]]
            for package in found["required"]]  # fmt: skip
    out.print()
    out.print(table("Required packages", ["name", "needs", "installed", "state"], rows))
    rows = [
        [
            extra["name"],
            ", ".join(
                f"{package['name']} {package['version'] or package['state']}" for package in extra["packages"]
            ),
            "" if extra["complete"] else extra["install"],
        ]
        for extra in found["extras"]
    ]
    out.print(table("Extras", ["extra", "packages", "to install"], rows))
    rows = [
        [cache["name"], cache["folder"] or "switched off", "yes" if cache["exists"] else "no",
         cache["variable"] + ("" if cache["set"] else " (not set)")]
        for cache in found["caches"]
    ]  # fmt: skip
    out.print(table("Caches", ["cache", "folder", "exists", "moved by"], rows))
    asked = found["offline"]["hub_is_asked"]
    hub = "asked for what its cache lacks" if asked else "not asked, HF_HUB_OFFLINE is set"
    number = len(found["offline"]["inventories_at_hand"])
    at_hand = f"{number} inventories without a network; suture list names them"
    out.print(fields([("network", "not touched by this report"), ("Hub", hub), ("at hand", at_hand)]))
    out.print()
    for line in found["conflicts"] or ["no conflicts: workbench, vocab_audits and probing are Suture's own"]:
        out.print(safe(line), soft_wrap=True)
