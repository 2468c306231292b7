"""What replay prints, encode makes datagrams of that replay to the same lines.

usage: round_trip_test.py STOPBIT SCRATCH_FOLDER [SAMPLE_FOLDER]

With SAMPLE_FOLDER: the bundled capture, in every framing. Without: the captures of STOPBIT_CORPUS, whose FAST data must
come out byte for byte as the exchange has sent it.
"""

import os
import pathlib
import struct
import subprocess
import sys

SKIPPED = 77  # what ctest takes for a skipped test

# Folder, framing, bytes of the preamble.
CAPTURES = [
    ("cme-mdp-2012", "cme", 5),
    ("moex-asts-trades-2019", "moex", 4),
    ("eurex-rdi-2016", "t7", 0),
    ("complex30000", "none", 0),
]

# Framing for both ways, more options of encode, more options of replay.
SAMPLE_RUNS = [
    ("cme", [], []),
    ("cme", ["--per-packet", "4"], []),
    ("moex", [], []),
    ("b3", ["--max-payload", "32"], []),
    ("none", [], []),
    ("custom:skip=12,seq=u64le@2,len=u16be@10,reset=never", ["--per-packet", "7"], []),
    ("custom:blocks=yes,reset=packet", ["--per-packet", "3"], []),
    ("cme", ["--lines", "2", "--group", "239.5.5.5:5000"], ["--group", "239.5.5.5:5000"]),
    ("cme", ["--lines", "2", "--group", "239.5.5.5:5000"], ["--group", "239.5.5.6:5000"]),
]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return done.stdout


def payloads(path):
    """The UDP payloads of a nanosecond pcap file of Ethernet frames."""
    data = path.read_bytes()
    at = 24
    found = []
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        frame = data[at + 16 : at + 16 + length]
        at += 16 + length
        udp = 14 + (frame[14] & 15) * 4
        found.append(frame[udp + 8 : udp + struct.unpack_from(">H", frame, udp + 4)[0]])
    return found


def there_and_back(stopbit, folder, templates, lines, framing, encode_options=(), replay_options=()):
    """The capture that encode wrote; fails unless it replays to the same lines."""
    printed = folder / "printed.jsonl"
    printed.write_bytes(lines)
    again = folder / "again.pcap"
    run(stopbit, "encode", printed, "--templates", templates, "--framing", framing, "-o", again, *encode_options)
    replayed = run(stopbit, "replay", again, "--templates", templates, "--framing", framing, "-q", *replay_options)
    if replayed != lines:
        for number, (old, new) in enumerate(zip(lines.splitlines(), replayed.splitlines()), 1):
            if old != new:
                sys.exit(f"{framing} {encode_options}: line {number} was\n{old.decode()}\nand is\n{new.decode()}")
        sys.exit(f"{framing} {encode_options}: {len(lines)} bytes of lines became {len(replayed)}")
    return again


def test_sample(stopbit, folder, sample):
    templates = sample / "templates.xml"
    lines = run(stopbit, "replay", sample / "capture.pcap.gz", "--templates", templates, "--framing", "cme", "-q")
    for framing, encode_options, replay_options in SAMPLE_RUNS:
        there_and_back(stopbit, folder, templates, lines, framing, encode_options, replay_options)
    printed = folder / "printed.jsonl"
    hexed = folder / "again.hex"
    run(stopbit, "encode", printed, "--templates", templates, "--framing", "cme", "-o", hexed)
    if run(stopbit, "decode", hexed, "--templates", templates, "--framing", "cme") != lines:
        sys.exit("decode gives other lines of encode's hex")


def test_corpus(stopbit, folder):
    corpus = os.environ.get("STOPBIT_CORPUS")
    if not corpus:
        print("STOPBIT_CORPUS is not set", file=sys.stderr)
        sys.exit(SKIPPED)
    for name, framing, preamble in CAPTURES:
        case = pathlib.Path(corpus) / name
        templates, capture = case / "templates.xml", case / "capture.pcap"
        lines = run(stopbit, "replay", capture, "--templates", templates, "--framing", framing, "-q")
        again = there_and_back(stopbit, folder, templates, lines, framing)
        sent = [payload[preamble:] for payload in payloads(capture)]
        ours = [payload[preamble:] for payload in payloads(again)]
        if sent != ours:
            different = sum(a != b for a, b in zip(sent, ours))
            sys.exit(f"{name}: {different} of {len(sent)} datagrams differ from what was captured")
        print(f"{name}: {sum(map(len, sent))} bytes, {len(sent)} datagrams, as they were sent")


def main():
    stopbit, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 3:
        test_sample(stopbit, folder, pathlib.Path(sys.argv[3]))
    else:
        test_corpus(stopbit, folder)


main()
