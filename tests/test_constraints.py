"""The laws of constraints.txt: it pins all that the environment holds, once and exactly."""

import importlib.metadata
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from environment import pins
from terminal import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What installs the rest: pip itself, and what an editable install asks hatchling for.
INSTALLERS = ["pip", "hatchling", "editables"]


def asked_for() -> list[Requirement]:
    """Return what pyproject.toml asks for."""
    project, groups = PYPROJECT["project"], PYPROJECT["dependency-groups"]
    lists = [project["dependencies"], *project["optional-dependencies"].values(), *groups.values()]
    return [Requirement(text) for texts in lists for text in texts]


def drawn_in_by(requirement: Requirement) -> list[Requirement]:
    """Return what an installed package asks for in its turn, here, with these extras."""
    asked = map(Requirement, importlib.metadata.requires(requirement.name) or [])
    extras = ["", *requirement.extras]
    return [
        r for r in asked if not r.marker or any(r.marker.evaluate({"extra": e}) for e in extras)
    ]


def test_pins_are_exact_sorted_and_of_no_local_build() -> None:
    """A line is a name and one version; +cpu would refuse every other build of torch."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    lines = [line for line in lines if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[0-9][0-9a-z.]*", line)] == []
    names = [line.split("==")[0] for line in lines]
    assert names == sorted(set(names))


@pytest.mark.parametrize("requirement", asked_for(), ids=str)
def test_pins_are_within_the_ranges(requirement: Requirement) -> None:
    """What pyproject.toml asks for is pinned, to a version that it allows."""
    assert requirement.specifier.contains(pins(ROOT)[canonicalize_name(requirement.name)])


def test_pins_hold_all_that_is_drawn_in() -> None:
    """No package comes in whatever version there is, however it is drawn in."""
    todo = asked_for()
    seen: dict[str, Requirement] = {}
    while todo:
        requirement = todo.pop()
        if str(requirement) not in seen:
            seen[str(requirement)] = requirement
            todo += drawn_in_by(requirement)
    names = {canonicalize_name(requirement.name) for requirement in seen.values()}
    assert names - pins(ROOT).keys() == set()
    assert set(INSTALLERS) <= pins(ROOT).keys()
