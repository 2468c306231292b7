"""Types of the columns of a wide CSV table of `stopbit replay --format csv --wide`, from its values."""
import csv
import re

INTEGER = re.compile(r"-?[0-9]{1,19}$")
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?$")


def column_types(path):
    """[(name, "integer" | "number" | "text")]: the narrowest type that all values of a column have. One pass."""
    with open(path, newline="") as file:
        rows = csv.reader(file)
        names = next(rows)
        types = [None] * len(names)
        for row in rows:
            for i, value in enumerate(row):
                if value == "" or types[i] == "text":
                    continue
                if INTEGER.match(value) and -(1 << 63) <= int(value) < 1 << 63:
                    types[i] = types[i] or "integer"
                else:
                    types[i] = "number" if NUMBER.match(value) else "text"
    return [(name, kind or "text") for name, kind in zip(names, types)]
