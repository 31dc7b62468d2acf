#!/usr/bin/python3
# bench/demo.py - what usf does, on your own screen.  SPDX-License-Identifier: Apache-2.0
"""Runs unmodified programs at growing numbers of threads under Linux and under `usf run`, prints a table as it goes,
draws the picture build/demo.png, and ends with what the user gains: one line for each program."""
import argparse
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from usfbench import benches, configs, launch, machine, measure, plot, report  # noqa: E402

ROOT = os.path.dirname(HERE)
PAIR = ("linux", "usf-coop")
LABEL = {"linux": "Linux", "usf-coop": "usf run"}
CUT_S = 6.0      # a run that takes longer is cut
REPS = 3


def rows(o):
    """(title, explanation, [(label of the setting, Cell), ...]); the first setting is the one that fits the cores,
    the others are what happens when libraries do not know of each other."""
    c = o.cores
    sizes = [(c, 1), (c, 2), (2 * c, 4), (4 * c, 8)]
    counts = [max(1, c // 2), c, 2 * c, 4 * c]

    def cell(program, unit):
        return measure.Cell({}, [program], unit, CUT_S)

    def nested(library, op):
        return [(f"{a}x{b}", cell(benches.nested_program(o, library, op, "pthread", a, b), "GFLOP/s")) for a, b in sizes]

    def both(t):
        return measure.Cell({}, [benches.mini(o, w, t, 0.25) for w in ("cg32", "nbody")], "1/s", CUT_S, "makespan")

    return [
        ("BLIS dgemm", "threads x BLIS threads", nested("blis-pthread", "dgemm")),
        ("OpenBLAS Cholesky", "threads x OpenBLAS threads", nested("openblas-openmp", "cholesky")),
        ("Python, numpy solve", "ThreadPoolExecutor(n)", [(str(n), cell(benches.numpy_program(o, "linalg", n), "task/s"))
                                                          for n in counts]),
        ("two OpenMP programs", "CG + N-body, n each", [(str(n), both(n)) for n in counts]),
        ("pytest -n N", "tests that call numpy", [(str(n), cell(benches.pytest_program(o, n), "test/s")) for n in counts]),
        ("PyTorch training", "N programs, 2 threads each", [(str(n), cell(benches.torch_program(o, n), "step/s")) for n in counts]),
        ("redis", "N io-threads, N client threads", [(str(n), cell(benches.redis_io_program(o, n), "request/s")) for n in counts]),
        ("MPI halo exchange", "MPICH, n ranks", [(str(n), cell(benches.mpi_program(o, "mpich", n), "step/s")) for n in counts]),
    ]


def say_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def measure_row(title, settings, usf):
    """{(setting, configuration): Series}, runs interleaved."""
    found = {(label, name): measure.Series(cell, name) for label, cell in settings for name in PAIR}
    for rep in range(REPS):
        for (label, name), series in found.items():
            say_progress(f"{title}, {label}, {LABEL[name]}, run {rep + 1} of {REPS} ...")
            if measure.worth_repeating(series):
                measure.run_once(series, usf, ())
    say_progress("")
    return found


def share(series, best):
    """(share of the best, as text)."""
    if series.median():
        return series.median() / best, f"{100 * series.median() / best:.{0 if series.median() > 0.0995 * best else 1}f} %"
    if series.bound:
        return series.bound / best, f"< {100 * series.bound / best:.1f} %"
    return 0.0, ",".join(series.bad)


def print_row(title, what, settings, found):
    best = max((s.median() for s in found.values()), default=0) or 1.0
    unit = settings[0][1].unit
    print(f"{title + ': ' + what:46s}" + "".join(f"{label:>10s}" for label, _ in settings))
    for name in PAIR:
        cells = "".join(f"{share(found[label, name], best)[1]:>10s}" for label, _ in settings)
        note = f"   (100 % = {report.number(best)} {unit})" if name == PAIR[0] else ""
        print(f"{'':36s}{LABEL[name]:10s}{cells}{note}")
    print(flush=True)
    return {key: share(s, best) for key, s in found.items()}


def draw(table, path, facts):
    pyplot, norm = plot.load()
    figure, axes = pyplot.subplots(1, 2, layout="constrained", figsize=(11, 0.7 * len(table) + 1.8))
    columns = ["fits", "2x", "8x", "32x"]
    titles = [title for title, _, _ in table]
    at = {title: (settings, shares) for title, settings, shares in table}
    for ax, name in zip(axes, PAIR):
        def value(title, column, name=name):
            settings, shares = at[title]
            label = settings[columns.index(column)][0]
            part, text = shares[label, name]
            return max(part, 1e-9), f"{label}\n{text}"
        image = plot.draw_map(ax, norm, titles, columns, value, LABEL[name])
        ax.invert_yaxis()
        ax.set_xticks([])
    axes[1].set_yticks([])
    figure.colorbar(image, ax=axes, label="share of the best speed of the row")
    figure.suptitle(f"Unmodified programs on {facts['cores']} cores; more and more threads from left to right", fontsize=11)
    figure.savefig(path, dpi=110)


def rate(series):
    """(speed, as text); of runs that were cut, the most that they can have reached."""
    if series.median():
        return series.median(), report.number(series.median())
    return (series.bound, f"< {report.number(series.bound)}") if series.bound else (0.0, "-")


SLOWER = 0.95    # below that a program counts as slower


def times(part):
    return f"{part:.{0 if part > 9.95 else 1 if part > 1.95 else 2}f} times as fast"


def compare(settings, found):
    """[(usf over Linux, its text, label, the speeds' texts)] of the settings that both have a result or a bound for."""
    rows = []
    for label, cell in settings:
        (linux, linux_text), (usf, usf_text) = (rate(found[label, name]) for name in PAIR)
        if linux and usf and not ("<" in linux_text and "<" in usf_text):
            mark = "> " if "<" in linux_text else "< " if "<" in usf_text else ""
            rows.append((usf / linux, mark + times(usf / linux), label, f"{linux_text:>10s} -> {usf_text:>8s} {cell.unit}"))
    return rows


def gains(table):
    """Lines for the end: each program where it gains most, and where it loses, if it does."""
    lines, slower, count = [], 0, 0
    for title, settings, found in table:
        rows = compare(settings, found)
        if not rows:
            lines.append(f"  {title}: no result")
            continue
        _, text, label, speeds = max(rows)
        lines.append(f"  {title + ', ' + label:30s}{speeds:36s}{text}")
        least, text, label, _ = min(rows)
        if least < SLOWER:
            lines[-1] += f"   (at {label}: {text})"
        slower += sum(part < SLOWER for part, *_ in rows)
        count += len(rows)
    lines.append(f"Slower by more than 5 % in {slower} of {count} settings; docs/performance.md says where and why.")
    return lines


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--usf", help="default: usf in the build folder")
    p.add_argument("--python", default=os.path.join(ROOT, ".venv/bin/python3"), help="has numpy")
    args = p.parse_args()
    args.usf = args.usf or os.path.join(args.build, "usf")
    for path in (args.usf, os.path.join(args.build, "bench", "nested-pthread")):
        if not os.path.exists(path):
            sys.exit(f"demo: {path} is not there; run `make demo`")
    return args


def main():
    args = arguments()
    configs.scrub_environment()
    launch.adopt_orphans()
    o = benches.Options(os.path.join(args.build, "bench"), args.usf, args.python, machine.cores(), 0.0, small=True, seconds=0.4)
    facts = machine.describe(ROOT)
    start = time.monotonic()
    print(f"usf demo: unmodified programs on {facts['cores']} cores ({facts['cpu']}, kernel {facts['kernel']}; load "
          f"{os.getloadavg()[0]:.1f})")
    print(f"Speed in % of the best of each row; medians of {REPS} runs; a run of more than {CUT_S:.0f} s is cut and "
          "shown as '< x'.\n", flush=True)
    table, all_found, broken = [], [], 0
    for title, what, settings in rows(o):
        lacking = [w for _, cell in settings if (w := benches.lacks(o, cell))]
        if lacking:
            print(f"{title}: left out, {lacking[0]} is missing\n")
            continue
        found = measure_row(title, settings, args.usf)
        for (label, name), series in found.items():
            if series.bad and name != "linux":
                only_here = not series.median() and found[label, "linux"].median()      # a slow machine may cut both
                broken += bool(only_here or set(series.bad) != {"cut"})
                print(f"{title} at {label} under usf run: {report.trouble(series)} {series.error}")
        table.append((title, settings, print_row(title, what, settings, found)))
        all_found.append((title, settings, found))
    if not table:
        sys.exit("demo: nothing could be run")
    picture = os.path.join(args.build, "demo.png")
    draw(table, picture, facts)
    print(f"picture: {os.path.relpath(picture)}   ({time.monotonic() - start:.0f} s)")
    if broken:
        print(f"{broken} cells failed under usf run (above).")
    print("What `usf run` gains, at the number of threads where it helps most (Linux -> usf run):")
    print("\n".join(gains(all_found)))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
