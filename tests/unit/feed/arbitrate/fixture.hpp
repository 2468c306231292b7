#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "host/feed/arbitrate/arbiter.hpp"

namespace stopbit::arbitrate::testing {

/// Writes down what the arbiter says: "start(5) 5 6 gap(7+2) 9 9.2 reset(1) 1", chunks after a point.
class Story final : public Sink {
 public:
  bool deliver(const Packet& packet, std::uint16_t /*epoch*/) noexcept override {
    add(std::to_string(packet.preamble.sequence) +
        (packet.preamble.chunks > 1 ? "." + std::to_string(packet.preamble.chunk) : ""));
    last_bytes.assign(packet.payload.begin(), packet.payload.end());
    last_line = packet.line;
    return !undecodable || packet.payload.empty() || packet.payload[0] != *undecodable;
  }
  void gap(const Gap& gap) noexcept override {
    add("gap(" + std::to_string(gap.first) + "+" + std::to_string(gap.count) + ")");
    last_gap = gap;
  }
  void epoch(const NewRun& run) noexcept override {
    constexpr std::array kNames = {"start", "sender", "cycle", "reset", "back"};
    add(std::string(kNames[static_cast<std::size_t>(run.reason)]) + "(" + std::to_string(run.sequence) + ")");
    last_run = run;
  }
  void reset(const NewRun& run) noexcept override { epoch(run); }
  void conflict(const Conflict& conflict) noexcept override {
    add("conflict(" + std::to_string(conflict.sequence) + ")");
  }
  void late(const Packet& /*packet*/, std::uint64_t late_ns) noexcept override { last_late_ns = late_ns; }

  /// The output since the last call.
  std::string take() { return std::exchange(text_, {}); }

  Gap last_gap;
  NewRun last_run;
  std::vector<std::byte> last_bytes;
  Line last_line = Line::A;
  std::uint64_t last_late_ns = 0;
  std::optional<std::byte> undecodable;  ///< Packets that begin with it do not decode.

 private:
  void add(const std::string& what) { text_ += (text_.empty() ? "" : " ") + what; }
  std::string text_;
};

/// An arbiter, its clock, and the story. The account is checked after every step.
class Bench {
  std::unique_ptr<Arbiter> owned_;  // an arbiter stays where it is; a bench may move

 public:
  explicit Bench(const Options& options) : owned_(std::make_unique<Arbiter>(options)), arbiter(*owned_) {}

  /// Packets of a line, one after the other, without time passing.
  std::string offer(Line line, std::initializer_list<std::uint64_t> sequences) {
    for (const std::uint64_t sequence : sequences) {
      Packet packet;
      packet.preamble.sequence = sequence;
      packet.line = line;
      offer(packet);
    }
    return story.take();
  }
  void offer(Packet packet) {
    packet.arrival_ns = now_ns;
    if (packet.t_ns == 0) packet.t_ns = now_ns;
    packet.number = ++packets_;
    // Every packet has bytes of its own, so that a mix-up of buffers shows.
    const std::array<std::byte, 2> bytes = {static_cast<std::byte>(packet.preamble.sequence),
                                            static_cast<std::byte>(packet.preamble.sequence >> 8)};
    if (packet.payload.empty()) packet.payload = bytes;
    if (is_read_in_order) arbiter.tick(packet.t_ns, story);
    arbiter.offer(packet, story);
    check();
  }
  std::string tick(std::uint64_t later_ns) {
    now_ns += later_ns;
    arbiter.tick(now_ns, story);
    check();
    return story.take();
  }
  std::string finish() {
    arbiter.finish(story);
    check();
    EXPECT_EQ(arbiter.account().numbers.held, 0U);
    EXPECT_EQ(arbiter.account().packets.held, 0U);
    return story.take();
  }
  void check() const {
    EXPECT_TRUE(arbiter.account().balanced());
    EXPECT_TRUE(arbiter.total().balanced());
  }

  Arbiter& arbiter;
  Story story;
  std::uint64_t now_ns = 1'000'000'000'000;
  /// Each packet tells that all before it have come; else only `tick` tells.
  bool is_read_in_order = true;

 private:
  std::uint64_t packets_ = 0;
};

inline Options ordered_options() {
  return {.window_packets = 8, .window_ns = 1'000, .room_packets = 64, .history = 1'024, .switch_silence_ns = 10'000};
}
inline Options fast_options() {
  return {.ordered = false,
          .window_packets = 8,
          .window_ns = 1'000,
          .room_packets = 64,
          .history = 1'024,
          .switch_silence_ns = 10'000};
}

}  // namespace stopbit::arbitrate::testing
