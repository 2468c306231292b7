#!/usr/bin/env python3
"""Checks what a late reader of market events printed: the books, then each event after them.

    multicast_state.py EVENTS LATE      lines of JSON: all events of the ring, and those of the late reader
"""

import json
import sys

ENTRIES = {"new", "change", "delete", "overlay", "delete_top", "delete_bottom"}
STATE = ENTRIES | {"snapshot_begin", "snapshot_end", "latest", "stale", "suspect", "state"}


def books_of(lines):
    """The rows of each instrument's sides, best first, as far as entries that name a level say."""
    books, building = {}, set()
    for line in lines:
        event = json.loads(line)
        instrument, kind, side = event.get("instrument"), event["event"], event.get("side")
        book = books.setdefault(instrument, {"bid": [], "ask": []})
        if kind in ("snapshot_begin", "clear", "removed"):
            book["bid"], book["ask"] = [], []
        if kind == "snapshot_begin":
            building.add(instrument)
        if kind in ("snapshot_end", "clear"):
            building.discard(instrument)
        if kind not in ENTRIES or side not in book or "book" in event or "level" not in event:
            continue
        rows, level = book[side], event["level"]
        row = (event.get("price"), event.get("quantity"))
        if instrument in building and "snapshot" in event.get("flags", []):
            # A snapshot says what each position holds, in any order.
            rows.extend([None] * (level - len(rows)))
            rows[level - 1] = row
        elif kind == "new":
            rows[level - 1:level - 1] = [row]
        elif kind in ("change", "overlay") and level <= len(rows):
            rows[level - 1] = (rows[level - 1][0] if kind == "change" and rows[level - 1] else row[0], row[1])
        elif kind == "delete":
            del rows[level - 1:level]
        elif kind == "delete_top":
            del rows[:level]
        elif kind == "delete_bottom":
            del rows[level - 1:]
    return books


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = file.read().splitlines()
    with open(sys.argv[2], encoding="utf-8") as file:
        late = file.read().splitlines()
    # The state has snapshots of all its instruments; the ring's events follow word for word.
    rest = next((i for i in range(len(late)) if late[i:] == events[len(events) - (len(late) - i):]), len(late))
    state = late[:rest]
    follow = len(late) - rest
    print(f"{len(state)} events of the state, then {follow} of {len(events)}")
    if not state or follow == len(events):
        print("no state")
        return 1
    if not all(json.loads(line)["event"] in STATE for line in state):
        print("the state has events of other kinds")
        return 1
    before = events[:len(events) - follow]
    right = {json.loads(line)["instrument"] for line in state if json.loads(line)["event"] == "latest"}
    want, got = books_of(before), books_of(state)
    for instrument in right:
        for side in ("bid", "ask"):
            if got[instrument][side][:1] != want[instrument][side][:1]:
                print(f"the best {side} of {instrument} is {got[instrument][side][:1]}, not {want[instrument][side][:1]}")
                return 1
    if not right and len(before) > 500:
        print("no book is right")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
