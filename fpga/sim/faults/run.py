#!/usr/bin/env python3
"""Runs benches on a model with faults, one fault after the other: each should be caught.

A fault is caught if a bench fails with it, or does not come to its end in ten times the processor time it needs without a
fault. Every bench first has to pass without one. Faults that no bench can see are listed in known.toml, with the reason,
and do not count.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import resource
import subprocess
import sys
import time
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import rtl  # noqa: E402

KNOWN = pathlib.Path(__file__).with_name("known.toml")


class Bench:
    """TOP=PROGRAM[,GTEST_FILTER]: a bench of the module TOP and of those in it."""

    def __init__(self, text):
        self.top, _, command = text.partition("=")
        program, _, pattern = command.partition(",")
        self.name = pathlib.Path(program).name
        self.command = [program, "--gtest_brief=1"] + ([f"--gtest_filter={pattern}"] if pattern else [])
        self.modules = {path.stem for path in rtl.needed(self.top)}
        self.seconds = 600  # of processor time

    def passes(self, number):
        environment = os.environ | {"STOPBIT_FAULT": str(number), "GTEST_FAIL_FAST": "1"}
        limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', str(self.seconds), *self.command]
        done = subprocess.run(limited, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return done.returncode == 0

    def measure(self):
        begin = processor_seconds()
        if not self.passes(0):
            sys.exit(f"faults: {self.name} fails without a fault")
        self.seconds = round(10 * (processor_seconds() - begin) + 10)


def processor_seconds():
    """Of the benches that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def who_catches(fault, benches):
    for bench in benches:
        if fault["module"] in bench.modules and not bench.passes(fault["number"]):
            return bench.name
    return None


def reason(fault, known):
    """Why nobody can see the fault, if that is known: of what a module assigns, or of one change of it."""
    for entry in known:
        if all(fault[key] == entry[key] for key in ("module", "left", "was", "is") if key in entry):
            return entry["why"]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=pathlib.Path, required=True, help="faults.json of mutate.py")
    parser.add_argument("--bench", type=Bench, action="append", required=True, help=Bench.__doc__)
    parser.add_argument("--some", type=int, metavar="N", help="only N of them, evenly chosen")
    parser.add_argument("--least", type=float, default=95, metavar="PERCENT", help="fail if fewer are caught")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="append a line with the result")
    options = parser.parse_args()

    faults = json.loads(options.faults.read_text())
    if options.some and options.some < len(faults):
        faults = [faults[i * len(faults) // options.some] for i in range(options.some)]
    known = tomllib.loads(KNOWN.read_text())["fault"]
    begin = time.monotonic()
    for bench in options.bench:
        bench.measure()

    caught, equivalent, missed = 0, 0, []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for fault, name in zip(faults, pool.map(lambda fault: who_catches(fault, options.bench), faults)):
            where = f"{fault['number']:4} {fault['module']}.sv:{fault['line']}"
            why = reason(fault, known)
            if name:
                caught += 1
                print(f"{where}: caught by {name}", file=sys.stderr, flush=True)
            else:
                equivalent += why is not None
                missed += [fault] if why is None else []
                print(f"{where}: NOT CAUGHT{f' ({why})' if why else ''}\n     was {fault['was']}\n     is  {fault['is']}", flush=True)
    counted = caught + len(missed)
    share = 100 * caught / max(1, counted)
    print(f"faults: {caught} of {counted} caught, {share:.1f} %; {equivalent} more change nothing that can be seen; "
          f"{time.monotonic() - begin:.0f} s")
    if options.json:
        with options.json.open("a") as out:
            print(json.dumps({"run": "faults", "set": options.faults.parent.name, "caught": caught, "missed": len(missed),
                              "equivalent": equivalent, "seconds": round(time.monotonic() - begin)}), file=out)
    if share < options.least:
        sys.exit(f"faults: fewer than {options.least:g} % were caught")


if __name__ == "__main__":
    main()
