"""What runs before a commit is what `scripts/test.py` runs, by the same commands."""

import runpy
import shlex

from mkdocs.utils.yaml import yaml_load

from terminal import ROOT

CHECKS = runpy.run_path(str(ROOT / "scripts" / "test.py"))["CHECKS"]
CONFIG = yaml_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
HOOKS = {hook["name"]: hook for repo in CONFIG["repos"] for hook in repo["hooks"]}
PYTHON = [".venv/bin/python", "-m"]


def test_hooks_are_the_checks_in_their_order() -> None:
    """Each check has a hook of its name, and no hook is anything else."""
    assert [*HOOKS] == [name for name, _ in CHECKS]


def test_hooks_run_the_commands_of_the_checks() -> None:
    """The command is the same, in the same environment; of the tests, files are chosen."""
    for name, words in CHECKS:
        entry = shlex.split(HOOKS[name]["entry"])
        assert entry[: len(PYTHON) + len(words)] == [*PYTHON, *words]
        chosen = entry[len(PYTHON) + len(words) :]
        assert bool(chosen) == (name == "pytest")
        assert all((ROOT / path).is_file() for path in chosen)


def test_hooks_look_at_the_whole_project() -> None:
    """A file that was not touched may be wrong now: every hook runs always, as the check does."""
    for hook in HOOKS.values():
        assert (hook["language"], hook["pass_filenames"], hook["always_run"]) == (
            "system",
            False,
            True,
        )


def test_hooks_are_of_this_project() -> None:
    """Nothing is fetched from elsewhere, and so nothing can differ from the pinned versions."""
    assert [repo["repo"] for repo in CONFIG["repos"]] == ["local"]
