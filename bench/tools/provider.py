#!/usr/bin/env python3
"""The provider of libfabric beside libfabric's own for one host: fi_pingpong, in turn, in one run.

    bench/tools/provider.py build/release/lib/libfabric [--rounds 7] [--messages 2000]

Prints a table in Markdown: half round trip in microseconds, smallest and median of the rounds, and MB/s of the median.
The two processes are pinned to processors 0 and 1. Needs the Debian package libfabric-bin.
"""

import argparse
import os
import pathlib
import platform
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/system/provider"))
import programs  # noqa: E402

PROVIDERS = ("stopbit", "shm", "tcp;ofi_rxm")


def ping(provider, messages, env):
    """Microseconds of half a round trip, by size."""
    text = programs.pingpong(["-p", provider, "-I", str(messages)], env, pinned=True)
    rows = [line.split() for line in text.splitlines() if line[:1].isdigit()]
    return {row[0]: float(row[6]) for row in rows}


def bytes_of(size):
    return int(size[:-1]) * {"k": 1024, "m": 1024**2}[size[-1]] if size[-1] in "km" else int(size)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", help="the folder of libstopbit-fi.so")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--messages", type=int, default=2000, help="of each size, in each round")
    how = arguments.parse_args()
    if not list(pathlib.Path(how.folder).glob("libstopbit-fi.so")):
        sys.exit(f"no libstopbit-fi.so in '{how.folder}'")
    env = dict(os.environ, FI_PROVIDER_PATH=os.path.abspath(how.folder))
    results = {provider: [] for provider in PROVIDERS}
    for _ in range(how.rounds):
        for provider in PROVIDERS:
            results[provider].append(ping(provider, how.messages, env))
    load = os.getloadavg()
    print(f"{how.rounds} rounds of {how.messages} messages, kernel {platform.release()}, "
          f"{os.cpu_count()} processors, load at the end {load[0]:.1f}\n")
    print("| bytes | " + " | ".join(f"{p}: least, median, µs | MB/s" for p in PROVIDERS) + " |")
    print("|---|" + "---|---|" * len(PROVIDERS))
    for size in results[PROVIDERS[0]][0]:
        cells = []
        for provider in PROVIDERS:
            times = [round_[size] for round_ in results[provider]]
            middle = statistics.median(times)
            cells.append(f"{min(times):.2f}, {middle:.2f} | {bytes_of(size) / middle:.0f}")
        print(f"| {size} | " + " | ".join(cells) + " |")


main()
