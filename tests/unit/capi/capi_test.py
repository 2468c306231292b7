"""libstopbit.so shows what stopbit.h declares and nothing else; the C program capi_test agrees with it, call by call.

usage: capi_test.py CAPI_TEST STOPBIT LIBRARY SOURCE_FOLDER SAMPLE_FOLDER SCRATCH_FOLDER
"""

import os
import re
import subprocess
import sys


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}\nexit status {done.returncode}")
    return done.stdout


def say(*command):
    sys.stdout.write(run(*command))


def check_symbols(library, source):
    with open(f"{source}/host/capi/stopbit.h", encoding="utf-8") as text:
        declared = set(re.findall(r"STOPBIT_API [^;]*?\b(stopbit_\w+)\(", text.read()))
    shown = {}
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        name, _, version = line.split()[-1].partition("@@")
        if name != "STOPBIT_1.0":  # the version itself
            shown[name] = version
    if shown != dict.fromkeys(declared, "STOPBIT_1.0"):
        sys.exit(f"only shown: {sorted(shown.keys() - declared)}, only declared: {sorted(declared - shown.keys())}, {shown}")
    if not re.search(r"SONAME.*\[libstopbit\.so\.1\]", run("readelf", "-d", library)):
        sys.exit("the library has no soname")


def main(test, stopbit, library, source, sample, scratch):
    os.makedirs(scratch, exist_ok=True)
    check_symbols(library, source)
    say(test, sample)
    cases = [("cme", f"{sample}/templates.xml", f"{sample}/capture.pcap.gz")]
    corpus = os.environ.get("STOPBIT_CORPUS")
    if corpus:
        framings = {"cme-mdp-2012": "cme", "moex-asts-trades-2019": "moex", "eurex-rdi-2016": "t7", "complex30000": "none"}
        cases += [(framing, f"{corpus}/{name}/templates.xml", f"{corpus}/{name}/capture.pcap") for name, framing in framings.items()]
    for framing, templates, capture in cases:
        say(test, capture, framing, templates)
    ring = f"{scratch}/ring"
    run(stopbit, "replay", cases[0][2], "--templates", cases[0][1], "--framing", "cme", "-q", "--ring", ring)
    say(test, "ring", ring, cases[0][1])
    os.remove(ring)


if __name__ == "__main__":
    main(*sys.argv[1:])
