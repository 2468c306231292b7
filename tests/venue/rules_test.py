#!/usr/bin/env python3
"""The simulator's exchanges against the rules of exchanges in Python (exchange_rules.py): from what was sent, decoded,
without the truth, the same books at every number. Once whole, and then with packets left out and a late start.

Usage: rules_test.py STOPBIT [--seeds N] [--first S]
"""
import argparse
import json
import pathlib
import random
import subprocess
import tempfile
from decimal import Decimal

import exchange_rules

DEPTH = 4
SETTINGS = """seed = {seed}
duration = "40s"
instruments = 7
products = {products}
rate = 40
snapshot_every = "1s"
heartbeat_every = "500ms"
[market]
exchange = "{exchange}"
depth = {depth}
fragment = 4
[line_a]
group = "239.30.1.1:30001"
[[phase]]
at = "20s"
state = "closed"
[[phase]]
at = "22s"
state = "open"
[[{again}]]
at = "30s"
"""


def simulate(stopbit, folder, exchange, seed):
    """Packets in the order of arrival, (channel, number, [(template, fields)]), and lines of the truth."""
    is_t7 = exchange.startswith("t7")
    (folder / "sim.toml").write_text(SETTINGS.format(seed=seed, exchange=exchange, depth=DEPTH, products=2 if is_t7 else 1,
                                                     again="failover" if is_t7 else "reset"), encoding="utf-8")
    subprocess.run([stopbit, "simulate", "sim.toml", "-o", "day.pcap", "--write-feed", ".", "--truth", "truth.jsonl",
                    "-q"], cwd=folder, check=True)
    # Without the map: records as they are.
    feed = (folder / "feed.toml").read_text(encoding="utf-8").splitlines()
    keep = [line for line in feed if not line.startswith(("map ", "events ", "recovers ", "depth "))]
    (folder / "feed.toml").write_text("\n".join(keep) + "\n", encoding="utf-8")
    done = subprocess.run([stopbit, "replay", "day.pcap", "--feed", "feed.toml", "-q", "--header"], cwd=folder,
                          check=True, capture_output=True, text=True)
    packets = []
    for line in done.stdout.splitlines():
        record = json.loads(line, parse_float=Decimal)
        head = record["header"]
        if "template" not in record or "error" in record:
            assert record.get("event") == "reset", line
            continue
        place = (head["channel"], head["sequence"], head["epoch"])
        if not packets or packets[-1][0] != place:
            packets.append((place, []))
        packets[-1][1].append((record["template"], record["fields"]))
    truth = [json.loads(line, parse_float=Decimal) for line in (folder / "truth.jsonl").read_text().splitlines()]
    return packets, truth


def compare(reader, packets, truth, is_lost):
    """Feeds the reader; after each packet of increments that it gets, what it knows is true. Returns how much it was."""
    true, at, compared = {}, 0, 0
    for (channel, number, _), messages in packets:
        if channel == 0:
            while at < len(truth) and truth[at]["sequence"] == number:
                row = truth[at]
                true[row["instrument"]] = tuple([tuple(level) for level in row[side]] for side in ("bids", "asks"))
                at += 1
        if is_lost(channel):
            continue
        if channel == 0:
            reader.begin(number)
        for name, fields in messages:
            reader.message(channel, number, name, fields)
        if channel != 0:
            continue
        for key, book in reader.state().items():
            expected = true.get(key, ([], []))
            assert list(map(list, book)) == list(map(list, expected)), f"{key} at {number}: {book}, in truth {expected}"
            compared += 1
    assert at == len(truth), "a line of the truth is of no packet"
    return compared


def check(stopbit, exchange, seed):
    with tempfile.TemporaryDirectory() as name:
        packets, truth = simulate(stopbit, pathlib.Path(name), exchange, seed)
    make = exchange_rules.Moex if exchange == "moex-fx" else lambda from_start: exchange_rules.T7(from_start, DEPTH)
    whole = make(True)
    compared = compare(whole, packets, truth, lambda channel: False)
    assert compared > 5_000 and whole.audits > 50, (compared, whole.audits)

    chance = random.Random(seed)
    lossy, burst = make(False), [0]

    def is_lost(channel):
        if channel == 0 and burst[0] == 0 and chance.random() < 0.02:
            burst[0] = chance.randint(1, 30)
        if channel == 0 and burst[0] > 0:
            burst[0] -= 1
            return True
        return channel != 0 and chance.random() < 0.1

    late = len(packets) // 10
    again = compare(lossy, packets, truth, lambda channel, count=iter(range(len(packets))): is_lost(channel) or next(count) < late)
    assert again > 500 and lossy.loads > 20, (again, lossy.loads)
    print(f"{exchange} seed {seed}: {len(packets)} packets, {compared} books compared, {whole.audits} snapshots; with losses {again} books, {lossy.loads} snapshots loaded")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stopbit")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=1)
    arguments = parser.parse_args()
    for exchange in ("moex-fx", "t7", "t7-mdi"):
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            check(str(pathlib.Path(arguments.stopbit).resolve()), exchange, seed)


if __name__ == "__main__":
    main()
