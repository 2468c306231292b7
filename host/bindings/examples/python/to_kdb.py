#!/usr/bin/env python3
"""A q script that loads a wide table into kdb+ with the type of each column, as a splayed table.

    stopbit replay day.pcap --feed feed.toml --format csv --wide --template Trade --header --time ns -q > trades.csv
    to_kdb.py trades.csv trades /db > trades.q && q trades.q
"""
import re
import sys

from csv_types import column_types

# J: long, F: float, S: symbol (enumerated when it is written).
LETTERS = {"integer": "J", "number": "F", "text": "S"}


def q_name(name, taken):
    """Letters, digits and _ of a name, which q takes; no two are the same."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "column"
    plain = plain if plain[0].isalpha() else "c" + plain
    unique, n = plain, 2
    while unique in taken:
        unique, n = f"{plain}_{n}", n + 1
    taken.add(unique)
    return unique


def script(path, table, folder):
    types = column_types(path)
    taken = set()
    names = "".join("`" + q_name(name, taken) for name, _ in types)
    letters = "".join(LETTERS[kind] for _, kind in types)
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (path, folder)]
    lines = [f"/ {table}: {len(types)} columns of {path}",
             f'{table}:{names} xcol ("{letters}";enlist ",") 0: hsym `$"{quoted[0]}"',
             "/ --time ns counts from 1970, a timestamp of q from 2000"]
    if "time" in taken:
        lines.append(f'if[7h=type {table}`time; {table}:update time:"p"$time-946684800000000000 from {table}]')
    lines += [f'(hsym `$"{quoted[1]}/{table}/") set .Q.en[hsym `$"{quoted[1]}"] {table}', "exit 0", ""]
    return "\n".join(lines)


if len(sys.argv) != 4 or not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", sys.argv[2]):
    sys.exit(__doc__)
sys.stdout.write(script(*sys.argv[1:]))
