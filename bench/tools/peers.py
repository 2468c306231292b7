"""`./dev bench peers DIR`: compares decoders that the user has built with ours. The contract is bench/peers.md."""

import argparse
import decimal
import itertools
import json
import os
import re
import select
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

OURS = ["native", "quick"]
CANNOT_READ = 77
PATIENCE_S = 120
BLOCK_NS, QUICK_BLOCK_NS = 30e6, 3e6
ROUNDS, QUICK_ROUNDS = 15, 3


class Failed(Exception):
    """What a contestant has done wrong."""


class CannotRead(Exception):
    """A feed that is not for this contestant."""


class Contestant:
    """A decoder on one feed. Its process for timing lives until `end`."""

    def __init__(self, name, command, feed, processor):
        self.name, self.command, self.feed = name, command, feed
        self.pin = lambda: os.sched_setaffinity(0, {processor})
        self.process = None
        self.blocks = []

    def answers(self):
        try:
            done = subprocess.run([*self.command, "answers", self.feed], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(f"cannot be run: {error}") from error
        if done.returncode == CANNOT_READ:
            raise CannotRead
        if done.returncode != 0:
            raise Failed(f"ends with status {done.returncode}: {done.stderr.strip()[-200:]}")
        return done.stdout.splitlines()

    def begin(self):
        self.process = subprocess.Popen([*self.command, "time", self.feed], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        bufsize=1, preexec_fn=self.pin)

    def time_ns(self, passes):
        """The time, in ns, that the contestant reports for `passes` passes."""
        try:
            self.process.stdin.write(f"{passes}\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
            line = self.process.stdout.readline() if ready else ""
        except OSError as error:
            raise Failed(f"ended while it was timed: {error}") from error
        if not line.strip().isdigit() or int(line) == 0:
            raise Failed(f"gives no time: {line.strip()!r}")
        return int(line)

    def end(self):
        if self.process is None:
            return
        self.process.stdin.close()
        try:
            self.process.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def first_difference(ours, theirs):
    """The number of the first line that says something else, with both; nothing if all agree."""
    def meaning(line):
        return json.loads(line, parse_float=decimal.Decimal)

    for number, (our, their) in enumerate(itertools.zip_longest(ours, theirs), 1):
        if our == their:
            continue
        try:
            if our is not None and their is not None and meaning(our) == meaning(their):
                continue
        except ValueError:
            pass
        return f"message {number}: {(their or 'nothing')[:120]} instead of {(our or 'nothing')[:120]}"
    return ""


def take_turns(contestants, messages, quick):
    """Fills the blocks of each, ns a message; those of a round are neighbours."""
    for contestant in contestants:
        contestant.begin()
        contestant.time_ns(1)  # to warm up
    block_ns = QUICK_BLOCK_NS if quick else BLOCK_NS
    passes = {one.name: max(1, round(block_ns / one.time_ns(1))) for one in contestants}
    for turn in range(QUICK_ROUNDS if quick else ROUNDS):
        for one in contestants if turn % 2 == 0 else contestants[::-1]:
            one.blocks.append(one.time_ns(passes[one.name]) / passes[one.name] / messages)


def executables(folder):
    return sorted(path for path in Path(folder).iterdir() if path.is_file() and os.access(path, os.X_OK))


def measure_feed(feed, folder, peers, ours, options, result):
    """Compares the answers first: a decoder with other answers is not timed."""
    processor = sorted(os.sched_getaffinity(0))[-1]
    contestants = [Contestant(name, [str(ours), name], folder, processor) for name in OURS]
    contestants += [Contestant(path.name, [str(path.resolve())], folder, processor) for path in peers]
    expected, good = None, []
    for one in contestants:
        try:
            answers = one.answers()
            expected = answers if expected is None else expected
            difference = first_difference(expected, answers)
            if difference:
                raise Failed(f"another answer: {difference}")
            good.append(one)
        except CannotRead:
            result["notes"].append(f"{feed}: {one.name} cannot read it")
        except Failed as error:
            result["problems"].append(f"{feed}: {one.name} {error}")
            if one is contestants[0]:
                return
    try:
        take_turns(good, len(expected), options.quick)
    except Failed as error:
        result["problems"].append(f"{feed}: a contestant {error}")
        return
    finally:
        for one in good:
            one.end()
    for one in good:
        name = f"peers/{feed}/{one.name}"
        result["figures"].append({"name": name, "unit": "ns/msg", "samples": one.blocks, "count": len(one.blocks)})
        if one is not good[0]:
            ratios = [theirs / our for theirs, our in zip(one.blocks, good[0].blocks)]
            result["figures"].append({"name": f"{name}/ratio", "unit": "x", "samples": ratios, "count": len(ratios)})


def rows(result, number, spread):
    figures = {figure["name"]: figure["samples"] for figure in result["figures"]}
    for name, samples in figures.items():
        if name.endswith("/ratio"):
            continue
        _, feed, who = name.split("/")
        ratios = figures.get(f"{name}/ratio")
        low, high = spread(ratios) if ratios else (0, 0)
        yield [feed, who, number(min(samples)), number(statistics.median(samples)),
               f"{statistics.median(ratios):.2f}" if ratios else "", f"{low:.2f} .. {high:.2f}" if ratios else ""]


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(prog="./dev bench peers", description="Decoders that you have built beside ours. The contract: bench/peers.md.")
    parser.add_argument("folder", metavar="DIR", help="an executable for each decoder")
    parser.add_argument("--quick", action="store_true", help="a few repetitions: to see that it runs")
    parser.add_argument("--filter", metavar="REGEX", default="", help="only feeds whose name has a match")
    parser.add_argument("--json", metavar="FILE", help="also write the figures")
    parser.add_argument("--ours", metavar="FILE", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if not Path(options.folder).is_dir():
        parser.error(f"there is no folder '{options.folder}'")
    return options


def main(arguments, bench):
    """`bench`: the module that shows tables and knows the machine."""
    options = parse_arguments(arguments)
    ours = Path(options.ours or bench.BUILD / "bin/bench_peer")
    peers = executables(options.folder)
    if not peers:
        print(f"bench: {options.folder} has no executable", file=sys.stderr)
        return bench.EXIT_USAGE
    result = {"figures": [], "notes": [], "problems": [], "machine": bench.machine()}
    listed = subprocess.run([ours, "list"], capture_output=True, text=True, check=True).stdout.split()
    for feed in (feed for feed in listed if re.search(options.filter, feed)):
        print(f"bench: {feed}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ours, "export", feed, folder], check=True)
            measure_feed(feed, folder, peers, ours, options, result)
    head = ["feed", "decoder", "least ns", "median", "ours is faster", "5 % .. 95 %"]
    bench.print_columns([head, *rows(result, bench.number, bench.spread)], "<<>>>>")
    for kind, words in (("notes", "note"), ("problems", "PROBLEM")):
        for text in result[kind]:
            print(f"{words}: {text}")
    print(", ".join(f"{key}: {value}" for key, value in result["machine"].items()))
    if options.json:
        Path(options.json).write_text(json.dumps(result))
    return bench.EXIT_PROBLEMS if result["problems"] else 0
