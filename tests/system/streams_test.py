#!/usr/bin/env python3
"""Every command with a stdout or stderr that cannot be written. A stdout that fails is exit status 3 and says so, but for
a reader that has gone away, which is quiet and status 0. A stderr that fails changes neither status nor stdout.

    streams_test.py STOPBIT SAMPLE_FOLDER
"""

import concurrent.futures
import os
import subprocess
import sys
import tempfile

STOPBIT, SAMPLE = (os.path.abspath(path) for path in sys.argv[1:3])
CAPTURE, TEMPLATES = f"{SAMPLE}/capture.pcap.gz", f"{SAMPLE}/templates.xml"
HOST = f"{os.path.dirname(os.path.abspath(__file__))}/../../host"
DECODES = f"--templates {TEMPLATES} --framing cme"

# Of each: whether it prints to stdout. Those that fail with a finding have a message on stderr.
COMMANDS = {
    "--version": True,
    "--help": True,
    "replay --help": True,
    "nonsense": False,
    "completion bash": True,
    "info firmware": True,
    "verify firmware": True,
    "disasm firmware": True,
    f"info {CAPTURE}": False,
    f"replay {CAPTURE} {DECODES} --limit 100": True,
    f"replay {CAPTURE} {DECODES} --limit 100 -o /dev/null": False,
    f"replay {CAPTURE} --templates {TEMPLATES} --framing moex --limit 100 -o /dev/null": False,
    f"decode hex --templates {TEMPLATES}": True,
    f"explain {CAPTURE} {DECODES} --packet 1": True,
    f"guess {CAPTURE} --templates {TEMPLATES}": True,
    f"compile {TEMPLATES} -o /dev/null": False,
    f"profile {CAPTURE} {DECODES}": True,
    f"diff {TEMPLATES} firmware": True,
    f"compare {CAPTURE} --framing cme --group-a 239.20.1.1:20001 --group-b 239.20.2.1:20002": True,
    f"impair {CAPTURE} -o -": True,
    f"impair {CAPTURE} -o /dev/null": False,
    f"encode records --templates {TEMPLATES} --format hex": True,
    f"simulate {HOST}/lab/simulate/example.toml -o -": True,
    "stat nowhere": False,
    "ready nowhere": False,
    "gaps nowhere": False,
    "tail nowhere": False,
    "top nowhere": False,
    "check-host --no-dpdk": True,
    "channels": False,
    "run nowhere.toml": False,
    f"run {HOST}/appliance/example/appliance.toml --check": True,
}


def run(command, *, out=subprocess.PIPE, err=subprocess.PIPE, closes=""):
    arguments = [STOPBIT, *command.split()]
    if closes:
        arguments = ["sh", "-c", f'exec "$@" {closes}', "sh", *arguments]
    return subprocess.run(arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=FOLDER, timeout=120, check=False)


def broken_pipe():
    there, here = os.pipe()
    os.close(there)
    return os.fdopen(here, "w")


def check(command, prints):
    good = run(command)
    assert bool(good.stdout) == prints, (command, good)
    with open("/dev/full", "w", encoding="utf-8") as full, broken_pipe() as broken:
        for what, found in (("full", run(command, err=full)), ("closed", run(command, err=None, closes="2>&-")),
                            ("broken", run(command, err=broken))):
            assert found.returncode == good.returncode, (command, "stderr", what, found, good)
            assert len(found.stdout) == len(good.stdout), (command, "stderr", what)
        if not prints:
            return
        for what, found in (("full", run(command, out=full)), ("closed", run(command, out=None, closes=">&-"))):
            assert found.returncode == 3, (command, "stdout", what, found)
            assert b"cannot write <stdout>: " in found.stderr, (command, "stdout", what, found)
        found = run(command, out=broken)
        assert found.returncode == 0, (command, "stdout broken", found)
        assert b"cannot write" not in found.stderr, (command, "stdout broken", found)


with tempfile.TemporaryDirectory() as FOLDER, concurrent.futures.ThreadPoolExecutor(2) as pool:
    for made in (f"compile {TEMPLATES} -o firmware", f"replay {CAPTURE} {DECODES} --limit 3 -o records",
                 f"encode records --templates {TEMPLATES} --format hex -o hex"):
        assert run(made).returncode == 0, run(made)
    checks = {command: pool.submit(check, command, prints) for command, prints in COMMANDS.items()}
failed = 0
for command, done in checks.items():
    if done.exception():
        failed += 1
        print(f"{command}: {done.exception()!r}"[:600])
print(f"{len(COMMANDS)} commands, {failed} wrong")
sys.exit(failed != 0)
