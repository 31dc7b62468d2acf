# python/usf/tune/plot.py - heat map and convergence as a file.  SPDX-License-Identifier: Apache-2.0
import importlib.util
import io
import os

from . import html
from .figures import Heat, Line
from .result import write_file
from .trouble import TuneError


def check(path):
    """Raise TuneError now rather than after the search."""
    ending = os.path.splitext(path)[1].lower()
    if ending not in (".png", ".html"):
        raise TuneError("--plot %s: the name ends in .png or .html" % path)
    if ending == ".png" and importlib.util.find_spec("matplotlib") is None:
        raise TuneError("--plot %s: a PNG needs matplotlib: pip install 'usf[tune]' (an .html file needs nothing)" % path)
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK | os.X_OK):
        raise TuneError("--plot %s: the folder cannot be written to" % path)


def save(result, path):
    path = os.fspath(path)
    check(path)
    heat, line = Heat(result), Line(result)
    write_file(path, _png(heat, line) if path.lower().endswith(".png") else html.page(result, heat, line))


def _ticks(set_ticks, values, most=24):
    every = -(-len(values) // most)
    set_ticks(range(0, len(values), every), [str(v) for v in values[::every]])


def _png(heat, line):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(12, 5), constrained_layout=True)
    canvas = FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    few = len(heat.x_values) <= 10 and len(heat.y_values) <= 16
    for (i, j), cell in heat.cells.items():
        left.add_patch(Rectangle((i - .5, j - .5), 1, 1, color=heat.fill(cell), linewidth=0))
        if few:
            left.text(i, j, heat.label(cell), ha="center", va="center", fontsize=8, color=heat.ink(cell))
    left.add_patch(Rectangle((heat.best[0] - .5, heat.best[1] - .5), 1, 1, fill=False, edgecolor="#00aa00", linewidth=3, zorder=3))
    left.set(xlim=(-.5, len(heat.x_values) - .5), ylim=(-.5, len(heat.y_values) - .5), xlabel=heat.x_name, ylabel=heat.y_name, title=heat.title)
    _ticks(left.set_xticks, heat.x_values)
    _ticks(left.set_yticks, heat.y_values)
    right.scatter([r for r, _ in line.dots], [min(v, line.bounds[1]) for _, v in line.dots], s=9, color="#888888", label="runs")
    right.step([r for r, _ in line.best], [v for _, v in line.best], where="post", color="#0066cc", label="best median so far")
    right.set(xlabel="runs", ylabel=line.name, title="Convergence")
    right.legend()
    out = io.BytesIO()
    canvas.print_png(out)
    return out.getvalue()
