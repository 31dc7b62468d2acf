# python/usf/tune/html.py - the plots as one page of HTML.  SPDX-License-Identifier: Apache-2.0
"""SVG within the page, styles within the page, no script and no reference to anything outside."""
from html import escape

from .figures import number

W, H, LEFT, BOTTOM, TOP = 760, 420, 90, 60, 20
_STYLE = """body{font:15px/1.4 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em;color:#222;background:#fff}
svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#222}table{border-collapse:collapse}
td,th{padding:.2em .7em;text-align:left;border-bottom:1px solid #ccc}.best{font-weight:bold}"""


def _text(x, y, what, anchor="middle", more=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (x, y, anchor, more, escape(str(what)))


def _labels(labels, place, most=24):
    """Not every one, where there are many."""
    every = -(-len(labels) // most)
    return [(place(i), label) for i, label in enumerate(labels) if i % every == 0]


def heat_svg(heat):
    nx, ny = len(heat.x_values), len(heat.y_values)
    cw, ch = (W - LEFT - 20) / nx, (H - TOP - BOTTOM) / ny
    parts = []
    for (i, j), cell in sorted(heat.cells.items()):
        x, y = LEFT + i * cw, TOP + (ny - 1 - j) * ch
        tip = "%s: %s" % (" ".join("%s=%s" % item for item in cell.candidate.items()), heat.told(cell))
        parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s</title></rect>' % (x, y, cw, ch, heat.fill(cell), escape(tip)))
        if cw > 44 and ch > 14:
            parts.append(_text(x + cw / 2, y + ch / 2 + 4, heat.label(cell), more=' fill="%s" style="fill:%s"' % ((heat.ink(cell),) * 2)))
    i, j = heat.best
    parts.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="none" stroke="#0a0" stroke-width="4"/>' % (
        LEFT + i * cw, TOP + (ny - 1 - j) * ch, cw, ch))
    parts += [_text(x, H - BOTTOM + 18, v) for x, v in _labels(heat.x_values, lambda i: LEFT + (i + .5) * cw)]
    parts += [_text(LEFT - 8, y + 4, v, "end") for y, v in _labels(heat.y_values, lambda j: TOP + (ny - .5 - j) * ch)]
    parts.append(_text(LEFT + nx * cw / 2, H - 12, heat.x_name))
    parts.append(_text(16, TOP + ny * ch / 2, heat.y_name, more=' transform="rotate(-90 16 %.1f)"' % (TOP + ny * ch / 2)))
    return '<svg viewBox="0 0 %d %d" role="img" aria-label="heat map">%s</svg>' % (W, H, "".join(parts))


def convergence_svg(line):
    low, high = line.bounds
    px = lambda run: LEFT + (W - LEFT - 20) * (run - 1) / max(1, line.runs - 1)
    py = lambda value: TOP + (H - TOP - BOTTOM) * (1 - (value - low) / (high - low))
    parts = ['<circle cx="%.1f" cy="%.1f" r="3" fill="#888" fill-opacity=".5"/>' % (px(r), py(min(v, high))) for r, v in line.dots]
    path, last = [], None
    for run, value in line.best:
        path += ["%.1f,%.1f" % (px(run), py(last))] if last is not None else []
        path.append("%.1f,%.1f" % (px(run), py(value)))
        last = value
    parts.append('<polyline points="%s" fill="none" stroke="#06c" stroke-width="2"/>' % " ".join(path))
    parts.append('<path d="M%d %dV%dH%d" fill="none" stroke="#222"/>' % (LEFT, TOP, H - BOTTOM, W - 20))
    parts += [_text(LEFT - 8, py(v) + 4, number(v), "end") for v in (low, (low + high) / 2, high)]
    parts += [_text(px(r), H - BOTTOM + 18, r) for r in sorted({1, (1 + line.runs) // 2, line.runs})]
    parts += [_text(W / 2, H - 12, "runs"), _text(16, H / 2, line.name, more=' transform="rotate(-90 16 %d)"' % (H // 2))]
    return '<svg viewBox="0 0 %d %d" role="img" aria-label="convergence">%s</svg>' % (W, H, "".join(parts))


def _row(names, outcome, sign, best):
    value = number(sign * outcome.score) if outcome.status == "ok" else outcome.status
    cells = [outcome.candidate[n] for n in names] + [value, " ".join(number(v) for v in outcome.values), len(outcome.runs)]
    return "<tr%s>%s</tr>" % (' class="best"' if best else "", "".join("<td>%s</td>" % escape(str(c)) for c in cells))


def page(result, heat, line, most=100):
    names = result.space.names
    rows = [_row(names, o, -1 if result.maximize else 1, i == 0) for i, o in enumerate(result.outcomes[:most])]
    more = len(result.outcomes) - len(rows)
    head = "".join("<th>%s</th>" % escape(t) for t in [*names, line.name, "runs' values", "runs"])
    return """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>usf tune</title><style>%s</style></head><body>
<h1>usf tune</h1><p>%s</p><h2>%s</h2>%s<h2>Best so far, by runs</h2>%s<h2>Candidates</h2><table><tr>%s</tr>%s</table>%s
</body></html>
""" % (_STYLE, escape(heat.summary), escape(heat.title), heat_svg(heat), convergence_svg(line), head, "".join(rows),
       "<p>and %d more</p>" % more if more > 0 else "")

