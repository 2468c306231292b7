#!/usr/bin/env python3
"""Two appliances, and a reader of both, in a network namespace of its own.

    standby_test.py BIN_FOLDER NAME
"""

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import settings  # noqa: E402  (it is beside this file)

STOPBIT = os.path.join(os.path.abspath(sys.argv[1]), "stopbit")
NAME = sys.argv[2]
PATIENCE = 600  # seconds: for a hang, not for a slow machine
SOME = 300  # records; a reader that prints them has gone on


def start(*arguments, **options):
    process = subprocess.Popen([STOPBIT, *arguments], **options)
    atexit.register(process.kill)
    return process


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            for path in ("one.log", "two.log", "tail.log"):
                print(path, open(path, encoding="utf-8").read()[-3000:], sep="\n")
            raise AssertionError(f"no sign of this: {what}")
        time.sleep(0.02)


class Appliance:
    """Its folder has the same settings as the other one's, but for names."""

    def __init__(self, name):
        self.name = name
        self.ring = f"{os.getcwd()}/{name}.ring"
        for path in ("appliance.toml", "feed.toml"):
            text = open(path, encoding="utf-8").read()
            text = text.replace(f'"{NAME}"', f'"{NAME}.{name}"').replace('"state"', f'"{name}.state"')
            text = text.replace(f'"{os.getcwd()}/ring"', f'"{self.ring}"').replace('"feed.toml"', f'"{name}.feed.toml"')
            with open(f"{name}.{path}", "w", encoding="utf-8") as file:
                file.write(text)
        self.process = None

    def start(self):
        log = open(f"{self.name}.log", "a", encoding="utf-8")
        self.process = start("run", f"{self.name}.appliance.toml", stdout=log, stderr=log)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Output:
    """What the reader of both has printed."""

    def __init__(self):
        self.file = open("out.jsonl", encoding="utf-8")
        self.rest = ""
        self.items = []

    def read(self):
        *lines, self.rest = (self.rest + self.file.read()).split("\n")
        self.items += [json.loads(line) for line in lines]
        return len(self.items)

    def wait_for_more(self, what):
        wanted = self.read() + SOME
        wait_for(f"records {what}", lambda: self.read() >= wanted)

    def check(self, gaps):
        """Every number from the first to the last is in one record, or in one gap, and they rise."""
        expected = None
        lost = []
        for item in self.items:
            assert "recovered" not in item["header"]["flags"], item
            if "template" in item:
                first, last = item["fields"]["MsgSeqNum"], item["fields"]["MsgSeqNum"]
            else:
                assert item["event"] == "gap", item
                first, last = item["first"], item["first"] + item["missing"] - 1
                lost.append((first, last))
            assert expected in (None, first), (expected, item)
            expected = last + 1
        assert len(lost) == gaps, lost
        return len(self.items)


def wait_for_packets(count):
    """The exchange goes on by this many."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(PATIENCE)
        line.bind(("239.30.1.1", 30001))
        line.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                        socket.inet_aton("239.30.1.1") + socket.inet_aton("127.0.0.1"))
        for _ in range(count):
            line.recv(65536)


def delivered_of(log):
    """From each side, as the reader says at its end."""
    words = open(log, encoding="utf-8").read().split("stopbit: ")[-1].split()
    return int(words[0]), int(words[4])


def main():
    settings.write(sys.argv[1], ".", name=NAME, rate=500, seconds=600, sends=("lo",), receives=("lo",),
                   ring=f"{os.getcwd()}/ring")
    one, two = Appliance("one"), Appliance("two")
    for appliance in (one, two):
        appliance.start()
    exchange = start("simulate", "sim.toml", "-q", stderr=subprocess.DEVNULL)
    with open("out.jsonl", "w", encoding="utf-8") as out, open("tail.log", "w", encoding="utf-8") as log:
        tail = start("tail", one.ring, "--standby", two.ring, "--follow", "--header", stdout=out, stderr=log)
    output = Output()
    output.wait_for_more("of both")

    # Without a name a command means the appliance that runs, if only one does.
    several = subprocess.run([STOPBIT, "stat"], capture_output=True, text=True, check=False)
    assert several.returncode == 2 and "several appliances run" in several.stderr, several

    for appliance, other in ((one, two), (two, one)):
        print(f"{appliance.name} is stopped for a while")
        appliance.signal(signal.SIGSTOP)
        output.wait_for_more("while one is stopped")
        appliance.signal(signal.SIGCONT)
        output.wait_for_more("after that")
        print(f"{appliance.name} is killed")
        followed = open("tail.log", encoding="utf-8").read().count(f"{appliance.ring}: reading")
        appliance.kill()
        output.wait_for_more("of the other one")
        running = subprocess.run([STOPBIT, "stat", "--json"], capture_output=True, text=True, check=True)
        assert json.loads(running.stdout)["pid"] == other.process.pid, running
        appliance.start()
        wait_for("it is followed again",
                 lambda: open("tail.log", encoding="utf-8").read().count(f"{appliance.ring}: reading") > followed)
        output.wait_for_more("of both again")
    print(output.check(gaps=0), "records, each once")
    compared = subprocess.run([STOPBIT, "compare", "--rings", one.ring, two.ring], capture_output=True, text=True,
                              check=False)
    assert compared.returncode == 0, compared
    print(compared.stdout)

    print("both are killed, and what passes meanwhile is one gap")
    for appliance in (one, two):
        appliance.kill()
    output.read()
    wait_for_packets(200)
    two.start()
    output.wait_for_more("after both were gone")
    one.start()
    output.wait_for_more("of both at the end")
    tail.send_signal(signal.SIGTERM)
    assert tail.wait(PATIENCE) == 0
    output.read()
    print(output.check(gaps=1), "records and a gap, each once")
    first, second = delivered_of("tail.log")
    assert first > SOME and second > SOME, (first, second)

    print("rings of other content are different")
    with open("other.toml", "w", encoding="utf-8") as file:
        file.write(open("templates.toml", encoding="utf-8").read().replace("seed = 1", "seed = 2"))
    for name in ("templates", "other"):
        subprocess.run([STOPBIT, "simulate", f"{name}.toml", "-o", f"{name}.pcap", "-q"], check=True)
        subprocess.run([STOPBIT, "replay", f"{name}.pcap", "--feed", "made/feed.toml", "--ring", f"./{name}.ring"],
                       check=True, capture_output=True)
    compared = subprocess.run([STOPBIT, "compare", "--rings", "./templates.ring", "./other.ring"], capture_output=True,
                              text=True, check=False)
    assert compared.returncode == 1 and "different bytes" in compared.stdout, compared
    for process in (exchange, one.process, two.process):
        process.kill()


main()
