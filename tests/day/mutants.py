#!/usr/bin/env python3
"""Writes a copy of arbiter.cpp with faults that a switch puts in, for the program of mutants.

Usage: mutants.py ARBITER_CPP TO_CPP TO_LIST
Each fault replaces one expression or statement; one that no longer fits is listed as such, and the test fails.
"""
import sys

MUTANTS = [
    (1, "the silence of the present run is ignored", "std::max(silent_enough_at(stranger), shown_ns)", "shown_ns"),
    (2, "no run is gone back to", "!options_.carousel && (goes_on != nullptr || stranger.is_late)", "false"),
    (3, "a leap is believed on one packet", "from_top <= leap()", "true"),
    (4, "a wrap is taken for a step back",
     "static_cast<std::int64_t>((difference & sign) != 0 ? difference | ~sequence_mask_ : difference)",
     "static_cast<std::int64_t>(wire - (number & sequence_mask_))"),
    (5, "late packets are counted as duplicates", 
     "    if (was_lost) late_by_.add(late_ns);\n    count_late(packet, late_ns, sink);", "++run_.packets.duplicate;"),
    (7, "a second copy is not counted", "      ++run_.packets.duplicate;\n    }\n  } else if (before(number, next_)) {",
     "    }\n  } else if (before(number, next_)) {"),
    (8, "half as many packets wait", "if (waiting_ >= options_.window_packets &&", "if (waiting_ >= options_.window_packets / 2 &&"),
    (9, "the window is half as long", "slots_[oldest_].packet.t_ns + options_.window_ns <= until_t_ns_",
     "slots_[oldest_].packet.t_ns + options_.window_ns / 2 <= until_t_ns_"),
    (10, "no window closes by its time", "slots_[oldest_].packet.t_ns + options_.window_ns <= until_t_ns_", "false"),
    (11, "gaps are not told", "  sink.gap(gap);", "  if (gap.count == 0) sink.gap(gap);"),
    (12, "gaps are told one number short", "          .count = count,", "          .count = count - (count > 1 ? 1 : 0),"),
    (13, "what was set aside is dropped at the switch", "    place(packet, number, sink);\n    free_slot(slot);",
     "    ++run_.packets.malformed;\n    free_slot(slot);"),
    (14, "conflicts are not told", "    sink.conflict(", "    if (conflicts_ == 0) sink.conflict("),
    (15, "a second copy is not used", "  if (sink.deliver(packet, epoch_)) return true;",
     "  if (sink.deliver(packet, epoch_) || true) return true;"),
    (17, "a run begins with its first packet, not its lowest", "  gathering_ = options_.ordered;", "  gathering_ = false;"),
    (18, "one line keeps the run alive", "alive_t_ns_ = std::max(alive_t_ns_, packet.t_ns);",
     "if (packet.line == Line::A) alive_t_ns_ = std::max(alive_t_ns_, packet.t_ns);"),
    (19, "a reset is not seen", "if (ahead < -reach() || is_announced(packet) || rewinds(packet)) return Fit::Behind;",
     "if (ahead < -reach()) return Fit::Behind;"),
    (20, "an overtaken range is told as lost by its window", "evidence_ = {GapReason::Overtaken, packet.arrival_ns, packet.t_ns};",
     "evidence_ = {GapReason::Window, packet.arrival_ns, packet.t_ns};"),
]
RARE = {108: 358}  # from which seed on to look, if a fault shows in few schedules
RECEIVER = [
    (101, "the last number is forgotten when the appliance ends"),
    (102, "windows count from the poll"),
    (103, "windows count by the wall clock"),
    (104, "numbers are given up before the other ports are read"),
    (105, "one port speaks for all"),
    (106, "the poll is taken for the horizon"),
    (107, "only packets close windows"),
    (108, "no packet says where it came from"),
]


def main() -> int:
    text = open(sys.argv[1], encoding="utf-8").read()
    rows = [(number, name, True) for number, name in RECEIVER]
    edits = []
    for number, name, before, after in MUTANTS:
        at = text.find(before)
        fits = at >= 0 and text.find(before, at + 1) < 0
        rows.append((number, name, fits))
        if fits:
            edits.append((at, number, before, after))
    # Several faults may share a place: they are chained.
    for at in sorted({edit[0] for edit in edits}, reverse=True):
        here = [edit for edit in edits if edit[0] == at]
        before = max((edit[2] for edit in here), key=len)
        is_statement = before.rstrip().endswith((";", "{", ","))
        new = before
        for _, number, old, after in here:
            switch = f"(::stopbit::day::mutant == {number})"
            if old.rstrip().endswith("{"):  # the part of a block: a switch inside would not nest
                new = new.replace("++run_.packets.duplicate;", f"if (!{switch}) ++run_.packets.duplicate;")
            elif old.rstrip().endswith(","):
                new = new.replace("count,", f"count - ({switch} && count > 1 ? 1 : 0),")
            elif old.rstrip().endswith("("):
                new = f"    if (!{switch}) " + old.lstrip()
            elif is_statement:
                new = f"{{ if {switch} {{ {after} }} else {{ {new} }} }}"
            else:
                new = f"({switch} ? ({after}) : ({new}))" if not old.startswith("if (") else new.replace(
                    "waiting_ >= options_.window_packets", f"waiting_ >= options_.window_packets / ({switch} ? 2 : 1)")
        text = text[:at] + new + text[at + len(before):]
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        out.write('#include "tests/day/mutant.hpp"\n' + text)
    with open(sys.argv[3], "w", encoding="utf-8") as out:
        out.write("".join(f'{{{number}, "{name}", {str(fits).lower()}, {RARE.get(number, 1)}}},\n'
                          for number, name, fits in sorted(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
