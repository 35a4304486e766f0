#!/usr/bin/env python3
"""Draws a grouped bar chart with a logarithmic axis of times as SVG, legible on light and on dark.

    bench/plot.py FIGURES SVG      FIGURES: what bench/compare_redlock --json has printed
"""

import html
import math
import sys

WIDTH, HEIGHT = 1000, 430
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 84, 40
GAP = 26  # between groups
# Of series, first to last: told apart on white and on black, and by who cannot see all colours.
COLOURS = ("#1f83d6", "#e07b00", "#b86bd6", "#2aa198", "#d0433b", "#8a8f00")
# One grey that is told from white and from black: not every page that is dark says so to its pictures.
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #7a8089 }
.title { font-size: 15px; font-weight: 600 }
.value { font-size: 9px }
.grid { stroke: #8884; stroke-width: 1 }
.axis { stroke: #888; stroke-width: 1 }
.line { stroke: #808080; stroke-width: 1.5; stroke-dasharray: 5 4 }
.absent { fill-opacity: .25; stroke-dasharray: 3 3 }
"""


def shown(us):
    if us >= 1e6:
        return f"{us / 1e6:.3g} s"
    return f"{us / 1e3:.3g} ms" if us >= 1e3 else f"{us:.0f} µs"


def text_at(x, y, text, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{html.escape(text)}</text>'


def grouped_bars(title, groups, series, values, lines, absent, most):
    """`values`: (group, series) -> microseconds; None: `absent`, drawn up to `most`. `lines`: names and heights."""
    known = [each for each in values.values() if each] + [height for _, height in lines]
    low = math.floor(math.log10(min(known)))
    high = math.ceil(math.log10(max([*known, *([most] if None in values.values() else [])])))
    base, top = HEIGHT - BOTTOM, TOP

    def height_of(us):
        return base - (math.log10(us) - low) / (high - low) * (base - top)

    parts = [text_at(LEFT, 22, title, 'class="title"')]
    x = LEFT
    for n, name in enumerate(series):  # the legend
        parts.append(f'<rect x="{x:.1f}" y="34" width="11" height="11" fill="{COLOURS[n % len(COLOURS)]}"/>')
        parts.append(text_at(x + 16, 44, name))
        x += 34 + 7 * len(name)
    for power in range(low, high + 1):
        y = height_of(10 ** power)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text_at(LEFT - 8, y + 4, shown(10 ** power), 'text-anchor="end"'))
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    width = (room - GAP) / len(series)
    for g, group in enumerate(groups):
        begin = LEFT + g * room + GAP / 2
        parts.append(text_at(begin + (room - GAP) / 2, base + 20, group, 'text-anchor="middle"'))
        for s, name in enumerate(series):
            if (group, name) not in values:
                continue
            value = values[group, name]
            x, y = begin + s * width, height_of(value or most)
            colour = COLOURS[s % len(COLOURS)]
            kind = f'class="absent" stroke="{colour}" ' if value is None else ""
            said = absent if value is None else shown(value)
            hint = html.escape(f"{group}, {name}: {said}")
            parts.append(f'<rect {kind}x="{x + 1:.1f}" y="{y:.1f}" width="{width - 2:.1f}" height="{base - y:.1f}" '
                         f'fill="{colour}"><title>{hint}</title></rect>')
            parts.append(text_at(x + width / 2, y - 4, said, 'class="value" text-anchor="middle"'))
    lines = sorted(lines, key=lambda each: each[1])
    for _, us in lines:
        y = height_of(us)
        parts.append(f'<line class="line" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
    if lines:
        said = "; ".join(f"{name} {shown(us)}" for name, us in lines)
        parts.append(f'<line class="line" x1="{LEFT}" x2="{LEFT + 26}" y1="60" y2="60"/>')
        parts.append(text_at(LEFT + 34, 64, f"from below: {said}"))
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            f'role="img" aria-label="{html.escape(title)}">\n<style>{STYLE}</style>\n{body}\n</svg>\n')


def main():
    import json
    import pathlib

    import redlock_comparison
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    figures = json.loads(pathlib.Path(sys.argv[1]).read_text())
    pathlib.Path(sys.argv[2]).write_text(grouped_bars(**redlock_comparison.chart(figures)))


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
