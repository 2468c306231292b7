#!/usr/bin/env python3
"""Writes copies of the synchroniser's files with faults that a switch puts in, for the program of mutants.

Usage: mutants.py TO_LIST TO_FOLDER SOURCE...
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import mutants_writer

MUTANTS = [
    (1, "an entry with the snapshot's own number is applied again", "queues_.drop(row, number);  // an entry",
     "queues_.drop(row, number - (ON && number != 0 ? 1 : 0));  // an entry"),
    (2, "a snapshot that is older than the book is loaded", "return number > holes_.reach(scope.numbers, row.at);",
     "return ON || number > holes_.reach(scope.numbers, row.at);"),
    (3, "numbers that the arbiter calls lost count as come", "    holes_.miss(numbers, first, last);",
     "    if (!ON) holes_.miss(numbers, first, last);"),
    (4, "numbers go on from one too many after a reset", "  clear({.numbers = {.is_seen = true}, .proof =",
     "  clear({.numbers = {.high = ON ? 1U : 0U, .is_seen = true}, .proof ="),
    (5, "joining is not a loss", "    joined_ = number == 0 ? 0 : number - 1;",
     "    joined_ = number == 0 ? 0 : number - 1;\n    if (ON) channel_.numbers = {.high = joined_, .is_seen = true};"),
    (6, "what found no room is forgotten", "rows_[row].lost = std::max(rows_[row].lost, number);", ""),
    (7, "there is no doubt after a loss", "return !is_channel() && proof(scope) < channel_missing_;",
     "return !ON && !is_channel() && proof(scope) < channel_missing_;"),
]

# From which schedule on: the first one that shows it is near.
RARE = {1: 3, 2: 70, 4: 153, 5: 55, 6: 90, 7: 3}

if __name__ == "__main__":
    mutants_writer.write(sys.argv[1], sys.argv[2], sys.argv[3:], MUTANTS, rare=RARE)
