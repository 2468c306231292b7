"""What all attackers have in common."""

import os
import random
import socket
import subprocess
import threading
import time


class Broken(Exception):
    """A promise that was not kept."""


def promise(kept, what):
    if not kept:
        raise Broken(what)


class Field:
    """What attackers know of the soak. `process` is the appliance's; attackers wait while there is none to attack."""

    def __init__(self, bin_folder, folder, name, feed):
        self.bin, self.folder, self.name, self.feed = bin_folder, folder, name, feed
        self.relay_space = self.appliance_space = None
        self.process = None
        self.may_strike = threading.Event()
        self.ends = threading.Event()

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def rest(self, seconds):
        """Sleeps, less if the strike is to end. True: it went on to the end."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not self.may_strike.is_set():
                return False
            time.sleep(min(0.02, max(0.0, until - time.monotonic())))
        return self.may_strike.is_set()

    def runs_on(self):
        """What fails may fail because the end of the appliance has begun. True: it was not that."""
        return self.rest(20) and self.is_running()

    def inside(self, space, *command, seconds=None):
        """In a network namespace, until it ends, its time is over, or the strike has to end. None in the last case; else
        status, stdout, stderr."""
        end = time.monotonic() + seconds if seconds else float("inf")
        child = subprocess.Popen(["nsenter", "-t", str(space), "-n", *command], cwd=self.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while True:
            try:
                out, err = child.communicate(timeout=0.1)
                return child.returncode, out, err
            except subprocess.TimeoutExpired:
                if time.monotonic() > end:
                    child.terminate()
                    end = float("inf")
                if not self.may_strike.is_set():
                    child.kill()
                    child.communicate()
                    return None

    def ask(self, command):
        """A line of the control socket's answer; None if nobody answers, as an appliance that was killed."""
        try:
            with socket.socket(socket.AF_UNIX) as door:
                door.settimeout(60)
                door.connect(f"{self.folder}/control.sock")
                door.sendall(command.encode() + b"\n")
                return door.makefile().readline().strip() or None
        except OSError:
            promise(not self.runs_on(), f"the appliance does not answer '{command}'")
            return None


class Attacker(threading.Thread):
    """Strikes now and then, from a seed. A strike ends early, and leaves all as it was, when it may not go on."""

    LOG = ()  # what the log of the appliance has to say of the strikes, once at least

    def __init__(self, field, seed, rests):
        super().__init__(name=type(self).__name__, daemon=True)
        self.field, self.rests = field, rests
        self.random = random.Random(f"{seed} {type(self).__name__}")
        self.counts = {"strikes": 0}
        self.broken = None
        self.is_striking = False

    def prepare(self):
        """Before the first appliance."""

    def environment(self):
        """Of the appliance."""
        return {}

    def count(self, **more):
        for key, value in more.items():
            self.counts[key] = self.counts.get(key, 0) + value

    def logarithmic(self, least, most):
        return least * (most / least) ** self.random.random()

    def strike(self):
        raise NotImplementedError

    def settle(self):
        """After the last strike of a life, before the next appliance starts."""

    def run(self):
        try:
            while not self.field.ends.is_set():
                if not self.field.may_strike.wait(0.1) or not self.field.rest(self.random.uniform(*self.rests)):
                    continue
                self.is_striking = True
                if self.field.may_strike.is_set() and self.field.is_running():
                    self.count(strikes=1)
                    self.strike()
                self.is_striking = False
        except Exception as broken:  # told by the soak's own thread
            self.broken = f"{self.name}: {type(broken).__name__}: {broken}"
        finally:
            self.is_striking = False


def free_bytes(path):
    state = os.statvfs(path)
    return state.f_bavail * state.f_frsize


class Filler:
    """Takes all that is free of a file system, and gives it back."""

    def __init__(self, folder):
        self.folder, self.path = folder, f"{folder}/filler"

    def fill(self):
        with open(self.path, "wb", buffering=0) as file:
            size = 0
            while (more := free_bytes(self.folder)) > 0:
                try:
                    os.posix_fallocate(file.fileno(), size, more)
                    size += more
                except OSError:  # somebody else was quicker
                    pass

    def empty(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
