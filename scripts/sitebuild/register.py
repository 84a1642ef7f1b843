"""What the register of derivations says: how each is cited, and which tags were withdrawn.

It is asked in a process of its own, as pages are run: a server that has been up for hours would
cite the package as it was when it started.
"""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sitebuild import execute, memory

TOMBSTONE = """\
# {tag}: {title}

This tag was withdrawn. It keeps its address, and no other derivation will ever have it.

Withdrawn in version {version}, {date}: {reason}

{successor}

It was given on {given}, in version {first}. What it claimed has had the fingerprints {statements}.
"""


@dataclass(frozen=True)
class Register:
    """By tag: what a page says of a derivation, and the page of each tag that was withdrawn."""

    derivations: dict[str, dict[str, Any]]
    tombstones: dict[str, str]

    def derivation(self, page: Path) -> dict[str, Any] | None:
        """Return what is known of the derivation that a page is the page of, if it is one."""
        return self.derivations.get(page.stem) if page.parent.name == "d" else None


def ask(site: str = "", *, register: str = "", folder: Path | None = None) -> Register:
    """Ask for a site at this address; unless something changed, the folder remembers the answer."""
    job = json.dumps({"site": site, "register": register})
    known = Path(register).read_bytes() if register else b""
    state = hashlib.sha256(job.encode() + known + memory.surroundings()).hexdigest()
    entry = folder / f"{state}.json" if folder else None
    if entry and entry.exists():
        return Register(**json.loads(entry.read_text(encoding="utf-8")))
    answer = _answer_elsewhere(job)
    if entry:
        memory.keep(entry, answer.encode())
    return Register(**json.loads(answer))


def _answer_elsewhere(job: str) -> str:
    process = subprocess.run(
        [sys.executable, __file__],
        input=job,
        capture_output=True,
        encoding="utf-8",
        env=execute.environment()
        | {"PYTHONPATH": os.pathsep.join([str(memory.ROOT), str(memory.ROOT / "scripts")])},
        check=False,
    )
    if process.returncode:
        raise RuntimeError(f"the register of derivations can't be read\n{process.stderr}")
    return process.stdout


def answer(site: str, register: str) -> dict[str, Any]:
    """Return the fields of a Register, with the package that this process has."""
    from attnref.derivations import RECORDS, _citing, _register

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
        }
    stones = {tag: _tombstone(entry, entries) for tag, entry in entries.items() if entry.tombstone}
    return {"derivations": derivations, "tombstones": stones}


def _tombstone(entry: Any, entries: Any) -> str:
    stone = entry.tombstone
    return TOMBSTONE.format(
        tag=entry.tag,
        title=entry.title,
        version=stone.version,
        date=stone.date,
        reason=stone.reason,
        successor=_successor(entries.get(stone.successor)),
        given=entry.statements[0].date,
        first=entry.statements[0].version,
        statements=", ".join(f"`{s.fingerprint}` ({s.version})" for s in entry.statements),
    )


def _successor(entry: Any) -> str:
    if not entry:
        return "Nothing took its place."
    page = f"{entry.tag}.{'md' if entry.tombstone else 'py'}"
    return f"[{entry.tag}]({page}), {entry.title}, took its place."


if __name__ == "__main__":
    print(json.dumps(answer(**json.load(sys.stdin)), default=str))
