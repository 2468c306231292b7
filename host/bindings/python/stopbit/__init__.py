"""Stopbit decodes market data in FAST (FIX Adapted for STreaming).

    import stopbit

    for message in stopbit.replay("day.pcap", templates="templates.xml", framing="cme"):
        print(message["template"], message["fields"])

    tables = stopbit.columns("day.pcap", templates="templates.xml", framing="cme")
    prices = tables["MDIncRefresh_83/MDEntries"]["MDEntryPx"]        # a numpy array
    tables = stopbit.columns("day")                                  # what `stopbit replay --columns day` has written

    for message in stopbit.ring("md"):                               # what another process writes
        ...
    market = stopbit.ring("md-events")                               # market events, the same for all feeds
    for state in market.states():                                    # best prices now
        print(state["instrument"], state.get("bid"), state.get("ask"))
    market = stopbit.open("day.pcap", map="cme-mdp2", templates="templates.xml", framing="cme")
    events = market.events()                                         # a structured numpy array
    book = market.book("27069", at="2012-04-04T10:24:19")            # and market.instruments

A record is a dict with the content of a line of `stopbit replay --format jsonl`:

    {"template": "Trade", "id": 22, "fields": {"MsgSeqNum": 7, "Price": Decimal("10.50"), "Legs": [{...}, ...]}}
    {"error": "D9", "packet": 12, "offset": 41, "detail": "..."}

Absent optional fields are left out; groups are dicts, sequences lists of dicts, vectors lists of numbers. Integers and
time stamps are int, decimals decimal.Decimal with their exponent (or float, on request), strings str, byte vectors
bytes, enumerations the name of their element, sets lists of names, booleans bool. A byte above 0x7F of an ASCII string
becomes U+0080 to U+00FF, one that is not UTF-8 in a Unicode string U+FFFD.

Records may contain only some of the fields (`fields=`, or firmware of `stopbit compile --fields`). The other fields are
left out of dicts, as if they were absent, and have no column; so are groups and sequences that contain only such fields.
A sequence of which only the length is stored is a list of empty dicts.

Exceptions: ValueError for an invalid argument, OSError (FileNotFoundError, ...) for a file that cannot be read,
InputError for templates, firmware or captures that are rejected, RingError for rings; the last two are subclasses of
Error. A faulty datagram raises no exception: it becomes a record with the key "error".

Every function releases the GIL while it decodes or waits, and ends with KeyboardInterrupt on Ctrl-C. An object allows one
call at a time and raises ValueError if it is in use; a Program can be used by any number of threads. Replay.close() may be
called at any time, also from other threads and signal handlers: it ends the iteration in progress.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, Union

from . import _core
from ._core import Error, InputError, Program, Replay, Ring, RingError
from ._folder import open_folder
from ._market import NO_PRICE, NO_QUANTITY, ORDERS_UNKNOWN, Market, map_path

if TYPE_CHECKING:
    import numpy

#: Numbers in the columns of Ring.batch_columns: MARKET["kind"]["trade"] is that of the kind of event; "side"; "flag", a bit;
#: "statistic" and "cause" are in the column level of such events.
MARKET = _core.market_numbers()

__all__ = [
    "MARKET", "NO_PRICE", "NO_QUANTITY", "ORDERS_UNKNOWN", "Error", "InputError", "Market", "Program", "Replay", "Ring",
    "RingError", "columns", "open", "replay", "ring",
]

Path = Union[str, "os.PathLike[str]"]


def replay(
    captures: Path | Iterable[Path],
    *,
    templates: Path | Iterable[Path] | None = None,
    fields: str | Iterable[str] | None = None,
    firmware: Path | Program | None = None,
    feed: Path | None = None,
    image: str | None = None,
    merge: bool = False,
    framing: str | None = None,
    reset: Literal["packet", "template", "never"] | None = None,
    engine: Literal["native", "quick", "interp"] | None = None,
    strict: bool = False,
    pace: str = "max",
    groups: Iterable[str] = (),
    limit: int = 0,
    decimals: Literal["exact", "float"] = "exact",
    header: bool = False,
) -> Replay:
    """Iterates the records of captures (pcap or pcapng, plain or gzip), decoded on a thread of its own.

    The feed is described by its `templates`, XML files, or by `firmware`: a .sbf file or a Program. `fields`: keep
    only these in records; names as for `stopbit compile --fields`, "Price" or "Trade/Price". `framing` is the preamble of
    the datagrams, which must be given: a name listed by `stopbit replay --help`, such as "cme", or "custom:..."; `reset` replaces its rule for
    resets of the dictionary. `engine`: the default is native code if it can run, else the quick interpreter. `strict` also
    reports FAST's reportable errors. `pace`: "max", or a multiple of the capture's own speed, "1x". `groups`: only these
    multicast groups, "A.B.C.D:PORT". `limit`: stop after this number of datagrams; 0 = no limit.
    `decimals`: "exact" for decimal.Decimal, "float" is faster. With `header` each record has a dict "header":
    arrival_ns, sequence, channel, message_index, sender_epoch, flags.

    `feed`: a feed.toml in place of templates, firmware, framing, reset and groups: lines A and B of a channel are merged,
    and gaps are records, {"event": "gap", ...}, as in live reception. `image` names one of its images, if it has several.
    `merge`: read all captures by packet time, for instance those of lines A and B; else one after the other.

    A truncated capture raises InputError after the last good record. After the last record, `summary` of the returned
    iterator has counts and problems. To end early, use the iterator in a `with`, or close() it.
    """
    program, wish = _work(templates, fields, firmware, feed, image, merge, framing, reset, engine, strict, pace, groups, limit)
    return Replay(program, _paths(captures), wish, decimals=decimals, header=header)


def ring(
    name: str,
    *,
    start: Literal["oldest", "newest"] = "oldest",
    lossless: bool | None = None,
    timeout: float = 10.0,
    decimals: Literal["exact", "float"] = "exact",
    header: bool = False,
    user: str | None = None,
) -> Ring:
    """Iterates the records that another process writes to a ring in shared memory, until it ends.

    `name`: as given to `stopbit replay --ring NAME`; a name with a / is the path of a file. The ring contains the schema
    of its records. Begins with the oldest record in the ring, or with the next one. A reader that falls behind loses
    records and gets a record {"event": "lost", "records": 17, ...}. RingError if the writer dies.

    The writer of a lossless ring (`stopbit replay --lossless`) waits for this reader: nothing is lost from its oldest
    record on. RingError if the writer does not admit the reader within `timeout` seconds. `lossless`: None registers with
    lossless rings, False never registers, True requires a lossless ring.

    `user`: also accepts rings of this user (name or number) and prefers them; default $STOPBIT_USER. Rings of root, of the
    user stopbit and your own are always accepted; RingError for a ring of another user.

    Without waiting: poll() returns the next record or None, batch() a list of the available records.

    A ring of market events, which `stopbit run` writes for a feed with a map, gives dicts with the content of a line of
    `stopbit tail`: {"event": "new", "instrument": "CEDAR", "side": "bid", "level": 1, "price": Decimal("12.5"), ...}. Its
    instruments() and states() read the tables beside it at any time, instrument("CEDAR") and state("CEDAR") one of them.
    batch_columns() gives the available events as numpy arrays: arrival_ns, delay_ns, channel, sequence, instrument (row of
    instruments(), 0 = all), kind, side, level, price (units of 1e-9), quantity (in the map's unit), id, flags, is_implied.
    MARKET has the numbers. No value: the lowest price, a quantity or delay of -2**39.
    """
    if not timeout >= 0:
        raise ValueError("timeout: at least 0 seconds")
    return Ring(os.fspath(name), start=start, lossless=lossless, timeout=timeout, decimals=decimals, header=header,
                user=user)


def columns(
    captures: Path | Iterable[Path],
    *,
    templates: Path | Iterable[Path] | None = None,
    fields: str | Iterable[str] | None = None,
    firmware: Path | Program | None = None,
    feed: Path | None = None,
    image: str | None = None,
    merge: bool = False,
    framing: str | None = None,
    reset: Literal["packet", "template", "never"] | None = None,
    engine: Literal["native", "quick", "interp"] | None = None,
    strict: bool = False,
    groups: Iterable[str] = (),
    limit: int = 0,
) -> Mapping[str, Mapping[str, numpy.ndarray]]:
    """Decodes captures into numpy arrays: {table: {column: array}}. Arguments as for replay().

    There is a table for each template that occurs, by its name, with a row per message; one for each of its sequences,
    "Book/Entries", inner ones "Book/Entries/Orders", with a row per element; and "@events". Check it: it has the errors.

    All arrays of a table have the same length. Those that begin with @ describe the row:
      @record, @arrival_ns, @sequence, @channel   of templates: number of the record among all, ...
      @line, @flags, @message                     of templates: 0 file, 1 line A, 2 line B, 3 replay, 4 snapshot; bits as in
                                                  decoder/record/layout.md; index in the datagram
      @reference                                  of templates, if any refers to another dynamically: True if the row
                                                  is such a reference, not a message
      @parent                                     of sequences: row of the table that the sequence is in

    The others are fields, "Field", in groups "Group.Field":
      integers, booleans, time stamps   in their own width
      decimals        float64, the nearest, NaN if absent; exactly: "Field:mantissa" (int64), "Field:exponent" (int8)
      strings         bytes: fixed width (S) if none is longer than 64 or ends with a zero byte, else objects
      byte vectors    objects: bytes
      enumerations    objects: str or None; "Field:index"
      sets            bits in uint64, and "Field:ELEMENT" (bool) for each element
      sequences       number of elements, in the table that they are in
      vectors         a table with the column "value"
      dynamic references   "templateRef": row in the table of its template, "templateRef:template" its name
      constants       an array that holds its one value once; it cannot be written

    A folder that `stopbit replay --columns` has written is opened instead of decoded, and takes no other arguments. Its
    arrays are mapped into memory and cannot be written. Keys and values are those of a capture; a table is a Mapping that
    makes decimals, strings, byte vectors and names when they are first used. What it makes them of is found by name, too:
    "Field:offsets", "Field:lengths" and "Field:bytes"; "Field:names" of enumerations, sets and references. Tables are
    "IMAGE:TABLE" if the feed has several images. "@events" has "code" and "template" as numbers, "@image", and no "field".
    A RuntimeWarning says if a capture was cut.

    A folder of `stopbit replay --events --columns` has two tables. "events" has the columns of Ring.batch_columns(), with
    the numbers of MARKET. "instruments" has a row for each number in its column instrument, row 0 for all: "key", "name",
    "product" and "tick" (objects: str, or None), and "quantity_decimals". So the keys of all events are
    tables["instruments"]["key"][tables["events"]["instrument"]].

    A field that can be absent has a mask "Field:present" (bool); where it is False, the value is 0, empty or None. An optional
    group is a mask, "Group:present". A name that is taken gets a number, "Field_2".
    """
    if isinstance(captures, (str, os.PathLike)) and os.path.isdir(captures):
        given = (templates, fields, firmware, feed, image, merge, framing, reset, engine, strict, tuple(groups), limit)
        if given != (None, None, None, None, None, False, None, None, None, False, (), 0):
            raise ValueError(f"{os.fspath(captures)} is a folder of columns, which is opened as it is: give no other argument")
        return open_folder(os.fspath(captures))
    program, wish = _work(templates, fields, firmware, feed, image, merge, framing, reset, engine, strict, "max", groups, limit)
    return _core.columns(program, _paths(captures), wish)


def open(
    captures: Path | Iterable[Path],
    *,
    map: Path,
    depth: int | None = None,
    instruments: int = 16384,
    templates: Path | Iterable[Path] | None = None,
    firmware: Path | Program | None = None,
    feed: Path | None = None,
    image: str | None = None,
    merge: bool = False,
    framing: str | None = None,
    reset: Literal["packet", "template", "never"] | None = None,
    engine: Literal["native", "quick", "interp"] | None = None,
    limit: int = 0,
) -> Market:
    """Opens captures as market events and books: Market.events(), .book() and .instruments.

    `map` says what the feed's messages mean: the name of an installed map, or a file. `depth`: levels a side of books whose
    instruments have no definition that says it. `instruments`: room for this number of them. The other arguments are those
    of replay(). As in live reception each number is taken once and in order; without a feed each multicast group is a
    channel, and the captures are read once more to find the groups.
    """
    program, wish = _work(templates, None, firmware, feed, image, merge, framing, reset, engine, False, "max", (), limit)
    core = _core.CapturedMarket(program, _paths(captures), wish, map=map_path(map), depth=depth, instruments=instruments)
    return Market(core)


def _paths(paths: Path | Iterable[Path]) -> list[str]:
    one = isinstance(paths, (str, os.PathLike))
    return [os.fspath(path) for path in ([paths] if one else paths)]


def _program(
    templates: Path | Iterable[Path] | None, fields: str | Iterable[str] | None, firmware: Path | Program | None
) -> Program:
    if (templates is None) == (firmware is None):
        raise ValueError("give either templates or firmware")
    if fields is not None and templates is None:
        raise ValueError("fields need templates; the fields of firmware are fixed")
    if isinstance(firmware, Program):
        return firmware
    if templates is None:
        return Program.load(os.fspath(firmware))
    return Program.compile(_paths(templates), fields=_names(fields))


def _names(fields: str | Iterable[str] | None) -> str:
    if fields is None:
        return ""
    names = fields if isinstance(fields, str) else ",".join(fields)
    if not names.strip():
        raise ValueError("fields: at least one name")
    return names


def _work(
    templates, fields, firmware, feed, image, merge, framing, reset, engine, strict, pace, groups, limit
) -> tuple[Program, _core.Wish]:
    """The program that decodes, and the options of the replay."""
    if isinstance(groups, str):
        groups = [groups]
    opened = None
    if feed is None:
        if image is not None:
            raise ValueError("image is for feed")
        if framing is None:
            raise ValueError("give the framing, the preamble of the datagrams; 'none' if they have none; or a feed")
        program = _program(templates, fields, firmware)
    else:
        groups = list(groups)
        if (templates, firmware, framing, reset) != (None, None, None, None) or groups:
            raise ValueError("feed sets templates, firmware, framing, reset and groups")
        opened = _core.Feed(os.fspath(feed), image=image or "", fields=_names(fields))
        program = opened.program
    wish = _core.Wish(framing=framing or "", reset=reset or "", engine=engine or "", strict=strict, pace=pace,
                      groups=list(groups), limit=limit, merge=merge, feed=opened)
    return program, wish
