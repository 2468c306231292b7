"""Opens what `stopbit replay --columns DIR` has written. Needs numpy only."""

from __future__ import annotations

import decimal
import json
import os
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

INDEX = "index.json"
HEAD_BYTES = 128  # of each file


def open_folder(folder: str) -> dict[str, Table]:
    """{table: {column: array}}, as stopbit.columns() describes it. The arrays are memory-mapped and cannot be written.

    Warns if the columns are not those of whole captures: one was cut, or --limit ended the replay.
    """
    try:
        with open(os.path.join(folder, INDEX), encoding="utf-8") as file:
            index = json.load(file)
    except FileNotFoundError:
        raise FileNotFoundError(f"{folder}: no {INDEX}: not a folder of columns, or an incomplete one") from None
    if not isinstance(index, dict) or index.get("format") != "stopbit columns" or index.get("version") != 1:
        raise ValueError(f"{folder}: {INDEX} is not one of columns, version 1")
    if index.get("whole") is not True:
        warnings.warn(f"{folder}: not whole: a capture was cut, or --limit ended the replay", RuntimeWarning, stacklevel=3)
    if "market" in index:
        return _market(folder, index["market"])
    images = index["images"]
    result = {}
    for image in images:
        prefix = image["image"] + ":" if len(images) > 1 else ""
        for table in image["tables"]:
            result[prefix + table["name"]] = _table(folder, image, table)
    result["@events"] = _events(folder, index["events"])
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
        raise ValueError(f"{path}: not a regular file")
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


class Table(Mapping):
    """The columns of a table by name. Lists those that stopbit.columns() makes of a capture.

    A column that a file does not have as it is, such as a text, is made when it is first used. The arrays that it is made
    of are found by name, too, but not listed: they may have other lengths.
    """

    def __init__(self) -> None:
        self._listed: dict[str, numpy.ndarray | Callable[[], numpy.ndarray]] = {}
        self._parts: dict[str, numpy.ndarray] = {}

    def __getitem__(self, name: str) -> numpy.ndarray:
        found = self._listed.get(name)
        if found is None:
            return self._parts[name]
        if callable(found):
            found = found()
            found.flags.writeable = False
            self._listed[name] = found
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)

    def __contains__(self, name: object) -> bool:
        return name in self._listed or name in self._parts


def _table(folder: str, image: dict[str, Any], table: dict[str, Any]) -> Table:
    import numpy

    rows = table["rows"]
    result = Table()
    listed, parts = result._listed, result._parts
    for name, file in table["head"].items():
        listed[name] = _array(folder, file, rows)
    for column in table["columns"]:
        name, kind = column["name"], column["kind"]
        present = _array(folder, column["present"], rows) if "present" in column else None
        if kind == "number" and column["type"] == "enum":
            numbers = _array(folder, column["file"], rows)
            listed[name] = partial(_named, numbers, column["elements"], present)
            listed[name + ":index"] = numbers
        elif kind in ("number", "count"):
            listed[name] = _array(folder, column["file"], rows)
            if column.get("type") == "set":
                for bit, element in enumerate(column["elements"]):
                    listed[f"{name}:{element}"] = partial(_has_bit, listed[name], bit)
        elif kind == "reference":
            listed[name] = _array(folder, column["file"], rows)
            numbers = _array(folder, column["template"], rows)
            listed[name + ":template"] = partial(_named, numbers, image["templates"], present)
            parts[name + ":template:index"] = numbers
        elif kind == "decimal":
            mantissas = _array(folder, column["mantissa"], rows)
            exponents = _array(folder, column["exponent"], rows)
            listed[name] = partial(_floats, mantissas, exponents, present)
            listed[name + ":mantissa"] = mantissas
            listed[name + ":exponent"] = exponents
        elif kind == "text":
            texts = [_array(folder, column["bytes"], None), _array(folder, column["offsets"], rows),
                     _array(folder, column["lengths"], rows)]
            listed[name] = partial(_texts, *texts, column["type"] == "byteVector")
            for part, array in zip(("bytes", "offsets", "lengths"), texts):
                parts[f"{name}:{part}"] = array
        elif kind == "constant":
            listed[name] = numpy.broadcast_to(_constant(column), (rows,))
        if present is not None:
            listed[name + ":present"] = present
        if "elements" in column and kind != "constant":
            parts[name + ":names"] = _names(column["elements"])
        if kind == "reference":
            parts[name + ":names"] = _names(image["templates"])
    return result


def _events(folder: str, events: dict[str, Any]) -> Table:
    result = Table()
    arrays = {name: _array(folder, file, events["rows"]) for name, file in events["columns"].items()}
    kinds = [events["kinds"].get(str(i), "") for i in range(len(events["kinds"]) + 1)]
    for name, array in arrays.items():
        result._listed[name] = array
    result._listed["kind"] = partial(_named, arrays["kind"], kinds, None)
    result._parts["kind:index"] = arrays["kind"]
    result._parts["kind:names"] = _names(kinds)
    return result


def _market(folder: str, market: dict[str, Any]) -> dict[str, Table]:
    """Market events, and their instruments: a row for each number in the column instrument, row 0 for all of the channel."""
    import numpy

    events, instruments = Table(), Table()
    for name, file in market["columns"].items():
        events._listed[name] = _array(folder, file, market["rows"])
    rows = [{}, *market["instruments"]]
    for row, instrument in enumerate(rows[1:], 1):
        if instrument["row"] != row:
            raise ValueError(f"{folder}: {INDEX} has instrument {instrument['row']} as number {row}")
    columns = {"key": "instrument", "name": "name", "product": "product", "tick": "tick"}
    for name, key in columns.items():
        instruments._listed[name] = _names([row.get(key) for row in rows])
    instruments._listed["quantity_decimals"] = numpy.full(len(rows), market["quantity_decimals"], dtype="u1")
    for array in instruments._listed.values():
        array.flags.writeable = False
    return {"events": events, "instruments": instruments}


def _named(numbers: numpy.ndarray, names: list[str], present: numpy.ndarray | None) -> numpy.ndarray:
    """None for a row without a value."""
    import numpy

    all_names = _names([*names, None])
    indices = numpy.minimum(numbers.astype("i8"), len(names))
    if present is not None:
        indices = numpy.where(present, indices, len(names))
    return all_names[indices]


def _has_bit(bits: numpy.ndarray, bit: int) -> numpy.ndarray:
    import numpy

    return bits & numpy.uint64(1 << bit) != 0


def _floats(mantissas: numpy.ndarray, exponents: numpy.ndarray, present: numpy.ndarray | None) -> numpy.ndarray:
    """The nearest doubles; NaN for a row without a value."""
    import numpy

    wide = exponents.astype("i8")
    # Both numbers are doubles without rounding, so that the one operation rounds to the nearest.
    is_exact = (numpy.abs(wide) <= 22) & (mantissas >= -(2**53)) & (mantissas <= 2**53)
    power = 10.0 ** numpy.minimum(numpy.abs(wide), 22)
    values = numpy.where(wide < 0, mantissas / power, mantissas * power)
    for row in numpy.flatnonzero(~is_exact):
        values[row] = float(f"{int(mantissas[row])}e{int(wide[row])}")
    if present is not None:
        values[~present] = numpy.nan
    return values


def _texts(content: numpy.ndarray, offsets: numpy.ndarray, lengths: numpy.ndarray, is_vector: bool) -> numpy.ndarray:
    """Of fixed width if none is longer than 64 or ends with a zero byte, which such an array would lose."""
    import numpy

    everything = content.tobytes()
    texts = [everything[first:first + size] for first, size in zip(offsets.tolist(), lengths.tolist())]
    width = max(map(len, texts), default=0)
    if not is_vector and width <= 64 and not any(text.endswith(b"\0") for text in texts):
        return numpy.array(texts, dtype=f"S{max(width, 1)}")
    array = numpy.empty(len(texts), dtype=object)
    array[:] = texts
    return array


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
        return numpy.array(value, dtype={"timestamp": "int64", "set": "uint64"}.get(kind, kind.lower()))
    return array
