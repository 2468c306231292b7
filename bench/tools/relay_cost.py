#!/usr/bin/env python3
"""What a relay costs the appliance beside it. The appliance receives a generated feed over the loopback of a network
namespace, pinned to one processor; exchange, relay and nats-server have the other. Runs with and without a relay take turns.

The appliance has a place before other programs (SCHED_RR) and blocks while nothing comes, as other load on the machine would
else be most of what is measured.

The table has the latency of each run, from the arrival of a datagram at the socket to its records in the ring, and then of
each quantile the median of the differences of neighbouring runs, in per cent of the runs without, with its 95 % interval: that
of order statistics, which needs no distribution. A run counts only if the appliance has lost nothing and if all of its
records are in the stream.

    relay_cost.py STOPBIT [--runs 20] [--seconds 8] [--rate 4000] [--processors 0,1]

Needs root, as it makes a network namespace.
"""

import argparse
import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import relay

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "system", "appliance"))
import settings  # noqa: E402  (it is in another folder)

QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
INSIDE = "STOPBIT_RELAY_COST_INSIDE"


def enter_namespace():
    if os.environ.get(INSIDE) != "yes":
        os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv], {**os.environ, INSIDE: "yes"})
    for command in ("link set lo up", "link set lo multicast on", "route add 224.0.0.0/4 dev lo"):
        subprocess.run(["ip", *command.split()], check=True)


def on(processor, command, before=(), **how):
    """A process that is bound to the processor; the appliance's agent is bound by its settings as well."""
    return subprocess.Popen(["taskset", "-c", str(processor), *before, *command], stderr=subprocess.DEVNULL, **how)


def quantile(buckets, share):
    """Of a histogram, [largest value, count] of each bucket: in a straight line within the bucket, as those of the counters
    are an eighth wide."""
    wanted = share * sum(count for _, count in buckets)
    low = 0
    for high, count in buckets:
        if wanted <= count:
            return low + (high - low) * wanted / count
        wanted -= count
        low = high
    return low


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


class Run:
    """One run of the appliance. `latency`: its quantiles in ns."""

    def __init__(self, arguments, folder, has_relay):
        name = f"relay-cost-{os.getpid()}"
        ring = f"{folder}/ring"
        ours, theirs = arguments.processors
        processes = []
        try:
            if has_relay:
                server, address = relay.server_at(folder, ["taskset", "-c", str(theirs)])
                processes.append(server)
                processes.append(on(theirs, [arguments.stopbit, "relay", ring, address, "--feed", "bench"]))
                reader = processes[-1]
            appliance = on(ours, [arguments.stopbit, "run", f"{folder}/appliance.toml", "-q"], ["chrt", "--rr", "1"], cwd=folder)
            processes.append(appliance)
            wait_for(lambda: self.stat(arguments.stopbit, name) is not None)
            subprocess.run(["taskset", "-c", str(theirs), arguments.stopbit, "simulate", "sim.toml", "-q"], cwd=folder, check=True,
                           capture_output=True)
            time.sleep(1)  # the last datagrams, and their counters
            status = self.stat(arguments.stopbit, name)
            appliance.send_signal(signal.SIGTERM)
            assert appliance.wait(timeout=60) == 0
            assert sum(port["dropped_by_kernel"] for port in status["ports"]) == 0, "the kernel has dropped datagrams"
            buckets = status["agents"][0]["latency_buckets"]
            assert sum(count for _, count in buckets) > 1_000, buckets
            self.latency = {name: quantile(buckets, share) for name, share in QUANTILES.items()}
            if has_relay:
                self.check_stream(arguments, ring, address)
                reader.send_signal(signal.SIGTERM)
                assert reader.wait(timeout=60) == 0, "the relay has lost records"
        finally:
            for process in processes:
                process.kill()
                process.wait()
            for rest in os.listdir(folder):
                if rest.startswith(("ring", "store")):
                    path = f"{folder}/{rest}"
                    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    @staticmethod
    def stat(stopbit, name):
        done = subprocess.run([stopbit, "stat", name, "--json"], capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    @staticmethod
    def check_stream(arguments, ring, address):
        """As many records as the ring has had."""
        facts = json.loads(subprocess.run([arguments.stopbit, "ring", "info", "--json", ring], check=True,
                                          capture_output=True, text=True).stdout)
        printed = subprocess.run([arguments.stopbit, "tail", address, "--from-start"], check=True, capture_output=True).stdout
        assert printed.count(b"\n") == facts["records"], (printed.count(b"\n"), facts)


def interval(values):
    """Of the median, at least 95 %: the order statistics between which it is by the binomial distribution."""
    values = sorted(values)
    count, below, rank = len(values), 0.0, 0
    while rank < count // 2 and below + math.comb(count, rank) / 2**count <= 0.025:
        below += math.comb(count, rank) / 2**count
        rank += 1
    return values[max(rank - 1, 0)], values[min(count - rank, count - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stopbit")
    parser.add_argument("--runs", type=int, default=20, help="of each kind")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--rate", type=int, default=4000, help="packets a second and line")
    parser.add_argument("--processors", type=lambda text: text.split(","), default=["0", "1"])
    arguments = parser.parse_args()
    arguments.stopbit = os.path.abspath(arguments.stopbit)
    enter_namespace()
    with tempfile.TemporaryDirectory(prefix="relay-cost-") as folder:
        settings.write(os.path.dirname(arguments.stopbit), folder, name=f"relay-cost-{os.getpid()}", rate=arguments.rate,
                       seconds=arguments.seconds, sends=("lo",), receives=("lo",),
                       agent=f'core = {arguments.processors[0]}\nidle = "backoff"\n', appliance="[rings]\nslots = 1048576\n")
        Run(arguments, folder, True)  # warms up
        pairs = []
        print("| pair | load | " + " | ".join(f"{q} without | {q} with" for q in QUANTILES) + " |")
        print("|---:|---:|" + "---:|---:|" * len(QUANTILES), flush=True)
        for number in range(arguments.runs):
            order = (False, True) if number % 2 == 0 else (True, False)
            runs = {has_relay: Run(arguments, folder, has_relay).latency for has_relay in order}
            pairs.append(runs)
            cells = " | ".join(f"{runs[False][q]:,.0f} | {runs[True][q]:,.0f}" for q in QUANTILES)
            print(f"| {number + 1} | {os.getloadavg()[0]:.1f} | {cells} |", flush=True)
    print("\n| quantile | median without, ns | with, ns | median difference | 95 % interval |\n|---|---:|---:|---:|---|")
    for q in QUANTILES:
        without, beside = (statistics.median(pair[has_relay][q] for pair in pairs) for has_relay in (False, True))
        changes = [100 * (pair[True][q] / pair[False][q] - 1) for pair in pairs]
        low, high = interval(changes)
        print(f"| {q} | {without:,.0f} | {beside:,.0f} | {statistics.median(changes):+.1f} % | {low:+.1f} to {high:+.1f} % |")


if __name__ == "__main__":
    main()
