"""A piece of a Markdown file between two marks: `<!-- NAME -->` and `<!-- /NAME -->`."""

import re


def replaced(text, name, content):
    """The text with the content between the marks of this name.

    >>> replaced("a <!-- x --> old <!-- /x --> b", "x", "new")
    'a <!-- x -->\\nnew\\n<!-- /x --> b'
    """
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    pattern = re.compile(rf"{re.escape(first)}.*?{re.escape(last)}", re.S)
    if not pattern.search(text):
        raise ValueError(f"no {first} ... {last}")
    return pattern.sub(lambda _: f"{first}\n{content}\n{last}", text)


def table(header, rows, align=None):
    """A Markdown table; `align` has "<" or ">" for each column.

    >>> print(table(["a", "b"], [[1, "x|y"]], "><"))
    | a | b |
    | ---: | --- |
    | 1 | x\\|y |
    """
    align = align or "<" * len(header)
    lines = [header, ["---:" if side == ">" else "---" for side in align], *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
