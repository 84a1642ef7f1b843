"""Say what the register of derivations holds, with the package as it is now.

Started as a script, never imported by the site. Standard input holds {"site", "register"}: an
address or nothing, and a file that takes the register's place or nothing. Standard output gets
{"derivations", "tombstones"}, the fields of a Register.
"""

import html
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attnref.derivations import RECORDS, _citing, _register
from attnref.derivations._register import Entry

TOMBSTONE = """\
# {tag}: {title}

This tag was withdrawn. It keeps its address, and no other derivation will ever have it.

Withdrawn in version {version}, {date}: {reason}

{successor}

It was given on {given}, in version {first}. What it claimed has had the fingerprints {statements}.
"""


def answer(site: str, register: str) -> dict[str, Any]:
    """Return the fields of a Register."""
    text = Path(register).read_text(encoding="utf-8") if register else ""
    entries = _register.read(text) if register else _register.register()
    derivations = {}
    for record in RECORDS:
        work = _citing.citation(record, site=site)
        forms = {name: form(work) for name, form in _citing.FORMATS.items()}
        statements = entries[record.tag].statements if record.tag in entries else ()
        derivations[record.tag] = {
            "work": asdict(work),
            "forms": forms,
            "statements": [asdict(statement) for statement in statements],
            "relations": {
                "code": record.code,
                "uses": [used.tag for used in record.uses],
                "used_by": [user.tag for user in RECORDS if record in user.uses],
            },
        }
    stones = {tag: _tombstone(entry, entries) for tag, entry in entries.items() if entry.tombstone}
    return {"derivations": derivations, "tombstones": stones}


def _tombstone(entry: Entry, entries: dict[str, Entry]) -> str:
    stone = entry.tombstone
    assert stone
    return TOMBSTONE.format(
        tag=entry.tag,
        title=html.escape(entry.title, quote=False),
        version=stone.version,
        date=stone.date,
        reason=html.escape(stone.reason, quote=False),
        successor=_successor(entries.get(stone.successor)),
        given=entry.statements[0].date,
        first=entry.statements[0].version,
        statements=", ".join(f"`{s.fingerprint}` ({s.version})" for s in entry.statements),
    )


def _successor(entry: Entry | None) -> str:
    if not entry:
        return "Nothing took its place."
    page = f"{entry.tag}.{'md' if entry.tombstone else 'py'}"
    return f"[{entry.tag}]({page}), {html.escape(entry.title, quote=False)}, took its place."


if __name__ == "__main__":
    print(json.dumps(answer(**json.load(sys.stdin)), default=str))
