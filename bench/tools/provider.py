#!/usr/bin/env python3
"""The provider of libfabric beside libfabric's own for one host and UCX, in turn, in one run.

    bench/tools/provider.py build/release [--rounds 5] [--batches 50]

Prints tables in Markdown: microseconds of tagged messages (half a round trip), of a write, a read and a fetching
addition until their completion; MB/s of tagged messages of 1 MiB, 16 under way at once, beside memcpy. Each figure is
the least and the median of the rounds, of which each gives the median of its batches. The two processes are pinned to
processors 0 and 1. Needs the target bench_fabric; UCX is measured by ucx_perftest of the Debian package ucx-utils.
"""

import argparse
import os
import pathlib
import platform
import shutil
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/system/provider"))
import programs  # noqa: E402

PROVIDERS = ("stopbit", "shm", "tcp;ofi_rxm")
UCX = "UCX"
UCX_TESTS = {"tagged": "tag_lat", "stream": "tag_bw", "write": "ucp_put_lat", "read": "ucp_get", "add": "ucp_fadd"}
MIB = 1 << 20


def pinned(*command):
    return (lambda port: ["taskset", "-c", "0"] + command[0](port)), (lambda port: ["taskset", "-c", "1"] + command[1](port))


def fabric(program, provider, batches, env):
    """Nanoseconds by name and bytes: of each, the median of the batches."""
    text = programs.pair(*pinned(lambda port: [program, provider, str(port)],
                                 lambda port: [program, provider, str(port), str(batches)]), env)
    rows = [line.split() for line in text.splitlines()]
    return {(name, int(size)): float(median) for name, size, _, median in rows}


def ucx(rows, batches, env):
    """The same of UCX, for those of `rows` that its program has."""
    found = {}
    for name, size in rows:
        if name not in UCX_TESTS:
            continue
        count = batches * (10 if size > 10_000 else 200)
        test = ["-t", UCX_TESTS[name], "-s", str(size), "-n", str(count), "-w", str(min(count, 1000))]
        text = programs.pair(*pinned(lambda port: ["ucx_perftest", "-p", str(port)],
                                     lambda port: ["ucx_perftest", "127.0.0.1", "-p", str(port)] + test), env)
        final = [line.split() for line in text.splitlines() if line.startswith("Final:")]
        # Of latencies, the median; of a stream, what all took.
        found[name, size] = float(final[0][4 if name == "stream" else 2]) * 1000
    return found


def cell(times, name):
    if any(time is None for time in times):
        return "–"
    if name in ("stream", "memcpy"):
        return f"{MIB / statistics.median(times) * 1000:,.0f}, {MIB / min(times) * 1000:,.0f}"
    return f"{min(times) / 1000:.2f}, {statistics.median(times) / 1000:.2f}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("build", help="the build folder, with bin and lib/libfabric")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--batches", type=int, default=50, help="of each figure, in each round")
    how = arguments.parse_args()
    build = pathlib.Path(how.build).resolve()
    program = build / "bin/bench_fabric"
    if not (build / "lib/libfabric/libstopbit-fi.so").exists() or not program.exists():
        sys.exit(f"'{how.build}' has no libstopbit-fi.so or no bench_fabric: build the targets stopbit_fi and bench_fabric")
    env = dict(os.environ, FI_PROVIDER_PATH=str(build / "lib/libfabric"))
    has_ucx = shutil.which("ucx_perftest") is not None
    results = {provider: [] for provider in PROVIDERS + ((UCX,) if has_ucx else ())}
    load = os.getloadavg()[0]
    for _ in range(how.rounds):
        for provider in PROVIDERS:
            results[provider].append(fabric(str(program), provider, how.batches, env))
        if has_ucx:
            results[UCX].append(ucx(list(results[PROVIDERS[0]][0]), how.batches, env))
    print(f"{how.rounds} rounds of {how.batches} batches, kernel {platform.release()}, {os.cpu_count()} processors, "
          f"load {load:.1f} at the begin, {os.getloadavg()[0]:.1f} at the end\n")
    print("| what | bytes | " + " | ".join(results) + " |")
    print("|---|---|" + "---|" * len(results))
    for name, size in results[PROVIDERS[0]][0]:
        cells = [cell([round_.get((name, size)) for round_ in rounds], name) for rounds in results.values()]
        print(f"| {name} | {size:,} | " + " | ".join(cells) + " |")


main()
