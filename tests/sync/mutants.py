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
    (3, "parts are joined over a missing one", "part.place == last.place + 1", "true"),
    (4, "parts are joined by their places alone", "part.number == last.number && part.message == last.message", "true"),
    (5, "a step of two is not noticed", "if (n > numbers.high + 1) miss(numbers, numbers.high + 1, n - 1);",
     "if (n > numbers.high + 1 && !ON) miss(numbers, numbers.high + 1, n - 1);"),
    (6, "a book goes on over a hole", "return !row.has_book || std::max(row.lost, missing(scope)) > row.at",
     "return !row.has_book || std::max(row.lost, ON ? 0 : missing(scope)) > row.at"),
    (7, "joining is not a loss", "    joined_ = number == 0 ? 0 : number - 1;",
     "    joined_ = number == 0 ? 0 : number - 1;\n    if (ON) channel_.numbers = {.high = joined_, .is_seen = true};"),
    (8, "an instrument's copies are applied", "if (is_new) {\n    for (", "if (is_new || ON) {\n    for ("),
    (9, "copies of shared numbers are applied", "return is_new_ && shared_entry", "return (is_new_ || ON) && shared_entry"),
    (10, "what found no room is forgotten", "rows_[row].lost = std::max(rows_[row].lost, number);", ""),
    (11, "there is no doubt after a loss", "return !is_channel() && proof(scope) < channel_missing_;",
     "return !ON && !is_channel() && proof(scope) < channel_missing_;"),
    (12, "a late message's step takes the doubt away",
     "message_ <= channel_missing_) return false;\n  return prove(scope, message_);",
     "(!ON && message_ <= channel_missing_)) return false;\n  return prove(scope, ON ? channel_.numbers.high : message_);"),
    (13, "snapshots from before a reset are loaded", "if (part.sent_ns < reset_ns_) {", "if (part.sent_ns < reset_ns_ && !ON) {"),
    (20, "the instrument that had to make room does not say so", "    if (!is_own) {\n      tell_from(victim, before, false);",
     "    if (!is_own) {\n      if (!ON) tell_from(victim, before, false);"),
    (21, "what finds no room goes without a word", "    give_up(row, gone);\n    if (gone == number) return;",
     "    if (ON) return;\n    give_up(row, gone);\n    if (gone == number) return;"),
    (22, "what is about to be applied makes room",
     "while (row != 0 && !is_blocked(rows_[row], scope_of(row))) row = queues_.row_after(row);", ""),
    (23, "late entries wait after newer ones", "if (before != kNone && places_[before].number > number) {",
     "if (!ON && before != kNone && places_[before].number > number) {"),
    (24, "a difference from a snapshot changes nothing", "if (!sink_.audit(row, number)) {",
     "if (!sink_.audit(row, number) && !ON) {"),
    (25, "an older snapshot is taken for the book's", "known.has_book && number >= last && number <= reach;",
     "known.has_book && (ON || number >= last) && number <= reach;"),
    (27, "no snapshot is compared", "if (is_equal && before.state != SyncState::Stale) {",
     "if (is_equal && before.state != SyncState::Stale && !ON) {"),
    (28, "an older snapshot follows an error",
     "  if (known.has_book) known.lost = std::max(known.lost, holes_.reach(scope.numbers, known.at));\n  known.has_book =",
     "  if (known.has_book && !ON) known.lost = std::max(known.lost, holes_.reach(scope.numbers, known.at));\n  known.has_book ="),
    (29, "an older snapshot follows a refresh",
     "    known.lost = std::max(known.lost, holes_.reach(scope.numbers, known.at));\n    known.has_book = false;",
     "    if (!ON) known.lost = std::max(known.lost, holes_.reach(scope.numbers, known.at));\n    known.has_book = false;"),
    (30, "a forgotten hole is no hole", "    numbers.floor = holes_[*link].last;\n    ++forgotten_;",
     "    if (!ON) numbers.floor = holes_[*link].last;\n    ++forgotten_;"),
    (31, "a hole without room is no hole", "      numbers.floor = last;", "      if (!ON) numbers.floor = last;"),
    (32, "a snapshot ahead is not spared", "  correct_ahead(scope, first);", "  if (!ON) correct_ahead(scope, first);"),
    (33, "a pessimist's books go on", "(options_.policy == Policy::Pessimistic && is_doubtful(scope));",
     "(!ON && options_.policy == Policy::Pessimistic && is_doubtful(scope));"),
    (34, "a loss that the arbiter did not tell is none",
     "    lose(channel_.numbers.high + 1, number - 1);  // the arbiter", "    if (!ON) lose(channel_.numbers.high + 1, number - 1);  // the arbiter"),
    (35, "what has healed is not said", "  if (channel_missing_ < channel_missing_before_) {\n    sink_.healed",
     "  if (channel_missing_ < channel_missing_before_ && !ON) {\n    sink_.healed"),
    (36, "a snapshot proves what is to come", "std::min(message, channel_.numbers.high)", "message"),
    (37, "a snapshot from before joining proves what came later", "std::min(scope.pictured, joined_)", "scope.pictured"),
    (38, "a refreshed book does not miss what came late",
     "    known.is_refreshed = false;  // out of order", "    if (!ON) known.is_refreshed = false;  // out of order"),
    (39, "a refresh takes the entries from before a hole", "queues_.for_each_after(row, std::max(missing, known.lost), ",
     "queues_.for_each_after(row, ON ? 0 : std::max(missing, known.lost), "),
    (40, "a refreshed book goes on over a hole", "if (!known.is_refreshed || known.refreshed < missing) {",
     "if (!known.is_refreshed || (known.refreshed < missing && !ON)) {"),
    (41, "what waits is not applied when a hole closes", "  if (!is_each() || options_.policy == Policy::Pessimistic) drain_waiting();",
     "  if (!ON && (!is_each() || options_.policy == Policy::Pessimistic)) drain_waiting();"),
    (43, "numbers that go back are repetitions", "  return options_.may_return && is_newest_", "  return !ON && options_.may_return && is_newest_"),
    (45, "snapshots from before numbers went back are loaded", "{ reset_ns_ = std::max(reset_ns_, sent_ns); }",
     "{ reset_ns_ = std::max(reset_ns_, ON ? INT64_MIN : sent_ns); }"),
    (49, "a late message's numbers are always those of this run", "if (is_of_before(row, message_, number)) {",
     "if (!ON && is_of_before(row, message_, number)) {"),
    (50, "a late snapshot's numbers are always those of this run", "if (picture_.part.message != 0 && is_of_before(",
     "if (!ON && picture_.part.message != 0 && is_of_before("),
    (51, "what comes late may be the next one", "  if (!is_newest_) taken_rows_ = 0;", "  if (!is_newest_ && !ON) taken_rows_ = 0;"),
    (46, "instruments stay in step over a loss", "  Numbers& numbers = channel_.numbers;\n  end_steps();",
     "  Numbers& numbers = channel_.numbers;\n  if (!ON) end_steps();"),
    (48, "an instrument stays in step whatever becomes of its book", "    end_step(row);\n    return rows_[row];",
     "    if (!ON) end_step(row);\n    return rows_[row];"),
    (42, "a reset leaves entries waiting", "  queues_.clear();\n  asks_", "  if (!ON) queues_.clear();\n  asks_"),
]

RARE = {22: 6600, 45: 23_700, 49: 123_700, 50: 134_100, 51: 700}  # from which seed on to look, if a fault shows in few schedules

if __name__ == "__main__":
    mutants_writer.write(sys.argv[1], sys.argv[2], sys.argv[3:], MUTANTS, rare=RARE)
