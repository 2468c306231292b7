#!/usr/bin/env python3
"""Proves what fpga/formal/proofs.toml lists, by the ABC of yosys.

`always` (property directed reachability) and `induction` (over as many cycles as `depth`): holds from reset on, for any number of
cycles and all inputs that the proof assumes. `bounded`: for `depth` cycles from reset on. `cover`: what the proof is about can happen
within `depth` cycles. With --broken each proof gets its module with a fault in it, and ABC
has to find inputs that show it, or none for a cover: a proof that cannot fail proves nothing. Proofs of modules that only slang can read need the
yosys of npm (see fpga/yosys.py); without it they are left out, and the exit status is 77 if nothing else was to be done.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

import rtl
import yosys

FORMAL = rtl.ROOT / "formal"
SKIPPED = 77
PORTS_END = "\n);\n"

HOLDS, FAILS, OPEN = "holds", "fails", "open"
COVER = "cover"
BROKEN_DEPTH = 40  # cycles in which a fault has to show itself


def files_of(proof):
    """The proof, its rules and the modules that it is about."""
    parts = {path.stem: path for path in FORMAL.glob("*.sv")}
    mine, todo = set(), [proof["top"], *re.findall(r"\bformal_\w+", " ".join(proof.get("free", {}).values()))]
    while todo:
        name = todo.pop()
        if name not in mine:
            mine.add(name)
            todo += [word for word in re.findall(r"\bformal_\w+", parts[name].read_text()) if word in parts]
    by_name = {path.stem for path in rtl.sources()}
    needed = set()
    for name in mine:
        for module in set(re.findall(r"\bstopbit_\w+", parts[name].read_text())) & by_name:
            needed.update(rtl.needed(module))
    return [path for path in rtl.sources() if path in needed] + [parts[name] for name in sorted(mine)]


def replace(files, changes, proof):
    for change in changes:
        if files[change["file"]].count(change["was"]) != 1:
            sys.exit(f"prove: {proof}: '{change['was']}' does not stand once in {change['file']}")
        files[change["file"]] = files[change["file"]].replace(change["was"], change["is"])


def model(proof, broken):
    """The proof as an and-inverter graph: a bad state for each assertion, a constraint for each assumption."""
    paths = files_of(proof)
    files = {path.name: path.read_text() for path in paths}
    replace(files, proof.get("small", []), proof["name"])
    if broken:
        replace(files, [proof["fault"]], proof["name"])
    # Of these modules nothing is known but their ports and a rule: what is proved does not depend on what they do.
    for module, rule in proof.get("free", {}).items():
        text = files[f"{module}.sv"]
        files[f"{module}.sv"] = f"{text[:text.index(PORTS_END) + len(PORTS_END)]}{rule}\nendmodule\n"
    slang = proof.get("slang", False)
    # Assertions of the module itself take part where the proof makes the assumptions that they need.
    defines = ["FORMAL"] if proof.get("own") else ["FORMAL", "SYNTHESIS"]
    if proof["method"] == COVER:
        defines.append("COVER")  # the proof asserts that it never happens
    script = yosys.read_command(paths, proof["top"], slang, defines, proof.get("parameters"))
    # What is not driven, or unknown, is whatever the solver wants it to be: said before anything is optimized by it. `prep`
    # takes what slang leaves without a driver for a constant.
    if slang and "free" in proof:
        script += f"hierarchy -top {proof['top']}\nproc\nsetundef -undriven -anyseq\n"
    script += f"prep -flatten -top {proof['top']}\nsetundef -undriven -anyseq\n"
    script += "cutpoint t:$mem_v2\n" if proof.get("free_memory") else ""
    script += "memory_map\n"
    script += "clk2fflogic\n" if proof.get("clocks") else "async2sync\n"
    script += "chformal -lower\n" if slang else ""
    script += "opt -full\ntechmap\ndffunmap\naigmap\nsetundef -undriven -anyseq\nopt_clean\n"
    script += "write_aiger -zinit -no-startoffset model.aig\n"
    ok, log, made = yosys.run(script, files, slang, ["model.aig"])
    if not ok:
        sys.exit(f"prove: {proof['name']}: {yosys.errors(log)}\n{log[-2000:]}")
    return made["model.aig"]


def abc(graph, command):
    """What ABC says to this command about the graph, simplified."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "model.aig").write_bytes(graph)
        done = subprocess.run(["yosys-abc", "-c", f"read_aiger model.aig; print_stats; fold; strash; scorr; {command}"], cwd=folder,
                              capture_output=True, text=True, check=False)
    log = done.stdout + done.stderr
    if done.returncode != 0 or not re.search(r"i/o = *\d+/", log):
        sys.exit(f"prove: yosys-abc: {log[-2000:]}")
    return log


def solve(graph, proof, broken, limit):
    """HOLDS, FAILS or OPEN, and what ABC said."""
    is_cover = proof["method"] == COVER
    depth = BROKEN_DEPTH if broken and not is_cover else proof.get("depth", 0)
    bounded = f"bmc3 -F {depth} -T {limit}"
    how = {COVER: bounded, "always": f"pdr -T {limit}", "bounded": bounded, "induction": f"{bounded}; orpos; strash; ind -F {depth} -T {limit}"}
    # Faults are looked for from reset on: that a step of an induction fails shows nothing.
    log = abc(graph, bounded if broken else how[proof["method"]])
    # Of what can never happen no register may be left, and then there are no cycles to look at.
    if is_cover and "Does not work for combinational networks" in log:
        log += abc(graph, "sat")
        return FAILS if "UNSATISFIABLE" in log else OPEN, log
    if "was asserted in frame" in log:
        return HOLDS if is_cover else FAILS, log
    frames = re.search(r"No output asserted in (\d+) frames", log)
    reached = frames and int(frames[1]) >= depth
    if is_cover:
        return FAILS if reached else OPEN, log
    holds = {"always": "Property proved" in log, "bounded": reached, "induction": reached and "Networks are equivalent" in log}
    return HOLDS if holds[proof["method"]] and not broken else OPEN, log


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PROOF", help="only these; default: all")
    parser.add_argument("--list", action="store_true", help="names, one a line")
    parser.add_argument("--quick", action="store_true", help="leave out those marked as deep")
    parser.add_argument("--broken", action="store_true", help="with the fault of each: it has to fail")
    parser.add_argument("--limit", type=int, default=3600, metavar="SECONDS", help="for each, of the solver (default: 3600)")
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
    if not shutil.which("yosys-abc"):
        print("prove: yosys-abc is not there (Debian package: yosys)")
        sys.exit(SKIPPED)
    wrong, skipped, done = 0, 0, 0
    for proof in proofs:
        if (options.names and proof["name"] not in options.names) or (options.quick and proof.get("deep")):
            continue
        begin = time.monotonic()
        try:
            result, log = solve(model(proof, options.broken), proof, options.broken, options.limit)
        except yosys.NotThere as reason:
            print(f"{proof['name']}: left out: {reason}")
            skipped += 1
            continue
        done += 1
        seconds = time.monotonic() - begin
        right = result == (FAILS if options.broken else HOLDS)
        wrong += not right
        how = proof["method"] if proof["method"] == "always" else f"{proof['method']}, {proof['depth']} cycles"
        frame = re.search(r"asserted in frame (\d+)", log)
        how += f", seen in cycle {frame[1]}" if frame else ""
        print(f"{proof['name']}: {result}{'' if right else ', which is WRONG'} ({how}, {seconds:.1f} s)", flush=True)
        if not right:
            print(log[-3000:], file=sys.stderr)
        if options.json:
            with options.json.open("a") as out:
                print(json.dumps({"run": "proof", "name": proof["name"], "broken": options.broken, "result": result, "right": right,
                                  "seconds": round(seconds, 1)}), file=out)
    if wrong:
        sys.exit(1)
    if skipped and not done:
        sys.exit(SKIPPED)


if __name__ == "__main__":
    main()
