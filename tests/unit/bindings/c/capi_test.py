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


def expect(kind, *command):
    """The program agrees, and says which kind of records it has seen."""
    out = run(*command)
    sys.stdout.write(out)
    if not out.startswith(f"{kind} fields: "):
        sys.exit(f"{' '.join(command)}\nnot of {kind} fields: {out}")


def check_symbols(library, source):
    with open(f"{source}/host/bindings/c/stopbit.h", encoding="utf-8") as text:
        declared = set(re.findall(r"STOPBIT_API [^;]*?\b(stopbit_\w+)\(", text.read()))
    shown = {}
    for line in run("nm", "-D", "--defined-only", library).splitlines():
        name, _, version = line.split()[-1].partition("@@")
        if not name.startswith("STOPBIT_"):  # a version itself
            shown[name] = version
    later = {"stopbit_ring_accept": "STOPBIT_1.1"}
    if shown != {**dict.fromkeys(declared, "STOPBIT_1.0"), **later}:
        sys.exit(f"only shown: {sorted(shown.keys() - declared)}, only declared: {sorted(declared - shown.keys())}, {shown}")
    if not re.search(r"SONAME.*\[libstopbit\.so\.1\]", run("readelf", "-d", library)):
        sys.exit("the library has no soname")


def main(test, stopbit, library, source, sample, scratch):
    os.makedirs(scratch, exist_ok=True)
    check_symbols(library, source)
    sys.stdout.write(run(test, sample))
    cases = [("cme", f"{sample}/templates.xml", f"{sample}/capture.pcap.gz", "Price,NoEntries,PriceLimits,Currency")]
    corpus = os.environ.get("STOPBIT_CORPUS")
    if corpus:
        some = {"cme-mdp-2012": ("cme", "MDEntryPx,MDEntrySize,TradingSessionID"),
                "moex-asts-trades-2019": ("moex", "TradeValue,Symbol"),
                "eurex-rdi-2016": ("t7", "MarketSegmentID,NoQuoteSizeRules,SecurityDesc,StrikePrice"),
                "complex30000": ("none", "268,270,279")}
        cases += [(framing, f"{corpus}/{name}/templates.xml", f"{corpus}/{name}/capture.pcap", fields)
                  for name, (framing, fields) in some.items()]
    ring = f"{scratch}/ring"
    image = f"{scratch}/some.sbf"
    for framing, templates, capture, fields in cases:
        expect("all", test, capture, framing, templates)
        run(stopbit, "compile", templates, "--fields", fields, "-o", image)
        expect("some", test, capture, framing, image)
    framing, templates, capture, fields = cases[0]
    for kind, of in {"all": (), "some": ("--fields", fields)}.items():
        run(stopbit, "replay", capture, "--templates", templates, *of, "--framing", framing, "-q", "--ring", ring)
        expect(kind, test, "ring", ring, templates)
        os.remove(ring)


if __name__ == "__main__":
    main(*sys.argv[1:])
