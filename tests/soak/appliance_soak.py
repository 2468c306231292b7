#!/usr/bin/env python3
"""An exchange, a bad network, an appliance and its enemies, each in a network namespace of its own.

    exchange ──veth── stopbit_relay ──veth── stopbit run ── ring ─┬─ stopbit_witness
    stopbit simulate   loses, doubles, swaps,                     ├─ stopbit tail, killed and stopped at random
                       damages, delays, lets A die                └─ stopbit_victims: the same, many a second

The appliance is killed (-9) and ended (-TERM) in turn and started again. For each of its lives the witness has seen every
number from the first to the last, each in a record or in a gap; and the gaps are exactly the numbers that the relay's log
says went out on neither line. `stopbit gaps` says the same from disk, the accounts balance, memory and descriptors stay as
they are. Says in one line of JSON what was seen; status 1 if anything was not as promised, 77 without namespaces.

In the forms with attackers (attackers/, a table and a module each) strangers and wild numbers are on the wire, the appliance
stalls, its clock is stepped, /dev/shm and its disk are full, its log is not read, ports of its node are greedy, all of it
again and again. Then the promise is the same, and nothing dies: every number that any line brought within the window is
delivered, every other one is told, with its cause.

    appliance_soak.py BIN_FOLDER [--form quick|attacked|short|half|long | --kills N] [--port dpdk] [--shared] [--seconds N]
                      [--seed N] [--keep FOLDER]
"""

import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types
import typing

sys.dont_write_bytecode = True  # the sources stay clean
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../system/appliance"))
import attackers  # noqa: E402
import settings  # noqa: E402
from attackers.attacker import Broken, Field, promise  # noqa: E402
from attackers.on_the_wire import passed_numbers  # noqa: E402

SKIPPED = 77
# Where a life begins and where it is ended in good order, copies of a number stand on both sides of that moment: the appliance
# may rightly miss what the relay has sent. So many numbers.
EDGE = 500
# What was given up less than this before a kill may not be on disk yet.
UNWRITTEN_NS = 5_000_000_000
# Numbers at most that a life which was killed had delivered and not noted.
UNKNOWN = 64
SILENCE_NS = 1_000_000_000
# That a life may grow in its second half, besides the history of numbers: its pages come when a number first needs them.
# Answers that are made and forgotten do not count, as the least of some samples is taken.
HISTORY, HISTORY_BYTES = 65_536, 16
GROWTH_KIB = 1024

# With attackers. Packets that can wait, and that strangers have set aside: their memory comes when it is first needed.
ROOM, DATAGRAM_KIB = 4_096, 1
CLIENT_FILES, DISK_FILES = 12, 4
WINDOW_MS = {False: 2_000, True: 200}
SWITCH_SILENCE_NS = 5_000_000_000
STOP_SECONDS, LONGEST_STALL = 10, 3  # TimeoutStopSec of the unit; of attackers/stalls.py
SHARED_MEMORY, DISK = "96m", "48m"

FORMS = {
    # tails, victims: readers that are killed. rate: packets a second and line. A test that others disturb is to pass, the
    # longer forms want a machine of their own.
    "quick": {"seconds": 21, "life": 7, "tails": 60, "victims": 400, "rate": 500, "is_alone": False, "attacked": False},
    "attacked": {"seconds": 45, "life": 15, "tails": 20, "victims": 100, "rate": 500, "is_alone": False, "attacked": True},
    "short": {"seconds": 60, "life": 20, "tails": 60, "victims": 400, "rate": 1000, "is_alone": True, "attacked": True},
    "half": {"seconds": 1800, "life": 150, "tails": 2500, "victims": 12_500, "rate": 1000, "is_alone": True, "attacked": True},
    "long": {"seconds": 7200, "life": 600, "tails": 10_000, "victims": 50_000, "rate": 1000, "is_alone": True, "attacked": True},
}


def kills_form(victims):
    """So many readers killed, 40 a second, in three lives of the appliance."""
    seconds = max(21, victims // 40)
    return {"seconds": seconds, "life": seconds // 3, "tails": seconds, "victims": victims, "rate": 2000, "is_alone": True,
            "attacked": False}


def ranges_of(numbers):
    """Sorted numbers as a list of [first, count]."""
    ranges = []
    for number in numbers:
        if ranges and ranges[-1][0] + ranges[-1][1] == number:
            ranges[-1][1] += 1
        else:
            ranges.append([number, 1])
    return ranges


def numbers_of(first, count):
    return range(first, first + count)


class Process:
    """What /proc says of a process, sampled."""

    def __init__(self, pid):
        self.pid = pid
        self.samples = []

    def sample(self):
        try:
            with open(f"/proc/{self.pid}/status") as status:
                anonymous = next(int(line.split()[1]) for line in status if line.startswith("RssAnon:"))
            self.samples.append((anonymous, len(os.listdir(f"/proc/{self.pid}/fd"))))
        except (FileNotFoundError, ProcessLookupError, StopIteration):
            pass

    def second_half(self):
        """KiB that it grew by, descriptors that it has more at the end than in the middle."""
        half = self.samples[len(self.samples) // 2:]
        if len(half) < 3:
            return 0, 0
        third = max(1, len(half) // 3)
        return tuple(min(s[i] for s in half[-third:]) - min(s[i] for s in half[:third]) for i in (0, 1))


class Life(typing.NamedTuple):
    """Of the appliance."""

    pid: int
    how: str  # it was killed, or ended in good order
    ended_ns: int
    excuse: int  # packets that may have been reported as lost though the relay has sent them
    not_written: int  # entries of gaps that found no disk


class Soak:
    def __init__(self, arguments, folder):
        self.bin = os.path.abspath(arguments.bin)
        self.form = kills_form(arguments.kills) if arguments.kills else FORMS[arguments.form]
        if arguments.seconds:
            part = arguments.seconds / self.form["seconds"]
            self.form = {**self.form, "seconds": arguments.seconds, "tails": max(1, int(part * self.form["tails"])),
                         "victims": max(1, int(part * self.form["victims"]))}
        self.is_alone = self.form["is_alone"] and not arguments.shared
        self.random = random.Random(arguments.seed)
        self.seed = arguments.seed
        self.port = arguments.port
        self.is_sanitized = arguments.sanitized
        self.folder = folder
        self.name = f"soak-{os.getpid()}"
        self.is_attacked = self.form["attacked"]
        self.ring = f"/dev/shm/stopbit-{os.geteuid()}/ring" if self.is_attacked else f"{folder}/rings/ring"
        self.attackers = {}
        self.counted = collections.Counter()  # what the appliance says of itself, over all its lives
        self.slowest_stop = 0.0
        self.children = []
        self.starts = 0
        self.lives = []
        self.growth_kib = 0
        self.ring_files = None
        self.tails = self.stops = 0

    # Processes and namespaces.

    def spawn(self, command, space=None, **options):
        if space is not None:
            command = ["nsenter", "-t", str(space), "-n", *command]
        child = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, **options)
        self.children.append(child)
        return child

    def stopbit(self, *arguments):
        return subprocess.run([f"{self.bin}/stopbit", *arguments], cwd=self.folder, capture_output=True, text=True, check=False)

    @staticmethod
    def ip(*arguments, space=None):
        prefix = [] if space is None else ["nsenter", "-t", str(space), "-n"]
        subprocess.run([*prefix, "ip", *arguments], check=True)

    def lay_cables(self):
        sleepers = [self.spawn(["unshare", "--net", "sleep", "infinity"]) for _ in range(2)]
        own = os.readlink("/proc/self/ns/net")
        for sleeper in sleepers:
            while os.readlink(f"/proc/{sleeper.pid}/ns/net") == own:
                time.sleep(0.01)
        relay, appliance = (sleeper.pid for sleeper in sleepers)
        self.ip("link", "add", "tx0", "type", "veth", "peer", "name", "in0", "netns", str(relay))
        self.ip("link", "add", "out0", "type", "veth", "peer", "name", "rx0", "netns", str(appliance), space=relay)
        for space, device, address in ((None, "tx0", "10.77.0.1/24"), (relay, "in0", "10.77.0.2/24"),
                                       (relay, "out0", "10.78.0.1/24"), (appliance, "rx0", "10.78.0.2/24")):
            self.ip("address", "add", address, "dev", device, space=space)
            self.ip("link", "set", device, "up", space=space)
            self.ip("link", "set", "lo", "up", space=space)
        self.ip("route", "add", "224.0.0.0/4", "dev", "tx0")
        self.ip("route", "add", "224.0.0.0/4", "dev", "out0", space=relay)
        return relay, appliance

    # Attackers.

    def gather_attackers(self, relay_space, appliance_space):
        field = self.field = Field(self.bin, self.folder, self.name, "ring")
        field.relay_space, field.appliance_space = relay_space, appliance_space
        for kind, rests in attackers.ALL.items():
            attacker = self.attackers[kind.__name__] = kind(field, self.seed, rests)
            attacker.prepare()
            attacker.start()

    def check_attackers(self):
        for attacker in self.attackers.values():
            promise(attacker.broken is None, attacker.broken)

    def release_attackers(self, child):
        if self.is_attacked:
            self.field.process = child
            self.field.may_strike.set()

    def hold_attackers(self):
        """Ends all strikes, and sees to it that nothing of them is left."""
        if not self.is_attacked:
            return
        self.field.may_strike.clear()
        end = time.monotonic() + 120
        while any(attacker.is_striking for attacker in self.attackers.values()):
            promise(time.monotonic() < end, "a strike does not end")
            time.sleep(0.02)
        for attacker in self.attackers.values():
            attacker.settle()
        self.check_attackers()

    def start_without_memory(self, space):
        command = ["nsenter", "-t", str(space), "-n", f"{self.bin}/stopbit", "run", "appliance.toml", "-q"]
        try:
            answer = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, timeout=60)
            return answer.returncode, answer.stderr
        except subprocess.TimeoutExpired:
            return "running", ""

    def start_appliance(self, space):
        environment = dict(os.environ)
        for attacker in self.attackers.values():
            environment.update(attacker.environment())
        if self.is_attacked:
            if self.starts % 3 == 1:
                self.attackers["FullMemory"].refuse_start(lambda: self.start_without_memory(space))
            log = os.dup(self.attackers["UnreadLog"].to_log)
        else:
            log = os.open(f"{self.folder}/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        child = self.spawn([f"{self.bin}/stopbit", "run", "appliance.toml", "-q"], space, stderr=log, env=environment)
        os.close(log)
        self.starts += 1
        end = time.monotonic() + 120
        while self.count("log", 'what="started"') < self.starts or self.count("witness.jsonl", '"open"') < self.starts:
            promise(child.poll() is None and time.monotonic() < end, "the appliance does not start, or nobody sees it: " + self.log())
            time.sleep(0.05)
        rings = os.path.dirname(self.ring)
        files = sum(".by-" not in name and name != ".readers" for name in os.listdir(rings))  # without those of readers
        self.ring_files = self.ring_files or files
        promise(files <= self.ring_files, f"{files} files where there was {self.ring_files} for the ring")
        return child, Process(child.pid)

    def count(self, name, text):
        try:
            with open(f"{self.folder}/{name}", errors="replace") as file:
                return file.read().count(text)
        except FileNotFoundError:
            return 0

    def log(self):
        with open(f"{self.folder}/log", errors="replace") as log:
            return log.read()[-2000:]

    def end_appliance(self, child, process, kill):
        grown, files = process.second_half()
        if not self.is_sanitized:
            before = self.form["rate"] * self.form["life"] // 2
            history = max(0, HISTORY - before) * HISTORY_BYTES // 1024
            # Packets that strangers have set aside, and those that wait, after the longest stall yet.
            room = 3 * ROOM * DATAGRAM_KIB if self.is_attacked else 0
            promise(grown <= GROWTH_KIB + history + room, f"memory of the appliance grew by {grown} KiB")
        # Attackers are clients of its broker; in a short life there may be no moment without one. Recordings are closed while
        # the disk is full. A descriptor that a strike leaves behind shows all the same: there are dozens of strikes in a life.
        most = (CLIENT_FILES if self.form["life"] < 60 else DISK_FILES) if self.is_attacked else 0
        promise(files <= most, f"the appliance has {files} descriptors more than before")
        self.growth_kib = max(self.growth_kib, grown)
        promise(child.poll() is None, f"the appliance has ended by itself, {child.returncode}: {self.log()}")
        status = self.status()
        self.check_witness(status)
        begin = time.monotonic()
        child.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        child.wait(timeout=60)
        stop = time.monotonic() - begin
        self.slowest_stop = max(self.slowest_stop, stop)
        self.hold_attackers()
        promise(stop <= STOP_SECONDS + LONGEST_STALL or not self.is_alone, f"the appliance ended only after {stop:.1f} s")
        promise(kill or child.returncode == 0, f"the appliance ended with status {child.returncode}: {self.log()}")
        ended_ns = time.time_ns()
        if not kill:
            status = self.status()
            self.check_accounts(status)
        # What a machine that is too busy makes of it: numbers that kernel or port had no room for. What the relay itself sent
        # too late, its log tells; where poll times stand in for stamps, a number may also be late here.
        excuse = sum(p["dropped_by_kernel"] + p["dropped_by_nic"] for p in status["ports"])
        if not self.is_attacked:
            excuse += status["channels"][0]["packets"]["late"]
        promise(excuse == 0 or not self.is_alone, f"the machine is too busy: {excuse} packets late or dropped")
        self.lives.append(Life(child.pid, "killed" if kill else "ended", ended_ns, excuse, status["gaps_not_written"]))
        channel = status["channels"][0]
        self.counted.update(malformed=channel["packets"]["malformed"], duplicates=channel["packets"]["duplicate"],
                            conflicts=channel["conflicts"], log_lines_lost=status["log_lines_lost"],
                            stalls=sum(agent["stalls"] for agent in status["agents"]))

    # What it says of itself.

    def status(self):
        answer = self.stopbit("stat", self.name, "--json")
        promise(answer.returncode == 0, f"stat: {answer.stderr}")
        return json.loads(answer.stdout)

    @staticmethod
    def wait_for(state, otherwise):
        end = time.monotonic() + 60
        while not state():
            promise(time.monotonic() < end, otherwise)
            time.sleep(0.05)

    def wait_for_first_packet(self):
        self.wait_for(lambda: self.status()["channels"][0]["packets"]["delivered"] > 0,
                      "the appliance delivers nothing of the exchange")

    def wait_until_all_is_read(self):
        """Sockets are empty when a turn of each agent finds nothing; then counters are written, and no gap is waited for."""
        def idle():
            return [agent["turns"] - agent["busy_turns"] for agent in self.status()["agents"]]

        def turns(status):
            return [agent["last_turn_ns"] for agent in status["agents"]]

        before = idle()
        self.wait_for(lambda: all(now > then for now, then in zip(idle(), before)), "the appliance does not get to the end")
        written = turns(self.status())

        def is_decided():
            status = self.status()
            return (all(now != then for now, then in zip(turns(status), written)) and
                    all(channel["packets"]["held"] == 0 for channel in status["channels"]))
        self.wait_for(is_decided, "the appliance holds packets back")

    def check_accounts(self, status):
        channel = status["channels"][0]
        packets, numbers = channel["packets"], channel["numbers"]
        promise(packets["received"] == sum(packets[k] for k in packets if k != "received"), f"packets: {packets}")
        promise(numbers["expected"] == sum(numbers[k] for k in numbers if k != "expected"), f"numbers: {numbers}")
        promise(packets["incomplete"] == 0 and (self.is_attacked or packets["malformed"] == 0), f"packets: {packets}")
        promise(sum(a["notices_lost"] for a in status["agents"]) == 0, "gaps were not noted")

    @staticmethod
    def check_witness(status):
        """Whoever dies beside it, it is seen, and what it has lost is nothing."""
        ring = status["rings"][0]
        seen = [reader for reader in ring["readers"] if reader["name"] == "witness"]
        promise(len(seen) == 1 and seen[0]["running"] and seen[0]["lost_records"] == 0 and seen[0]["delivered"] > 0,
                f"what the appliance says of the witness: {ring['readers']}")

    def check_life(self, life, lived, gaps, went, before):
        """went: what became of numbers on their way here, by the relay. before: the life before, of which the first gap tells
        what passed in between."""
        pid, how = lived.pid, lived.how
        promise(life["writer"] == pid and life["finished"] == (how == "ended"), f"not the life of {pid}, {how}: {life}")
        promise(life["broken"] == life["overrun"] == 0, f"numbers do not go on, or the witness was too slow: {life}")
        first, last = life["first"], life["last"]
        promise(life["packets"] + life["missing"] == last - first + 1, f"numbers do not add up: {life}")
        promise(life["messages"] >= life["packets"] - life["decode_errors"], f"packets without a message: {life}")
        promise(life["resets"] == 0 or went.longest_silence_ns > SWITCH_SILENCE_NS or not self.is_attacked,
                f"a stranger had the channel: {life}")
        if before is not None:
            promise(gaps and gaps[0]["first"] == first, f"life of {pid}: nothing was told of the time without an appliance")
            promise(abs(first - before["last"] - 1) <= (0 if before["finished"] else UNKNOWN),
                    f"life of {pid}: begins with {first}, the last one ended with {before['last']}")
            first += gaps[0]["count"]
            gaps = gaps[1:]
        life["begins"] = first
        reported = {number for gap in gaps for number in numbers_of(gap["first"], gap["count"])}
        expected = {number for number in went.lost if first <= number <= last}
        inside = range(first + EDGE, last + 1 - (EDGE if how == "ended" else 0))
        # What attackers sent again may have come within the window, as the appliance stood still meanwhile.
        silent, invented = expected - reported - went.again, {n for n in reported - expected - went.late if n in inside}
        promise(not silent, f"life of {pid}: lost and not reported: {ranges_of(sorted(silent))[:5]}")
        promise(len(invented) <= lived.excuse, f"life of {pid}: reported and not lost: {ranges_of(sorted(invented))[:5]}")
        return len(expected), len(reported - expected)

    def check_disk(self, lives, went):
        answer = self.stopbit("gaps", "--state", "state", "--since", "2d", "--json")
        # A kill, and a disk that is full, may leave half a line.
        promise(answer.returncode == 0 and (self.is_attacked or not answer.stderr), f"gaps: {answer.stderr}")
        on_disk = {(gap["first"], gap["count"]): gap["cause"] for gap in map(json.loads, answer.stdout.splitlines())}
        seen = set()
        causes = collections.Counter()
        for number, ((life, gaps), lived) in enumerate(zip(lives, self.lives)):
            not_written = 0
            for gap in gaps:
                key = gap["first"], gap["count"]
                seen.add(key)
                if key in on_disk:
                    self.check_cause(on_disk[key], gap, life, lived, went, is_first_life=number == 0)
                    causes[on_disk[key]] += 1
                    continue
                was_killed = lived.how == "killed" and gap["seen_ns"] > lived.ended_ns - UNWRITTEN_NS
                was_full = self.is_attacked and self.attackers["FullDisk"].was_full(gap["seen_ns"])
                promise(was_killed or was_full, f"in the ring and not on disk: {gap}")
                not_written += not was_killed
            promise(lived.how == "killed" or not_written <= lived.not_written,
                    f"{not_written} gaps are not on disk, and {lived.not_written} were counted")
        # Notices of a gap are on their way before its event is in the ring, so a kill may leave one more on disk.
        beyond = on_disk.keys() - seen
        promise(len(beyond) <= self.killed(), f"on disk and not in the ring: {sorted(beyond)[:5]}")
        return len(on_disk), dict(causes)

    def check_cause(self, cause, gap, life, lived, went, is_first_life):
        """Whether numbers were given up for the reason that the gap log has."""
        numbers = set(numbers_of(gap["first"], gap["count"]))
        if gap["first"] == life["first"] and not is_first_life:
            is_true = cause == "appliance down"
        elif min(numbers) < life["begins"] + EDGE or max(numbers) > life["last"] - EDGE:
            return  # copies of them stand on both sides of the life's beginning or end
        else:
            was_silent = went.longest_silence_ns > SILENCE_NS or any(number in went.dead for number in numbers)
            is_true = {"lost on both": numbers <= went.lost | went.late or lived.excuse > 0,
                       "line down": was_silent,
                       "late": numbers <= went.late | went.again or lived.excuse > 0,
                       "local drop": lived.excuse > 0}.get(cause, False)
        promise(is_true, f"the gap log says '{cause}' of {gap}")

    # What goes wrong on purpose.

    def disturb_reader(self):
        reader = self.spawn([f"{self.bin}/stopbit", "tail", f"{self.folder}/rings/ring", "--format",
                             self.random.choice(["jsonl", "csv", "none"])],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.random.uniform(0, 0.2))
        if self.random.random() < 0.125:
            reader.send_signal(signal.SIGSTOP)
            self.stops += 1
            time.sleep(0.05)
        reader.kill()
        reader.wait()
        self.children.remove(reader)
        self.tails += 1

    def live(self, space, until, exchange=None):
        """One life of the appliance, up to this time, and to the exchange's end; its readers die all the while."""
        child, process = self.start_appliance(space)
        if self.is_attacked:
            self.wait_for_first_packet()  # the first to speak of a channel is believed until it is silent
        self.release_attackers(child)
        # When the exchange falls silent a stranger may have the channel.
        peace = time.monotonic() + max(3, self.form["life"] - 8) if exchange is not None and self.is_attacked else float("inf")
        pace = self.form["seconds"] / self.form["tails"]
        next_kill = next_sample = time.monotonic()
        until = max(until, time.monotonic() + 2)
        while time.monotonic() < until or (exchange is not None and exchange.poll() is None):
            now = time.monotonic()
            self.check_attackers()
            if now >= peace:
                self.hold_attackers()
                peace = float("inf")
            promise(child.poll() is None, f"the appliance has ended by itself, {child.returncode}: {self.log()}")
            if now >= next_sample:
                process.sample()
                next_sample = now + max(0.25, self.form["life"] / 120)
            if now >= next_kill:
                self.disturb_reader()
                next_kill += pace
            else:
                time.sleep(max(0.01, min(next_kill, next_sample) - now))
        return child, process

    def prepare_attacked(self):
        """Settings with all that can be attacked, and file systems small enough to be filled."""
        os.mkdir(f"{self.folder}/state")
        for size, where in ((SHARED_MEMORY, "/dev/shm"), (DISK, f"{self.folder}/state")):
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=1777,size={size}", "soak", where], check=True)
        os.mkdir(os.path.dirname(self.ring))
        with open(f"{self.folder}/entitlements.toml", "w") as file:
            file.write(f'[[entitlement]]\nuser = "{os.geteuid()}"\nfeeds = ["ring"]\nmemory = "64MiB"\n')
        settings.write(self.bin, self.folder, name=self.name, seed=self.seed, seconds=self.form["seconds"],
                       rate=self.form["rate"], port=self.port, ring="ring", head='silence = "1s"',
                       window=f'packets = 1024, time = "{WINDOW_MS[True]}ms", room = {ROOM}, datagram = "{DATAGRAM_KIB}KiB"',
                       feed=f'switch_silence = "{SWITCH_SILENCE_NS // 1_000_000_000}s"', sockets='receive_buffer = "256MiB"',
                       appliance=f"""[rings]
slots = 262144
[recorder]
folder = "state/packets"
file = "1MiB"
line = "4MiB"
frozen = "4MiB"
before = "1s"
after = "1s"
queue = "1MiB"
[control]
socket = "control.sock"
[nic]
network = "{self.name}"
broker = "broker.sock"
entitlements = "entitlements.toml"
""")

    def run(self):
        if self.is_attacked:
            self.prepare_attacked()
        else:
            os.mkdir(f"{self.folder}/rings")
            settings.write(self.bin, self.folder, name=self.name, seed=self.seed, seconds=self.form["seconds"],
                           rate=self.form["rate"], port=self.port, ring=self.ring, head='silence = "1s"',
                           window='packets = 8192, time = "2s", datagram = "1KiB"', appliance="[rings]\nslots = 262144")
        relay_space, appliance_space = self.lay_cables()
        if self.is_attacked:
            self.ip("address", "add", "10.78.0.66/24", "dev", "out0", space=relay_space)  # of strangers
            self.gather_attackers(relay_space, appliance_space)
        # Line A dies in the middle of the second life, for a tenth of the time.
        packets = self.form["rate"] * self.form["seconds"]
        dies_at = int(self.form["rate"] * self.form["life"] * 1.3)
        with open(f"{self.folder}/relay.err", "wb") as said:
            relay = self.spawn([f"{self.bin}/stopbit_relay", "--in", "in0", "--out", "out0", "--a", "239.30.1.1:30001",
                                "--b", "239.30.2.1:31001", "--log", "relay.jsonl", "--seed", str(self.seed), "--loss", "0.03",
                                "--burst", "3", "--duplicate", "0.01", "--reorder", "0.02", "--depth", "8", "--corrupt",
                                "0.001", "--delay-ms", "2", "--window-ms", str(WINDOW_MS[self.is_attacked] - 5), "--dies-at", str(dies_at), "--returns-at",
                                str(dies_at + packets // 10)], relay_space, stderr=said)
        witness = self.spawn([f"{self.bin}/stopbit_witness", self.ring, "witness.jsonl"])
        while self.count("relay.err", "started") == 0 or not os.path.exists(f"{self.folder}/witness.jsonl"):
            promise(relay.poll() is None and witness.poll() is None, "the relay or the witness does not start")
            time.sleep(0.05)
        begin = time.monotonic()
        exchange = self.spawn([f"{self.bin}/stopbit", "simulate", "sim.toml", "-q"])
        victims = self.begin_victims()
        kill = True
        for number in range(1, self.form["seconds"] // self.form["life"]):
            child, process = self.live(appliance_space, begin + number * self.form["life"])
            self.end_appliance(child, process, kill)
            kill = not kill
        # The last life sees the end of the day, and everything that was on its way.
        child, process = self.live(appliance_space, begin, exchange)
        promise(exchange.wait() == 0, "the exchange failed")
        self.hold_attackers()
        promise(victims.poll() is not None or not self.is_alone, "the machine is too busy: readers outlive the exchange")
        self.judge_victims(victims)
        relay.terminate()  # it sends what has arrived
        promise(relay.wait(timeout=60) == 0, "the relay failed")
        self.wait_until_all_is_read()
        self.end_appliance(child, process, kill=False)
        self.wait_for(lambda: self.count("witness.jsonl", '"life"') >= self.starts, "the witness does not see the end")
        witness.terminate()
        promise(witness.wait(timeout=60) == 0, "the witness failed")
        return self.judge()

    def begin_victims(self):
        """They die as long as the exchange sends, and somewhat less."""
        with open(f"{self.folder}/victims.json", "wb") as out, open(f"{self.folder}/victims.err", "wb") as err:
            return self.spawn([f"{self.bin}/stopbit_victims", self.ring, "--kills", str(self.form["victims"]),
                               "--seconds", str(0.8 * self.form["seconds"]), "--seed", str(self.seed),
                               *(["--memory-is-short"] if self.is_attacked else [])], stdout=out, stderr=err)

    def judge_victims(self, child):
        child.wait(timeout=600)
        with open(f"{self.folder}/victims.json") as out, open(f"{self.folder}/victims.err") as err:
            said, why = out.read(), err.read()
        promise(child.returncode == 0, f"readers that were killed: {said} {why[-2000:]}")
        self.victims = json.loads(said)
        promise(self.victims["killed"] == self.form["victims"] and self.victims["records"] > 0, f"readers that were killed: {said}")
        readers = [reader["name"] for reader in self.status()["rings"][0]["readers"]]
        promise(readers == ["witness"], f"readers that the appliance still sees: {readers}")

    def killed(self):
        return sum(lived.how == "killed" for lived in self.lives)

    def judge(self):
        with open(f"{self.folder}/relay.jsonl") as log:
            told = [json.loads(line) for line in log]
        summary = told.pop()
        promise(summary["event"] == "end" and summary["refused"] == 0, f"the relay could not send: {summary}")
        promise(all(summary[line]["strange"] == 0 for line in "AB"), f"the exchange's numbers do not go up: {summary}")
        gone = {"A": set(), "B": set(), "both": set()}
        dead = set()
        for entry in told:
            gone[entry["line"]].update(numbers_of(entry["first"], entry["count"]))
            if entry["event"] == "dead":
                dead.update(numbers_of(entry["first"], entry["count"]))
        went = types.SimpleNamespace(lost=gone["A"] & gone["B"], late=gone["both"], dead=dead,
                                     again=passed_numbers(self.folder),
                                     longest_silence_ns=summary["longest_silence_ns"])

        lives, gaps = [], []
        with open(f"{self.folder}/witness.jsonl") as log:
            for entry in map(json.loads, log):
                if entry["event"] == "gap":
                    gaps.append(entry)
                elif entry["event"] == "life":
                    lives.append((entry, gaps))
                    gaps = []
        promise(len(lives) == len(self.lives), f"{len(self.lives)} lives, of which the witness has seen {len(lives)}")
        expected = at_edges = 0
        before = None
        for (life, gaps), lived in zip(lives, self.lives):
            exact, edge = self.check_life(life, lived, gaps, went, before)
            before = life
            expected, at_edges = expected + exact, at_edges + edge
        promise(expected > 0, "nothing was lost on both lines: this has shown nothing")
        last = lives[-1][0]["last"]
        promise(last == max(summary["A"]["last"], summary["B"]["last"]) or last + 1 in went.lost, f"the end is missing: {last}, {summary}")
        on_disk, causes = self.check_disk(lives, went)
        attacked = self.judge_attacks(lives) if self.is_attacked else {}
        return {
            "seconds": self.form["seconds"], "lives": len(lives),
            "killed": self.killed(), "late_or_dropped": sum(lived.excuse for lived in self.lives),
            "packets_sent": summary["A"]["out"] + summary["B"]["out"],
            "packets_delivered": sum(life["packets"] for life, _ in lives),
            "numbers_lost_and_reported": expected, "missing_at_the_edges_of_lives": at_edges, "gaps_on_disk": on_disk,
            "decode_errors": sum(life["decode_errors"] for life, _ in lives), "readers_killed": self.tails + self.victims["killed"],
            "readers_stopped": self.stops + self.victims["stopped"], "victims": self.victims, "most_growth_kib": self.growth_kib,
            "came_late_to_the_wire": len(went.late), "longest_silence_ms": went.longest_silence_ns // 1_000_000,
            "causes": causes, **attacked,
        }

    def judge_attacks(self, lives):
        """How often each has struck, and whether the log and the records have its traces."""
        for attacker in self.attackers.values():
            promise(attacker.counts["strikes"] > 0, f"{attacker.name} has not struck")
            for line in attacker.LOG:
                promise(self.count("log", line), f"{attacker.name}: the log has no line with {line}")
        qualities = [sum(life["time_quality"][i] for life, _ in lives) for i in range(4)]
        if self.port == "socket":
            promise(qualities[1] > 0 and qualities[2] > 0, f"messages by time quality: {qualities}")
        promise(self.counted["malformed"] > 0 and self.counted["stalls"] > 0, f"the appliance has seen no attack: {self.counted}")
        return {"attacks": {attacker.name: attacker.counts for attacker in self.attackers.values()},
                "counted": dict(self.counted), "messages_by_time_quality": qualities,
                "log_lines": self.count("log", "what="), "slowest_stop_ms": int(1000 * self.slowest_stop)}

    def clean(self):
        if self.is_attacked and self.attackers:
            self.field.may_strike.clear()
            self.field.ends.set()
        for child in self.children:
            if child.poll() is None:
                child.kill()
                child.wait()
        if self.is_attacked:  # what lies there is for those who keep the folder
            shutil.copytree(f"{self.folder}/state", f"{self.folder}/kept-state", ignore=shutil.ignore_patterns("filler"))
            subprocess.run(["umount", f"{self.folder}/state"], check=False)
        counters = f"/dev/shm/stopbit-{os.geteuid()}/{self.name}.counters"
        if os.path.exists(counters):
            os.unlink(counters)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", help="folder of stopbit, stopbit_relay, stopbit_witness, stopbit_victims")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--form", choices=FORMS, default="quick")
    what.add_argument("--kills", type=int, metavar="N", help="a form of its own: N readers killed, 40 a second")
    parser.add_argument("--port", choices=("socket", "dpdk"), default="socket", help="of the appliance; dpdk: its driver net_af_packet")
    parser.add_argument("--shared", action="store_true", help="others use the machine: what came late or was dropped for it may be missing")
    parser.add_argument("--seconds", type=int, help="another length than the form's; readers are killed as often")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="leave logs in this folder, which must not exist")
    parser.add_argument("--sanitized", action="store_true", help="memory is not watched: a sanitizer keeps what was freed")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.kills is not None and arguments.kills < 1:
        parser.error("--kills: one at least")
    if not arguments.inside:
        for tool in ("unshare", "nsenter", "ip"):
            if shutil.which(tool) is None:
                print(f"skipped: there is no {tool}")
                return SKIPPED
        if subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, check=False).returncode != 0:
            print("skipped: no network namespaces without privilege")
            return SKIPPED
        os.execvp("unshare", ["unshare", "--net", "--mount", sys.executable, *sys.argv, "--inside"])
    folder = arguments.keep or tempfile.mkdtemp(prefix="stopbit-soak-")
    if arguments.keep:
        os.makedirs(folder)
        folder = os.path.abspath(folder)
    soak = Soak(arguments, folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # through `finally`: nothing is left running
    try:
        seen, status = soak.run(), 0
    except (Broken, subprocess.SubprocessError) as broken:
        seen, status = {"broken": str(broken)}, 1
    finally:
        soak.clean()
        if not arguments.keep:
            shutil.rmtree(folder)
    print(json.dumps({"soak": "appliance", "form": "kills" if arguments.kills else arguments.form, "port": arguments.port,
                      "seed": arguments.seed, **seen}))
    return status


if __name__ == "__main__":
    sys.exit(main())
