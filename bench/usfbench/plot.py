# bench/usfbench/plot.py - heat maps.  SPDX-License-Identifier: Apache-2.0
"""matplotlib is needed here alone; Debian's, under /usr/bin/python3."""
import os

from . import configs


def load():
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import colors, pyplot
    return pyplot, colors.LogNorm(0.01, 1.0, clip=True)


def draw_map(ax, norm, rows, columns, value, title):
    """value(row, column) -> (share of the best, text) or None."""
    grid = [[value(r, c) for c in columns] for r in rows]
    image = ax.imshow([[cell[0] if cell else float("nan") for cell in line] for line in grid], norm=norm, cmap="RdYlBu",
                      aspect="auto", origin="lower")
    for y, line in enumerate(grid):
        for x, cell in enumerate(line):
            if cell:
                dark = cell[0] < 0.03 or cell[0] > 0.6
                ax.text(x, y, cell[1], ha="center", va="center", fontsize=7, color="white" if dark else "black")
    ax.set_xticks(range(len(columns)), columns, fontsize=7)
    ax.set_yticks(range(len(rows)), rows, fontsize=7)
    ax.set_title(title, fontsize=9)
    return image


def percent(share, cut=False):
    text = f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.1f}"
    return ("<" if cut else "") + text


def nested(result, directory):
    """One picture per operation: a row per library, Linux and usf side by side for each outer runtime."""
    pyplot, norm = load()
    written = []
    cells = result["cells"]
    for op in dict.fromkeys(c["key"]["op"] for c in cells):
        mine = [c for c in cells if c["key"]["op"] == op]
        libraries = list(dict.fromkeys(c["key"]["library"] for c in mine))
        outers = list(dict.fromkeys(c["key"]["outer"] for c in mine))
        a = sorted({c["key"]["outer threads"] for c in mine})
        b = sorted({c["key"]["inner threads"] for c in mine})
        at = {tuple(c["key"].values()): c for c in mine}
        figure, axes = pyplot.subplots(len(libraries), 2 * len(outers), squeeze=False, layout="constrained",
                                       figsize=(2.3 * 2 * len(outers) + 1, 2.2 * len(libraries) + 1))
        for y, library in enumerate(libraries):
            best = best_rate([c for c in mine if c["key"]["library"] == library])
            for x, (outer, config) in enumerate((o, c) for o in outers for c in ("linux", "usf-coop")):
                def value(row, column, library=library, outer=outer, config=config, best=best):
                    cell = at.get((op, library, outer, row, column))
                    series = cell and cell["configs"].get(config)
                    if not series or not best:
                        return None
                    if series["median"]:
                        return series["median"] / best, percent(series["median"] / best)
                    if series["bound"]:
                        return series["bound"] / best, percent(series["bound"] / best, cut=True)
                    return 1e-9, "hang"
                image = draw_map(axes[y][x], norm, a, b, value, f"{library}, {outer}\n{'Linux' if config == 'linux' else 'usf'}")
                axes[y][x].set_xlabel("inner threads", fontsize=7)
                axes[y][x].set_ylabel("outer threads", fontsize=7)
        figure.colorbar(image, ax=axes, label="share of the best hand-tuned setting under Linux (in the cells: %)", shrink=0.6)
        m = result["machine"]
        figure.suptitle(f"Nested {op}, unmodified libraries, {m['cores']} cores:\nLinux defaults and usf run", fontsize=11)
        path = os.path.join(directory, f"nested-{op}.png")
        os.makedirs(directory, exist_ok=True)
        figure.savefig(path, dpi=110)
        pyplot.close(figure)
        written.append(path)
    return written


def best_rate(cells):
    """Of the hand-tuned settings; of anything that was measured if there was no tuning."""
    tuned = [c["configs"][configs.TUNED]["median"] for c in cells if configs.TUNED in c["configs"]]
    return max(tuned or [s["median"] for c in cells for s in c["configs"].values()], default=0)


def ratios(result, directory):
    """Any other benchmark: a row per cell, a column per configuration, relative to the best of the row."""
    pyplot, norm = load()
    names = [n for n in configs.ALL if any(n in c["configs"] for c in result["cells"])]
    labels = [" ".join(f"{v}" for v in c["key"].values()) for c in result["cells"]]
    at = dict(zip(labels, result["cells"]))
    figure, ax = pyplot.subplots(layout="constrained", figsize=(0.9 * len(names) + 4, 0.24 * len(labels) + 1.5))

    def value(label, name):
        cell = at[label]["configs"]
        best = max((s["median"] for s in cell.values()), default=0)
        if name not in cell or not best:
            return None
        rate, cut = cell[name]["median"], False
        if not rate:
            rate, cut = cell[name]["bound"] or 1e-9 * best, True
        return rate / best, percent(rate / best, cut)

    image = draw_map(ax, norm, labels, names, value, f"{result['bench']}: % of the best of each row")
    ax.invert_yaxis()
    figure.colorbar(image, ax=ax)
    path = os.path.join(directory, f"{result['bench']}.png")
    os.makedirs(directory, exist_ok=True)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    return [path]
