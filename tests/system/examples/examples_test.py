"""Installs the build, builds the examples on nothing but that, and compares what they print.

usage: examples_test.py CMAKE BUILD_FOLDER SOURCE_FOLDER SCRATCH_FOLDER C_COMPILER CXX_COMPILER PYTHON [FLAG...]
PYTHON is empty if the module is not built. FLAGs are of the sanitizers, if the build has any.
"""

import glob
import json
import os
import shutil
import subprocess
import sys

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main(cmake, build, source, scratch, cc, cxx, python, *flags):
    shutil.rmtree(scratch, ignore_errors=True)
    # Outside of the tree, and moved after the install: nothing may point back.
    run(cmake, "--install", build, "--prefix", f"{scratch}/installed")
    prefix = f"{scratch}/moved"
    os.rename(f"{scratch}/installed", prefix)
    for folder in ("cpp", "c", "python"):
        shutil.copytree(f"{source}/host/bindings/examples/{folder}", f"{scratch}/{folder}")
    sample = f"{source}/tests/data/sample"
    capture, templates = f"{sample}/capture.pcap.gz", f"{sample}/templates.xml"
    ring = f"{scratch}/ring"
    stopbit = f"{prefix}/bin/stopbit"
    run(stopbit, "replay", capture, "--templates", templates, "--framing", "cme", "-q", "--ring", ring)

    run(cmake, "-S", f"{scratch}/cpp", "-B", f"{scratch}/cpp/build", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DTEMPLATES={templates}",
        f"-DCMAKE_CXX_COMPILER={cxx}", f"-DCMAKE_CXX_FLAGS={' '.join(STRICT + list(flags))}")
    run(cmake, "--build", f"{scratch}/cpp/build")
    printed = {"C++, cmake": run(f"{scratch}/cpp/build/trades", ring)}

    (pkgconfig,) = glob.glob(f"{prefix}/lib*/**/pkgconfig", recursive=True)
    libraries = os.path.dirname(pkgconfig)
    environment = {**os.environ, "PKG_CONFIG_PATH": pkgconfig, "LD_LIBRARY_PATH": libraries}

    def options_of(package):
        return run("pkg-config", "--cflags", "--libs", package, env=environment).split()

    views = f"{scratch}/cpp/build/stopbit_views"
    run(cxx, "-std=c++20", *STRICT, *flags, f"-I{views}", f"{scratch}/cpp/trades.cpp", *options_of("stopbit-cpp"), "-o",
        f"{scratch}/trades_cpp")
    printed["C++, pkg-config"] = run(f"{scratch}/trades_cpp", ring)
    run(cc, "-std=c11", *STRICT, *flags, f"{scratch}/c/trades.c", *options_of("stopbit"), "-o", f"{scratch}/trades_c")
    printed["C, ring"] = run(f"{scratch}/trades_c", ring, env=environment)
    printed["C, capture"] = run(f"{scratch}/trades_c", capture, templates, "cme", env=environment)
    if python:
        module = {**os.environ, "PYTHONPATH": f"{prefix}/lib/python3/dist-packages"}
        printed["Python"] = run(python, f"{scratch}/python/trades.py", capture, templates, "cme", env=module)

    for name, text in printed.items():
        if text != printed["C, ring"] or "CEDAR" not in text:
            sys.exit(f"{name} prints\n{text}\nC, ring\n{printed['C, ring']}")

    # Best prices, from a ring of market events.
    events = f"{scratch}/events"
    run(stopbit, "replay", capture, "--templates", templates, "--framing", "cme", "--map", f"{sample}/map.toml", "--events",
        "--ring", events, "-q")
    state = json.loads(run(stopbit, "states", events, "--instrument", "CEDAR", "--format", "jsonl"))
    wanted = " | ".join(f"{state[side + '_quantity']} at {float(state[side]):.4f}" for side in ("bid", "ask"))
    wanted += f" ({state['book']})\n"
    run(cc, "-std=c11", *STRICT, *flags, f"{scratch}/c/best.c", *options_of("stopbit"), "-o", f"{scratch}/best_c")
    best = {"C, best": run(f"{scratch}/best_c", events, "CEDAR", env=environment)}
    if python:
        best["Python, best"] = run(python, f"{scratch}/python/best.py", events, "CEDAR", env=module)
    # The strategy builds the book itself; its last line is the same.
    counts, best["C++, strategy"] = run(f"{scratch}/cpp/build/strategy", events, "CEDAR").split("\n", 1)
    if f" trades of {state['volume']}," not in counts or counts.startswith("0 changes"):
        sys.exit(f"strategy prints {counts}, and the volume is {state['volume']}")
    run(cxx, "-std=c++20", *STRICT, *flags, f"{scratch}/cpp/strategy.cpp", *options_of("stopbit-cpp"), "-o",
        f"{scratch}/strategy")
    best["C++, strategy, pkg-config"] = run(f"{scratch}/strategy", events, "CEDAR").split("\n", 1)[1]
    for name, text in best.items():
        if text != wanted:
            sys.exit(f"{name} prints\n{text}\nnot\n{wanted}")

    # Every installed header compiles alone; with sanitizers they are no others.
    folder = f"{prefix}/include/stopbit"
    headers = [] if flags else sorted(glob.glob(f"{folder}/**/*.hpp", recursive=True))
    for header in headers:
        run(cxx, "-std=c++20", *STRICT, "-fsyntax-only", "-include", header, "-x", "c++", "/dev/null", f"-I{folder}")
    os.remove(ring)
    print(f"{len(printed) + len(best)} programs agree, {len(headers)} headers compile")


if __name__ == "__main__":
    main(*sys.argv[1:])
