#!/usr/bin/env python3
"""Compares the events of an appliance with the truth of a simulated exchange, and with what its recorder has written.

Reads truth.jsonl, events.jsonl, gaps.json, feed.toml and packets/ in the folder in which it runs. Prints a
line of JSON; fails if a book that was latest was another one than the exchange's.

Usage: audit.py STOPBIT --seconds N --seed N
"""
import argparse
import collections
import decimal
import glob
import json
import random
import subprocess

Decimal = decimal.Decimal
TIMES = 20  # at which the recorder's books are compared


class Truth:
    """The exchange's books, read as far as they are needed."""

    def __init__(self, path):
        self.file = open(path, encoding="utf-8")
        self.read_to = 0
        self.coming = collections.defaultdict(collections.deque)
        self.now = {}

    def read(self):
        line = self.file.readline()
        if not line:
            return False
        row = json.loads(line, parse_float=Decimal)
        self.read_to = row["sequence"]
        self.coming[row["instrument"]].append(row)
        return True

    def at(self, instrument, sequence, number):
        """The book after that packet, or after the entry of that number, whichever is later."""
        while self.read_to <= sequence and self.read():
            pass
        rows = self.coming[instrument]
        while True:
            while rows and (rows[0]["sequence"] <= sequence or rows[0]["number"] <= number):
                self.now[instrument] = rows.popleft()
            known = self.now.get(instrument)
            if (known is not None and known["number"] >= number) or rows or not self.read():
                return known


class Book:
    def __init__(self):
        self.orders = {}
        self.state = "stale"
        self.number = 0  # of the newest snapshot: the book may be ahead of the packets
        self.since = None  # not right since this time; None: it is, or never was
        self.was_stale = False
        self.missing = 0
        self.counts_messages = False

    def apply(self, event):
        kind = event["event"]
        if kind in ("clear", "snapshot_begin"):
            self.orders.clear()
        elif kind in ("new", "change"):
            self.orders[event["id"]] = (event["side"], event["price"], event["quantity"])
        elif kind == "delete":
            self.orders.pop(event["id"], None)
        elif kind == "snapshot_end":
            self.number = event.get("number", 0)

    def levels(self, side):
        levels = collections.defaultdict(lambda: [0, 0])
        for of_side, price, quantity in self.orders.values():
            if of_side == side:
                levels[price][0] += quantity
                levels[price][1] += 1
        return [(price, *levels[price]) for price in sorted(levels, reverse=side == "bid")]


class Audit:
    def __init__(self):
        self.truth = Truth("truth.jsonl")
        self.books = collections.defaultdict(Book)
        self.compared = self.wrong = self.heals = 0
        self.stale = collections.Counter()  # times until a book was right again, by the power of two of milliseconds
        self.in_doubt = collections.Counter()
        self.first_wrong = None

    def mark(self, book, event):
        kind, time = event["event"], event["time"]
        if book.state == "latest" and kind != "latest":
            book.since, book.was_stale = time, False
        book.was_stale = book.was_stale or kind == "stale"
        if kind == "latest" and book.since is not None:
            after_ms = max(0, time - book.since) // 1_000_000
            (self.stale if book.was_stale else self.in_doubt)[after_ms.bit_length()] += 1
            self.heals += 1
            book.since = None
        book.state, book.missing, book.counts_messages = kind, event.get("number", 0), event.get("counts") == "messages"

    def take(self, event):
        instrument, kind = event["instrument"], event["event"]
        if kind not in ("stale", "suspect", "latest"):
            if instrument:
                self.books[instrument].apply(event)
        elif instrument:
            self.mark(self.books[instrument], event)
        else:
            # Of the channel: it puts right books in doubt, and heals those that a loss of messages has.
            for book in self.books.values():
                is_healed = kind == "latest" and book.counts_messages and book.missing > event["number"]
                if is_healed or (kind != "latest" and book.state == "latest"):
                    self.mark(book, event)

    def check(self, sequence):
        for instrument, book in self.books.items():
            if book.state != "latest":
                continue
            true = self.truth.at(instrument, sequence, book.number)
            expected = [[tuple(level) for level in true[side]] for side in ("bids", "asks")] if true else [[], []]
            self.compared += 1
            if [book.levels("bid"), book.levels("ask")] == expected:
                continue
            self.wrong += 1
            self.first_wrong = self.first_wrong or (instrument, sequence, book.levels("bid"), book.levels("ask"), true)

    def histogram(self, counts):
        return {f"{1 << power} ms": counts[power] for power in sorted(counts)}


def clean_cuts(events):
    """Times at which all that had arrived was delivered: nothing waited for an earlier packet of its channel."""
    cuts, latest, earliest_after = [], 0, [0] * (len(events) + 1)
    earliest_after[len(events)] = 1 << 63
    for at in range(len(events) - 1, -1, -1):
        earliest_after[at] = min(events[at]["time"], earliest_after[at + 1])
    for at, event in enumerate(events):
        latest = max(latest, event["time"])
        if latest < earliest_after[at + 1] and "last_of_event" in event.get("flags", ()):
            cuts.append((at, latest))
    return cuts


def check_recorder(stopbit, events, seed):
    """At any time the recorder's files have the book that the appliance had, where the one is whole and the other was
    latest. An appliance closes windows when it looks at its clock, a replay at their times: so packets of different
    channels may be delivered in another order, and a snapshot may help earlier or later."""
    capture = sorted(glob.glob("packets/*.pcapng"))
    compared = books = 0
    cuts = clean_cuts(events)
    assert len(cuts) > TIMES, len(cuts)
    live, at = Audit(), 0
    for cut, time in sorted(random.Random(seed).sample(cuts, TIMES)):
        for event in events[at:cut + 1]:
            live.take(event)
        at = cut + 1
        done = subprocess.run([stopbit, "book", *capture, "--merge", "--feed", "feed.toml", "--at", f"{time}ns", "--levels",
                               "100", "--format", "jsonl", "-q"], capture_output=True, text=True, check=True)
        for row in (json.loads(line, parse_float=Decimal) for line in done.stdout.splitlines()):
            book = live.books[row["instrument"]]
            books += 1
            if row["state"] != "known" or book.state != "latest":
                continue
            for side in ("bid", "ask"):
                seen = [(Decimal(level[0]), level[1], level[2]) for level in row[f"{side}s"] if level is not None]
                assert seen == book.levels(side), f"{row['instrument']} at {time}: {seen}, live {book.levels(side)}"
            compared += 1
    assert compared > books // 2, f"{compared} of {books} recorded books were known, and latest live"
    return compared


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stopbit")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    arguments = parser.parse_args()
    audit = Audit()
    sequence, count = 0, 0
    with open("events.jsonl", encoding="utf-8") as live:
        for line in live:
            count += 1
            event = json.loads(line, parse_float=Decimal)
            audit.take(event)
            if event["channel"] == 0:
                sequence = max(sequence, event["sequence"])
            if "last_of_event" in event.get("flags", ()):
                audit.check(sequence)
    gaps = [json.loads(line) for line in open("gaps.json", encoding="utf-8")]
    with open("events.jsonl", encoding="utf-8") as live:
        first = [json.loads(line, parse_float=Decimal) for line, _ in zip(live, range(100_000))]
    at_times = check_recorder(arguments.stopbit, first, arguments.seed)
    print(json.dumps({"soak": "market", "seconds": arguments.seconds, "seed": arguments.seed, "events": count,
                      "gaps": len(gaps), "lost": sum(gap["count"] for gap in gaps), "books_compared": audit.compared,
                      "wrong": audit.wrong, "right_again": audit.heals, "stale_for": audit.histogram(audit.stale),
                      "suspect_for": audit.histogram(audit.in_doubt), "recorded_books_compared": at_times}))
    assert audit.wrong == 0, audit.first_wrong
    assert audit.compared > 0 and gaps and audit.heals > 0 and audit.stale, "nothing was lost, or nothing healed"


if __name__ == "__main__":
    main()
