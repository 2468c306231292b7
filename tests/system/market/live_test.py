#!/usr/bin/env python3
"""The market of the sample feed by way of an appliance, and of a replay into a ring: events, instruments, states and
books are those that `stopbit book` makes of the capture. A new image gives the tables a new generation; one that does
not fit the map is refused.

    live_test.py BIN_FOLDER SAMPLE_FOLDER
"""

import collections
import gzip
import json
import os
import pty
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

STOPBIT = os.path.join(os.path.abspath(sys.argv[1]), "stopbit")
SAMPLE = os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "appliance"))
import settings  # noqa: E402  (it is in another folder)

CAPTURE = f"{SAMPLE}/capture.pcap.gz"
PATIENCE = 600  # seconds: for a hang, not for a slow machine
NAME = f"market-{os.getpid()}"
RINGS = f"/dev/shm/stopbit-{os.getuid()}"


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def stopbit(*arguments, status=0):
    run = subprocess.run([STOPBIT, *arguments], capture_output=True, text=True, check=False)
    assert run.returncode == status, f"{arguments}: {run.returncode}, not {status}\n{run.stdout}{run.stderr}"
    return run.stdout if status == 0 else run.stderr


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def wait_for(what, condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"no sign of this: {what}"
        time.sleep(0.02)


def tables_hold_the_market(ring, books, instruments):
    """Instruments, states and ladder are those of the books at the end of the capture."""
    assert stopbit("instruments", ring) == instruments, "other instruments"
    states = lines(stopbit("states", ring, "--format", "jsonl"))
    assert [state["instrument"] for state in states] == [row["instrument"] for row in lines(instruments)]
    for state in states:
        book = books[state["instrument"]]
        for side, best in (("bid", book["bids"][0]), ("ask", book["asks"][0])):
            assert state.get(side) == (best and best[0]), f"{state} {book}"
            assert state.get(f"{side}_quantity") == (best and str(best[1])), f"{state} {book}"
        assert state["book"] in ("latest", "stale"), state
    assert len(stopbit("states", ring).splitlines()) == 1 + len(states)
    assert stopbit("states", ring, "--instrument", "NONE", status=1)
    assert stopbit("book", ring, status=2)
    assert "NONE" in stopbit("book", ring, "--instrument", "NONE", "--once", status=1)
    return states


def of_an_appliance():
    settings.write_market(".", name=NAME, sample=".", ring=NAME)
    stopbit("run", "appliance.toml", "--check")
    stopbit("run", "appliance.toml", "-q")
    events = stopbit("book", CAPTURE, "--feed", "feed.toml", "--events", "-q")
    assert stopbit("tail", f"{NAME}-events") == events, "other events than in the capture"
    rows = stopbit("tail", f"{NAME}-events", "--format", "csv").splitlines()
    assert rows[0].startswith("channel,sequence,time") and len(rows) == 1 + len(events.splitlines())
    books = {}
    for book in lines(stopbit("book", CAPTURE, "--feed", "feed.toml", "--format", "jsonl", "--levels", "5", "-q")):
        books[book["instrument"]] = book
    instruments = stopbit("instruments", CAPTURE, "--feed", "feed.toml", "-q")
    states = tables_hold_the_market(f"{NAME}-events", books, instruments)
    ladder = stopbit("book", f"{NAME}-events", "--instrument", "CEDAR", "--once")
    for row in books["CEDAR"]["bids"] + books["CEDAR"]["asks"]:
        assert row is None or row[0] in ladder, f"{row} is not in\n{ladder}"
    market = json.loads(stopbit("stat", NAME, "--json"))["markets"]
    assert len(market) == 1 and market[0]["events"] == f"{NAME}-events", market
    assert market[0]["instruments"] == market[0]["books"] == len(states) == 20, market
    assert market[0]["latest"] + market[0]["stale"] == 20 and market[0]["suspect"] == 0, market
    assert market[0]["latest"] == sum(state["book"] == "latest" for state in states), market
    assert market[0]["counts"]["events"] == len(events.splitlines()), market
    assert f"{NAME}-events" in stopbit("stat", NAME)
    # The same by a replay into a ring.
    ring = f"{NAME}-replay"
    stopbit("replay", CAPTURE, "--feed", "feed.toml", "--map", "map.toml", "--events", "--ring", ring, "-q")
    assert stopbit("tail", ring) == events
    tables_hold_the_market(ring, books, instruments)
    events_without_their_tables(ring, f"{NAME}-events", events)
    return events, books, instruments


def of_subscribers(events, books, instruments):
    """A copy of the ring of events has its instruments and states beside it, whoever makes it."""
    publish = f'[nic]\nnetwork = "{NAME}"\n[[publish]]\nring = "{NAME}-events"\nas = "market"\nlossless = true\n'
    settings.write_market(".", name=NAME, sample=".", ring=NAME, head=publish, speed="8")
    address = f"shm://{NAME}/market"
    near, far = f"{NAME}-near", f"{NAME}-far"
    wait = ("--from-start", "--lossless")

    def start(*arguments, **how):
        return subprocess.Popen([STOPBIT, *arguments], **how)

    def has_instruments(ring):
        run = subprocess.run([STOPBIT, "instruments", ring], capture_output=True, text=True, check=False)
        return run.returncode == 0 and len(run.stdout.splitlines()) == 20

    processes = [start("run", "appliance.toml", "-q")]
    try:
        wait_for("the network", lambda: os.path.exists(f"{RINGS}/{NAME}-events"))
        processes += [start("subscribe", address, "--ring", near, *wait),
                      start("subscribe", address, "--ring", far, "--far", "--once", *wait)]
        with open("tail.jsonl", "w", encoding="utf-8") as file:  # a pipe that is not read would hold up the appliance
            tail = start("tail", address, "--wait", *wait, stdout=file)
        processes.append(tail)
        for ring in (near, far):
            wait_for(f"instruments of {ring}", lambda ring=ring: has_instruments(ring))
        processes[0].send_signal(signal.SIGSTOP)  # the near ring goes with its publisher, however slow this test is
        for table in ("instruments", "state"):
            inodes = [os.stat(f"{RINGS}/{ring}.{table}").st_ino for ring in (f"{NAME}-events", near, far)]
            assert inodes[0] == inodes[1] != inodes[2], "a near ring has the appliance's tables, a far one a copy"
        keys = [(row["row"], row["instrument"]) for row in lines(instruments)]  # trading states still change
        assert [(row["row"], row["instrument"]) for row in lines(stopbit("instruments", near))] == keys
        assert len(stopbit("states", near).splitlines()) == 21
        assert "CEDAR" in stopbit("book", near, "--instrument", "CEDAR", "--once")
        processes[0].send_signal(signal.SIGCONT)
        for process in (processes[0], processes[2], tail):
            assert process.wait(PATIENCE) == 0, process.args
        with open("tail.jsonl", encoding="utf-8") as file:
            assert file.read() == events, "other events than in the capture"
        # The last states of a ring that has ended are those of the publisher.
        tables_hold_the_market(far, books, instruments)
        assert stopbit("states", far) == stopbit("states", f"{NAME}-events")
        assert stopbit("tail", far) == events
        wait_for("the end of the near ring", lambda: not os.path.exists(f"{RINGS}/{near}"))
        assert not os.path.exists(f"{RINGS}/{near}.state"), "its tables go with it"
        left = [file for file in os.listdir(RINGS) if file.startswith("tail-") and file.endswith(f"{tail.pid}.state")]
        assert not left, left
    finally:
        for process in processes:
            process.terminate()
            process.send_signal(signal.SIGCONT)
            process.wait()


def events_without_their_tables(ring, other, events):
    """Neither the reader of a ring nor that of its tables takes another ring's tables for its own."""
    mixed = f"{NAME}-mixed"
    for part in ("", ".instruments", ".state"):
        shutil.copyfile(f"{RINGS}/{ring}{part}", f"{RINGS}/{mixed}{part}")
    assert stopbit("tail", mixed) == events
    for part, commands in ((".state", ["states"]), (".instruments", ["states", "tail", "instruments", "book --instrument CEDAR"])):
        shutil.copyfile(f"{RINGS}/{other}{part}", f"{RINGS}/{mixed}{part}")
        for command in commands:
            name, *options = command.split()
            assert "belong to another ring" in stopbit(name, mixed, *options, status=3), f"{part} {command}"
    # A replay that cannot have one of the names leaves the others as they are: those of an earlier run, and those of none.
    replay = ("replay", CAPTURE, "--feed", "feed.toml", "--map", "map.toml", "-q", "--records", "--events", "--ring")
    os.remove(f"{RINGS}/{other}.state")
    write(f"{RINGS}/{other}.state", "something else")
    files = [f"{RINGS}/{NAME}", f"{RINGS}/{other}", f"{RINGS}/{other}.instruments"]
    was = [os.stat(file).st_ino for file in files]
    assert "not a state table" in stopbit(*replay, NAME, status=3)
    assert [os.stat(file).st_ino for file in files] == was, "a replay that failed has taken a name"
    os.remove(f"{RINGS}/{other}.state")
    write(f"{RINGS}/{NAME}-fresh-events.state", "something else")
    assert "not a state table" in stopbit(*replay, f"{NAME}-fresh", status=3)
    for left in ("fresh", "fresh-events", "fresh-events.instruments"):
        assert not os.path.exists(f"{RINGS}/{NAME}-{left}"), f"{left} of a replay that has failed"


def lossy_capture(path, lost):
    """The sample without the packets of these numbers, on both lines."""
    with gzip.open(CAPTURE) as file:
        capture = file.read()
    kept = [capture[:24]]
    at = 24
    while at < len(capture):
        size = struct.unpack_from("<I", capture, at + 8)[0]
        packet = capture[at:at + 16 + size]
        number = struct.unpack_from(">I", packet, 16 + 42)[0]  # after the headers of Ethernet, IP and UDP
        if number not in lost:
            kept.append(packet)
        at += 16 + size
    with gzip.open(path, "wb") as file:
        file.write(b"".join(kept))
    assert sum(len(part) for part in kept) < len(capture)


def of_a_policy():
    """What a loss means for books is as the settings say."""
    lossy_capture("lossy.pcap.gz", set(range(300, 330)) | set(range(900, 903)))

    def counts(**keys):
        settings.write_market(".", name=NAME, sample=".", ring=NAME, capture="lossy.pcap.gz",
                              books="".join(f"{key} = {json.dumps(value)}\n" for key, value in keys.items()))
        stopbit("run", "appliance.toml", "-q")
        kinds = collections.Counter(event["event"] for event in lines(stopbit("tail", f"{NAME}-events")))
        return kinds, json.loads(stopbit("stat", NAME, "--json"))["markets"][0]["counts"]

    shutil.rmtree("state")  # gaps of the runs before
    kinds, usual = counts()
    shown = [gap["books"] for gap in lines(stopbit("gaps", NAME, "--json")) if "books" in gap]
    assert all(books["by_message"] + books["by_snapshot"] + books["open"] == books["hit"] for books in shown), shown
    assert sum(books["stale"] for books in shown) > 0, shown
    for part in ("hit", "by_message", "by_snapshot"):
        count = usual[part if part == "hit" else f"healed_{part}"]
        assert sum(books[part] for books in shown) == count > 0, (part, shown, usual)
    assert " in doubt" in stopbit("gaps", NAME), "for people, too"
    assert usual["losses"] > 0 and kinds["suspect"] > 0 and usual["refreshes"] > 0, (kinds, usual)
    kinds, careful = counts(policy="pessimistic", queue=1024)
    assert careful["losses"] == usual["losses"] and kinds["suspect"] == 0 and kinds["stale"] > 0, (kinds, careful)
    kinds, patient = counts(refresh=False)
    assert kinds["suspect"] > 0 and "refreshes" not in patient, (kinds, patient)


def packets_of_now():
    """The packets of the sample, as if they came now: the appliance takes numbers over on one day only."""
    with gzip.open(CAPTURE) as file:
        capture = file.read()
    while time.time() % 86400 > 86280:  # they would be of two days
        time.sleep(1)
    shift = int(time.time()) - struct.unpack_from("<I", capture, 24)[0]
    packets = []
    at = 24
    while at < len(capture):
        seconds, part, size, whole = struct.unpack_from("<IIII", capture, at)
        packets.append(struct.pack("<IIII", seconds + shift, part, size, whole) + capture[at + 16:at + 16 + size])
        at += 16 + size
    return capture[:24], packets


def number_of(packet):
    """After the headers of Ethernet, IP and UDP, perhaps with a VLAN's."""
    has_vlan = packet[16 + 12:16 + 14] == b"\x81\x00"
    return struct.unpack_from(">I", packet, 16 + (46 if has_vlan else 42))[0]


def of_restarts(books):
    """Instruments and books outlive the process: ended in good order, or killed."""
    head, packets = packets_of_now()
    middle = len(packets) // 2

    def run(some, speed="0", save='save = "1s"\n'):
        with gzip.open("part.pcap.gz", "wb") as file:
            file.write(head + b"".join(some))
        settings.write_market(".", name=NAME, sample=".", ring=NAME, capture="part.pcap.gz", speed=speed, books=save)
        return subprocess.Popen([STOPBIT, "run", "appliance.toml", "-q"], stderr=subprocess.PIPE, text=True)

    def end(process):
        log = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 0, log
        return log

    def market():
        return json.loads(stopbit("stat", NAME, "--json"))["markets"][0]

    def standings():
        """Of the books: each that is right has the rows that it has without a restart."""
        right = collections.Counter()
        for state in lines(stopbit("states", f"{NAME}-events", "--format", "jsonl")):
            right[state["book"]] += 1
            if state["book"] != "latest":
                continue
            for side in ("bid", "ask"):
                best = books[state["instrument"]][f"{side}s"][0]
                assert (state.get(side), state.get(f"{side}_quantity")) == (best and best[0], best and str(best[1])), state
        return right

    shutil.rmtree("state")
    log = end(run(packets))
    assert "saved every 1 s" in stopbit("run", "appliance.toml", "--check")
    assert "books begin anew" in log and "none were saved" in log, log
    whole = standings()
    # Ended after any packet, in good order, and gone on with the next one: nothing is missing. What is said of a book is
    # what is said of it without a restart.
    shutil.rmtree("state")
    end(run(packets[:middle]))
    before = market()
    assert before["saves"] > 0 and before["save_failures"] == 0, before
    log = end(run(packets[middle:]))
    assert "books taken over" in log, log
    assert market()["taken_over"] > 10, market()
    assert market()["instruments"] == 20
    assert standings() == whole, (standings(), whole)
    assert market()["latest"] == whole["latest"]
    # Without its books the second half has fewer.
    for file in os.listdir("state"):
        if file.startswith("books-"):
            os.remove(f"state/{file}")
    shutil.copytree("state", "numbers")
    shutil.rmtree("state")
    end(run(packets[:middle]))
    for file in [file for file in os.listdir("state") if file.startswith("books-")]:
        os.remove(f"state/{file}")
    log = end(run(packets[middle:]))
    assert "books begin anew" in log and market()["taken_over"] == 0, log
    shutil.rmtree("numbers")
    # Killed on the way: what it had saved is of some time before. No book that is called right is wrong.
    shutil.rmtree("state")
    process = run(packets, speed="1")

    def status():
        seen = subprocess.run([STOPBIT, "stat", NAME, "--json"], capture_output=True, check=False)
        found = json.loads(seen.stdout) if seen.returncode == 0 else {"pid": 0}
        return found["markets"][0] if found["pid"] == process.pid else {"saves": 0, "latest": 0}

    wait_for("a save with books", lambda: status()["saves"] >= 3 and status()["latest"] > 5)
    process.kill()
    process.communicate()
    with open("state/runs", "rb") as file:
        last = struct.unpack_from("<Q", file.read(), 64 + 24)[0]
    later = [at for at, packet in enumerate(packets) if number_of(packet) > last + 2]
    assert last > 0 and later, last
    log = end(run(packets[later[0]:]))
    assert "books taken over" in log and market()["taken_over"] > 5, log
    found = standings()
    assert found["latest"] > found["suspect"], found
    causes = [gap["cause"] for gap in lines(stopbit("gaps", NAME, "--json"))]
    assert any("restart" in cause or "down" in cause for cause in causes), causes
    # Damaged, foreign or unreadable: the log says so, and the books begin anew.
    names = sorted(file for file in os.listdir("state") if file.startswith("books-"))
    assert 1 <= len(names) <= 2, names

    def refused(why):
        log = end(run([]))  # no packet
        assert "books begin anew" in log and why in log, (why, log)

    def spoil(change):
        for file in os.listdir("state"):
            if file.startswith("books-"):
                os.remove(f"state/{file}")
        with open(f"state/{names[-1]}", "wb") as file:
            file.write(change)

    with open(f"state/{names[-1]}", "rb") as file:
        good = file.read()
    spoil(good[:500] + bytes([good[500] ^ 1]) + good[501:])
    refused("it is damaged")
    spoil(good[:-64])
    refused("its end is missing")
    spoil(b"")
    refused("it is empty")
    spoil(good[:8] + b"\x63" + good[9:])
    refused("it has version 99, not 1")
    spoil(b"")
    os.remove(f"state/{names[-1]}")
    os.symlink("/etc/passwd", f"state/{names[-1]}")
    refused("cannot open")
    os.remove(f"state/{names[-1]}")


def of_a_new_image():
    settings.write_market(".", name=NAME, sample=".", ring=NAME, speed="1")
    appliance = subprocess.Popen([STOPBIT, "run", "appliance.toml", "-q"], stderr=subprocess.DEVNULL)
    ring = f"{NAME}-events"

    def status():
        run = subprocess.run([STOPBIT, "stat", NAME, "--json"], capture_output=True, check=False)
        return json.loads(run.stdout) if run.returncode == 0 else {"pid": 0}

    def ask(question):
        with socket.socket(socket.AF_UNIX) as door:
            door.connect("control.sock")
            door.sendall(question.encode() + b"\n")
            door.shutdown(socket.SHUT_WR)
            answer = b""
            while more := door.recv(4096):
                answer += more
        return answer.decode()

    def market():
        now = status()
        return now["markets"][0] if now["pid"] == appliance.pid else {"instruments": 0, "counts": {}}

    try:
        wait_for("instruments", lambda: market()["instruments"] == 20)
        # Templates that the map does not fit leave everything as it is.
        with open("templates.xml", encoding="utf-8") as file:
            templates = file.read()
        write("templates.xml", templates.replace('"UpdateAction"', '"UpdateAct"'))
        answer = ask("load sample")
        assert answer.startswith("error") and "map.toml" in answer, answer
        before = market()["counts"]["events"]
        wait_for("more events", lambda: market()["counts"]["events"] > before)
        # Nor does a table that cannot take its name touch the rings and the other table: readers of the running image find
        # all of them.
        files = [f"{RINGS}/{NAME}", f"{RINGS}/{ring}", f"{RINGS}/{ring}.instruments"]
        was = [os.stat(file).st_ino for file in files]
        os.remove(f"{RINGS}/{ring}.state")
        write(f"{RINGS}/{ring}.state", "something else")
        write("templates.xml", templates)
        answer = ask("load sample")
        assert answer.startswith("error") and "not a state table" in answer, answer
        assert [os.stat(file).st_ino for file in files] == was, "a file of the refused image has a name"
        os.remove(f"{RINGS}/{ring}.state")
        assert not ask("load sample").startswith("error")
        # A reader of the old ring ends in good order, and the new one goes on with tables of its own.
        reader = subprocess.Popen([STOPBIT, "tail", ring, "--name", "strategy"], stdout=subprocess.PIPE, text=True)
        assert json.loads(reader.stdout.readline())["event"]
        wait_for("the reader", lambda: [seen["name"] for seen in market().get("readers", [])] == ["strategy"])
        answer = ask("load sample")
        assert not answer.startswith("error"), answer
        reader.communicate(timeout=PATIENCE)
        assert reader.returncode == 0
        wait_for("books of the new image", lambda: market()["counts"].get("events", 0) > 0 and market()["books"] > 0)
        keys = {row["instrument"] for row in lines(stopbit("instruments", ring))}
        assert keys and {state["instrument"] for state in lines(stopbit("states", ring, "--format", "jsonl"))} >= keys
    finally:
        appliance.terminate()
        appliance.wait()


def refuses():
    settings.write_market(".", name=NAME, sample=".", ring=NAME)
    with open("feed.toml", encoding="utf-8") as file:
        feed = file.read()
    for was, now, problem in (
            ('map = "./map.toml"', 'map = "nowhere"', "there is no map 'nowhere'"),
            ('map = "./map.toml"', 'map = "t7-mdi"', "no rule for the template"),
            ('map = "./map.toml"', 'map = "./map.toml"\ndepth = 99999', "depth"),
            ('map = "./map.toml"', 'events = "x"', "need a 'map'"),
            ('map = "./map.toml"', f'map = "./map.toml"\nevents = "{NAME}"', "different rings"),
            (f'ring = "{NAME}"\n', "", "needs 'events'")):
        assert was in feed, was
        write("feed.toml", feed.replace(was, now))
        answer = stopbit("run", "appliance.toml", "--check", status=1)
        assert problem in answer, f"{now}: {answer}"


def of_a_ladder():
    """States of a writer that died are not taken for a quiet market; a ladder goes on with the next writer."""
    ring = f"{NAME}-ladder"
    replay = (STOPBIT, "replay", CAPTURE, "--feed", "feed.toml", "--map", "map.toml", "--events", "--ring", ring, "-q")
    writer = subprocess.Popen((*replay, "--pace", "1x"))
    listing = [STOPBIT, "instruments", ring]
    wait_for("the instrument", lambda: "CEDAR" in subprocess.run(listing, capture_output=True, text=True, check=False).stdout)
    assert "writer died" not in stopbit("book", ring, "--instrument", "CEDAR", "--once")
    for command in ("states", ring), ("book", ring, "--once"):
        assert "did you mean 'CEDAR'?" in stopbit(*command, "--instrument", "CEDER", status=1)
    terminal, line = pty.openpty()
    ladder = subprocess.Popen((STOPBIT, "book", ring, "--instrument", "CEDAR"), stdin=line, stdout=line)
    os.close(line)
    shown = bytearray()

    def shows(text):
        end = time.monotonic() + PATIENCE
        while text not in shown:
            is_late = time.monotonic() > end or not select.select([terminal], [], [], PATIENCE)[0]
            assert not is_late, f"the ladder does not show {text}: {bytes(shown[-2000:])}"
            shown.extend(os.read(terminal, 65536))
        shown.clear()

    shows(b"\x1b[?7l")  # a narrow terminal cuts lines
    shows(b"CEDAR")
    writer.send_signal(signal.SIGSTOP)
    shows(b"the writer has given no sign of life for")
    answer = subprocess.run([STOPBIT, "states", ring], capture_output=True, text=True, check=True)
    assert "no sign of life" in answer.stderr and "CEDAR" in answer.stdout, answer
    writer.kill()
    writer.wait()
    shows(b"the writer died")
    assert "the writer died" in stopbit("book", ring, "--instrument", "CEDAR", "--once")
    for command in (("states", ring), ("states", ring, "--format", "jsonl")):
        answer = subprocess.run([STOPBIT, *command], capture_output=True, text=True, check=True)
        assert "the writer died" in answer.stderr and "CEDAR" in answer.stdout, answer
    subprocess.run(replay, check=True)
    shows(b"the writer has ended")
    os.write(terminal, b"q")
    shows(b"\x1b[?1049l")  # it ends when all is read
    assert ladder.wait() == 0
    os.close(terminal)


def of_a_terminal():
    """Binary messages are not for terminals. No ring of the replay takes a name."""
    ring = f"{NAME}-terminal"
    replay = (CAPTURE, "--feed", "feed.toml", "--map", "map.toml", "--events", "--format", "sbe", "-q")
    for command in (("replay", *replay), ("replay", *replay, "--ring", ring), ("book", *replay),
                    ("tail", f"{NAME}-replay", "--format", "sbe")):
        terminal, line = pty.openpty()
        run = subprocess.run([STOPBIT, *command], stdout=line, stderr=subprocess.PIPE, text=True, check=False)
        os.close(line)
        os.close(terminal)
        assert run.returncode == 2 and "-o FILE" in run.stderr, f"{command}: {run.returncode} {run.stderr}"
    assert not os.path.exists(f"{RINGS}/{ring}")
    stopbit("replay", *replay, "-o", "events.sbe")
    piped = subprocess.run([STOPBIT, "replay", *replay], stdout=subprocess.PIPE, check=True).stdout
    with open("events.sbe", "rb") as file:
        assert file.read() == piped and piped


def main():
    folder = tempfile.mkdtemp(prefix="market-")
    os.chdir(folder)
    try:
        for file in ("capture.pcap.gz", "templates.xml", "map.toml"):
            shutil.copy(f"{SAMPLE}/{file}", file)
        made = of_an_appliance()
        of_a_ladder()
        of_a_terminal()
        of_subscribers(*made)
        of_a_policy()
        of_restarts(made[1])
        of_a_new_image()
        refuses()
    finally:
        shutil.rmtree(folder)
        for file in os.listdir(RINGS) if os.path.isdir(RINGS) else []:
            if file.startswith(NAME):
                os.remove(f"{RINGS}/{file}")


main()
