#!/usr/bin/env python3
"""What ends an appliance and what does not: logs that cannot be written, logs that nobody reads, signals, another
appliance with the same folders, and the messages to a service manager.

    life_test.py BIN_FOLDER SAMPLE_FOLDER [NAME...]        names of tests below; all of them without
"""

import fcntl
import glob
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import settings

STOPBIT = os.path.join(os.path.abspath(sys.argv[1]), "stopbit")
SAMPLE = os.path.abspath(sys.argv[2])
PATIENCE = 600  # seconds: for a hang, not for a slow machine
STOP = 10       # TimeoutStopSec of the unit


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"no sign of this: {what}"
        time.sleep(0.02)


class Appliance:
    """Plays the sample at its own pace, which takes 55 s."""

    def __init__(self, label, stderr, *, more="", environment=None, state="state"):
        self.folder = tempfile.mkdtemp(prefix="life-", dir=WORKPLACE)
        self.name = f"life-{label}-{os.getpid()}"
        NAMES.append(self.name)
        settings_text = f"""name = "{self.name}"
state = "{state}"
{more}
[control]
socket = "control.sock"
[[agent]]
name = "md"
idle = "sleep"
sleep = "1ms"
[[port]]
name = "capture"
kind = "capture"
file = "{SAMPLE}/capture.pcap.gz"
speed = 1
[[feed]]
file = "feed.toml"
a = "capture"
"""
        feed = settings.sample_feed(templates=f"{SAMPLE}/templates.xml", ring=f"{self.folder}/cme")
        settings.write_files(self.folder, appliance=settings_text, feed=feed)
        command = [STOPBIT, "run", "appliance.toml"]
        if stderr == "closed":
            command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *command]
            stderr = None
        self.process = subprocess.Popen(command, cwd=self.folder, stderr=stderr, env={**os.environ, **(environment or {})},
                                        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        RUNNING.append(self.process)

    def status(self):
        answer = subprocess.run([STOPBIT, "stat", self.name, "--json"], capture_output=True, check=False)
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def messages(self):
        status = self.status()
        channels = status["channels"] if status else []  # none yet, while it starts
        return channels[0]["messages"] if channels else 0

    def decodes(self):
        """It runs, and goes on to."""
        wait_for("messages", lambda: self.alive() and self.messages() > 0)
        before = self.messages()
        wait_for("more messages", lambda: self.alive() and self.messages() > before)

    def alive(self):
        status = self.process.poll()
        assert status is None, f"the appliance has ended with {status}"
        return True

    def ask(self, command):
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(PATIENCE)
            door.connect(f"{self.folder}/control.sock")
            door.sendall(command.encode() + b"\n")
            return door.makefile().readline()

    def stop(self):
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(STOP)
        assert status == 0, status
        return time.monotonic() - begin


def full_pipe():
    """A pipe of one page that has no room."""
    there, here = os.pipe()
    fcntl.fcntl(here, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(here, False)
    try:
        while True:
            os.write(here, b"x" * 4096)
    except BlockingIOError:
        pass
    os.set_blocking(here, True)
    return there, here


def log_that_cannot_be_written():
    there, broken = os.pipe()
    os.close(there)
    with open("/dev/full", "w", encoding="utf-8") as full:
        for label, stderr in (("full", full), ("closed", "closed"), ("pipe", broken)):
            appliance = Appliance(label, stderr)
            appliance.decodes()
            wait_for("lost lines", lambda: appliance.status()["log_lines_lost"] >= 2)
            print(f"stderr {label}: {appliance.status()['log_lines_lost']} lines lost, ended in {appliance.stop():.2f} s")
    os.close(broken)


def log_that_nobody_reads():
    there, here = full_pipe()
    appliance = Appliance("unread", here)
    appliance.decodes()
    assert json.loads(appliance.ask("status"))["running"]
    appliance.process.send_signal(signal.SIGHUP)
    appliance.decodes()
    print(f"a full pipe: ended in {appliance.stop():.2f} s")
    os.close(here)
    os.close(there)


def log_that_is_read_late():
    there, here = full_pipe()
    appliance = Appliance("late", here)
    os.close(here)
    appliance.decodes()
    appliance.process.send_signal(signal.SIGHUP)
    text = b""

    def has_read(word):
        nonlocal text
        if select.select([there], [], [], 0)[0]:
            text += os.read(there, 65536)
        return word in text

    wait_for("the first line", lambda: has_read(b'what="started"'))
    wait_for("the signal in the log", lambda: has_read(b'what="reload" by="SIGHUP"'))
    assert b"log lines lost" not in text, text
    appliance.stop()
    os.close(there)


def waits_for_a_pipe(pid):
    """A thread of the process is in write, poll or ppoll, by the kernel's numbers of them (x86-64)."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/syscall", encoding="ascii") as file:
            if file.read().split()[0] in ("1", "7", "271"):
                return True
    return False


def stop_while_it_starts():
    """The log is full and the appliance cannot start: it does not wait for a reader longer than it was let live."""
    there, here = full_pipe()
    appliance = Appliance("start", here, state="/dev/null/nowhere")
    # It tells why it ends, and waits for the reader of that: until it is asked to stop.
    wait_for("a thread that waits for the reader", lambda: appliance.alive() and waits_for_a_pipe(appliance.process.pid))
    appliance.process.send_signal(signal.SIGTERM)
    assert appliance.process.wait(STOP) in (3, -signal.SIGTERM)
    os.close(here)
    os.close(there)


def run_to_the_end(appliance):
    _, text = appliance.process.communicate(timeout=PATIENCE)
    return appliance.process.returncode, text.decode()


def one_folder_for_two():
    recorded = '[recorder]\nfolder = "{}/{}"\nfile = "1MiB"\nline = "4MiB"'
    for label, first, second in (
            ("state", dict(state=f"{WORKPLACE}/shared"), dict(state=f"{WORKPLACE}/shared/../shared/")),
            ("recorder", dict(more=recorded.format(WORKPLACE, "packets")), dict(more=recorded.format(WORKPLACE, "packets"))),
            ("both", dict(state=f"{WORKPLACE}/mixed"), dict(more=recorded.format(WORKPLACE, "mixed")))):
        one = Appliance(f"{label}-one", subprocess.DEVNULL, **first)
        one.decodes()
        other = Appliance(f"{label}-other", subprocess.PIPE, **second)
        status, text = run_to_the_end(other)
        assert status == 3, (status, text)
        assert f'"{one.name}"' in text and str(one.process.pid) in text, text
        print(text.strip())
        one.decodes()
        one.process.kill()
        one.process.wait()
        # The name of the dead is still in the file.
        again = Appliance(f"{label}-again", subprocess.DEVNULL, **second)
        again.decodes()
        other = Appliance(f"{label}-last", subprocess.PIPE, **first)
        status, text = run_to_the_end(other)
        assert status == 3 and f'"{again.name}"' in text and f'"{one.name}"' not in text, (status, text)
        again.stop()
    # An appliance that uses one folder for both is one appliance.
    alone = Appliance("alone", subprocess.DEVNULL, state=f"{WORKPLACE}/alone", more=recorded.format(WORKPLACE, "alone"))
    alone.decodes()
    alone.stop()


def service_manager():
    for kind in ("path", "abstract"):
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        address = f"{WORKPLACE}/notify" if kind == "path" else f"@life-{os.getpid()}"
        manager.bind(address if kind == "path" else "\0" + address[1:])
        manager.settimeout(PATIENCE)
        said = []

        def hear(word):
            while True:
                said.append(manager.recv(4096).decode())
                if said[-1].startswith(word):
                    return said[-1]

        appliance = Appliance(f"service-{kind}", subprocess.DEVNULL,
                              environment={"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "200000"})
        hear("READY=1")
        assert said == ["READY=1"], said
        hear("WATCHDOG=1")
        assert hear("STATUS=1 of 1 channels live") or True
        # A housekeeper that hangs says nothing: systemd ends it after WatchdogSec.
        appliance.process.send_signal(signal.SIGSTOP)
        wait_for("a process that has stopped",
                 lambda: open(f"/proc/{appliance.process.pid}/stat", encoding="utf-8").read().split(")")[1].split()[0] == "T")
        manager.setblocking(False)
        try:
            while True:
                manager.recv(4096)
        except BlockingIOError:
            pass
        assert not select.select([manager], [], [], 0.5)[0]
        appliance.process.send_signal(signal.SIGCONT)
        manager.settimeout(PATIENCE)
        hear("WATCHDOG=1")
        appliance.process.send_signal(signal.SIGTERM)
        hear("STOPPING=1")
        assert appliance.process.wait(STOP) == 0
        manager.close()
    # A watchdog that is another process's.
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(f"{WORKPLACE}/other")
    appliance = Appliance("service-other", subprocess.DEVNULL,
                          environment={"NOTIFY_SOCKET": f"{WORKPLACE}/other", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"})
    appliance.decodes()
    appliance.stop()
    manager.setblocking(False)
    said = []
    try:
        while True:
            said.append(manager.recv(4096).decode())
    except BlockingIOError:
        pass
    assert said[0] == "READY=1" and said[-1] == "STOPPING=1" and "WATCHDOG=1" not in said, said
    # A socket that is not there, and one that does not read.
    for address in ("/nowhere/notify", "rubbish"):
        appliance = Appliance("service-none", subprocess.DEVNULL, environment={"NOTIFY_SOCKET": address})
        appliance.decodes()
        appliance.stop()


TESTS = [log_that_cannot_be_written, log_that_nobody_reads, log_that_is_read_late, stop_while_it_starts, one_folder_for_two,
         service_manager]
NAMES, RUNNING = [], []
WORKPLACE = tempfile.mkdtemp(prefix="stopbit-life-")
try:
    for test in TESTS:
        if len(sys.argv) > 3 and test.__name__ not in sys.argv[3:]:
            continue
        print(f"== {test.__name__}", flush=True)
        test()
finally:
    for process in RUNNING:
        if process.poll() is None:
            process.kill()
            process.wait()
    shutil.rmtree(WORKPLACE, ignore_errors=True)
    for name in NAMES:
        for file in glob.glob(f"/dev/shm/stopbit-{os.getuid()}/{name}.*"):
            os.unlink(file)
