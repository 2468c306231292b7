import os
import signal

from attackers.attacker import Attacker


class Stalls(Attacker):
    """The whole process does not run for 10 ms to 3 s, as in a virtual machine that is paused."""

    def strike(self):
        pid, seconds = self.field.process.pid, self.logarithmic(0.01, 3)
        os.kill(pid, signal.SIGSTOP)
        try:
            self.field.rest(seconds)
        finally:
            if self.field.is_running():
                os.kill(pid, signal.SIGCONT)
        self.count(milliseconds=int(1000 * seconds))
