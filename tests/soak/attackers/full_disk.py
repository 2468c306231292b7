import time

from attackers.attacker import Attacker, Filler


class FullDisk(Attacker):
    """The disk of gaps, state and recordings has not a byte left."""

    LOG = ('what="recording stops"', 'what="recording goes on"')

    def prepare(self):
        self.filler = Filler(f"{self.field.folder}/state")
        self.times = []  # when it was full, by time.time_ns()

    def strike(self):
        begin = time.time_ns()
        self.filler.fill()
        try:
            self.field.rest(self.random.uniform(0.5, 8))
        finally:
            self.filler.empty()
            self.times.append((begin, time.time_ns()))

    def settle(self):
        self.filler.empty()

    def was_full(self, time_ns):
        """Or so soon after that what was seen then was written while it was full: behind a stall, that is."""
        return any(begin - 5_000_000_000 <= time_ns <= end + 1_000_000_000 for begin, end in self.times)
