"""What a page reads, noted while it runs; and the project is there to be read only."""

import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SYSTEM = ("/proc", "/sys", "/dev")
EVENTS = ("open", "os.listdir", "os.scandir")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
VERSIONED = ("stdlib", "platstdlib", "purelib", "platlib")


class Reading:
    """A hook for Python's audit events that notes the files and folders that are read."""

    def __init__(self, page: str) -> None:
        self.found: set[str] = set()
        self.project = _inside(ROOT, Path(page).parent)
        archives = tuple(path for path in sys.path if path.endswith(".zip"))  # Python looks for one
        self.passed = _inside(Path.cwd(), HERE, ROOT / ".cache", *versioned(), *SYSTEM) + archives

    def __call__(self, event: str, what: tuple[Any, ...]) -> None:
        """Note a file that is opened and a folder that is listed, unless an import lists it."""
        if event not in EVENTS or isinstance(what[0], int):
            return
        name = _absolute(what[0] or ".")
        if name.startswith(self.passed):
            return
        if event == "open" and what[2] & WRITES and name.startswith(self.project):
            raise PermissionError(f"a page writes nothing into the project: {name}")
        caller = str(sys._getframe(1).f_globals.get("__name__"))
        if event == "open" or not caller.startswith("importlib."):
            self.found.add(name)

    def names(self) -> list[str]:
        """Return what was read, or looked for in vain, that no installed version stands for."""
        files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
        found = self.found | {_absolute(file) for file in files if file}
        return sorted(n for n in found if not n.startswith(self.passed) and "__pycache__" not in n)


def versioned() -> list[str]:
    """Return the folders whose files a version stands for: Python's own and the installed."""
    return sorted({sysconfig.get_paths()[name] for name in VERSIONED})


def _inside(*folders: Path | str) -> tuple[str, ...]:
    """Return how the names of what is in the folders begin."""
    return tuple(f"{folder}{os.sep}" for folder in folders)


def _absolute(name: Any) -> str:
    return os.path.abspath(os.fsdecode(name))  # noqa: PTH100  # as it was named, links and all
