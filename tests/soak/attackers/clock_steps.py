import mmap
import struct
import time

from attackers.attacker import Attacker

SECOND = 1_000_000_000
HEAD, STEP, MOST = struct.Struct("<QQ"), struct.Struct("<qq"), 4_000  # as clock_shim.cpp has them
# The mistake of TAI for UTC, an hour of a time zone, and what a daemon steps.
AHEAD = (-37 * SECOND, 37 * SECOND, -3_600 * SECOND, 3_600 * SECOND, 200_000_000, -5_000_000, 0)


class ClockSteps(Attacker):
    """The wall clock of the appliance alone is stepped, by a shim around it, and loses its synchronisation."""

    LOG = ('what="clock stepped"', 'what="clock not synchronised"', 'what="clock synchronised"')

    def prepare(self):
        path = f"{self.field.folder}/clock"
        with open(path, "wb") as file:
            file.truncate(HEAD.size + MOST * STEP.size)
        with open(path, "r+b") as file:
            self.plan = mmap.mmap(file.fileno(), 0)
        self.steps = self.ahead = self.is_unsynchronised = 0

    def environment(self):
        return {"LD_PRELOAD": f"{self.field.bin}/libstopbit_clock_shim.so", "STOPBIT_SOAK_CLOCK": f"{self.field.folder}/clock"}

    def step(self, ahead):
        if self.steps == MOST:
            return
        STEP.pack_into(self.plan, HEAD.size + self.steps * STEP.size, time.time_ns(), ahead)
        self.steps += 1
        self.ahead = ahead
        HEAD.pack_into(self.plan, 0, self.steps, self.is_unsynchronised)

    def strike(self):
        if self.random.random() < 0.25:
            self.is_unsynchronised = 1 - self.is_unsynchronised
            HEAD.pack_into(self.plan, 0, self.steps, self.is_unsynchronised)
            self.count(unsynchronised=self.is_unsynchronised)
        else:
            self.step(self.random.choice([ahead for ahead in AHEAD if ahead != self.ahead]))
            self.count(steps=1)
