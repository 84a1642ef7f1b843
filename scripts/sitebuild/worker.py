"""Run one page in this process and record what it shows.

Started as a script, never imported by the site: the page runs as `python page.py` would run it, in
a module named __main__. A quiet IPython shell stands by, so that `display` and rich objects work
as in a notebook; it starts in a fifth of the time of a kernel and opens no port.

Standard input holds {"path", "seconds", "cells": [cell, …]}, a cell {"kind", "source",
"expressions", "line", "may_raise"}. Standard output gets the line of each cell that begins, for
whoever has to end a page that hangs, and at last {"cells": [[event, …], …], "versions": {…},
"files": […]}; an event is {"kind": "stdout" | "stderr", "text"}, {"kind": "display", "data"},
{"kind": "value", "text"} or {"kind": "error", "text", "summary", "line"}. What the page writes past
Python's streams goes to standard error.
"""

import ast
import faulthandler
import importlib.metadata
import json
import os
import re
import sys
import traceback
import types
from pathlib import Path
from typing import Any, TextIO

from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

Event = dict[str, Any]

JSON = "application/json"
MOST = 1_000_000  # characters that a page may print
LARGEST = 100_000_000  # bytes of a file that it may write


class Stream:
    """A text stream that records what is written to it, in order with everything else."""

    encoding = "utf-8"

    def __init__(self, kind: str, events: list[Event]) -> None:
        self.kind, self.events, self.ended, self.left = kind, events, False, MOST

    def write(self, text: str) -> int:
        """Record the text, joined to what this stream wrote just before."""
        text.encode(self.encoding)  # half a character is an error, as it is in a terminal
        self.left -= len(text)
        if self.left < 0:
            raise RuntimeError(f"a page may print {MOST:,} characters")
        if self.ended:  # threads and exit handlers: too late for the page, and so an error
            return os.write(2, text.encode("utf-8", "replace"))
        if self.events and self.events[-1]["kind"] == self.kind:
            self.events[-1]["text"] += text
        elif text:
            self.events.append({"kind": self.kind, "text": text})
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""

    def isatty(self) -> bool:
        """Say that nobody watches, so that nothing is coloured."""
        return False


class Publisher(DisplayPublisher):
    """What `display` publishes to."""

    events: list[Event]

    def publish(self, data: dict[str, Any], *_: Any, **__: Any) -> None:
        """Record every form of the object that is text, and its data."""
        forms = {mime: form for mime, form in data.items() if isinstance(form, str)}
        if JSON in data:
            forms[JSON] = json.dumps(data[JSON], ensure_ascii=False, indent=1, allow_nan=False)
        self.events.append({"kind": "display", "data": forms})


def run(job: dict[str, Any], channel: TextIO) -> dict[str, Any]:
    """Run the cells in order; the first that raises ends the page, unless it is allowed to."""
    events: list[Event] = []
    faulthandler.dump_traceback_later(job["seconds"], exit=True)
    shell = InteractiveShell.instance(history_load_length=0)
    shell.display_pub = Publisher(parent=shell)  # type: ignore[no-untyped-call]  # IPython's own
    shell.display_pub.events = events
    shell.showtraceback = _raise_again  # type: ignore[method-assign]  # or a failed form is printed
    streams = sys.stdout, sys.stderr = Stream("stdout", events), Stream("stderr", events)
    reading = _watched(job["path"])
    namespace = _main_module(job["path"])
    recorded = []
    for cell in job["cells"]:
        print(cell["line"], file=channel, flush=True)
        _run_cell(cell, job["path"], namespace, events)
        if channel.closed:  # a child that the page forked, and that came out of its cell
            os._exit(0)
        recorded.append(list(events))
        failed = any(event["kind"] == "error" for event in events)
        events.clear()
        if failed and not cell["may_raise"]:
            break
    for stream in streams:
        stream.ended = True
    return {"cells": recorded, "versions": _versions(job["path"]), "files": reading.names()}


def _raise_again(*_: Any, **__: Any) -> None:
    """Let an object's form that fails fail the page, where IPython would print the traceback."""
    raise  # what is being handled


def _watched(path: str) -> Any:
    """Return what notes from now on which files a page reads."""
    sys.path[0] = str(Path(__file__).parents[1])  # until the page's own folder takes the place
    from sitebuild.reading import Reading

    reading = Reading(path)
    sys.addaudithook(reading)
    return reading


def _main_module(path: str) -> dict[str, Any]:
    module = types.ModuleType("__main__")
    module.__file__ = path
    sys.modules["__main__"] = module
    sys.argv, sys.path[0] = [path], str(Path(path).parent)
    return vars(module)


def _run_cell(
    cell: dict[str, Any], path: str, namespace: dict[str, Any], events: list[Event]
) -> None:
    try:
        if cell["kind"] == "code":
            source = "\n" * (cell["line"] - 1) + cell["source"]
            exec(compile(source, path, "exec"), namespace)  # noqa: S102  # running the page is the job
        else:
            for expression in cell["expressions"]:
                value = eval(expression, namespace)  # noqa: S307  # the page's own expression
                events.append({"kind": "value", "text": str(value)})
    except BaseException as error:  # a page may raise anything, SystemExit too
        events.append(_error(error, path))


def _error(error: BaseException, path: str) -> Event:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
    here = [f.lineno for f in frames if f.filename == path]
    line = error.lineno if isinstance(error, SyntaxError) else (here[-1] if here else None)
    summary = "".join(traceback.format_exception_only(error)).strip()
    text = "".join(traceback.format_list(frames)) + summary
    return {"kind": "error", "text": text, "summary": summary, "line": line}


def _versions(path: str) -> dict[str, str]:
    """Return the versions of attnref, and of what it needs or the page imports, where loaded."""
    needed = [re.split(r"[^\w-]", name)[0] for name in importlib.metadata.requires("attnref") or ()]
    wanted = dict.fromkeys(["attnref", *needed, *_imported(path)])
    python = ".".join(map(str, sys.version_info[:3]))
    versions = {name: _version(name) for name in wanted if name in sys.modules}
    return {"Python": python} | {name: version for name, version in versions.items() if version}


def _version(name: str) -> str | None:
    """Return the version of what is installed under a name; the standard library has none."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _imported(path: str) -> list[str]:
    """Return the modules that a page imports, in the order in which it names them."""
    names = []
    for node in ast.walk(ast.parse(Path(path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module or "")
    return [name.split(".")[0] for name in names]


def _isolate(channel: TextIO) -> None:
    """Let no file grow without end, and no child that a page forks speak for the page."""
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        limit = LARGEST if most == resource.RLIM_INFINITY else min(LARGEST, most)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
        os.register_at_fork(after_in_child=channel.close)


if __name__ == "__main__":
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _isolate(channel)
    record = run(json.load(sys.stdin), channel)
    print(json.dumps(record), end="", file=channel, flush=True)
