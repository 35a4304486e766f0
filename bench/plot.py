#!/usr/bin/env python3
"""Draws charts with logarithmic axes as SVG, legible on light and on dark: grouped bars of times, ranges of
times, shares of targets, and lines.

    bench/plot.py FIGURES SVG      FIGURES: what bench/compare_redlock --json has printed
"""

import html
import math
import sys

WIDTH, HEIGHT = 1000, 430
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 84, 40
GAP = 26  # between groups
# Of series, first to last: told apart on white and on black, and by who cannot see all colours.
COLOURS = ("#1f83d6", "#e07b00", "#b86bd6", "#2aa198", "#d0433b", "#8a8f00", "#c2589a", "#5f7fa8", "#7a9a3a")
# And without colours at all.
DASHES = ("", "8 3", "2 3", "10 3 2 3")
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


def document(title, parts, height=HEIGHT):
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'role="img" aria-label="{html.escape(title)}">\n<style>{STYLE}</style>\n{body}\n</svg>\n')


def apart(wanted, least):
    """Heights for labels near those wanted, in the order of their heights and no two nearer than `least`."""
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    placed = dict.fromkeys(order)
    for before, n in zip([None, *order], order):
        placed[n] = wanted[n] if before is None else max(wanted[n], placed[before] + least)
    return [placed[n] for n in range(len(wanted))]


def legend(series, mark, y):
    """A mark and its name for each."""
    parts, x = [], LEFT
    for n, name in enumerate(series):
        parts += [mark(n, x + 5, y - 4), text_at(x + 16, y, name)]
        x += 34 + 7 * len(name)
    return parts


def mark_at(n, x, y, hint=""):
    """Of the n-th series: told apart by shape, too."""
    shapes = (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"', f'<rect x="{x - 4.5:.1f}" y="{y - 4.5:.1f}" width="9" height="9"',
              f'<path d="M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6-6z"', f'<path d="M{x:.1f} {y - 6:.1f}l6 10h-12z"')
    return f'{shapes[n % 4]} fill="{COLOURS[n % len(COLOURS)]}"><title>{html.escape(hint)}</title>' + \
        f"</{shapes[n % 4].split()[0][1:]}>"


def ranges(title, rows, series):
    """`rows`: name -> {series: microseconds}, a line each, from its least to its greatest mark; both have their time."""
    values = [value for row in rows.values() for value in row.values()]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high += high == low
    left, right, top, step = 190, WIDTH - 70, 92, 30
    base = top + step * len(rows)

    def x_of(us):
        return left + 60 + (math.log10(us) - low) / (high - low) * (right - left - 60)

    parts = [text_at(LEFT, 22, title, 'class="title"'), *legend(series, mark_at, 48)]
    for power in range(low, high + 1):
        x = x_of(10 ** power)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 12}" y2="{base}"/>')
        parts.append(text_at(x, top - 18, shown(10 ** power), 'text-anchor="middle"'))
    for n, (name, row) in enumerate(rows.items()):
        y = top + step * (n + 0.5)
        least, most = min(row.values()), max(row.values())
        parts.append(text_at(left - 12, y + 4, name, 'text-anchor="end"'))
        parts.append(f'<line class="axis" x1="{x_of(least):.1f}" x2="{x_of(most):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        for s, each in enumerate(series):
            if each in row:
                parts.append(mark_at(s, x_of(row[each]), y, f"{name}, {each}: {shown(row[each])}"))
        parts.append(text_at(x_of(least) - 10, y + 4, shown(least), 'text-anchor="end"'))
        if most > least:
            parts.append(text_at(x_of(most) + 10, y + 4, shown(most)))
    return document(title, parts, base + 12)


def shares(title, groups):
    """`groups`: heading -> {name: share of a target}, a line each; beside a line at 1, up to which it is met. What
    stands before a colon in names is a heading below the heading."""
    values = [max(value, 1e-3) for rows in groups.values() for value in rows.values()]
    low, high = math.floor(math.log10(min([*values, 0.1]))), math.ceil(math.log10(max([*values, 10])))
    left, right, top, step = 470, WIDTH - 70, 92, 22
    topics = {heading: {name.rpartition(": ")[0] for name in rows} - {""} for heading, rows in groups.items()}
    base = top + step * sum(len(rows) + len(topics[heading]) + 1 for heading, rows in groups.items())

    def x_of(value):
        return left + 30 + (math.log10(max(value, 10 ** low)) - low) / (high - low) * (right - left - 30)

    parts = [text_at(LEFT, 22, title, 'class="title"'),
             text_at(LEFT, 44, "Left of the broken line: better than the target. A diamond: missed.")]
    for power in range(low, high + 1):
        x = x_of(10 ** power)
        kind = "line" if power == 0 else "grid"
        parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 12}" y2="{base}"/>')
        parts.append(text_at(x, top - 18, "the target" if power == 0 else f"{10 ** power:g} x", 'text-anchor="middle"'))
    y = top + step / 2
    for heading, rows in groups.items():
        parts.append(text_at(LEFT, y + 4, heading, 'style="font-weight: 600"'))
        last_topic = ""
        for name, value in rows.items():
            topic, _, label = name.rpartition(": ")
            if topic and topic != last_topic:
                y += step
                parts.append(text_at(LEFT + 16, y + 4, topic))
            last_topic = topic
            y += step
            parts.append(text_at(left - 12, y + 4, label, 'text-anchor="end"'))
            parts.append(mark_at(0 if value <= 1 else 2, x_of(value), y, f"{heading}, {name}: {value:.2g} of the target"))
            parts.append(text_at(x_of(value) + 10, y + 4, f"{value:.2g}"))
        y += step
    return document(title, parts, base + 12)


def lines(title, across, up, series):
    """`series`: name -> {x: y}, all above 0; a name is at the end of its line. `across`, `up`: what the axes are."""
    marks = sorted({x for points in series.values() for x in points})
    heights = [y for points in series.values() for y in points.values()]
    low, high = math.floor(math.log10(min(heights))), math.ceil(math.log10(max(heights)))
    high += high == low
    base, top, right = HEIGHT - BOTTOM - 16, 56, WIDTH - 190

    def x_of(x):
        share = 0.5 if marks[0] == marks[-1] else math.log(x / marks[0]) / math.log(marks[-1] / marks[0])
        return LEFT + 20 + share * (right - LEFT - 40)

    def y_of(y):
        return base - (math.log10(y) - low) / (high - low) * (base - top)

    parts = [text_at(LEFT, 22, title, 'class="title"'), text_at(LEFT, 42, up),
             text_at((LEFT + right) / 2, base + 40, across, 'text-anchor="middle"')]
    for power in range(low, high + 1):
        y = y_of(10 ** power)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text_at(LEFT - 8, y + 4, f"{10 ** power:,.6g}".replace(",", " "), 'text-anchor="end"'))
    parts += [text_at(x_of(x), base + 20, f"{x:g}", 'text-anchor="middle"') for x in marks]
    parts.append(f'<line class="axis" x1="{LEFT}" x2="{right}" y1="{base}" y2="{base}"/>')
    labels = apart([y_of(points[max(points)]) for points in series.values()], 15)
    for n, ((name, points), label) in enumerate(zip(series.items(), labels)):
        colour, dash = COLOURS[n % len(COLOURS)], DASHES[n % len(DASHES)]
        path = " ".join(f"{x_of(x):.1f},{y_of(points[x]):.1f}" for x in sorted(points))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" '
                     f'stroke-dasharray="{dash}"/>')
        for x in sorted(points):
            hint = html.escape(f"{name}, {x:g}: {points[x]:,.4g}")
            parts.append(f'<circle cx="{x_of(x):.1f}" cy="{y_of(points[x]):.1f}" r="3.5" fill="{colour}">'
                         f"<title>{hint}</title></circle>")
        last = max(points)
        parts.append(f'<line class="grid" x1="{x_of(last) + 5:.1f}" y1="{y_of(points[last]):.1f}" x2="{right + 2}" '
                     f'y2="{label:.1f}"/>')
        parts.append(text_at(right + 6, label + 4, name, f'style="fill:{colour}"'))
    return document(title, parts)


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
    return document(title, parts)


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
