import fcntl
import os
import select
import threading
import time

from attackers.attacker import Attacker


class UnreadLog(Attacker):
    """The log is a pipe of a page, whose reader does not read for long."""

    def prepare(self):
        self.from_log, self.to_log = os.pipe()
        fcntl.fcntl(self.to_log, fcntl.F_SETPIPE_SZ, 4096)
        self.reads = threading.Event()
        self.reads.set()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        with open(f"{self.field.folder}/log", "ab", buffering=0) as log:
            while True:
                if not self.reads.wait(0.1) or not select.select([self.from_log], [], [], 0.1)[0]:
                    continue
                log.write(os.read(self.from_log, 65536))

    def strike(self):
        self.reads.clear()
        begin = time.monotonic()
        try:
            self.field.rest(self.logarithmic(2, 60))
        finally:
            # An end of the appliance comes while nobody reads, and may not wait for it.
            if self.field.may_strike.is_set():
                self.reads.set()
            self.count(seconds=int(time.monotonic() - begin))

    def settle(self):
        self.reads.set()
