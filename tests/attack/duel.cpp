#include "tests/attack/duel.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "tests/attack/allocations.hpp"

namespace stopbit::attack {
namespace {

constexpr std::size_t kLogSlots = 1U << 14;
constexpr std::size_t kMaxMoves = 256;
constexpr std::size_t kMaxMoveBytes = 1U << 20;  ///< More than an engine takes.
constexpr std::size_t kJunkSlots = 8;

/// Of the engines in their order.
constexpr unsigned char kJunk[] = {0xA5, 0x5A, 0x3C};

/// What the header of its records says: another thing for each datagram, and the same in every run.
PacketInfo info_of(std::size_t move, std::uint16_t channel) {
  PacketInfo info;
  info.number = move + 1;
  info.arrival_ns = (move + 1) * 0x9E37'79B9'7F4A'7C15;
  info.sequence = static_cast<std::uint32_t>(info.arrival_ns >> 32);
  info.channel = channel;
  info.sender_epoch = static_cast<std::uint16_t>(move);
  info.source = static_cast<record::SourceLine>(move % 3);
  return info;
}

std::string difference(const LoggingSink& reference, const LoggingSink& other) {
  const std::span<const record::Slot> a = reference.log();
  const std::span<const record::Slot> b = other.log();
  const std::size_t both = std::min(a.size(), b.size());
  if (both != 0 && std::memcmp(a.data(), b.data(), both * sizeof(record::Slot)) != 0) {
    return cases::difference({{a.begin(), a.end()}}, {{b.begin(), b.begin() + static_cast<std::ptrdiff_t>(both)}});
  }
  if (a.size() != b.size())
    return std::to_string(b.size()) + " slots of records instead of " + std::to_string(a.size());
  return reference.overflow == other.overflow ? "" : "records behind slot " + std::to_string(a.size()) + " differ";
}

std::vector<cases::TestedEngine> engines_of(const Feed& feed) {
  std::vector<cases::TestedEngine> engines = cases::make_engines(feed.program, engine_options(feed));
  if (feed.general) {
    std::vector<cases::TestedEngine> general = cases::make_engines(*feed.general, engine_options(feed));
    engines.insert(engines.begin(), std::move(general.front()));
  }
  return engines;
}

}  // namespace

LoggingSink::LoggingSink(std::uint32_t max_slots, unsigned char junk)
    : max_slots_(max_slots),
      junk_(junk),
      memory_(max_slots * sizeof(record::Slot)),
      place_(reinterpret_cast<record::Slot*>(memory_.back(max_slots * sizeof(record::Slot)).data())),
      log_(kLogSlots) {
  std::memset(static_cast<void*>(place_), junk_, max_slots * sizeof(record::Slot));
}

record::RecordSink::Place LoggingSink::open() noexcept {
  return {place_, stamp_, phase_};
}

void LoggingSink::commit(const record::Slot& first, std::uint32_t slots) noexcept {
  if (slots == 0 || slots > max_slots_) fail("a record has 1 slot up to the program's limit");
  if ((first.words[0] >> 16 & 0xFFFF) != slots) fail("a record is as long as its first word says");
  place_[0] = first;
  if (slots <= log_.size() - size_) {
    std::copy_n(place_, slots, log_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += slots;
  } else {
    for (const record::Slot& slot : std::span(place_, slots)) {
      for (const std::uint64_t word : slot.words) overflow = (overflow ^ word) * 0x9E37'79B9'7F4A'7C15 + 1;
    }
  }
  // Junk for the next record; the message before an event may have begun some slots that are not counted.
  const std::size_t used = std::min<std::size_t>(max_slots_, std::max<std::size_t>(slots, kJunkSlots));
  std::memset(static_cast<void*>(place_), junk_, used * sizeof(record::Slot));
  stamp_ += slots;
  phase_ = !phase_;
}

Duel::Duel(const Feed& feed) : Duel(feed, engines_of(feed)) {}

Duel::Duel(const Feed& feed, std::vector<cases::TestedEngine> engines)
    : feed_(feed), datagram_(kMaxMoveBytes), history_(kMaxMoves) {
  for (cases::TestedEngine& tested : engines) {
    const unsigned char junk = kJunk[sides_.size() % std::size(kJunk)];
    sides_.push_back(
        {tested.name, std::move(tested.engine), std::make_unique<LoggingSink>(feed.program.max_record_slots, junk)});
  }
}

Move& Duel::next_move(std::uint16_t channel) {
  if (moves_ == history_.size()) {  // a longer case is of no use
    for (std::uint16_t i = 0; i < feed_.channels; ++i) {
      for (const Side& side : sides_) side.engine->reset(i);
    }
    moves_ = 0;
  }
  Move& move = history_[moves_++];
  move.channel = channel;
  return move;
}

void Duel::reset(std::uint16_t channel) {
  next_move(channel).is_reset = true;
  for (const Side& side : sides_) side.engine->reset(channel);
}

std::string Duel::decode(std::uint16_t channel, std::span<const std::byte> datagram, Outcome& outcome) {
  Move& move = next_move(channel);
  move.is_reset = false;
  move.bytes.assign(datagram.begin(), datagram.end());
  const PacketInfo info = info_of(moves_, channel);
  const std::span<const std::byte> bytes = datagram_.place(datagram);
  const std::uint64_t allocations_before = allocations();
  sides_[0].sink->clear();
  outcome = sides_[0].engine->decode(bytes, info, *sides_[0].sink);
  for (std::size_t i = 1; i < sides_.size(); ++i) {
    const auto named = [&](const std::string& text) { return std::string(sides_[i].name) + ": " + text; };
    sides_[i].sink->clear();
    const Outcome other = sides_[i].engine->decode(bytes, info, *sides_[i].sink);
    if (allocations() != allocations_before) return "an engine allocates after it is made";
    if (std::string text = cases::difference(outcome, other); !text.empty()) return named(text);
    if (std::string text = difference(*sides_[0].sink, *sides_[i].sink); !text.empty()) return named(text);
  }
  return {};
}

}  // namespace stopbit::attack
