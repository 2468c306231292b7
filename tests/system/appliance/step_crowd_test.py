#!/usr/bin/env python3
"""An appliance with 60 sessions of STEP to one process, some of which break: what an operator sees of them, and that
nothing of the others is lost.

    step_crowd_test.py BIN_FOLDER NAME [SECONDS]        the process is stopped for this long; else until sockets are full
"""

import glob
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import replay_server  # noqa: E402  (it is beside this file)
import step_server  # noqa: E402
from step_test import NAME, TRIAL, Appliance, stat  # noqa: E402
from trial import PATIENCE, read, write  # noqa: E402

SESSIONS = 60
STOP = float(sys.argv[3]) if len(sys.argv) > 3 else 0
PASSWORD = "a secret that no other file has"
TEMPLATES = '<templates><template name="T" id="1"><uInt32 name="n"/><string name="pad"/></template></templates>'
APPLIANCE = """name = "{name}"
state = "state"
silence = "2s"
[rings]
slots = 65536
[control]
socket = "control.sock"
[http]
listen = "127.0.0.1:9464"
[recorder]
folder = "packets"
file = "4MiB"
line = "16MiB"
[[agent]]
name = "md"
idle = "backoff"
[[port]]
name = "gateway"
kind = "step"
password_file = "password"
heartbeat = "3s"
patience = "5s"
retry = "10ms"
[[feed]]
file = "feed.toml"
a = "gateway"
"""
FEED = """name = "szse"
[[image]]
name = "szse"
templates = ["templates.xml"]
[defaults]
framing = "custom:seq=u64be@0"
"""
CHANNEL = """[[channel]]
number = {number}
name = "c{number}"
ring = "{name}.{number}"
a = {{ group = "127.0.0.1", port = {port} }}
"""


class Session:
    """A server, and what it has sent: messages that count."""

    def __init__(self, number):
        self.number, self.name = number, f"c{number}"
        self.address = ("127.0.0.1", 9200 + number)
        self.sent, self.is_full = 0, False
        self.listen()

    def listen(self):
        self.server = step_server.Server(self.address, PASSWORD)
        # So that a flow fills its sockets soon.
        self.server.listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)

    def packet(self, pad=b""):
        self.sent += 1
        return self.server.data(b"\xc0\x81" + replay_server.unsigned(self.sent) + pad + b"\xf8", "W")

    def send(self, count=1):
        self.server.send(b"".join(self.packet() for _ in range(count)))

    def fill(self):
        """Sends until the other end takes no more, and the rest of the last message when it does again."""
        connection = self.server.session
        self.server.is_quiet = True  # a heartbeat would wait for room between them
        while not self.is_full:
            with self.server.wire:
                rest = memoryview(self.packet(b"y" * 500))
                while rest:
                    try:
                        rest = rest[connection.send(rest, socket.MSG_DONTWAIT):]
                    except BlockingIOError:
                        self.is_full = True
                        select.select([], [connection], [])
        self.server.is_quiet = False


def channels():
    return {one["name"]: one for one in stat()["channels"]}


def check_whole(served):
    def is_whole():
        now = channels()
        return all(now[one.name]["packets"]["delivered"] == one.sent for one in served)

    TRIAL.wait_for("all that was sent", is_whole)


def ready():
    run = subprocess.run([TRIAL.program, "ready", NAME], capture_output=True, text=True, check=False)
    return run.returncode == 0, run.stdout


def check_ready(served):
    def is_ready():
        for one in served:
            one.send()
        return ready()[0]

    TRIAL.wait_for("ready", is_ready)


def reload():
    run = subprocess.run([TRIAL.program, "ctl", "reload", "--socket", "control.sock"], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def check_reload(served):
    """Settings are read again while sessions run; servers neither come nor go by that."""
    def describe(sessions):
        write("feed.toml", FEED + "".join(CHANNEL.format(number=number, name=NAME, port=9200 + number) for number in sessions))

    numbers = [one.number for one in served]
    TRIAL.stopbit("ctl", "reload", "--socket", "control.sock")
    TRIAL.wait_for("the signal", lambda: 'what="reload" by="SIGHUP"' in read("log"))
    for others in (numbers + [99], numbers[1:]):
        describe(others)
        status, said = reload()
        assert status == 1 and "a restart" in said, said
    describe(numbers)
    assert reload()[0] == 0


def check_confined(pid):
    """The thread has a filter of its own over that of the process. A kernel before 5.9 does not count them."""
    threads = [f"/proc/{pid}/task/{thread}" for thread in os.listdir(f"/proc/{pid}/task")]
    status, = (read(f"{thread}/status") for thread in threads if read(f"{thread}/comm") == "step\n")
    count = re.search(r"^Seccomp_filters:\s+(\d+)$", status, re.MULTILINE)
    assert count is None or count.group(1) == "2", status


def check_bundle():
    TRIAL.stopbit("bundle", NAME, "-o", "bundle.tar")
    with tarfile.open("bundle.tar") as bundle:
        contents = {member.name: bundle.extractfile(member).read() for member in bundle.getmembers()}
    assert any(b"gateway" in content for content in contents.values()), list(contents)
    for name, content in contents.items():
        assert PASSWORD.encode() not in content, name


def check_pause(served, pid):
    """Nothing is lost, and no session ends, when the process is stopped while messages flow."""
    threads = [threading.Thread(target=one.fill, daemon=True) for one in served]
    for thread in threads:
        thread.start()
    TRIAL.wait_for("a flow", lambda: all(one.sent > 50 for one in served))
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + PATIENCE
    while not all(one.is_full for one in served) and time.monotonic() < end:
        time.sleep(0.02)
    assert all(one.is_full for one in served)
    time.sleep(STOP)
    os.kill(pid, signal.SIGCONT)
    for thread in threads:
        thread.join(PATIENCE)
    check_whole(served)


def port_failures():
    metrics = urllib.request.urlopen("http://127.0.0.1:9464/metrics", timeout=PATIENCE).read().decode()
    return int(re.search(r'^stopbit_port_failures_total\{port="gateway"\} (\d+)$', metrics, re.MULTILINE).group(1))


def check_down(session, others):
    """A server that is down is a line that is silent: `ready`, the log and the counters say so."""
    before = port_failures()
    session.server.stop()

    def is_it_alone():
        for one in others:
            one.send()
        is_ready, lines = ready()
        return not is_ready and re.findall(r"^(\S+) +silent", lines, re.MULTILINE) == [session.name]

    TRIAL.wait_for("not ready, for its line alone", is_it_alone)
    TRIAL.wait_for("the alarm", lambda: re.search(
        f'level=error what="channel state" channel="{session.name}" .*now="silent"', read("log")))
    TRIAL.wait_for("tries", lambda: port_failures() >= before + 3)
    TRIAL.wait_for("its end in the log", lambda: said_how(session, "(closed|failed)"))
    session.listen()
    TRIAL.wait_for("another log-on", session.server.is_in)


def said_how(session, why):
    return re.search(f'what="session ended" server="127.0.0.1:{session.address[1]}" .*why="{why}"', read("log"))


def check_break(session, doing, why):
    """The session breaks, the log says how, and it comes back."""
    before = session.server.connections
    doing()
    TRIAL.wait_for(f"the end of {session.name}", lambda: said_how(session, why))
    TRIAL.wait_for("another log-on", lambda: session.server.connections > before and session.server.is_in())
    session.send()
    check_whole([session])


def push(session, content):
    """As much of it as the other end wants."""
    with session.server.wire:
        try:
            session.server.session.sendall(content)
        except OSError:
            pass


def check_breaks(reset, strange, slow, talker, deaf):
    check_break(reset, reset.server.reset, "closed")
    message = strange.server.session_message
    check_break(strange, lambda: push(strange, message("3", [(45, 1)]) * 100), "flooded")
    with slow.server.wire:
        for byte in slow.packet():
            slow.server.session.sendall(bytes([byte]))
    push(talker, message("0") * 50_000)
    talker.send()
    check_whole([slow, talker])
    # It asks and does not hear the answers.
    check_break(deaf, lambda: push(deaf, message("1", [(112, "x" * 60)]) * 200_000), "stuffed")


def check_records(served):
    """Each message once, in order, of the ring and of the recordings; the ring has room for the last ones."""
    files = sorted(glob.glob("packets/*.pcapng"))
    recorded = {}
    for row in TRIAL.stopbit("replay", *files, "--feed", "feed.toml", "--header").splitlines():
        row = json.loads(row)
        if "template" in row:
            recorded.setdefault(row["header"]["channel"], []).append(int(row["fields"]["n"]))
    for one in served:
        wanted = list(range(1, one.sent + 1))
        assert recorded[one.number] == wanted, (one.name, len(recorded[one.number]), one.sent)
    for one in served[:5]:
        rows = [json.loads(row) for row in TRIAL.stopbit("tail", f"{NAME}.{one.number}").splitlines()]
        seen = [int(row["fields"]["n"]) for row in rows if "template" in row]
        assert seen == list(range(1, one.sent + 1)), (one.name, len(seen), one.sent)


def main():
    served = [Session(number) for number in range(1, SESSIONS + 1)]
    mute, down, *others = served
    reset, strange, slow, talker, deaf = others[:5]
    write("templates.xml", TEMPLATES)
    write("feed.toml", FEED + "".join(CHANNEL.format(number=one.number, name=NAME, port=one.address[1]) for one in served))
    write("appliance.toml", APPLIANCE.format(name=NAME))
    write("password", PASSWORD + "\n")
    os.chmod("password", 0o600)
    mute.server.plan = ["says nothing"]
    slow.server.plan = ["drips"]
    deaf.server.plan = ["reads no more"]
    appliance = Appliance()
    assert "holds a secret" not in read("log") and "cannot wake" not in read("log"), read("log")

    TRIAL.wait_for("the log-ons", lambda: all(one.server.is_in() for one in others))
    appliance.process.send_signal(signal.SIGHUP)
    check_reload(served)
    check_bundle()
    check_confined(appliance.process.pid)
    check_pause(others[-3:], appliance.process.pid)
    check_whole(others)
    assert all(one.server.connections == 1 for one in others), [one.server.connections for one in others]
    check_breaks(reset, strange, slow, talker, deaf)
    TRIAL.wait_for("the end of a log-on without an answer", lambda: said_how(mute, "silent"))
    TRIAL.wait_for("another log-on", mute.server.is_in)
    check_ready(served)
    check_down(down, [mute] + others)
    check_ready(served)
    check_whole(served)
    appliance.end()
    violations = [violation for one in served for violation in one.server.violations]
    assert not violations, violations
    check_records(served)
    print(f"{sum(one.sent for one in served)} messages of {SESSIONS} sessions")


if __name__ == "__main__":
    main()
