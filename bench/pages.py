"""Tables that a program writes into a page of the documentation."""

import sys


def aligned(rows):
    """A table whose columns line up in the source, too."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    rows = [rows[0], ["-" * width for width in widths], *rows[1:]]
    return "\n".join(f"| {' | '.join(cell.ljust(width) for cell, width in zip(row, widths))} |" for row in rows)


def replaced(page, text, program):
    """The page's text, with this one between the program's two comments."""
    begin_line, end_line = f"<!-- {program} writes from here -->\n", "<!-- to here -->\n"
    before, begin, rest = page.partition(begin_line)
    _, end, after = rest.partition(end_line)
    if not begin or not end:
        sys.exit(f"the page has no {begin_line.strip()} … {end_line.strip()}")
    return before + begin + text + end + after
