# bench/usfbench/report.py - results as JSON and as a table.  SPDX-License-Identifier: Apache-2.0
import json
import os
import statistics

from . import configs


def number(x):
    if x == 0:
        return "0"
    if abs(x) >= 10000:
        return f"{x:,.0f}"
    return f"{x:.3g}" if abs(x) < 1000 else f"{x:.0f}"


def trouble(series, but=()):
    """What went wrong, and how often."""
    return ", ".join(f"{n}x {status}" if n else status for status, n in series.bad.items() if status not in but)


def show(series):
    """A series in a table: median, spread; `< x` (a time: `> x`) if it was cut; what went wrong, and how often."""
    if series is None:
        return ""
    bad = trouble(series, but=() if series.rates else ("cut",))
    inverse = series.cell.inverse if series.cell else ()

    def value(rate):
        return number(inverse[1] / rate if inverse else rate)

    if series.median():
        text = value(series.median())
        if len(series.rates) > 1:
            text += f" ±{50 * series.spread():.0f}%"
    elif series.bound:
        text = f"{'>' if inverse else '<'} {value(series.bound)}"
    else:
        text, bad = bad or "cut", ""
    return f"{text} ({bad})" if bad else text


def series_json(series):
    return {"median": series.median(), "rates": series.rates, "spread": round(series.spread(), 4),
            "bound": series.bound, "bad": series.bad, "seconds": series.seconds, "around": series.around,
            "detail": series.detail, "argv": series.argv, "env": series.env,
            **({"error": series.error} if series.error else {})}


def cell_json(plan, cell):
    out = {"key": cell.key, "unit": cell.unit, "metric": cell.metric, "timeout": cell.timeout, "configs": {}}
    for s in plan.series:
        if s.cell is cell:
            out["configs"][s.config] = series_json(s)
    best = plan.tuned(cell.group)
    if best:
        out["configs"][configs.TUNED] = {**series_json(best[1]), "winner": best[0]}
    return out


def ratio(cell, config="usf-coop", base=configs.TUNED):
    """config / base of a cell in its JSON form, or None."""
    top, below = cell["configs"].get(config), cell["configs"].get(base)
    if not top or not below or not below["median"]:
        return None
    return top["median"] / below["median"]


def to_peers(plan, cell):
    """usf-coop / the best of the cell's peers under usf-coop, or None."""
    mine = plan.of(cell, "usf-coop")
    best = max((s.median() for s in plan.series if s.config == "usf-coop" and s.cell.peers == cell.peers), default=0)
    return mine.median() / best if cell.peers and mine and best else None


def verdict(cells, base):
    """One line: how usf-coop compares with `base` over all cells."""
    found = [(r, " ".join(map(str, c["key"].values()))) for c in cells if (r := ratio(c, base=base)) is not None]
    if not found:
        return ""
    good = sum(r >= 0.95 for r, _ in found)
    worst = min(found)
    return (f"usf-coop / {base}: at least 0.95 in {good} of {len(found)} cells, median "
            f"{statistics.median(r for r, _ in found):.2f}, worst {worst[0]:.2f} ({worst[1]}).")


def to_json(bench, plan, cells, facts, options):
    return {"bench": bench, "machine": facts, "options": options, "cells": [cell_json(plan, c) for c in cells],
            "grids": {" ".join(map(str, group)): {label: series_json(s) for label, s in entries.items()}
                      for group, entries in plan.grid.items()}}


def surroundings(result):
    around = [a for c in result["cells"] for s in c["configs"].values() for a in s["around"]]
    if not around:
        return "nothing was run"
    foreign = [a["foreign"] for a in around]
    return (f"other programs used {statistics.median(foreign):.2f} cores in the median (most: {max(foreign):.2f}), "
            f"load average {min(a['load'] for a in around):.1f} to {max(a['load'] for a in around):.1f}, "
            f"stolen {max(a['steal'] for a in around):.2f} cores at most")


def to_markdown(result, plan, cells):
    m, o = result["machine"], result["options"]
    names = [n for n in configs.ALL if any(n in c["configs"] for c in result["cells"])]
    lines = [f"## {result['bench']}", "",
             f"{m['cpu']}{' (virtual)' if m['virtual'] else ''}, {m['cores']} cores, kernel {m['kernel']}, {m['distribution']}; "
             f"commit {m['commit']}; {m['time']}.",
             f"Medians of {o['reps']} interleaved runs, ± half the range; {surroundings(result)}"
             + (f"; {o['load']} hog processes were started beside." if o.get("load") else "."),
             f"Reproduce: `{o['command']}`", ""]
    keys = list(dict.fromkeys(k for c in cells for k in c.key))
    bases = [b for b in (configs.TUNED, "linux") if b in names and "usf-coop" in names]
    head = keys + ["unit"] + names + (["winner"] if configs.TUNED in names else []) + [f"coop/{b}" for b in bases]
    peers = "usf-coop" in names and any(c.peers for c in cells)
    head += ["coop/best kind"] if peers else []
    lines += ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for cell, data in zip(cells, result["cells"]):
        row = [str(cell.key.get(k, "")) for k in keys] + [cell.inverse[0] if cell.inverse else cell.unit]
        best = plan.tuned(cell.group)
        row += [show(best[1]) if best and n == configs.TUNED else show(plan.of(cell, n)) for n in names]
        if configs.TUNED in names:
            row.append(best[0] if best else "")
        row += ["" if r is None else f"{r:.2f}" for r in (ratio(data, base=b) for b in bases)]
        if peers:
            share = to_peers(plan, cell)
            row.append("" if share is None else f"{share:.2f}")
        lines.append("| " + " | ".join(row) + " |")
    lines += ["", *(line for b in bases if (line := verdict(result["cells"], b)))]
    return "\n".join(lines) + "\n"


def errors(result):
    """Runs that did not end well under usf, for the summary on the terminal."""
    found = []
    for c in result["cells"]:
        for name, s in c["configs"].items():
            if name.startswith("usf") and s["bad"]:
                what = ", ".join(f"{n}x {k}" for k, n in s["bad"].items())
                found.append(f"{' '.join(map(str, c['key'].values()))} under {name}: {what}: {s.get('error', '')[:200]}")
    return found


def save(stem, result, table=None):
    os.makedirs(os.path.dirname(stem), exist_ok=True)
    with open(stem + ".json", "w", encoding="utf-8") as f:
        json.dump(result, f, indent=1)
        f.write("\n")
    if table:
        with open(stem + ".md", "w", encoding="utf-8") as f:
            f.write(table)
