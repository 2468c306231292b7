#!/usr/bin/env python3
"""Area of the modules of fpga/rtl by yosys' synth_xilinx: LUTs, registers and block RAM, one table.

No placement and no timing: nothing here says at which clock a module runs. Modules that the yosys at hand cannot read are
named as such. With the yosys of npm, which reads all of them through slang, set STOPBIT_YOSYS_NPM to the folder in which
`npm install node@24 @yowasp/yosys@0.70.62-dev.1236` was run.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent
RTL = ROOT / "rtl"

# Module, parameters, and what the thesis gives for the same block on Virtex-6: LUTs, registers.
PRIMITIVES = [
    ("stopbit_arbiter", {"NumRequesters": 8}, None),
    ("stopbit_arbiter", {"NumRequesters": 32}, None),
    ("stopbit_skid", {"Width": 64}, None),
    ("stopbit_fifo", {"Width": 64, "Depth": 512}, (197, 23)),
    ("stopbit_spec_fifo", {"Width": 64, "Depth": 512}, (237, 41)),
    ("stopbit_double_fifo", {"Width": 64, "Depth": 512}, (213, 28)),
    ("stopbit_multi_fifo", {"Width": 64, "AddressWidth": 9, "QueueWidth": 4}, (323, 121)),
    ("stopbit_async_fifo", {"Width": 64, "Depth": 512}, None),
]
FAMILIES = {"xc6v": "Virtex-6", "xcup": "UltraScale+"}


def yosys_command(work):
    """The command that runs a script, and how it reads files: with slang, or by yosys' own reader."""
    npm = os.environ.get("STOPBIT_YOSYS_NPM")
    if npm:
        module = pathlib.Path(npm) / "node_modules/@yowasp/yosys"
        if not module.is_dir():
            sys.exit(f"synth: {module} is not there: run `npm install @yowasp/yosys` in {npm}")
        runner = work / "run.mjs"
        runner.write_text(
            f"import {{ runYosys }} from {json.dumps(str(module / 'gen/bundle.js'))};\n"
            "import { readFileSync, writeFileSync } from 'node:fs';\n"
            "const files = JSON.parse(readFileSync(process.argv[2], 'utf8'));\n"
            "const out = await runYosys(['-q', 's.ys'], files);\n"
            "writeFileSync(process.argv[3], out['stat.json']);\n"
        )
        own = pathlib.Path(npm) / "node_modules/.bin/node"
        return [str(own) if own.exists() else "node", str(runner)], True
    yosys = shutil.which("yosys")
    if not yosys:
        sys.exit("synth: yosys is not installed (Debian package: yosys)")
    return [yosys, "-q"], False


def sources():
    packages = sorted((RTL / "pkg").glob("*.sv"))
    modules = sorted(path for path in RTL.glob("*/*.sv") if path.parent.name != "pkg")
    return packages + modules


def needed(top):
    """The files that `top` is made of: packages that are named, and modules, each by its name."""
    by_name = {path.stem: path for path in sources()}
    found, todo = set(), [top]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found.add(name)
        text = re.sub(r"//.*", "", by_name[name].read_text())
        todo += [word for word in set(re.findall(r"\bstopbit_\w+", text)) if word in by_name]
    return [path for path in sources() if path.stem in found]


def synthesize(top, parameters, family):
    """Counts of cells, or the reason why there are none."""
    files = needed(top)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        command, slang = yosys_command(work)
        if slang:
            names = " ".join(path.name for path in files)
            values = " ".join(f"-G {key}={value}" for key, value in parameters.items())
            read = f"read_slang --threads 1 -DSYNTHESIS {values} --top {top} {names}"
        else:
            names = " ".join(str(path) for path in files)
            values = " ".join(f"-chparam {key} {value}" for key, value in parameters.items())
            read = f"read_verilog -sv -DSYNTHESIS {names}; hierarchy -check -top {top} {values}"
        synth = f"synth_xilinx -family {family} -flatten -noiopad -noclkbuf; tee -q -o %s stat -json"
        if slang:
            (work / "files.json").write_text(
                json.dumps({path.name: path.read_text() for path in files}
                           | {"s.ys": (read + "; " + synth % "stat.json").replace("; ", "\n")}))
            command += [str(work / "files.json"), str(work / "stat.json")]
        else:
            command += ["-p", read + "; " + synth % (work / "stat.json")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            errors = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
            return None, errors[0].replace(str(RTL) + "/", "") if errors else "yosys failed"
        design = json.loads((work / "stat.json").read_text())["design"]
        return design["num_cells_by_type"], None


def counts(cells):
    luts = sum(number for name, number in cells.items() if re.fullmatch(r"LUT\d", name))
    memories = {"RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8}
    lut_ram = sum(cells.get(name, 0) * cost for name, cost in memories.items())
    registers = sum(number for name, number in cells.items() if re.fullmatch(r"FD[A-Z]+", name))
    block = sum(number * (0.5 if "18" in name else 1) for name, number in cells.items() if name.startswith("RAMB"))
    return luts, lut_ram, registers, block


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="only these, with their own parameters (default: all)")
    parser.add_argument("--primitives", action="store_true", help="only the building blocks, which take a minute")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="default: both")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    options = parser.parse_args()

    known = {path.stem for path in sources() if path.parent.name != "pkg"}
    for module in options.modules:
        if module not in known:
            parser.error(f"there is no module '{module}' in fpga/rtl")
    if options.modules:
        work = [(module, {}, None) for module in options.modules]
    else:
        work = list(PRIMITIVES)
        if not options.primitives:
            work += [(name, {}, None) for name in sorted(known) if not (RTL / "prim" / (name + ".sv")).exists()]
    families = options.family or list(FAMILIES)

    print("| module | parameters | " + " | ".join(
        f"{FAMILIES[family]} LUTs + LUT RAM | registers | RAMB36" for family in families) + " | thesis LUTs, registers |")
    print("|---|---|" + "---|" * (3 * len(families) + 1))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = {}
        for module, parameters, _ in work:
            for family in families:
                results[module, str(parameters), family] = pool.submit(synthesize, module, parameters, family)
        for module, parameters, thesis in work:
            row = [module, " ".join(f"{key}={value}" for key, value in parameters.items())]
            for family in families:
                cells, error = results[module, str(parameters), family].result()
                if cells is None:
                    failed += 1
                    row += ["not read", error, ""]
                else:
                    luts, lut_ram, registers, block = counts(cells)
                    row += [f"{luts} + {lut_ram}", str(registers), f"{block:g}"]
            row.append(f"{thesis[0]}, {thesis[1]}" if thesis else "")
            print("| " + " | ".join(row) + " |", flush=True)
    if failed:
        print("synth: this yosys cannot read all modules; see --help for one that can", file=sys.stderr)


if __name__ == "__main__":
    main()
