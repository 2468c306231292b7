#include "host/feed/arbitrate/line_book.hpp"

namespace stopbit::arbitrate {

Gap::Had LineBook::had(std::size_t line, std::uint64_t after_gap) const noexcept {
  const State& state = lines_[line];
  return {.heard = state.heard,
          .passed = state.heard && !before(state.highest, after_gap),
          .last_sequence = state.heard ? numbering_.wire(state.highest) : 0,
          .last_t_ns = stats_[line].last_t_ns};
}

void LineBook::begin_run(std::uint64_t first) noexcept {
  lines_.fill({.judged = first});
}

void LineBook::begin_at(std::uint64_t first) noexcept {
  for (State& line : lines_) line.judged = lower(line.judged, first);
}

void LineBook::note_arrival(const Packet& packet) noexcept {
  LineStats& stats = stats_[index(packet.line)];
  if (packet.t_ns < stats.last_t_ns) return;
  stats.last_t_ns = packet.t_ns;
  stats.last_arrival_ns = packet.arrival_ns;
}

void LineBook::note_number(Line line, std::uint64_t number) noexcept {
  State& state = lines_[index(line)];
  if (!state.heard || before(state.highest, number)) state.highest = number;
  state.heard = true;
  stats_[index(line)].last_sequence = numbering_.wire(state.highest);
}

void LineBook::note_whole(const Packet& packet, std::uint64_t number, std::uint64_t first) noexcept {
  LineStats& stats = stats_[index(packet.line)];
  Entry& known = table_[number];
  const std::uint8_t mine = bit_of(index(packet.line));
  if ((known.brought & mine) != 0) return;
  ++stats.brought;
  const Line other_line = packet.line == Line::A ? Line::B : Line::A;
  LineStats& other = stats_[index(other_line)];
  if (known.brought == 0) {
    ++stats.first_copies;
  } else if (packet.line != Line::Replay && (known.brought & bit_of(index(other_line))) != 0 &&
             known.state != Entry::State::Lost) {
    // The lines may be read in another order than their packets arrived in.
    if (packet.t_ns >= known.t_ns || options_.chunks) {
      stats.behind.add(since(packet.t_ns, known.t_ns));
    } else {
      other.behind.add(known.t_ns - packet.t_ns);
      --other.first_copies;
      ++stats.first_copies;
    }
  }
  known.brought = static_cast<std::uint8_t>(known.brought | mine) & 7U;
  if (!before(number, first) && before(number, lines_[index(packet.line)].judged)) {  // counted as missing before
    --stats.missing;
    if (known.state == Entry::State::Delivered) --stats.saved;
  }
}

void LineBook::note_recovered(std::uint64_t number) noexcept {
  for (std::size_t line = 0; line < options_.lines.size(); ++line) {
    const bool is_missing = (table_[number].brought & bit_of(line)) == 0 && before(number, lines_[line].judged);
    if (options_.lines[line] && is_missing) ++stats_[line].saved;
  }
}

void LineBook::judge(std::size_t line, std::uint64_t until, std::uint64_t max_steps) noexcept {
  State& state = lines_[line];
  if (!options_.lines[line]) return;
  const std::uint64_t oldest_known = table_.oldest();
  if (before(state.judged, oldest_known) && before(state.judged, until)) {
    const std::uint64_t to = lower(until, oldest_known);
    stats_[line].missing += to - state.judged;
    state.judged = to;
  }
  for (; before(state.judged, until) && max_steps > 0; ++state.judged, --max_steps) {
    const Entry& known = table_[state.judged];
    if ((known.brought & bit_of(line)) != 0) continue;
    ++stats_[line].missing;
    if (known.state == Entry::State::Delivered) ++stats_[line].saved;
  }
}

}  // namespace stopbit::arbitrate
