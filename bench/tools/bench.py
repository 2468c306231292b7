#!/usr/bin/env python3
"""Runs the benchmarks and shows what they measured: one table, a comparison with an earlier run, plots.

`./dev bench` builds the programs and calls this. A program writes its figures as JSON (bench/lib/report.hpp); what
Google Benchmark writes is turned into the same.
"""

import argparse
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # the sources stay clean
import nic  # noqa: E402
import peers  # noqa: E402
import results  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/release"

EXIT_PROBLEMS, EXIT_USAGE, EXIT_ENVIRONMENT = 1, 2, 3

# Programs with figures of our own form, and those of Google Benchmark with their repetitions.
OWN = ["decode", "breakdown", "floor", "fields", "profiles", "latency", "e2e", "outputs", "ring", "nic", "events", "wire"]
GOOGLE = {"arbiter": 9, "index": 5, "views": 9, "hostile": 1, "ingest": 5}

PERCENTILES = ["p90", "p99", "p99.9"]


# ------------------------------------------------------------------------------------------------------------ running


def run_own(program, options, out, best_pace):
    command = [BUILD / "bin" / f"bench_{program}", "--json", out]
    command += ["--quick"] if options.quick else []
    command += ["--filter", options.filter] if options.filter else []
    command += ["--pace", str(best_pace)] if best_pace else []
    status = subprocess.run(command, check=False).returncode
    if status not in (0, EXIT_PROBLEMS):
        sys.exit(status if status in (EXIT_USAGE, EXIT_ENVIRONMENT) else EXIT_PROBLEMS)
    return json.loads(Path(out).read_text())


def run_google(program, options, out):
    repetitions = min(3, GOOGLE[program]) if options.quick else GOOGLE[program]
    command = [BUILD / "bin" / f"bench_{program}", f"--benchmark_out={out}", "--benchmark_out_format=json"]
    command += [f"--benchmark_repetitions={repetitions}", "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.05"]
    if options.filter:
        command.append(f"--benchmark_filter={options.filter}")
    elif options.quick and program == "hostile":
        command.append("--benchmark_filter=bomb")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout, done.stderr, sep="", file=sys.stderr)
        sys.exit(EXIT_PROBLEMS)
    text = Path(out).read_text()
    return from_google(json.loads(text)) if text else {"figures": []}


# What Google Benchmark reports beside these is no figure of ours.
COUNTER_UNITS = {"ns_per_msg": "ns/msg", "ns_per_packet": "ns/packet", "ns_per_integer": "ns/integer", "longest_ns": "ns", "worst_ns_per_byte_behind_1us": "ns/byte"}
TO_NS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}


def from_google(report):
    figures, problems = {}, []

    def add(name, unit, value):
        figure = figures.setdefault(name, {"name": name, "unit": unit, "samples": []})
        figure["samples"].append(value)
        figure["count"] = len(figure["samples"])

    for run in report.get("benchmarks", []):
        if run.get("run_type") == "aggregate":
            continue
        name = run["run_name"].removesuffix("/iterations:1")
        if run.get("error_occurred"):
            problems.append(f"{name}: {run['error_message']}")
            continue
        counters = [counter for counter in COUNTER_UNITS if counter in run]
        for counter in counters:
            label = name if counter.startswith("ns_per_") else f"{name}/{counter.removesuffix('_ns')}"
            add(label, COUNTER_UNITS[counter], run[counter])
        if not counters:
            add(name, "ns", run["real_time"] * TO_NS[run["time_unit"]])
    return {"figures": list(figures.values()), "problems": problems}


def best_pace(result):
    """What the quickest probes of all programs so far took, in ns; nothing if there were none."""
    return min((figure["samples"][0] for figure in result["figures"] if figure["name"].endswith("/best-pace")), default=None)


PACE_TOLERANCE = 1.15  # as in bench/lib/pace.hpp


def mark_disturbed(result):
    """A figure that was thought undisturbed, until a later program found the machine quicker."""
    best = best_pace(result)
    for figure in result["figures"]:
        if "pace" in figure:
            figure["disturbed"] = figure["disturbed"] or figure["pace"] > PACE_TOLERANCE * best


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.splitlines()[0].strip() if done.stdout else ""


def text_of(path):
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def machine():
    """All that a figure depends on and a reader cannot guess."""
    cpu = dict(re.findall(r"^(model name|cpu family|model|cpu MHz)\s*: (.*)$", text_of("/proc/cpuinfo"), re.MULTILINE))
    cache = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", text_of(BUILD / "CMakeCache.txt"), re.MULTILINE)
    return {
        "processor": f"{cpu.get('model name', platform.machine())}, family {cpu.get('cpu family', '?')} model {cpu.get('model', '?')}",
        "processors": os.cpu_count(),
        "virtual machine": " hypervisor " in text_of("/proc/cpuinfo"),
        "governor": text_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "not visible",
        "isolated processors": text_of("/sys/devices/system/cpu/isolated") or "none",
        "huge pages": text_of("/sys/kernel/mm/transparent_hugepage/enabled"),
        "kernel": platform.release(),
        "compiler": first_line(cache.group(1) if cache else "c++", "--version"),
        "commit": first_line("git", "describe", "--always", "--dirty"),
        "corpus": "STOPBIT_CORPUS" in os.environ,
    }


def take(result, part):
    """Adds what one program has said. Several may know something of one workload."""
    result["figures"] += part["figures"]
    for subject, facts in part.get("facts", {}).items():
        result["facts"].setdefault(subject, {}).update(facts)
    for key in ("notes", "problems"):
        result[key] += [text for text in part.get(key, []) if text not in result[key]]


def run(options):
    result = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "quick": options.quick,
        "machine": machine(),
        "load before": os.getloadavg()[0],
        "figures": [],
        "facts": {},
        "notes": [],
        "problems": [],
    }
    for program in options.programs or [*OWN, *GOOGLE]:
        print(f"bench: {program}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            out = f"{folder}/out.json"
            part = run_own(program, options, out, best_pace(result)) if program in OWN else run_google(program, options, out)
        take(result, part)
        if program == "nic" and not options.filter:
            figures, notes = nic.measure(options.quick)
            take(result, {"figures": figures, "notes": notes})
    result["load after"] = os.getloadavg()[0]
    mark_disturbed(result)
    if "STOPBIT_CORPUS" not in os.environ:
        result["notes"].append("STOPBIT_CORPUS is not set: no captures of real exchanges")
    return result


# ------------------------------------------------------------------------------------------------------------ reading


def quantile(values, share):
    """By linear interpolation."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def spread(samples):
    """Where nine of ten repetitions lie."""
    return quantile(samples, 0.05), quantile(samples, 0.95)


def number(value):
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def print_columns(rows, alignments):
    widths = [max(len(row[i]) for row in rows) for i in range(len(alignments))]
    for row in rows:
        print("  ".join(f"{cell:{alignment}{width}}" for cell, alignment, width in zip(row, alignments, widths)).rstrip())


def print_facts(result):
    columns = ["messages", "datagrams", "bytes per message", "fields per message", "slots per message"]
    rows = [[name] + [number(values[column]) for column in columns]
            for name, values in result["facts"].items() if "/" not in name]  # those with one are of fields
    if rows:
        print_columns([["workload"] + columns] + rows, "<>>>>>")
        print()


def print_table(result):
    print_facts(result)
    rows = [["figure", "unit", "median", "5 % .. 95 %"] + PERCENTILES + ["max", "count"]]
    for figure in result["figures"]:
        if not figure["samples"]:
            continue
        low, high = spread(figure["samples"])
        name = figure["name"] + (" ~" if figure.get("disturbed") else "")
        row = [name, figure["unit"], number(statistics.median(figure["samples"])), f"{number(low)} .. {number(high)}"]
        percentiles = figure.get("percentiles", {})
        row += [number(statistics.median(percentiles[p])) if p in percentiles else "" for p in PERCENTILES]
        row += [number(figure["max"]) if "max" in figure else "", str(figure["count"])]
        rows.append(row)
    print_columns(rows, "<<>>>>>>>")
    if any(figure.get("disturbed") for figure in result["figures"]):
        print("~: other work disturbed too many repetitions to leave them out")


def parts(result):
    """The samples of every figure and of its percentiles, by name."""
    found = {}
    for figure in result["figures"]:
        if not figure["samples"]:
            continue
        found[figure["name"]] = (figure["unit"], figure["samples"])
        for name, samples in figure.get("percentiles", {}).items():
            found[f"{figure['name']} {name}"] = (figure["unit"], samples)
    return found


def verdict(unit, old, new):
    """Empty unless nine of ten repetitions lie apart."""
    (old_low, old_high), (new_low, new_high) = spread(old), spread(new)
    if old_low <= new_high and new_low <= old_high:
        return ""
    is_more = new_low > old_high
    return "better" if is_more == (unit == "x") else "WORSE"


def print_comparison(old, new):
    before, after = parts(old), parts(new)
    rows = [["figure", "unit", "old", "new", "new/old", "beyond the spread"]]
    for name in (name for name in after if name in before):
        unit, samples = after[name]
        old_median, new_median = statistics.median(before[name][1]), statistics.median(samples)
        ratio = f"{new_median / old_median:.3f}" if old_median else ""
        rows.append([name, unit, number(old_median), number(new_median), ratio, verdict(unit, before[name][1], samples)])
    print_columns(rows, "<<>>><")
    for which, missing in (("old", sorted(set(after) - set(before))), ("new", sorted(set(before) - set(after)))):
        if missing:
            print(f"not in the {which} run: {', '.join(missing)}")
    for key in ("processor", "compiler", "commit"):
        if old["machine"].get(key) != new["machine"].get(key):
            print(f"{key}: {old['machine'].get(key)} -> {new['machine'].get(key)}")
    if old["quick"] or new["quick"]:
        print("a quick run is among them: its spreads mean little")


# --------------------------------------------------------------------------------------------------------------- main


def load(path):
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        print(f"bench: {path}: {error}", file=sys.stderr)
        sys.exit(EXIT_USAGE)


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench", description="Measures, and prints one table. `./dev bench peers DIR`: decoders that you have built beside ours.")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=f"of {', '.join([*OWN, *GOOGLE])}; default: all")
    parser.add_argument("--quick", action="store_true", help="a few repetitions: to see that it runs")
    parser.add_argument("--filter", metavar="REGEX", help="only workloads whose name has a match; no peers of the network interface")
    parser.add_argument("--json", metavar="FILE", help="where the figures go (default: build/bench/DATE.json)")
    parser.add_argument("--compare", metavar="OLD.json", help="also show each figure beside that of an earlier run")
    parser.add_argument("--use", metavar="FILE", help="measure nothing: show the figures of an earlier run")
    parser.add_argument("--plots", metavar="FOLDER", nargs="?", const=ROOT / "bench/plots", help="draw SVGs (default: bench/plots)")
    parser.add_argument("--results", "--readme", action="store_true", help="write the figures into bench/results")
    parser.add_argument("--targets", action="store_true", help=argparse.SUPPRESS)  # for ./dev: what is to be built
    options = parser.parse_args(arguments)
    for program in options.programs:
        if program not in [*OWN, *GOOGLE]:
            parser.error(f"there is no program '{program}'")
    return options


def main(arguments):
    if "peers" in arguments[:2]:  # --targets may come first
        if arguments[0] == "--targets":
            print("bench_peer")
            return 0
        return peers.main(arguments[1:], sys.modules[__name__])
    options = parse_arguments(arguments)
    if options.targets:
        print(*([] if options.use else [f"bench_{program}" for program in options.programs or [*OWN, *GOOGLE]]))
        return 0
    old = load(options.compare) if options.compare else None
    if options.use:
        result = load(options.use)
    else:
        result = run(options)
        path = Path(options.json) if options.json else BUILD.parent / "bench" / f"{result['date'].replace(':', '')}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result))
    print_table(result)
    if old:
        print()
        print_comparison(old, result)
    if options.plots:
        import plots

        plots.draw(result, Path(options.plots))
    if options.results:
        results.write(result, ROOT / "bench/results")
        nic.write(result, ROOT / "bench/results/nic.md")
    if rows := results.targets(results.Figures(result)):
        print()
        print_columns([["target", "unit", "at most", "stretch", "measured", ""], *rows], "<<>>><")
    print()
    for note in result["notes"]:
        print(f"note: {note}")
    for problem in result["problems"]:
        print(f"PROBLEM: {problem}")
    print(", ".join(f"{key}: {value}" for key, value in result["machine"].items()))
    if not options.use:
        print(f"figures: {os.path.relpath(path)}")
    return EXIT_PROBLEMS if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
