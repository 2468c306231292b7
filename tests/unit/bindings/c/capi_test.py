"""libstopbit.so shows what stopbit.h declares and nothing else; the C program capi_test agrees with it, call by call.

usage: capi_test.py CAPI_TEST STOPBIT LIBRARY SOURCE_FOLDER SAMPLE_FOLDER SCRATCH_FOLDER
"""

import decimal
import glob
import json
import os
import re
import shutil
import subprocess
import sys


# What STOPBIT_1.2 has added.
MARKET = re.compile("stopbit_(market_|record_market_event|(statistic|cause|trading_state|standing)_name)")


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
    later = dict.fromkeys((name for name in declared if MARKET.match(name)), "STOPBIT_1.2")
    later |= {"stopbit_ring_accept": "STOPBIT_1.1", "stopbit_replay_open_feed": "STOPBIT_1.3",
              "stopbit_record_check": "STOPBIT_1.4", "stopbit_ring_heartbeat_ns": "STOPBIT_1.4",
              "stopbit_market_heartbeat_ns": "STOPBIT_1.4"}
    if shown != {**dict.fromkeys(declared, "STOPBIT_1.0"), **later}:
        sys.exit(f"only shown: {sorted(shown.keys() - declared)}, only declared: {sorted(declared - shown.keys())}, {shown}")
    if not re.search(r"SONAME.*\[libstopbit\.so\.1\]", run("readelf", "-d", library)):
        sys.exit("the library has no soname")


def check_lists(source):
    """The enumerators of the header are the lists of market events, value by value."""
    with open(f"{source}/host/bindings/c/stopbit.h", encoding="utf-8") as text:
        header = text.read()
    for file, enum, prefix in (("kinds", "stopbit_market_kind", "MARKET"), ("statistics", "stopbit_statistic", "STATISTIC"),
                               ("causes", "stopbit_cause", "CAUSE"), ("states", "stopbit_trading_state", "TRADING")):
        with open(f"{source}/host/market/event/{file}.def", encoding="utf-8") as text:
            wanted = re.findall(r'^STOPBIT_\w+\(\w+, (\d+), "(\w+)"', text.read(), re.MULTILINE)
        body = re.search(rf"enum {enum} {{(.*?)}}", header, re.DOTALL)[1]
        has = [(value, name.lower()) for name, value in re.findall(rf"STOPBIT_{prefix}_(\w+) = (\d+)", body)]
        if has != wanted or not wanted:
            sys.exit(f"{enum} differs from {file}.def: {set(has) ^ set(wanted)}")


def nano(price):
    """Units of 1e-9 of a price as JSON has it."""
    return int(decimal.Decimal(str(price)).scaleb(9))


def check_market(test, stopbit, sample, scratch):
    """Events, instruments and states are those of `stopbit tail` and `stopbit states`."""
    rings = [f"{scratch}/market", f"{scratch}/other"]
    for ring in rings:
        for file in glob.glob(f"{ring}*"):  # truncated, they are no tables that a writer replaces
            os.remove(file)
        run(stopbit, "replay", f"{sample}/capture.pcap.gz", "--templates", f"{sample}/templates.xml", "--framing", "cme",
            "--map", f"{sample}/map.toml", "--events", "--ring", ring, "-q")

    # The ring of one with the tables of the other.
    mixed = f"{scratch}/mixed"
    for part, of in (("", rings[0]), (".instruments", rings[0]), (".state", rings[1])):
        shutil.copyfile(of + part, mixed + part)

    def lines(text):
        return [json.loads(line, parse_float=decimal.Decimal) for line in text.splitlines()]

    other = f"{scratch}/spare"  # the test truncates what it gets
    for part in ("", ".instruments", ".state"):
        shutil.copyfile(rings[1] + part, other + part)
    text = run(test, "market", *rings, mixed)
    # A copy of the first ring that shares its tables, as a publisher makes it: host/ring/ring.md.
    near = f"{scratch}/near"
    with open(rings[0], "rb") as file:
        header = bytearray(file.read())
    header[88:96], header[64:72] = header[64:72], (1).to_bytes(8, "little")
    with open(near, "wb") as file:
        file.write(header)
    for part in (".instruments", ".state"):
        shutil.copyfile(rings[0] + part, near + part)
    if run(test, "market", near, other, mixed) != text:
        sys.exit("a copy of a ring with the same tables gives something else")
    printed = lines(text)
    states = lines(run(stopbit, "states", rings[0], "--format", "jsonl"))
    events = lines(run(stopbit, "tail", rings[0]))
    key_of = {state["row"]: state["instrument"] for state in states}
    if len(printed) != len(events) + len(states) or len(states) != 20 or not events:
        sys.exit(f"{len(printed)} lines for {len(events)} events and {len(states)} states")
    sides = {"bid": 1, "ask": 2}
    for has, event in zip(printed, events):
        line = {**has["line"], "instrument": key_of.get(has["instrument"], has["instrument"])}
        same = {"kind": event["event"], "sequence": event["sequence"], "time": event["time"],
                "side": sides.get(event.get("side"), 0)}
        for name, value in (("price", nano), ("quantity", int), ("delay", int)):
            same[name] = value(event[name]) if name in event else None
        if line != event or any(has.get(name) != value for name, value in same.items()):
            sys.exit(f"{has}\n{event}")
    for has, state in zip(printed[len(events):], states):
        same = {name: state[name] for name in ("row", "instrument", "trading", "book", "sequence")}
        same["bids_known"] = 255 if state["bids_known"] == "all" else state["bids_known"]
        for name, value in (("bid", nano), ("ask_quantity", int), ("last", nano), ("volume", int)):
            same[name] = value(state[name]) if name in state else None
        if any(has.get(name) != value for name, value in same.items()) or has["name"] != state.get("name", ""):
            sys.exit(f"{has}\n{state}")
    print(f"{len(events)} market events, {len(states)} instruments")


def main(test, stopbit, library, source, sample, scratch):
    os.makedirs(scratch, exist_ok=True)
    check_symbols(library, source)
    check_lists(source)
    check_market(test, stopbit, sample, scratch)
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
