// Any packets at any times through an arbiter: the account is balanced after each, and what comes out is one run of
// numbers without a hole that was not told.

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "host/feed/arbitrate/arbiter.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;
using arbitrate::Line;

class Take {
 public:
  Take(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] bool empty() const { return at_ >= size_; }
  std::uint8_t byte() { return empty() ? std::uint8_t{0} : data_[at_++]; }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | byte();
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

/// Delivered numbers and numbers reported missing follow each other without a hole, in every run.
class Checker final : public arbitrate::Sink {
 public:
  Checker(std::uint8_t bits, bool some_fail)
      : mask_(bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1),
        has_numbers_(bits != 0),
        some_fail_(some_fail) {}

  bool deliver(const arbitrate::Packet& packet, std::uint16_t epoch) noexcept override {
    fuzz::require(running_ && epoch == epoch_, "packets are of the run that was told");
    fuzz::require(packet.payload.size() == packet.number % 7, "a packet keeps its bytes");
    for (const std::byte byte : packet.payload) {
      fuzz::require(byte == static_cast<std::byte>(packet.number), "a packet keeps its bytes");
    }
    if (!has_numbers_) return true;
    const std::uint64_t sequence = packet.preamble.sequence & mask_;
    const bool is_other_copy = failed_ && sequence == *failed_;
    failed_.reset();
    if (is_other_copy) return true;
    if (some_fail_ && packet.preamble.chunks == 1 && packet.number % 3 == 0) {
      failed_ = sequence;
    }
    if (packet.preamble.chunk == 1) {
      fuzz::require(chunk_ == chunks_, "a number goes on whole");
      fuzz::require(!next_ || sequence == *next_, "no hole before a packet");
      next_ = (sequence + 1) & mask_;
      chunk_ = 0;
      chunks_ = packet.preamble.chunks;
    }
    fuzz::require(packet.preamble.chunk == chunk_ + 1 && packet.preamble.chunks == chunks_, "chunks come in order");
    ++chunk_;
    return !failed_;
  }
  void gap(const arbitrate::Gap& gap) noexcept override {
    fuzz::require(running_ && gap.epoch == epoch_ && gap.count != 0, "a gap is of the run that was told");
    fuzz::require(!next_ || gap.first == *next_, "no hole before a gap");
    next_ = (gap.first + gap.count) & mask_;
  }
  void epoch(const arbitrate::NewRun& run) noexcept override {
    fuzz::require(run.before.balanced(), "the account of a finished run is balanced");
    fuzz::require(run.before.numbers.held == 0, "nothing of a finished run is undecided");
    fuzz::require(!running_ || run.epoch == static_cast<std::uint16_t>(epoch_ + 1), "runs are counted");
    running_ = true;
    epoch_ = run.epoch;
    next_.reset();
    failed_.reset();  // a number of the new run is no copy of the old one's
  }
  void reset(const arbitrate::NewRun& run) noexcept override { epoch(run); }

 private:
  std::uint64_t mask_;
  bool has_numbers_;
  bool some_fail_;  ///< Some packets do not decode.
  std::optional<std::uint64_t> failed_;
  bool running_ = false;
  std::uint16_t epoch_ = 0;
  std::optional<std::uint64_t> next_;
  std::uint16_t chunk_ = 0;
  std::uint16_t chunks_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 8'192) return 0;
  Take take(data, size);
  constexpr std::array<std::uint8_t, 5> kBits = {32, 16, 64, 32, 0};
  arbitrate::Options options;
  const std::uint8_t flags = take.byte();
  options.ordered = (flags & 1) != 0;
  options.carousel = (flags & 2) != 0;
  options.chunks = (flags & 4) != 0;
  options.sequence_bits = kBits[(flags >> 3) % kBits.size()];
  options.window_packets = 1 + take.byte() % 32;
  options.window_ns = 1 + take.byte() * std::uint64_t{10};
  options.datagram_bytes = 4 + take.byte() % 4;  // some packets are too long to hold
  options.history = 1'024;
  options.room_packets = options.window_packets + take.byte() % 64;
  options.switch_silence_ns = 5'000;
  arbitrate::Arbiter arbiter(options);
  if ((flags & 64) != 0) arbiter.resume_after(0, take.number(2));
  Checker checker(options.sequence_bits, (flags & 128) != 0);

  std::uint64_t now = 1'000'000;
  std::uint64_t sequence = take.number(8);
  std::uint64_t number = 0;
  std::uint32_t source = 0;
  std::array<std::byte, 7> bytes{};
  while (!take.empty()) {
    const std::uint8_t what = take.byte();
    now += take.byte() * std::uint64_t{what % 5 == 0 ? 100U : 1U};
    switch (what >> 4) {
      case 0: sequence += take.number(2); break;
      case 1: sequence -= take.byte(); break;
      case 2: sequence = take.number(1); break;
      case 3: sequence = take.number(8); break;
      case 4: arbiter.tick(now, checker); continue;
      case 5: arbiter.announce(take.number(1)); continue;
      case 6: arbiter.finish(checker); continue;
      case 7: source = take.byte() & 7U; continue;  // 0 = unknown; more than a run remembers
      default: sequence += what & 3; break;
    }
    arbitrate::Packet packet;
    packet.line = static_cast<Line>(what % 3);
    packet.source = source;
    packet.number = ++number;
    packet.arrival_ns = now;
    bytes.fill(static_cast<std::byte>(number));
    packet.payload = std::span(bytes).first(number % 7);
    const std::uint64_t mask =
        options.sequence_bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << options.sequence_bits) - 1;
    packet.preamble.sequence = sequence & mask;
    if ((what & 8) != 0) {
      const std::uint8_t more = take.byte();
      packet.preamble.chunks = more & 7;
      packet.preamble.chunk = more >> 3 & 7;
      packet.preamble.sender = more >> 6;
      if (more == 0xFF) packet.preamble.error = ErrorCode::X9;
    }
    // Lines are read one after another: their arrivals need not be in order.
    packet.t_ns = now - (what & 1) * take.byte();
    arbiter.offer(packet, checker);
    fuzz::require(arbiter.account().balanced(), "the account of the run is balanced");
    fuzz::require(arbiter.total().balanced(), "the account is balanced");
    fuzz::require(arbiter.account().packets.held <= arbitrate::Arbiter::most_held(options.room_packets),
                  "few packets wait");
  }
  arbiter.finish(checker);
  const arbitrate::Account total = arbiter.total();
  fuzz::require(total.balanced(), "the account at the end is balanced");
  fuzz::require(total.packets.held == 0 && total.numbers.held == 0, "nothing waits at the end");
  fuzz::require(total.packets.all_received() == number, "every packet is in the account");
  return 0;
}
