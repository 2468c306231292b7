#!/usr/bin/env python3
"""Proves what fpga/formal/proofs.toml lists, by the SAT solver of yosys.

`induction`: holds from reset on, for any number of cycles and all inputs that the proof assumes. `bounded`: for the given number of
cycles from reset on. With --broken each proof gets its module with a fault in it and has to fail: one that cannot fail
proves nothing. Proofs of modules that only slang can read need the yosys of npm (see fpga/yosys.py); without it they are
left out, and the exit status is 77 if nothing else was to be done.
"""

import argparse
import json
import pathlib
import re
import sys
import time
import tomllib

import rtl
import yosys

FORMAL = rtl.ROOT / "formal"
SKIPPED = 77


def files_of(top):
    """The proof, its rules and the modules that it is about."""
    parts = {path.stem: path for path in FORMAL.glob("*.sv")}
    text = parts[top].read_text()
    mine = {top} | {name for name in re.findall(r"\bformal_\w+", text) if name in parts}
    mine |= {name for part in list(mine) for name in re.findall(r"\bformal_\w+", parts[part].read_text()) if name in parts}
    by_name = {path.stem for path in rtl.sources()}
    needed = set()
    for name in set(re.findall(r"\bstopbit_\w+", text)) & by_name:
        needed.update(rtl.needed(name))
    return [path for path in rtl.sources() if path in needed] + [parts[name] for name in sorted(mine)]


def prove(proof, broken):
    """True if it holds, False if it does not; and the log."""
    paths = files_of(proof["top"]) if proof["top"].startswith("proof_") else rtl.needed(proof["top"])
    if proof.get("free_memory"):
        paths = [FORMAL / "free" / path.name if path.name == "stopbit_ram.sv" else path for path in paths]
    files = {path.name: path.read_text() for path in paths}
    if broken:
        fault = proof["fault"]
        if files[fault["file"]].count(fault["was"]) != 1:
            sys.exit(f"prove: {proof['name']}: '{fault['was']}' does not stand once in {fault['file']}")
        files[fault["file"]] = files[fault["file"]].replace(fault["was"], fault["is"])
    slang = proof.get("slang", False)
    # Assertions of the module itself take part where the proof makes the assumptions that they need.
    defines = ["FORMAL"] if proof.get("own") else ["FORMAL", "SYNTHESIS"]
    script = yosys.read_command(paths, proof["top"], slang, defines, proof.get("parameters"))
    script += f"prep -flatten -top {proof['top']}\nmemory_map\n"
    script += "clk2fflogic\n" if proof.get("clocks") else "async2sync\n"
    script += "chformal -lower\n" if slang else ""
    script += "opt -full\n"
    how = "-tempinduct" if proof["method"] == "induction" else "-tempinduct-baseonly"
    script += f"sat {how} -prove-asserts -set-assumes -maxsteps {proof['depth']} -verify\n"
    ok, log, _ = yosys.run(script, files, slang)
    if not ok and "Called with -verify and proof did fail" not in log:
        sys.exit(f"prove: {proof['name']}: {yosys.errors(log)}\n{log[-2000:]}")
    return ok, log


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PROOF", help="only these; default: all")
    parser.add_argument("--list", action="store_true", help="names, one a line")
    parser.add_argument("--quick", action="store_true", help="leave out those marked as deep")
    parser.add_argument("--broken", action="store_true", help="with the fault of each: it has to fail")
    parser.add_argument("--json", type=pathlib.Path, help="append a line for each proof")
    options = parser.parse_args()
    proofs = tomllib.loads((FORMAL / "proofs.toml").read_text())["proof"]
    names = [proof["name"] for proof in proofs]
    for name in options.names:
        if name not in names:
            parser.error(f"there is no proof '{name}'")
    if options.list:
        print("\n".join(proof["name"] for proof in proofs if not (options.quick and proof.get("deep"))))
        return
    wrong, skipped, done = 0, 0, 0
    for proof in proofs:
        if (options.names and proof["name"] not in options.names) or (options.quick and proof.get("deep")):
            continue
        begin = time.monotonic()
        try:
            holds, log = prove(proof, options.broken)
        except yosys.NotThere as reason:
            print(f"{proof['name']}: left out: {reason}")
            skipped += 1
            continue
        done += 1
        seconds = time.monotonic() - begin
        right = holds != options.broken
        wrong += not right
        said = "holds" if holds else "fails"
        print(f"{proof['name']}: {said}{'' if right else ', which is WRONG'} ({proof['method']}, depth {proof['depth']}, {seconds:.1f} s)",
              flush=True)
        if not right and not options.broken:
            print(log[-3000:], file=sys.stderr)
        if options.json:
            with options.json.open("a") as out:
                print(json.dumps({"run": "proof", "name": proof["name"], "broken": options.broken, "right": right,
                                  "seconds": round(seconds, 1)}), file=out)
    if wrong:
        sys.exit(1)
    if skipped and not done:
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
