"""What stopbit.open returns: a capture as market events and books."""

from __future__ import annotations

import difflib
import os
import pathlib
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    import numpy

    from . import _core

#: The lowest value of a price or quantity: there is none.
NO_PRICE = -(2**63)
NO_QUANTITY = -(2**39)
ORDERS_UNKNOWN = 2**32 - 1

At = Union[int, "tuple[int, int]", "numpy.datetime64", str, None]


def map_path(name: str | os.PathLike[str]) -> str:
    """The file of a map: an installed one by its name, in $STOPBIT_MAPS or beside this module; else a path."""
    path = os.fspath(name)
    if "/" in path or path.endswith(".toml"):
        return path
    own = os.environ.get("STOPBIT_MAPS")
    folders = [pathlib.Path(own)] if own else []
    folders += [folder / "share/stopbit/maps" for folder in pathlib.Path(__file__).resolve().parents]
    found = {file.stem: file for folder in reversed(folders) if folder.is_dir() for file in folder.glob("*.toml")}
    if path in found:
        return str(found[path])
    if not found:
        raise ValueError(f"there is no map '{path}'; none are installed: give the path of a file")
    near = difflib.get_close_matches(path, found, 1)
    raise ValueError(f"there is no map '{path}'" + (f"; did you mean '{near[0]}'?" if near else f"; there are {sorted(found)}"))


class Market:
    """Captures as market events and books, made by stopbit.open. Each call decodes the captures from their beginning.

    Prices are whole numbers of 10**price_exponent, quantities of 10**quantity_exponent: exact, never floats. price() and
    quantity() make a Decimal of one. No value: NO_PRICE, NO_QUANTITY.
    """

    price_exponent = -9

    def __init__(self, core: _core.CapturedMarket) -> None:
        self._core = core
        self._instruments: list[dict[str, Any]] | None = None
        self._by_text: dict[str, dict[str, Any]] = {}

    @property
    def quantity_exponent(self) -> int:
        return -self._core.quantity_decimals

    def price(self, value: int) -> Decimal | None:
        """A price of an array as a Decimal, None if there is none."""
        return _decimal(value, self.price_exponent, NO_PRICE)

    def quantity(self, value: int) -> Decimal | None:
        return _decimal(value, self.quantity_exponent, NO_QUANTITY)

    def events(self) -> numpy.ndarray:
        """All market events as a structured array: time (datetime64[ns], the packet's arrival) and the other columns of
        Ring.batch_columns(), with the numbers of MARKET. `instrument` is the row of `instruments`, 0 = all."""
        columns = self._core.events()
        columns = {"time": columns.pop("arrival_ns").astype("datetime64[ns]"), **columns}
        return _structured(columns)

    @property
    def instruments(self) -> list[dict[str, Any]]:
        """The instruments as they are at the end of the captures: dicts with the keys of `stopbit instruments`."""
        if self._instruments is None:
            self._instruments = self._core.instruments()
        return self._instruments

    def instrument(self, key_or_name: str) -> dict[str, Any] | None:
        """One of `instruments`, by its key or, else, its name; None if there is no such instrument."""
        if not self._by_text:
            for key in ("name", "instrument"):  # a key comes before names
                self._by_text.update((row[key], row) for row in reversed(self.instruments) if key in row)
        return self._by_text.get(key_or_name)

    def book(self, instrument: str, *, at: At = None, levels: int = 10, decimals: bool = False) -> dict[str, Any]:
        """The book of an instrument, by its key or name: {"instrument", "is_known", "book", "bids", "asks"}.

        `at`: after the packet with this number, or (channel, number); or at this time, a datetime64 or its text, UTC. It
        must be within the captures. None: at their end. `is_known` is False if a row is missing. `book` is "latest",
        "suspect" (right before a loss that may not concern it) or "stale".

        bids and asks are structured arrays of at most `levels` rows, best first: price, quantity, orders (ORDERS_UNKNOWN:
        not known), is_known (False: there is such a row, but its content is not known). With `decimals` they are lists of
        (price, quantity, orders) with Decimals, and None for a row that is not known.
        """
        import numpy

        channel = sequence = time_ns = None
        if isinstance(at, tuple):
            channel, sequence = at
        elif isinstance(at, (str, numpy.datetime64)):
            time_ns = int(numpy.datetime64(at, "ns").astype("int64"))
        elif at is not None:
            sequence = int(at)
        if not 1 <= levels <= 1000:
            raise ValueError("levels: from 1 to 1000")
        if any(number is not None and number < 0 for number in (channel, sequence, time_ns)):
            raise ValueError("at: not below 0")
        book = self._core.book(instrument, channel=channel, sequence=sequence, time_ns=time_ns, levels=levels)
        for side in ("bids", "asks"):
            rows = _structured(book[side])
            book[side] = self._exact(rows) if decimals else rows
        return book

    def _exact(self, rows: numpy.ndarray) -> list[tuple[Decimal | None, Decimal | None, int | None] | None]:
        return [
            (self.price(price), self.quantity(quantity), None if orders == ORDERS_UNKNOWN else orders) if is_known else None
            for price, quantity, orders, is_known in rows.tolist()
        ]


def _decimal(value: int, exponent: int, none: int) -> Decimal | None:
    """Without zeros at the end, as the dicts of a ring have it."""
    value = int(value)
    if value == none:
        return None
    while exponent < 0 and value % 10 == 0:
        value, exponent = value // 10, exponent + 1
    return Decimal(value).scaleb(exponent)


def _structured(columns: dict[str, numpy.ndarray]) -> numpy.ndarray:
    import numpy

    rows = numpy.empty(len(next(iter(columns.values()))), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        rows[name] = column
    return rows
