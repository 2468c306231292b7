#!/usr/bin/env python3
"""Slots a second that `stopbit relay` stores in a nats-server on this host, in files. A ring is filled first, so that
its writer costs nothing; the stream is then read back and compared word for word with what was written. Only a right
answer gives a figure.

    relay.py STOPBIT PROBE [--slots N] [--runs N] [--folder FOLDER]      PROBE: bin/stopbit_relay_probe
"""

import argparse
import os
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time


def server_at(folder, before=()):
    """A server with its files there, and its address. `before`: what its command begins with."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = os.path.join(folder, "server.conf")
    with open(config, "w") as out:
        out.write(f'listen: "127.0.0.1:{port}"\njetstream {{ store_dir: "{folder}/store" }}\n')
    path = shutil.which("nats-server") or "/usr/sbin/nats-server"
    server = subprocess.Popen([*before, path, "-c", config], stderr=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return server, f"nats://127.0.0.1:{port}/BENCH"
        except OSError:
            time.sleep(0.02)


def measure(stopbit, probe, slots, place):
    ring = f"relay-bench-{os.getpid()}"
    folder = tempfile.mkdtemp(prefix="relay-bench-", dir=place)
    filled = subprocess.run([probe, "fill", ring, str(slots)], check=True, capture_output=True, text=True).stdout
    slots, records, epoch = map(int, filled.split())
    server, address = server_at(folder)
    try:
        begin = time.monotonic()
        relay = subprocess.run([stopbit, "relay", ring, address, "--once"], capture_output=True, text=True, check=True)
        seconds = time.monotonic() - begin
        messages = int(re.search(r"records in (\d+) messages", relay.stderr)[1])
        check = subprocess.run([probe, "check", address], capture_output=True, text=True, check=True).stdout.splitlines()
        assert check == [f"{epoch} 1 {records} finished", "lost 0 unknown 0 repeated 0 damaged 0 wrong 0"], check
        return slots / seconds, slots / messages
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder)
        subprocess.run([stopbit, "ring", "rm", ring], capture_output=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stopbit")
    parser.add_argument("probe")
    parser.add_argument("--slots", type=int, default=3_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", help="of the server's files")
    arguments = parser.parse_args()
    rates = []
    for run in range(arguments.runs):
        rate, share = measure(arguments.stopbit, arguments.probe, arguments.slots, arguments.folder)
        rates.append(rate)
        print(f"run {run + 1}: {rate:,.0f} slots/s, {share:.1f} slots a message; load {os.getloadavg()[0]:.1f}", flush=True)
    print(f"median {statistics.median(rates):,.0f} slots/s, best {max(rates):,.0f}")


if __name__ == "__main__":
    main()
