"""Attackers that send to the groups of the channel."""

import json
import os
import sys

from attackers.attacker import Attacker, promise

SENDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sender.py")
MOST = 20_000  # datagrams of a strike
PASSED = "passed"  # numbers of these attackers that the feed had already passed, a line each


def passed_numbers(folder):
    try:
        with open(f"{folder}/{PASSED}", "rb") as file:
            return {int(line) for line in file}
    except FileNotFoundError:
        return set()


class OnTheWire(Attacker):
    KINDS = ()   # of sender.py
    SOURCE = ""  # address in the relay's namespace

    def strike(self):
        kind = self.random.choice(self.KINDS)
        # One that nothing confirms is alone; all the others come one to ten thousand a second.
        rate = self.logarithmic(1, 4) if kind == "ahead" else self.logarithmic(1, 10_000)
        seconds = min(self.random.uniform(0.5, 5), MOST / rate)
        answer = self.field.inside(
            self.field.relay_space, sys.executable, SENDER, "--kind", kind, "--lines", self.random.choice(("A", "B", "AB")),
            "--rate", str(rate), "--seconds", str(seconds), "--seed", str(self.random.random()), "--listen", "10.77.0.2",
            "--from", self.SOURCE, "--a", "239.30.1.1:30001", "--b", "239.30.2.1:31001",
            "--passed", f"{self.field.folder}/{PASSED}")
        if answer is None:
            return
        status, out, err = answer
        # When the exchange has ended there is no feed to copy.
        promise(status == 0 or "timed out" in err, f"sender.py {kind}: {err}")
        self.count(**{kind: 1}, datagrams=json.loads(out)["sent"] if status == 0 else 0)
