#!/usr/bin/env python3
"""A wide table as a Parquet file, in batches: memory stays small however long the day was. Needs pyarrow.

    stopbit replay day.pcap --feed feed.toml --format csv --wide --template Trade --header --time ns -q > trades.csv
    to_parquet.py trades.csv trades.parquet
"""
import sys

from csv_types import column_types

try:
    import pyarrow
    import pyarrow.csv
    import pyarrow.parquet
except ImportError:
    sys.exit("to_parquet.py needs pyarrow: pip install pyarrow, or conda's package")

# Exact, not binary fractions: prices keep their decimals.
TYPES = {"integer": pyarrow.int64(), "number": pyarrow.decimal128(38, 9), "text": pyarrow.string()}


def main(source, target):
    types = {name: TYPES[kind] for name, kind in column_types(source)}
    options = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    with pyarrow.csv.open_csv(source, convert_options=options) as batches:
        with pyarrow.parquet.ParquetWriter(target, batches.schema, compression="zstd") as out:
            for batch in batches:
                out.write_batch(batch)


if len(sys.argv) != 3:
    sys.exit(__doc__)
main(*sys.argv[1:])
