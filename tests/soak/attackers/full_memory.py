import os

from attackers.attacker import Attacker, Filler, promise


class FullMemory(Attacker):
    """/dev/shm has not a byte left. What is asked for then is refused, and what runs goes on."""

    def prepare(self):
        self.filler = Filler("/dev/shm")

    def tail(self):
        """Lines that a reader by way of the broker sees within a time."""
        answer = self.field.inside(self.field.appliance_space, f"{self.field.bin}/stopbit", "tail",
                                   f"broker:broker.sock/{self.field.feed}", "--format", "csv", seconds=3)
        return None if answer is None else (answer[1].count("\n"), answer[2])

    def strike(self):
        self.filler.fill()
        try:
            answer = self.field.ask("load cme")
            if answer is not None:
                promise("not enough space in /dev/shm" in answer and "the previous image remains in use" in answer, f"load: {answer}")
                self.count(loads_refused=1)
            if self.random.random() < 0.5 and (seen := self.tail()) is not None and self.field.is_running():
                promise(seen[0] == 0, f"a copy of the ring without memory: {seen}")
                self.count(copies_refused=1)
            self.field.rest(self.random.uniform(0.2, 4))
        finally:
            self.filler.empty()
        if self.random.random() < 0.5 and (seen := self.tail()) is not None and self.field.is_running():
            self.count(**{"copies": 1} if seen[0] > 0 else {"copies_in_vain": 1})

    def settle(self):
        self.filler.empty()

    def refuse_start(self, start):
        """`start` runs an appliance to its end: status and what it said. Without memory it says what is missing."""
        self.filler.fill()
        try:
            status, said = start()
        finally:
            self.filler.empty()
        promise(status == 3 and "not enough space in /dev/shm" in said, f"with a full /dev/shm: status {status}: {said}")
        self.count(starts_refused=1)

    @staticmethod
    def exists():
        return os.path.ismount("/dev/shm")
