#!/usr/bin/env python3
"""Seeded schedules of an exchange whose messages get lost, for the synchroniser and its reference.

    sync_schedules.py --check [--first S] [--seeds N] [--style STYLE]     the reference against the truth
    sync_schedules.py --text  [--first S] [--seeds N] [--style STYLE]     inputs, and the reference's outputs after `=`
    sync_schedules.py --with PROGRAM [...]                                that program's outputs against the reference's

Styles are instrument, product and channel: what a number counts. Without --style all of them. A failure names its
seed; the last line of a run says how to go on.
"""

import argparse
import collections
import os
import random
import subprocess
import sys

from sync_reference import LATEST, SCOPE, SUSPECT, Synchroniser, chain

STYLES = ("instrument", "product", "channel")
CALM = 150  # steps at the end without a loss, in which everything has to become latest


class Failure(Exception):
    pass


class Exchange:
    """Knows the truth: after message m an instrument is at a number, with a book."""

    def __init__(self, rng, rows, products):
        self.rng, self.products, self.rows = rng, products, list(range(1, rows + 1))
        self.begin()

    def begin(self):
        self.number, self.product, self.rpt = 0, collections.Counter(), collections.Counter()
        self.book = {row: 0 for row in self.rows}
        self.returns = set()
        self.sent, self.truth = {}, [dict(self.book)]
        self.counts = [collections.Counter()]

    def begin_numbers(self):
        """Empties all books with the next message, which is lost: the numbers of instruments begin anew."""
        self.number += 1
        self.returns.add(self.number)
        self.product[1] += 1
        self.rpt = collections.Counter()
        self.book = {row: 0 for row in self.rows}
        self.sent[self.number] = (self.number, 1, self.product[1], [])
        self.truth.append(dict(self.book))
        self.counts.append(collections.Counter())

    def has_shown_all(self):
        return all(self.rpt[row] for row in self.rows)

    def product_of(self, row):
        return 1 + row % self.products

    def send(self):
        rng, product, entries = self.rng, self.rng.randint(1, self.products), []
        self.number += 1
        self.product[product] += 1
        if rng.random() < .85:  # else a heartbeat, a state: a number without entries
            for _ in range(rng.randint(1, 3)):
                row = rng.choice([r for r in self.rows if self.product_of(r) == product])
                self.rpt[row] += 1
                entries.append((row, self.rpt[row], rng.getrandbits(30)))
                self.book[row] = chain(self.book[row], entries[-1][2])
        self.sent[self.number] = (self.number, product, self.product[product], entries)
        self.truth.append(dict(self.book))
        self.counts.append(collections.Counter(self.rpt))
        return self.sent[self.number]

    def count(self, row, style):
        return {"instrument": self.rpt[row], "product": self.product[self.product_of(row)], "channel": self.number}[style]


class Run:
    """One schedule: feeds the reference, checks it against the truth, writes inputs and outputs down."""

    def __init__(self, seed, style):
        rng = self.rng = random.Random(f"{style}/{seed}")
        self.style, self.stats, self.lines, self.seen = style, collections.Counter(), [], 0
        self.spoiled = set()  # rows whose book is wrong, which no check needs to find
        self.exchange = Exchange(rng, rng.choice([2, 4, 6]), 2)
        options = {"room": rng.choice([2, 8, 64]), "pool": rng.choice([8, 32, 1000]), "holes": rng.choice([1, 2, 5, 64]),
                   "pessimistic": int(rng.random() < .2), "refresh": int(rng.random() < .3),
                   "patience": rng.choice([0, 0, 4]), "wait": rng.choice([0, 0, 3]), "repeat": rng.choice([0, 5]),
                   "give_up": 20}
        self.options = options
        self.sync = Synchroniser(style, self.exchange.rows, self.exchange.product_of, **options)
        self.lines.append(f"options {style} {len(self.exchange.rows)} {self.exchange.products} " +
                          " ".join(str(value) for value in options.values()))
        self.lines += [f"attach {row} {self.exchange.product_of(row)}" for row in self.exchange.rows]

    def give(self, name, *values):
        """An input, and what it gave: asks first, then each instrument's outputs in their order."""
        if name == "message":
            flat = [*values[:-1], *(v for entry in values[-1] for v in entry)]
        else:
            flat = [*values[:-1], *values[-1]] if name == "part" else values
        self.lines.append(" ".join(map(str, (name, *flat))))
        getattr(self.sync, name)(*values)
        if name == "reset":
            self.spoiled.clear()
        if not self.sync.out:
            return
        self.spoiled -= {what[1] for what in self.sync.out if what[0] == "load"}
        self.stats.update(what[0] if what[0] != "state" else what[2] for what in self.sync.out)
        out = sorted(self.sync.out, key=lambda what: what[1] if what[0] != "state" else 1000 + what[1])
        self.lines += ["= " + " ".join(str(v) for v in what if v is not None) for what in out]
        self.sync.out.clear()

    def play(self):
        rng, ex, style = self.rng, self.exchange, self.style
        loss, burst = rng.choice([0, .02, .1, .3]), rng.choice([1, 3, 10])
        late, replay, torn = rng.choice([0, .3]), rng.choice([0, .5, 1]), rng.choice([0, .1, .4])
        parts, delay, anew = rng.choice([1, 2, 3]), rng.choice([0, 3, 12]), rng.choice([0, 0, .01])
        length, from_start = rng.choice([60, 200, 400]), rng.random() < .5
        distrust = rng.choice([0, 0, 0, .01])
        back_to_one = rng.choice([0, 0, .005]) if style == "instrument" else 0
        settling = False  # numbers have begun anew without a word, and not all instruments have shown it
        early = rng.choice([10, 20])  # snapshots may be seen before the first message
        tells, cycles = rng.random() < .8, rng.random() < .5
        dead, coming, pictures, cycle, place = 0, [], [], [], 0
        if from_start:
            self.give("reset", 0, 0)
        for step in range(length + CALM):
            calm, joined = step >= length, from_start or step >= 20
            self.give("tick", step)
            if not calm and joined and self.seen and rng.random() < anew:
                ex.begin()
                self.give("reset", step, 0)
                self.stats["resets"] += 1
                self.seen, coming, dead = 0, [], 0
            settling = settling and not ex.has_shown_all()
            if not calm and joined and self.seen and not settling and rng.random() < back_to_one:
                ex.begin_numbers()
                self.stats["returns"] += 1
                settling, dead = True, 0
            message = ex.send()
            if joined:
                if not dead and not calm and not settling and rng.random() < loss:
                    dead = rng.randint(1, burst)
                if dead:
                    dead -= 1
                    self.stats["messages lost"] += 1
                else:
                    gone = range(self.seen + 1, message[0]) if self.seen or from_start or self.stats["resets"] else ()
                    if gone:
                        if tells:
                            self.give("loss", gone[0], gone[-1], step)
                        back = rng.random() < replay
                        for n in gone:
                            if n in ex.returns:  # it never comes: what it says would be another input
                                continue
                            if rng.random() < late:
                                coming.append((step + rng.randint(1, 6), n))
                            if back and rng.random() < .9:
                                coming.append((step + rng.randint(3, 15), n))
                    self.seen = message[0]
                    self.give("message", *message)
                    if self.sync.returned:
                        self.give("refuse_before", step)
                    self.sync.returned = False
                    if rng.random() < .05:
                        self.give("message", *message)
                for _, n in sorted(w for w in coming if w[0] <= step):
                    self.give("message", *ex.sent[n])
                    self.stats["late"] += 1
                coming = [w for w in coming if w[0] > step]
            if not cycle:
                cycle, place = list(ex.rows), 0
                if cycles:
                    self.give("cycle", step)
            if calm or rng.random() < .5:
                row, when = cycle.pop(0), step + rng.randint(0, delay)
                for part in range(parts):
                    place += 1
                    pictures.append((when, (step, row, place, ex.count(row, style), ex.number, int(part == 0),
                                            int(part == parts - 1), (part, parts, ex.book[row]))))
            for when, picture in pictures:
                if when > step:
                    continue
                if not (joined or step >= early) or (not calm and rng.random() < torn):
                    self.stats["parts lost"] += 1
                else:
                    self.give("part", *picture)
            pictures = [p for p in pictures if p[0] > step]
            if not calm and rng.random() < distrust:
                self.give("distrust", rng.choice(ex.rows), "contradiction")
            if not calm and rng.random() < distrust:
                row = rng.choice(ex.rows)
                if self.sync.rows[row].reported[0] == LATEST:
                    self.spoiled.add(row)
                    self.give("spoil", row)
            if joined and self.seen:
                self.check()
        for row, inst in self.sync.rows.items():
            if inst.reported[0] != LATEST:
                raise Failure(f"{row} is {inst.reported} {CALM} messages after the last loss")
        return self

    def check(self):
        ex, held = self.exchange, 0
        for row, inst in self.sync.rows.items():
            state, held = inst.reported[0], held + len(inst.queue)
            self.stats["checks: " + state] += 1
            if len(inst.queue) > self.options["room"]:
                raise Failure("more is kept than there is room for")
            if row in self.spoiled:
                continue
            if state == LATEST and not any(t[row] == inst.book for t in ex.truth[self.seen:]):
                raise Failure(f"{row} is latest and not the exchange's book at message {self.seen}")
            if state == SUSPECT and not any(t[row] == inst.book for t in reversed(ex.truth)):
                raise Failure(f"{row} is suspect and no book that the exchange had")
            if not ex.returns and inst.reported[2] == SCOPE and self.style == "instrument" and inst.at >= ex.counts[self.seen][row]:
                raise Failure(f"{row} is stale and has everything")
        if held > self.options["pool"]:
            raise Failure("the pool is too small for what is kept")


def compare(program, runs):
    """Gives inputs to the program, and compares what it writes with what the reference said."""
    text = "".join(line + "\n" for run in runs for line in run.lines)
    inputs = "".join(line + "\n" for run in runs for line in run.lines if not line.startswith("="))
    done = subprocess.run([program], input=inputs, stdout=subprocess.PIPE, text=True, check=False)
    if done.stdout == text and done.returncode == 0:
        return None
    got, said, inputs = done.stdout.splitlines(), text.splitlines(), 0
    for i, line in enumerate(said):
        if i >= len(got) or got[i] != line:
            return "\n".join([f"exit {done.returncode}, line {i + 1}", *said[max(0, i - 12):i], "reference: " + line,
                              "program:   " + (got[i] if i < len(got) else "(end)")])
    return f"exit {done.returncode}, more lines than expected"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--style", choices=STYLES)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--with", dest="program")
    options = parser.parse_args()
    if os.environ.get("STOPBIT_LONG"):
        options.seeds = max(options.seeds, 10_000)
    bad = 0
    for style in [options.style] if options.style else STYLES:
        total, batch = collections.Counter(), []
        for seed in range(options.first, options.first + options.seeds):
            run = Run(seed, style)
            try:
                run.play()
            except Failure as failure:
                print(f"{style} {seed}: {failure}", flush=True)
                bad += 1
            total.update(run.stats)
            batch.append(run)
            if options.program and (len(batch) == 50 or seed + 1 == options.first + options.seeds):
                problem = compare(options.program, batch)
                if problem:
                    print(f"{style} {seed + 1 - len(batch)} to {seed}: {problem}")
                    return 1
            if options.text:
                print("\n".join(run.lines))
            if len(batch) == 50:
                batch = []
                if seed % 1000 == 999:
                    print(f"{style}: {seed + 1}", file=sys.stderr, flush=True)
        if not options.text:
            print(f"{style}: {options.seeds} schedules; " + ", ".join(f"{k} {v:,}" for k, v in sorted(total.items())))
    if not options.text:
        print(f"go on with --first {options.first + options.seeds}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
