# tests/survey/table.py - docs/survey.md: the table between its two marks, from results.  SPDX-License-Identifier: Apache-2.0
import survey

BEGIN, END = "<!-- survey: begin -->", "<!-- survey: end -->"
BAD = ("crash", "hang", "different")


def cell(record, key):
    if key not in record:
        return "", ""
    bare, ours = record[key]
    ratio = f"{ours / max(bare, 1e-4):.2f}"
    return f"{bare:.2f} → {ours:.2f}", f"**{ratio}**" if survey.is_slower(record, key) else ratio


def why(program, record):
    """What there is to say of a row: the reason that is written down, else what the survey found."""
    slow = any(survey.is_slower(record, k) for k in ("wall", "cpu"))
    if record["result"] in BAD or record["result"] in ("skipped", "fails bare", "varies bare"):
        text = record["note"]
    else:
        text = (program.reason or "not yet known") if slow else ""
    return " ".join(text.replace("|", "/").split())[:200]


def rows(programs, results):
    for p in programs:
        r = results.get(p.name)
        if not r:
            continue
        (wall, wall_ratio), (cpu, cpu_ratio) = cell(r, "wall"), cell(r, "cpu")
        result = f"**{r['result']}**" if r["result"] in BAD else r["result"]
        yield f"| {p.name} | {result} | {cpu} | {cpu_ratio} | {wall} | {wall_ratio} | {why(p, r)} |"


def summary(programs, results):
    ran = [results[p.name] for p in programs if p.name in results]
    compared = [r for r in ran if r["result"] in BAD + ("same",)]
    bad = [r for r in ran if r["result"] in BAD]
    slow = [r for r in compared if survey.is_slower(r, "wall") or survey.is_slower(r, "cpu")]
    reasons = {p.name for p in programs if p.reason}
    commits = sorted({r.get("commit", "") for r in ran})
    days = sorted({r["when"] for r in ran})
    return (f"Measured on {' to '.join(sorted({days[0], days[-1]}))} with commit {', '.join(commits)}: {len(compared)} of {len(programs)} programs compared,\n"
            f"{len(compared) - len(bad)} with the same result, {len(bad)} not ({', '.join(r['name'] for r in bad) or 'none'}). Slower by more than 5 % in CPU or wall time:\n"
            f"{len(slow)}, of which {len([r for r in slow if r['name'] in reasons])} have their reason in the last column. Times are medians in seconds, bare → under usf.")


def write(path, programs, results):
    if not results:
        raise SystemExit("there are no results: run the survey first")
    text = path.read_text()
    lines = [BEGIN, "", summary(programs, results)]
    for category in dict.fromkeys(p.category for p in programs):
        table = list(rows([p for p in programs if p.category == category], results))
        if table:
            lines += ["", f"## {category.capitalize()}", "", "| program | result | CPU time | ratio | wall time | ratio | remark |",
                      "|---|---|--:|--:|--:|--:|---|", *table]
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    path.write_text(before + "\n".join(lines + ["", END]) + after)
    print(f"{path}: {len(results)} programs")
