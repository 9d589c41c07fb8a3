"""The verbs ``list`` and ``show``: what there is, and what one inventory or entry is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.commands.printing import console, fields, put_json, safe, table, tell
from workbench.errors import SutureError, UnknownName

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree as Drawn

    from workbench.bpe import Tree
    from workbench.inventory import Entry
    from workbench.registry import Registry
    from workbench.segmentation import Segmentation
    from workbench.tokenizer import Tokenizer

ADDED_SHOWN = 8
"""Added tokens with flags of their own that the card lists; ``--json`` lists all."""


def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List verbs, audits, sources, corpora and inventories at hand.

    Example: `suture list --json`
    """
    from workbench.adapters import SOURCES
    from workbench.catalog import catalog
    from workbench.cli import VERBS
    from workbench.commands.at_hand import at_hand
    from workbench.registry import Registry

    found: dict[str, list[dict[str, Any]]] = {
        "verbs": _members(VERBS, told=True),
        "audits": _members(Registry("suture.audits", "audit")),
        "sources": _members(SOURCES),
        "corpora": [
            {"name": name, "summary": row.get("about", ""), "licence": row.get("licence", "")}
            for name, row in catalog().items()
        ],
        "inventories": [{"name": item.spec, "from": item.held_by} for item in at_hand()],
    }
    if as_json:
        put_json(found)
        return
    out = console()
    for heading, rows in found.items():
        keys = list(rows[0]) if rows else ["name"]
        cells = [[row[key] for key in keys] for row in rows]
        out.print(
            table(heading.capitalize(), ["what it is" if key == "summary" else key for key in keys], cells)
        )
    if not found["inventories"]:
        tell('no real inventory is at hand; pip install "suture[demo]" brings two')


def _members(registry: Registry, *, told: bool = False) -> list[dict[str, Any]]:
    """Name, first line of documentation and distribution of each member.

    One that fails to import is left out, and told of unless it was ``told`` already.
    """
    found = []
    for name in registry.names():
        try:
            member = registry.get(name)
        except SutureError as error:
            if not told:
                tell(str(error))
            continue
        text = getattr(member, "summary", None) or (member.__doc__ or "").strip().partition("\n")[0]
        summary = text.replace("``", "").rstrip(".")
        found.append({"name": name, "summary": summary, "from": registry.origin(name)})
    return found


def show(
    spec: Annotated[
        str, typer.Argument(metavar="SPEC", help="A tokenizer: hf:…, tiktoken:…, pkg:…, a path.")
    ],
    token_id: Annotated[int | None, typer.Option("--id", help="Show the entry of this id.")] = None,
    hexadecimal: Annotated[
        str | None, typer.Option("--bytes", metavar="HEX", help="Show entries of these bytes.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="Show entries that spell this text.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show the card of an inventory, or one entry and how it is built.

    Example: `suture show tiktoken:cl100k_base --text " the"`
    """
    from workbench.adapters import load

    if sum(choice is not None for choice in (token_id, hexadecimal, text)) > 1:
        raise SutureError(
            "an entry must be named in one way; got several of --id, --bytes and --text; keep one"
        )
    tokenizer = load(spec)
    if token_id is None and hexadecimal is None and text is None:
        _put_card(tokenizer, as_json)
        return
    inventory = tokenizer.inventory
    if token_id is not None:
        ids, cut = [inventory.entry(token_id).id], None
    elif hexadecimal is not None:
        ids, cut = _of_bytes(tokenizer, hexadecimal), None
    else:
        cut = tokenizer.segment(text or "")
        ids = inventory.find(cut.text)
    if as_json:
        put_json(_entries_json(tokenizer, ids, cut))
    else:
        _put_entries(tokenizer, ids, cut)


def _of_bytes(tokenizer: Tokenizer, hexadecimal: str) -> list[int]:
    try:
        piece = bytes.fromhex(hexadecimal.removeprefix("0x"))
    except ValueError:
        raise SutureError(
            f"--bytes must hold pairs of hexadecimal digits; got {hexadecimal!r}; write 20 61 for ' a'"
        ) from None
    ids = tokenizer.inventory.find(piece)
    if not ids:
        raise UnknownName(
            f"the bytes must be those of an entry; {tokenizer.name} has none of {piece.hex(' ')!r}; "
            "ask with --text how a text is composed"
        )
    return ids


def card(tokenizer: Tokenizer) -> dict[str, Any]:
    """What there is to say of an inventory and its pipeline, ready for JSON."""
    counts = tokenizer.inventory.frame["kind"].value_counts().sort("count", descending=True)
    return {
        **tokenizer.card(),
        "kinds": dict(counts.select("kind", "count").iter_rows()),
        "steps": [step._asdict() for step in tokenizer.pipeline.steps],
    }


def _put_card(tokenizer: Tokenizer, as_json: bool) -> None:
    facts = card(tokenizer)
    if as_json:
        put_json(facts)
        return
    flags = {
        "byte_level": "byte-level",
        "prefix_space": "puts a space before the text",
        "ignore_merges": "whole pre-tokens skip the merges",
    }
    pairs = [
        ("name", facts["name"]),
        ("source", facts["source"]),
        ("digest", facts["digest"]),
        ("entries", f"{facts['entries']:,}"),
        ("kinds", ", ".join(f"{kind} {count:,}" for kind, count in facts["kinds"].items())),
        ("rows needed", f"{facts['rows_needed']:,}"),
        ("embedding rows", _rows(facts["rows"], facts["rows_needed"])),
        ("model", ", ".join([facts["model"], *(text for key, text in flags.items() if facts[key])])),
        ("pattern", facts["pattern"]),
        ("pattern digest", facts["pattern_digest"]),
        *(("note", note) for note in facts["notes"]),
    ]
    out = console()
    out.print(fields(pairs))
    steps = facts["steps"]
    added = [step for step in steps if step["stage"] == "added token"]
    rest = [step for step in steps if step["stage"] != "added token"]
    rows = [[step["stage"], _literal(step), _detail(step, facts)] for step in added[:ADDED_SHOWN] + rest]
    if rows:
        out.print()
        out.print(table("Pipeline", ["stage", "name", "detail"], rows))
    if len(added) > ADDED_SHOWN:
        tell(f"{len(added) - ADDED_SHOWN} more added tokens with flags of their own are in --json")


def _rows(rows: int | None, needed: int) -> str:
    if rows is None:
        return "not known: no config or weights beside the tokenizer"
    if rows < needed:
        return f"{rows:,}, {needed - rows:,} too few"
    return f"{rows:,}" + (f", {rows - needed:,} to spare" if rows > needed else "")


def _literal(step: dict[str, str]) -> str | Text:
    from rich.text import Text

    from workbench.display import faithful

    return Text(faithful(step["name"].encode())) if step["stage"] == "added token" else step["name"]


def _detail(step: dict[str, str], facts: dict[str, Any]) -> str:
    return "the pattern above" if step["detail"] and step["detail"] == facts["pattern"] else step["detail"]


def _entries_json(tokenizer: Tokenizer, ids: list[int], cut: Segmentation | None) -> dict[str, Any]:
    from workbench.ancestry import ancestry
    from workbench.commands.pieces import tokens

    entries = []
    for token_id in ids:
        entry = tokenizer.inventory.entry(token_id)
        tree = ancestry(tokenizer.inventory, token_id)
        entries.append({**_entry(entry), "built": None if tree is None else _nested(tree)})
    found: dict[str, Any] = {"inventory": tokenizer.name, "entries": entries}
    if cut is not None:
        found |= {"composed": not ids, "tokens": tokens(tokenizer, cut, "byte")}
    return found


def _entry(entry: Entry) -> dict[str, Any]:
    from workbench.display import faithful

    piece = entry.bytes
    return {
        "id": entry.id,
        "bytes": None if piece is None else piece.hex(),
        "shown": None if piece is None else faithful(piece),
        "kind": entry.kind,
        "position": entry.position,
        "rank": entry.rank,
        "score": entry.score,
    }


def _nested(tree: Tree) -> dict[str, Any]:
    parts = [_nested(part) for part in (tree.left, tree.right) if part is not None]
    return {"id": tree.id, "bytes": tree.bytes.hex(), "parts": parts}


def _put_entries(tokenizer: Tokenizer, ids: list[int], cut: Segmentation | None) -> None:
    from rich.text import Text

    from workbench.ancestry import ancestry
    from workbench.commands.pieces import token_table
    from workbench.display import faithful

    out = console()
    for token_id in ids:
        facts = _entry(tokenizer.inventory.entry(token_id))
        facts["bytes"] = bytes.fromhex(facts["bytes"]).hex(" ") if facts["bytes"] else "none"
        facts["shown"] = Text(facts["shown"] or "")
        out.print(fields([("inventory", tokenizer.name), *facts.items()]))
        tree = ancestry(tokenizer.inventory, token_id)
        if tree is not None and tree.left is not None:
            out.print(_drawn(tree))
        elif tree is not None:
            out.print("no merge builds it")
        out.print()
    if cut is None:
        return
    name, shown = safe(tokenizer.name), faithful(cut.text)
    if not ids:
        out.print(Text.assemble(name, f" has no entry {shown}: it is composed of {len(cut)} tokens"))
    elif len(cut) != 1:
        inner = all(tokenizer.inventory.entry(token_id).position == "inner" for token_id in ids)
        where = ", for the inside of a word" if inner else ""
        out.print(
            Text.assemble(name, f" has that entry{where}, yet cuts the text {shown} into {len(cut)} tokens")
        )
    if any(tokenizer.inventory.entry(token_id).kind == "special" for token_id in ids):
        out.print("as text it is data; suture segment --control reads it as a control token")
    if not ids or len(cut) != 1:
        out.print(token_table(tokenizer, cut, "byte"))


def _drawn(tree: Tree) -> Drawn:
    """The merges as a tree for the terminal, drawn without recursion into deep ones."""
    from rich.text import Text
    from rich.tree import Tree as Drawn

    from workbench.display import faithful

    def label(node: Tree) -> Text:
        return Text.assemble(faithful(node.bytes), (f"  {node.id}", "dim"))

    root = Drawn(label(tree))
    waiting = [(tree, root)]
    while waiting:
        node, place = waiting.pop()
        parts = [part for part in (node.left, node.right) if part is not None]
        waiting += [(part, place.add(label(part))) for part in parts]
    return root
