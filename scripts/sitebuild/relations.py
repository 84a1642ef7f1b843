"""What stands around a derivation: the code that embodies it, what it uses, and what uses it."""

from collections.abc import Iterable

# Which page of the reference has what; the first that fits a name is the one.
PAGES = {
    "attnref.masks.": "masks",
    "attnref.testing.": "testing",
    "attnref.torch.distributed.": "torch-distributed",
    "attnref.torch.masks.": "torch-masks",
    "attnref.torch.": "torch",
    "attnref.make_array": "inspection",
    "attnref.Partial": "merging",
    "attnref.merge": "merging",
    "attnref.partial_attention": "merging",
    "attnref.attention_gradients": "blocks",
    "attnref.streaming_attention": "blocks",
    "attnref.": "attention",
}


def markdown(relations: dict[str, list[str]]) -> str:
    """Return a line each for code, used and users, with links; nothing where there are none."""
    lines = {
        "In code": map(_name, relations["code"]),
        "Uses": map(_tag, relations["uses"]),
        "Used by": map(_tag, relations["used_by"]),
    }
    said = (_line(title, [*links]) for title, links in lines.items())
    return "\n\n".join(line for line in said if line)


def _line(title: str, links: Iterable[str]) -> str:
    found = ", ".join(links)
    return f"**{title}:** {found}" if found else ""


def _name(name: str) -> str:
    page = next(page for start, page in PAGES.items() if name.startswith(start))
    return f"[`{name}`](../reference/{page}.md#{name})"


def _tag(tag: str) -> str:
    return f"[{tag}]({tag}.py)"
