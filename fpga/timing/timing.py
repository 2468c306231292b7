#!/usr/bin/env python3
"""Longest paths of the RTL in LUT levels and in ns of a rough model of UltraScale+; `./dev synth --timing` runs it.

Without --record or --verify it prints what it measures. Debian's yosys maps; modules that it cannot read are elaborated by
the yosys of npm first (`./dev synth --fetch`). The kernel takes half an hour of processor time.
"""

import argparse
import concurrent.futures
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import yosys  # noqa: E402
from timing import gate, measure, paths  # noqa: E402

SKIPPED = 77  # as ctest knows it


def describe(path):
    yield (f"  {path.ns:.2f} ns, {path.levels} levels, " +
           ", ".join(f"{path.mhz(factor):.0f} MHz at {factor}" for factor in paths.FACTORS) + f", to {path.end}")
    for name, ns, level, fan_out in path.steps:
        yield f"    {ns:6.2f} ns  level {level:2}  fan-out {fan_out:4}  {name}"


def check(rows):
    wrong = gate.out_of_date(rows, measure.MODULES)
    for line in wrong:
        print(f"timing: {line}", file=sys.stderr)
    if wrong:
        print("timing: measure these again: ./dev synth --timing --record MODULE...", file=sys.stderr)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(prog="./dev synth --timing", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="only these (default: all of the table)")
    parser.add_argument("--record", action="store_true", help="write the rows of fpga/timing/rows.md")
    parser.add_argument("--reason", default="", metavar="TEXT", help="of --record: why paths became longer; without it they may not")
    parser.add_argument("--verify", action="store_true", help="compare with the rows; fails if a path is longer than its row")
    parser.add_argument("--check", action="store_true", help="only see whether each row is of the RTL as it is; needs no yosys")
    parser.add_argument("--paths", action="store_true", help="print the cells of the longest paths")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    options = parser.parse_args()

    rows = gate.read_table()
    if options.check:
        return check(rows)
    known = [module for module, _ in measure.MODULES]
    for module in options.modules:
        if module not in known:
            parser.error(f"'{module}' is not measured; these are: {' '.join(known)}")
    work = [entry for entry in measure.MODULES if not options.modules or entry[0] in options.modules]
    failed = False
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = [(entry, pool.submit(measure.row, *entry)) for entry in work]
        for (module, parameters), result in results:
            try:
                row, netlist = result.result()
            except yosys.NotThere as reason:
                print(f"timing: {module}: {reason}", file=sys.stderr)
                if options.verify:
                    return SKIPPED
                failed = True
                continue
            except measure.Failed as reason:
                print(f"timing: {module}: {reason}", file=sys.stderr)
                failed = True
                continue
            print(row.text(), flush=True)
            if options.paths:
                for key, path in netlist.longest()[0].items():
                    print(f"  {key[0]} to {key[1]}:", *describe(path), sep="\n")
            old = rows.get(row.key)
            grown = gate.growth(old, row) if old else []
            if grown and not (options.record and options.reason) and (options.record or options.verify):
                failed = True
                print(f"timing: {row.key} became slower; say why with --record --reason TEXT", *grown, sep="\n  ", file=sys.stderr)
                continue
            if options.record:
                row.reason = options.reason if grown else old.reason if old else ""
                rows[row.key] = row
                gate.write_table(rows)  # each at once: a run that is ended keeps what it has
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
