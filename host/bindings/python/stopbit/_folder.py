"""Opens what `stopbit replay --columns DIR` has written. Needs numpy only."""

from __future__ import annotations

import decimal
import json
import os
import stat
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

INDEX = "index.json"
HEAD_BYTES = 128  # of each file


def open_folder(folder: str) -> dict[str, dict[str, numpy.ndarray]]:
    """{table: {column: array}}, as stopbit.columns() describes it. The arrays are memory-mapped and cannot be written.

    Warns if the columns are not those of whole captures: one was cut, or --limit ended the replay.
    """
    try:
        with open(os.path.join(folder, INDEX), encoding="utf-8") as file:
            index = json.load(file)
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder}: no {INDEX}: this is no folder of columns, or it is incomplete") from None
    if not isinstance(index, dict) or index.get("format") != "stopbit columns" or index.get("version") != 1:
        raise ValueError(f"{folder}: {INDEX} is not one of columns, version 1")
    if index.get("whole") is not True:
        warnings.warn(f"{folder}: not whole: a capture was cut, or --limit ended the replay", RuntimeWarning, stacklevel=3)
    images = index["images"]
    result = {}
    for image in images:
        prefix = image["image"] + ":" if len(images) > 1 else ""
        for table in image["tables"]:
            result[prefix + table["name"]] = _table(folder, image, table)
    events = index["events"]
    result["@events"] = {name: _array(folder, file, events["rows"]) for name, file in events["columns"].items()}
    result["@events"]["kind:names"] = _names([events["kinds"].get(str(i), "") for i in range(len(events["kinds"]) + 1)])
    return result


def _array(folder: str, name: str, rows: int | None) -> numpy.ndarray:
    if os.path.basename(name) != name or not name.endswith(".npy"):
        raise ValueError(f"{folder}: {INDEX} names a file outside the folder")
    if rows is not None and (type(rows) is not int or rows < 0):
        raise ValueError(f"{folder}: {INDEX} has {rows!r} as a number of rows")
    import numpy  # only those who open a folder need it

    path = os.path.join(folder, name)
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{path}: no file")
    is_empty = found.st_size <= HEAD_BYTES  # numpy cannot map an array without items
    array = numpy.load(path, mmap_mode=None if is_empty else "r", allow_pickle=False)
    if array.ndim != 1 or (rows is not None and len(array) != rows):
        raise ValueError(f"{path}: the shape is {array.shape}, not that of {rows} rows as {INDEX} says")
    array.flags.writeable = False
    return array


def _names(names: list[str]) -> numpy.ndarray:
    import numpy

    array = numpy.empty(len(names), dtype=object)
    array[:] = names
    return array


def _table(folder: str, image: dict[str, Any], table: dict[str, Any]) -> dict[str, numpy.ndarray]:
    import numpy

    rows = table["rows"]
    arrays = {name: _array(folder, file, rows) for name, file in table["head"].items()}
    for column in table["columns"]:
        name, kind = column["name"], column["kind"]
        if kind == "number" and column["type"] == "enum":
            arrays[name + ":index"] = _array(folder, column["file"], rows)
        elif kind in ("number", "count", "reference"):
            arrays[name] = _array(folder, column["file"], rows)
        elif kind == "constant":
            arrays[name] = numpy.broadcast_to(_constant(column), (rows,))
        for part in ("mantissa", "exponent", "offsets", "lengths", "template", "present"):
            if part in column:
                arrays[f"{name}:{part}"] = _array(folder, column[part], rows)
        if "bytes" in column:
            arrays[name + ":bytes"] = _array(folder, column["bytes"], None)
        if "elements" in column and kind != "constant":
            arrays[name + ":names"] = _names(column["elements"])
        if kind == "reference":
            arrays[name + ":names"] = _names(image["templates"])
    return arrays


def _constant(column: dict[str, Any]) -> numpy.ndarray:
    import numpy

    value, kind = column["constant"], column["type"]
    if kind in ("string", "unicode"):
        return numpy.array(bytes.fromhex(value))
    array = numpy.empty((), dtype=object)
    if kind == "byteVector":
        array[()] = bytes.fromhex(value)
    elif kind == "decimal":
        return numpy.array(float(decimal.Decimal(value)))
    elif kind == "enum":
        array[()] = column["elements"][value]
    elif kind == "boolean":
        return numpy.array(bool(value))
    else:
        return numpy.array(value)
    return array
