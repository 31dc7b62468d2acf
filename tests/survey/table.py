# tests/survey/table.py - docs/survey.md: the table between its two marks, from results.  SPDX-License-Identifier: Apache-2.0
import survey

BEGIN, END = "<!-- survey: begin -->", "<!-- survey: end -->"
BAD = ("crash", "hang", "different")
ONE, MANY = "true", "sh-loop"      # programs that tell what starts cost


def cell(record, key):
    if key not in record:
        return "", ""
    bare, ours = record[key]
    ratio = f"{ours / max(bare, 1e-4):.2f}"
    return f"{bare:.2f} → {ours:.2f}", f"**{ratio}**" if survey.is_slower(record, key) else ratio


def start_costs(results):
    """What a start of usf run costs more than a bare one, and a process below it: seconds, by what is measured."""
    if any(results.get(name, {}).get("result") != "same" for name in (ONE, MANY)):
        return None
    more = lambda name, key: max(results[name][key][1] - results[name][key][0], 0)
    return {key: (more(ONE, key), more(MANY, key) / results[MANY]["made"]) for key in ("wall", "cpu")}


def is_start(record, costs):
    """Does it take no longer than its starts explain, with as much again for the spread of short runs?"""
    return costs is not None and "made" in record and all(
        not survey.is_slower(record, key) or record[key][1] - record[key][0] <= 2 * (costs[key][0] + costs[key][1] * record["made"])
        for key in ("wall", "cpu"))


def why(program, record, costs):
    """What there is to say of a row: the reason that is written down, else what the survey found."""
    slow = any(survey.is_slower(record, k) for k in ("wall", "cpu"))
    if record["result"] in BAD or record["result"] in ("skipped", "fails bare", "varies bare"):
        text = record["note"]
    else:
        start = f"start of {record['made']} processes and threads" if record.get("made", 1) > 1 else "start"
        text = (program.reason or (start if is_start(record, costs) else "not yet known")) if slow else ""
    return " ".join(text.replace("|", "/").split())[:200]


def rows(programs, results):
    costs = start_costs(results)
    for p in programs:
        r = results.get(p.name)
        if not r:
            continue
        (wall, wall_ratio), (cpu, cpu_ratio) = cell(r, "wall"), cell(r, "cpu")
        result = f"**{r['result']}**" if r["result"] in BAD else r["result"]
        yield f"| {p.name} | {result} | {cpu} | {cpu_ratio} | {wall} | {wall_ratio} | {why(p, r, costs)} |"


def summary(programs, results):
    ran = [results[p.name] for p in programs if p.name in results]
    compared = [r for r in ran if r["result"] in BAD + ("same",)]
    bad = [r for r in ran if r["result"] in BAD]
    slow = [r for r in compared if survey.is_slower(r, "wall") or survey.is_slower(r, "cpu")]
    costs = start_costs(results)
    reasons = {p.name for p in programs if p.reason} | {r["name"] for r in slow if is_start(r, costs)}
    commits = sorted({r.get("commit", "") for r in ran})
    days = sorted({r["when"] for r in ran})
    return (f"Measured on {' to '.join(sorted({days[0], days[-1]}))} with commit {', '.join(commits)}: {len(compared)} of {len(programs)} programs compared,\n"
            f"{len(compared) - len(bad)} with the same result, {len(bad)} not ({', '.join(r['name'] for r in bad) or 'none'}). Slower by more than 5 % in CPU or wall time:\n"
            f"{len(slow)}, of which {len([r for r in slow if r['name'] in reasons])} have their reason in the last column. Times are medians in seconds, bare → under usf."
            + (f"\nA start of `usf run` costs {1000 * costs['cpu'][0]:.1f} ms of CPU time and {1000 * costs['wall'][0]:.1f} ms of wall time, a process below it "
               f"{1000 * costs['cpu'][1]:.2f} and {1000 * costs['wall'][1]:.2f} ms." if costs else ""))


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
