"""All records, in the order of the story: which topic tells which.

A topic is loaded when one of its records is asked for: a page about one record loads few others.
"""

from functools import cache
from importlib import import_module

from attnref.derivations._record import Record

__all__ = ["STORY", "find", "records"]

STORY: dict[str, tuple[str, ...]] = {
    "z_form": ("ZFRM",),
    "shifts": (
        "SHFT",
        "KSHF",
    ),
    "merging": ("MSHF",),
    "blocks": ("MBLK",),
    "monoid": (
        "MCOM",
        "MASS",
        "MIDN",
    ),
    "online": ("ONLN",),
    "sinks": (
        "SINK",
        "MSNK",
    ),
    "empty_row": ("SEMP",),
    "duplicates": ("DUPL",),
    "log_partition": (
        "PSUM",
        "LZGR",
        "LZGQ",
    ),
    "cumulants": (
        "LZHS",
        "AGRD",
    ),
    "softmax_jacobian": (
        "SJAC",
        "SNUL",
    ),
    "softmax_spectrum": (
        "SVAR",
        "SHLF",
    ),
    "backward": (
        "BWDV",
        "BWDS",
    ),
    "backward_projections": (
        "BWDQ",
        "BWDK",
    ),
    "backward_rows": ("BWDR",),
    "shared_keys": ("GQAG",),
    "softcap": ("SCAP",),
    "softcap_bounds": (
        "CAPU",
        "CAPL",
    ),
    "softcap_mask": (
        "CAPW",
        "SCMK",
    ),
    "entropy": (
        "ENTR",
        "ENTD",
    ),
    "dot_product_variance": ("VDOT",),
    "scaled_variance": ("VSCL",),
    "moments": (
        "VGEN",
        "ECOR",
        "VCOR",
    ),
    "uniform": (
        "EUNI",
        "VUNI",
    ),
    "within_rows": (
        "VKEY",
        "VROW",
    ),
    "kurtosis": ("KURT",),
    "dropout": (
        "DRPM",
        "DRPV",
    ),
    "linear": (
        "LINA",
        "LINS",
    ),
    "kernel": (
        "KRNL",
        "KGAU",
    ),
    "bounds": (
        "LZLO",
        "LZUP",
    ),
    "lead": (
        "LOGP",
        "LOGN",
    ),
    "temperature": (
        "TGAP",
        "TZER",
    ),
    "variational": (
        "VENT",
        "VARI",
    ),
    "divergence": ("BREG",),
    "alibi": (
        "ALBZ",
        "ALBD",
    ),
    "covariance_around": ("PAXT",),
    "covariance_merge": ("CMRG",),
}
"""The topics, each with the tags of its records."""


def find(tag: str) -> Record | None:
    """Return the record with a tag, if there is one."""
    topic = next((topic for topic, tags in STORY.items() if tag in tags), None)
    return next((record for record in _told(topic) if record.tag == tag), None) if topic else None


@cache
def records() -> tuple[Record, ...]:
    """Return every record; this loads all topics."""
    return tuple(record for topic in STORY for record in _told(topic))


def _told(topic: str) -> tuple[Record, ...]:
    told: tuple[Record, ...] = import_module(f"attnref.derivations.{topic}").RECORDS
    return told
