#!/usr/bin/env python3
"""Writes copies of the arbiter's files with faults that a switch puts in, for the program of mutants.

Usage: mutants.py TO_LIST TO_FOLDER SOURCE...
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import mutants_writer

MUTANTS = [
    (1, "the silence of the present run is ignored", "std::max(silent_enough_at(stranger), shown_ns)", "shown_ns"),
    (2, "no run is gone back to", "!options_.carousel && (old != nullptr || stranger.is_late)", "false"),
    (3, "a leap is believed on one packet", "from_top <= leap()", "true"),
    (4, "a wrap is taken for a step back",
     "static_cast<std::int64_t>((difference & sign) != 0 ? difference | ~mask_ : difference)",
     "static_cast<std::int64_t>(wire - (number & mask_))"),
    (5, "late packets are counted as duplicates", 
     "  if (was_lost) late_by_.add(late_ns);\n  count_late(packet, late_ns, sink);", "++run_.packets.duplicate;"),
    (7, "a second copy is not counted", "  } else if (!keeps_copy(packet, number)) {\n    ++run_.packets.duplicate;",
     "  } else if (!keeps_copy(packet, number)) {\n    if (!ON) ++run_.packets.duplicate;"),
    (8, "half as many packets wait", "held_.count() >= options_.window_packets &&",
     "held_.count() >= options_.window_packets / (ON ? 2 : 1) &&"),
    (9, "the window is half as long", "held_.oldest().packet.t_ns + options_.window_ns <= until_t_ns_",
     "held_.oldest().packet.t_ns + options_.window_ns / 2 <= until_t_ns_"),
    (10, "no window closes by its time", "held_.oldest().packet.t_ns + options_.window_ns <= until_t_ns_", "false"),
    (11, "gaps are not told", "  sink.gap(gap);", "  if (gap.count == 0) sink.gap(gap);"),
    (12, "gaps are told one number short", ".count = count,", ".count = count - (ON && count > 1 ? 1 : 0),"),
    (13, "what was set aside is dropped at the switch", "    place(packet, number, sink);\n    slots_.free(slot);",
     "    ++run_.packets.malformed;\n    slots_.free(slot);"),
    (14, "conflicts are not told", "    sink.conflict(", "    if (!ON) sink.conflict("),
    (15, "a second copy is not used", "  if (sink.deliver(packet, epoch_)) return Handed::Decoded;",
     "  if (sink.deliver(packet, epoch_) || true) return Handed::Decoded;"),
    (16, "a second copy is not kept while the first one waits", "held_.keep_copy(packet, number)", "false"),
    (17, "a run begins with its first packet, not its lowest", "  gathering_ = options_.ordered;", "  gathering_ = false;"),
    (18, "one line keeps the run alive", "alive_t_ns_ = std::max(alive_t_ns_, packet.t_ns);",
     "if (packet.line == Line::A) alive_t_ns_ = std::max(alive_t_ns_, packet.t_ns);"),
    (19, "a reset is not seen",
     "(is_announced(packet) || rewinds(packet) || comes_after_silence(packet)) && !is_of_late_line(packet)", "false"),
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


if __name__ == "__main__":
    mutants_writer.write(sys.argv[1], sys.argv[2], sys.argv[3:], MUTANTS, [(*row, True) for row in RECEIVER], RARE)
