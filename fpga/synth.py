#!/usr/bin/env python3
"""Area of the modules of fpga/rtl by yosys' synth_xilinx: LUTs, registers and block RAM, one table.

No placement and no timing: nothing here says at which clock a module runs. `--delay` prints what abc9 makes of the longest path in a model of
7-series cells, without wires: good to compare modules, or a module before and after a change, and for nothing else.

`--tree`: MODULE (default: stopbit_decoder, the whole kernel) in one run, and each module in it with all that it is made of. Modules are
not dissolved in each other there, so that each keeps its own figures; dissolved, a module comes out some percent smaller.

Debian's yosys reads the building blocks and the front end. The engine and the kernel need the one of npm, which reads
through slang: `--fetch` installs it into build/yosys-npm (from the npm registry; 100 MB), or STOPBIT_YOSYS_NPM names a folder in which
`npm install node@24 @yowasp/yosys@0.70.62-dev.1236` was run. Modules that nothing reads are named as such.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys

import rtl
import yosys

# Module, parameters, and what the thesis gives for the same block on Virtex-6: LUTs, registers.
PRIMITIVES = [
    ("stopbit_arbiter", {"NumRequesters": 8}, None),
    ("stopbit_arbiter", {"NumRequesters": 32}, None),
    ("stopbit_skid", {"Width": 64}, None),
    ("stopbit_fifo", {"Width": 64, "Depth": 512}, (197, 23)),
    ("stopbit_spec_fifo", {"Width": 64, "Depth": 512}, (237, 41)),
    ("stopbit_fifo", {"Width": 64, "Depth": 512, "MaxTake": 2}, (213, 28)),
    ("stopbit_multi_fifo", {"Width": 64, "AddressWidth": 9, "QueueWidth": 4}, (323, 121)),
    ("stopbit_async_fifo", {"Width": 64, "Depth": 512}, None),
]
# Of a larger module all that is in it counts. The thesis's decoder: decompressor and engine.
MODULES = [
    *((name, {}, None) for name in (
        "stopbit_frame_parser", "stopbit_group_table", "stopbit_frame_decoder", "stopbit_framing", "stopbit_line_arbiter",
        "stopbit_decompressor")),
    ("stopbit_microcode_engine", {}, (4789, 3025)),
    *((name, {}, None) for name in (
        "stopbit_record_packer", "stopbit_axi_writer", "stopbit_vrbh", "stopbit_ring_writer", "stopbit_datagram_input",
        "stopbit_registers", "stopbit_decoder")),
]
FAMILIES = {"xc6v": "Virtex-6", "xcup": "UltraScale+"}


def synthesize(top, parameters, family, delay):
    """Counts of cells, the delay if it is asked for, and the reason if there are none."""
    paths = rtl.needed(top)
    files = {path.name: path.read_text() for path in paths}
    flow = "-abc9 " if delay else ""
    script = (f"synth_xilinx {flow}-family {family} -flatten -noiopad -noclkbuf\n"
              "tee -q -o stat.json stat -json\n")
    error = None
    # Its own reader first: it is five times as fast as slang in a browser's machine code.
    for slang in (False, True):
        read = yosys.read_command(paths, top, slang, ["SYNTHESIS"], parameters)
        try:
            ok, log, out = yosys.run(read + script, files, slang, ["stat.json"])
        except yosys.NotThere as reason:
            error = error or str(reason)
            continue
        if ok:
            delays = [float(value) for value in re.findall(r"Del =\s*([0-9]+(?:\.[0-9]+)?)", log)]
            return json.loads(out["stat.json"])["design"]["num_cells_by_type"], max(delays, default=0), None
        error = yosys.errors(log)
    return None, 0, error


def counts(cells):
    luts = sum(number for name, number in cells.items() if re.fullmatch(r"LUT\d", name))
    memories = {"RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8}
    lut_ram = sum(cells.get(name, 0) * cost for name, cost in memories.items())
    registers = sum(number for name, number in cells.items() if re.fullmatch(r"FD[A-Z]+", name))
    block = sum(number * (0.5 if "18" in name else 1) for name, number in cells.items() if name.startswith("RAMB"))
    return luts, lut_ram, registers, block


def tree(top, family, depth):
    """Rows of the instances in `top` down to `depth`: where, which module, what `counts` gives for all in it."""
    paths = rtl.needed(top)
    # Memories belong to the module that uses them: alone, with two clocks, they fit no block RAM of Virtex-6.
    memories = "stopbit_ram* stopbit_loaded_ram*"
    script = (yosys.read_command(paths, top, True, ["SYNTHESIS"], flags="--best-effort-hierarchy") +
              f"setattr -mod -set keep_hierarchy 1\nsetattr -mod -unset keep_hierarchy {memories}\nflatten\n"
              f"setattr -mod -unset keep_hierarchy *\n"
              f"synth_xilinx -top {top} -family {family} -noiopad -noclkbuf\ntee -q -o stat.json stat -json\n")
    ok, log, out = yosys.run(script, {path.name: path.read_text() for path in paths}, True, ["stat.json"])
    if not ok:
        sys.exit(f"synth: {yosys.errors(log)}")
    areas = {}  # by place: the module, and its own cells
    for name, module in json.loads(out["stat.json"])["modules"].items():
        module_name, _, place = name.lstrip("\\").partition("$")
        areas[place or top] = module_name, counts(module["num_cells_by_type"])
    for place in sorted(areas):
        if place.count(".") <= depth:
            inside = [area for other, (_, area) in areas.items() if other == place or other.startswith(place + ".")]
            yield place, areas[place][0], [sum(column) for column in zip(*inside)]


def print_tree(top, families, depth):
    print("| instance | module | " + " | ".join(f"{FAMILIES[family]} LUTs + LUT RAM | registers | RAMB36" for family in families) + " |")
    print("|---|---|" + "---|" * (3 * len(families)))
    rows = [list(tree(top, family, depth)) for family in families]
    for row in zip(*rows):
        cells = [f"{luts:,} + {lut_ram:,} | {registers:,} | {block:g}" for _, _, (luts, lut_ram, registers, block) in row]
        print(f"| {row[0][0].removeprefix(f'{top}.')} | {row[0][1]} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="only these, with their own parameters (default: all)")
    parser.add_argument("--primitives", action="store_true", help="only the building blocks, which take a minute")
    parser.add_argument("--tree", action="store_true", help="the kernel, or these modules, and all in them")
    parser.add_argument("--depth", type=int, default=3, metavar="N", help="of --tree: down to which level (default: 3)")
    parser.add_argument("--family", choices=FAMILIES, action="append", help="default: both")
    parser.add_argument("--delay", action="store_true", help="by abc9, which also changes the area a little")
    parser.add_argument("--fetch", action="store_true", help="install the yosys of npm, if it is not there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    options = parser.parse_args()

    known = {path.stem for path in rtl.sources() if path.parent.name != "pkg"}
    for module in options.modules:
        if module not in known:
            parser.error(f"there is no module '{module}' in fpga/rtl")
    if options.fetch and not yosys.npm_module():
        try:
            yosys.fetch()
        except (yosys.NotThere, subprocess.CalledProcessError) as reason:
            sys.exit(f"synth: {reason}")
    if options.modules:
        work = [(module, {}, None) for module in options.modules]
    else:
        work = PRIMITIVES if options.primitives else PRIMITIVES + MODULES
    families = options.family or list(FAMILIES)

    if options.tree:
        try:
            for top in options.modules or ["stopbit_decoder"]:
                print_tree(top, families, options.depth)
        except yosys.NotThere as reason:
            sys.exit(f"synth: {reason}")
        return

    columns = "LUTs + LUT RAM | registers | RAMB36" + (" | abc9 delay, relative" if options.delay else "")
    print("| module | parameters | " + " | ".join(f"{FAMILIES[family]} {columns}" for family in families) +
          " | thesis LUTs, registers |")
    print("|---|---|" + "---|" * ((4 if options.delay else 3) * len(families) + 1))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = {}
        for module, parameters, _ in work:
            for family in families:
                results[module, str(parameters), family] = pool.submit(synthesize, module, parameters, family, options.delay)
        for module, parameters, thesis in work:
            row = [module, " ".join(f"{key}={value}" for key, value in parameters.items())]
            for family in families:
                cells, delay, error = results[module, str(parameters), family].result()
                if cells is None:
                    failed += 1
                    row += ["not read", error, ""]
                else:
                    luts, lut_ram, registers, block = counts(cells)
                    row += [f"{luts:,} + {lut_ram:,}", f"{registers:,}", f"{block:g}"]
                if options.delay:
                    row.append(f"{delay:g}")
            row.append(f"{thesis[0]:,}, {thesis[1]:,}" if thesis else "")
            print("| " + " | ".join(row) + " |", flush=True)
    if failed:
        print("synth: not all modules could be read; see --help", file=sys.stderr)


if __name__ == "__main__":
    main()
