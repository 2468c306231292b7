#!/usr/bin/env python3
"""The converters of wide tables: types are those of the values, the q script names every column, and a Parquet file has
the rows of the table, exactly, if pyarrow is installed.

    convert_test.py STOPBIT EXAMPLES_FOLDER SAMPLE_FOLDER SCRATCH
"""
import csv
import re
import subprocess
import sys
from pathlib import Path

stopbit, examples, sample, scratch = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
scratch.mkdir(parents=True, exist_ok=True)
table = scratch / "trades.csv"
with table.open("w") as out:
    subprocess.run([stopbit, "replay", sample / "capture.pcap.gz", "--templates", sample / "templates.xml", "--framing",
                    "cme", "--format", "csv", "--wide", "--template", "Trade", "--header", "--time", "ns", "-q"],
                   stdout=out, check=True)
rows = list(csv.DictReader(table.open()))
assert len(rows) > 100, len(rows)

sys.path.insert(0, str(examples))
sys.dont_write_bytecode = True
from csv_types import column_types  # noqa: E402

types = dict(column_types(table))
assert types["@time"] == "integer" and types["LastPrice"] == "number" and types["Symbol"] == "text", types
odd = scratch / "odd.csv"
odd.write_text("a,b,c,d,e\n1,1.5,x,,99999999999999999999\n,2,1,,1\n-3,1e-9,2,,2\n")
assert [kind for _, kind in column_types(odd)] == ["integer", "number", "text", "text", "number"], column_types(odd)

script = subprocess.run([sys.executable, examples / "to_kdb.py", table, "trades", "/db"], check=True,
                        capture_output=True, text=True).stdout
names, letters = re.search(r'trades:(`\S+) xcol \("([JFS]+)";enlist ","\)', script).groups()
names = names.split("`")[1:]
assert len(names) == len(letters) == len(types) == len(set(names)), script
assert dict(zip(names, letters))["LastPrice"] == "F" and "update time:" in script, script
assert subprocess.run([sys.executable, examples / "to_kdb.py", table, "a b", "/db"], capture_output=True).returncode != 0

target = scratch / "trades.parquet"
made = subprocess.run([sys.executable, examples / "to_parquet.py", table, target], capture_output=True, text=True)
if "needs pyarrow" in made.stderr:
    print("pyarrow is not installed: no Parquet file was made")
    sys.exit(0)
assert made.returncode == 0, made.stderr
import pyarrow.parquet  # noqa: E402

read = pyarrow.parquet.read_table(target)
assert read.num_rows == len(rows) and read.column_names == list(types), read.schema
prices = read.column("LastPrice").to_pylist()
assert all(str(price.normalize()) == str(type(price)(row["LastPrice"]).normalize()) for price, row in zip(prices, rows))
