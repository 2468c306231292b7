#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "host/nic/error.hpp"
#include "host/nic/protocol/protocol.hpp"
#include "host/nic/queue/command.hpp"
#include "htax_packet.hpp"

/// The queue of commands in RTL (fpga/rtl/queue), with a host that writes to its pages and units that take commands.
namespace stopbit::sim::queue {

inline constexpr std::size_t kLineWords = 8;
inline constexpr std::size_t kCommandWords = 7;  ///< Of a line: the last word is a number of software.
inline constexpr std::uint64_t kWindow = std::uint64_t{0x5A5} << 28U;

// ---- what a process writes

using Line = std::array<std::uint64_t, kLineWords>;
[[nodiscard]] inline Line to_line(const nic::Command& command) { return std::bit_cast<Line>(command); }

/// Commands of 16 bytes (stopbit_queue_pkg).
enum class Short : std::uint8_t { None, Put, Get, Lock, Immediate, Notify, Message };
struct ShortAddress {
  Short code = Short::None;
  bool requester = false;  ///< Of a message: high priority.
  bool completer = false;
  bool responder = false;
  bool by_lines = false;
};
[[nodiscard]] inline std::uint64_t address_of(std::uint64_t vpid, const ShortAddress& to) {
  return kWindow | vpid << 12U | 1U << 11U | std::uint64_t{to.by_lines} << 10U | std::uint64_t{to.responder} << 9U |
         std::uint64_t{to.completer} << 8U | std::uint64_t{to.requester} << 7U |
         static_cast<std::uint64_t>(to.code) << 4U;
}
/// Of a word of one of the 32 lines of a page.
[[nodiscard]] inline std::uint64_t address_of(std::uint64_t vpid, std::uint64_t line, std::uint64_t word) {
  return kWindow | vpid << 12U | line << 6U | word << 3U;
}
/// A posted write of whole words.
[[nodiscard]] inline htax::Packet write_of(std::uint64_t address, const std::vector<std::uint64_t>& words) {
  htax::Packet packet{
      htax::to_phit({.channel = htax::kPosted, .length = words.size(), .origin = 7, .tag = 31, .address = address})};
  packet.insert(packet.end(), words.begin(), words.end());
  return packet;
}
[[nodiscard]] inline htax::Packet write_line(std::uint64_t vpid, std::uint64_t line, const Line& words) {
  return write_of(address_of(vpid, line, 0), {words.begin(), words.end()});
}

// ---- what units take

/// A command for remote memory access.
struct Transfer {
  std::uint64_t vpid = 0;
  std::array<std::uint64_t, kCommandWords> words{};
  [[nodiscard]] nic::Command command() const {
    nic::Command command;
    std::memcpy(static_cast<void*>(&command), words.data(), sizeof(words));
    return command;
  }
  friend bool operator==(const Transfer&, const Transfer&) = default;
};
struct Message {
  std::uint64_t vpid = 0;
  std::uint64_t traffic_class = 0;
  std::vector<std::uint64_t> words;
  friend bool operator==(const Message&, const Message&) = default;
};

/// A write that is no command, or a line that was given up.
struct Event {
  std::uint64_t vpid = 0;
  nic::Error error = {};
  bool gives_up = false;
  friend bool operator==(const Event&, const Event&) = default;
};

enum class State : std::uint8_t { Closed, Enabled, Disabled };

template <class Model>
class Driver {
 public:
  static constexpr std::size_t kPorts = 64;

  explicit Driver(std::uint64_t seed) : random(seed), bench_(seed) {
    bench_->set_valid_i = bench_->posted_valid_i = bench_->command_ready_i = bench_->send_ready_i = 0;
    reset();
  }

  /// Everything is forgotten, the ports too.
  void reset() {
    posted.clear();
    transfers.clear();
    messages.clear();
    events.clear();
    message_ = {};
    posted_at_ = 0;
    posted_offered_ = message_waits_ = false;
    bench_->posted_valid_i = bench_->set_valid_i = 0;
    bench_.reset();
  }

  void set_port(std::uint64_t vpid, State state, std::uint64_t life) {
    bench_->set_valid_i = 1;
    bench_->set_port_i = static_cast<std::uint8_t>(vpid);
    bench_->set_i = static_cast<std::uint8_t>((life & 15U) << 2U | static_cast<std::uint64_t>(state));
    setting_ = true;
    for (const std::uint64_t end = now() + kPatience; setting_; cycle()) {
      if (now() > end) throw std::runtime_error("a port is not set");
    }
  }

  void cycle() {
    const auto goes = [&] { return !random.chance(stall_percent); };
    posted_offered_ = !posted.empty() && (posted_offered_ || goes());
    bench_->posted_valid_i = posted_offered_;
    bench_->posted_phit_i = posted_offered_ ? posted.front()[posted_at_] : random.bits();
    bench_->command_ready_i = !transfers_are_shut && goes();
    bench_->send_ready_i = !messages_are_shut && goes();
    bench_.settle();

    const bool set = setting_ && bench_->set_ready_o != 0;
    if (posted_offered_ && bench_->posted_ready_o != 0) {
      if (posted_at_ == 0) header_cycle = now();
      word_cycle = now();
      ++moved_;
      posted_offered_ = false;
      if (++posted_at_ == posted.front().size()) {
        posted.pop_front();
        posted_at_ = 0;
      }
    }
    if (bench_->command_valid_o != 0 && bench_->command_ready_i != 0) {
      Transfer& transfer = transfers.emplace_back();
      transfer.vpid = bench_->command_vpid_o;
      for (unsigned i = 0; i < kCommandWords; ++i) transfer.words[i] = bits_at(bench_->command_o, 64 * i, 64);
      transfer_cycle = now();
      ++moved_;
    }
    take_word();
    if (bench_->event_valid_o != 0) {
      events.push_back({std::uint64_t{bench_->event_o} >> 6U, static_cast<nic::Error>(bench_->event_o >> 1U & 31U),
                        (bench_->event_o & 1U) != 0});
    }
    stale += static_cast<std::uint64_t>(std::popcount(std::uint64_t{bench_->stale_o}));
    bench_.step();
    if (set) {
      setting_ = false;
      bench_->set_valid_i = 0;
    }
  }
  void cycles(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) cycle();
  }
  /// Until nothing has moved for a while.
  void settle() {
    constexpr std::uint64_t kQuiet = 40;
    std::uint64_t before = moved_;
    for (std::uint64_t quiet = 0, end = now() + kPatience; quiet < kQuiet + 10 * stall_percent; cycle()) {
      if (now() > end) throw std::runtime_error("the queue does not come to its end");
      quiet = moved_ == before ? quiet + 1 : 0;
      before = moved_;
    }
  }
  [[nodiscard]] std::uint64_t now() const { return bench_.cycles(); }

  Random random;
  std::uint32_t stall_percent = 0;
  bool transfers_are_shut = false;  ///< Remote memory access takes no command,
  bool messages_are_shut = false;   ///< the message unit no word.
  std::deque<htax::Packet> posted;
  std::vector<Transfer> transfers;
  std::vector<Message> messages;
  std::vector<Event> events;
  std::uint64_t stale = 0;           ///< Commands of owners that are not any more.
  std::uint64_t header_cycle = 0;    ///< When the last header was taken,
  std::uint64_t word_cycle = 0;      ///< or any phit;
  std::uint64_t transfer_cycle = 0;  ///< when the last transfer left,
  std::uint64_t message_cycle = 0;   ///< the first word of the last message.

 private:
  static constexpr std::uint64_t kPatience = 200'000;

  void take_word() {
    const bool is_valid = bench_->send_valid_o != 0;
    const std::array<std::uint64_t, 4> shown{bench_->send_data_o, bench_->send_vpid_o, bench_->send_class_o,
                                             bench_->send_first_o * 2U + bench_->send_last_o};
    if (message_waits_ && stale_watch_ == stale && (!is_valid || shown != shown_)) {
      throw std::runtime_error("a word of a message changes while it waits");
    }
    shown_ = shown;
    stale_watch_ = stale;
    message_waits_ = is_valid && bench_->send_ready_i == 0 && !setting_;
    if (!is_valid || bench_->send_ready_i == 0) return;
    ++moved_;
    if ((bench_->send_first_o != 0) != message_.words.empty()) throw std::runtime_error("a message begins in another");
    if (message_.words.empty()) {
      message_.vpid = bench_->send_vpid_o;
      message_.traffic_class = bench_->send_class_o;
      message_cycle = now();
    }
    message_.words.push_back(bench_->send_data_o);
    if (bench_->send_last_o == 0) return;
    messages.push_back(std::move(message_));
    message_ = {};
  }

  Bench<Model> bench_;
  bool setting_ = false;
  std::size_t posted_at_ = 0;
  bool posted_offered_ = false;
  Message message_;
  bool message_waits_ = false;
  std::array<std::uint64_t, 4> shown_{};
  std::uint64_t stale_watch_ = 0;
  std::uint64_t moved_ = 0;
};

}  // namespace stopbit::sim::queue
