#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
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
[[nodiscard]] inline Line to_line(const nic::Command& command) {
  return std::bit_cast<Line>(command);
}

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

/// A write of a line that is answered, and a read that is a command (Froening table 4.3).
[[nodiscard]] inline htax::Packet request_line(std::uint64_t vpid, const Line& words, std::size_t tag = 0) {
  htax::Packet packet{htax::to_phit(
      {.channel = htax::kNonposted, .length = kLineWords, .origin = 2, .tag = tag, .address = address_of(vpid, 0, 0)})};
  packet.insert(packet.end(), words.begin(), words.end());
  return packet;
}
enum class Trigger : std::uint8_t { Issue, Snapshot, NotificationsRead, MessagesRead, Barrier };
[[nodiscard]] inline htax::Packet request_trigger(std::uint64_t vpid, Trigger command, std::uint64_t count,
                                                  std::uint64_t words = 1) {
  return {htax::to_phit({.channel = htax::kNonposted,
                         .length = 1,
                         .origin = 2,
                         .address = kWindow | vpid << 12U | static_cast<std::uint64_t>(command) << 8U | count << 3U}),
          words};
}

/// Codes of an answer: those of nic::Reply, and one that only a bus has.
enum class Code : std::uint8_t { NoError, Partial, Full, Invalid, Burst, Forbidden, Disabled };
struct Reply {
  Code code = Code::NoError;
  std::uint64_t count = 0;  ///< Commands that were accepted.
  std::uint64_t room = 0;
  friend bool operator==(const Reply&, const Reply&) = default;
};

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

/// A trigger that announces no commands.
struct Signal {
  std::uint64_t vpid = 0;
  Trigger command = Trigger::Issue;
  std::uint64_t count = 0;
  friend bool operator==(const Signal&, const Signal&) = default;
};

enum class State : std::uint8_t { Closed, Enabled, Disabled };

template <class Model>
class Driver {
 public:
  static constexpr std::size_t kPorts = 64;

  explicit Driver(std::uint64_t seed) : random(seed), bench_(seed) {
    bench_->set_valid_i = bench_->posted_valid_i = bench_->command_ready_i = bench_->send_ready_i = 0;
    bench_->request_valid_i = bench_->response_ready_i = bench_->read_ready_i = bench_->answer_valid_i = 0;
    bench_->limit_i = 64;
    reset();
  }

  /// Everything is forgotten, the ports too.
  void reset() {
    posted.clear();
    requests.clear();
    responses.clear();
    signals.clear();
    memory_events.clear();
    response_.clear();
    reads_.clear();
    request_at_ = 0;
    request_offered_ = response_waits_ = false;
    bench_->request_valid_i = bench_->answer_valid_i = 0;
    transfers.clear();
    messages.clear();
    events.clear();
    message_ = {};
    posted_at_ = 0;
    posted_offered_ = message_waits_ = false;
    bench_->posted_valid_i = bench_->set_valid_i = 0;
    bench_.reset();
  }

  /// `ring`: address of its commands in memory.
  void set_port(std::uint64_t vpid, State state, std::uint64_t life, std::uint64_t ring = 0) {
    bench_->set_valid_i = 1;
    bench_->set_ring_i = ring >> 6U;
    bench_->set_port_i = static_cast<std::uint8_t>(vpid);
    bench_->set_i = static_cast<std::uint8_t>((life & 15U) << 2U | static_cast<std::uint64_t>(state));
    setting_ = true;
    for (const std::uint64_t end = now() + kPatience; setting_; cycle()) {
      if (now() > end) throw std::runtime_error("a port is not set");
    }
  }

  /// Places of each port.
  void set_limit(unsigned limit) { bench_->limit_i = static_cast<std::uint8_t>(limit); }
  /// Asks, and waits for the answer.
  Reply ask(const htax::Packet& request) {
    requests.push_back(request);
    const std::size_t before = responses.size();
    for (const std::uint64_t end = now() + kPatience; responses.size() == before; cycle()) {
      if (now() > end) throw std::runtime_error("a request is not answered");
    }
    return reply_of(responses.back());
  }
  [[nodiscard]] static Reply reply_of(const htax::Packet& response) {
    return {static_cast<Code>(response[1] & 15U), response[1] >> 4U & 31U, response[1] >> 16U};
  }

  void cycle() {
    const auto goes = [&] { return !random.chance(stall_percent); };
    posted_offered_ = !posted.empty() && (posted_offered_ || goes());
    bench_->posted_valid_i = posted_offered_;
    bench_->posted_phit_i = posted_offered_ ? posted.front()[posted_at_] : random.bits();
    request_offered_ = !requests.empty() && (request_offered_ || goes());
    bench_->request_valid_i = request_offered_;
    bench_->request_phit_i = request_offered_ ? requests.front()[request_at_] : random.bits();
    bench_->response_ready_i = !answers_are_shut && goes();
    bench_->read_ready_i = !reads_are_shut && goes();
    offer_answer(goes());
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
    if (request_offered_ && bench_->request_ready_o != 0) {
      if (request_at_ == 0) request_cycle = now();
      ++moved_;
      request_offered_ = false;
      if (++request_at_ == requests.front().size()) {
        requests.pop_front();
        request_at_ = 0;
      }
    }
    take_response();
    if (bench_->read_valid_o != 0 && bench_->read_ready_i != 0) {
      const std::uint64_t read = bench_->read_o;
      reads_.push_back({read >> 52U, (read & ((std::uint64_t{1} << 52U) - 1)) >> 3U << 3U, (read & 7U) + 1});
      ++moved_;
    }
    if (bench_->command_valid_o != 0 && bench_->command_ready_i != 0) {
      Transfer& transfer = transfers.emplace_back();
      transfer.vpid = bench_->command_vpid_o;
      for (unsigned i = 0; i < kCommandWords; ++i) transfer.words[i] = bits_at(bench_->command_o, 64 * i, 64);
      transfer_cycle = now();
      ++moved_;
    }
    take_word();
    for (unsigned source = 0; source < 2; ++source) {
      if ((bench_->event_valid_o >> source & 1U) == 0) continue;
      const std::uint64_t event = bench_->event_o >> 22U * source & 0x3F'FFFF;
      (source == 0 ? events : memory_events)
          .push_back({event >> 6U, static_cast<nic::Error>(event >> 1U & 31U), (event & 1U) != 0});
    }
    if (bench_->signal_valid_o != 0) {
      signals.push_back({bench_->signal_o >> 13U, static_cast<Trigger>(bench_->signal_o >> 5U & 15U),
                         std::uint64_t{bench_->signal_o} & 31U});
    }
    late += bench_->late_o;
    expired += bench_->expired_o;
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
  bool answers_are_shut = false;    ///< The host takes no answer.
  bool reads_are_shut = false;      ///< Memory takes no read,
  bool is_mute = false;             ///< or answers none.
  std::uint32_t error_percent = 0;  ///< Of answers of memory.
  std::function<std::uint64_t(std::uint64_t)> read_word = [](std::uint64_t) { return std::uint64_t{0}; };
  std::deque<htax::Packet> posted;
  std::deque<htax::Packet> requests;
  std::vector<htax::Packet> responses;
  std::vector<Signal> signals;
  std::vector<Event> memory_events;  ///< Of commands in memory.
  std::uint64_t late = 0;
  std::uint64_t expired = 0;
  std::vector<Transfer> transfers;
  std::vector<Message> messages;
  std::vector<Event> events;
  std::uint64_t stale = 0;           ///< Commands of owners that are not any more.
  std::uint64_t header_cycle = 0;    ///< When the last header was taken,
  std::uint64_t word_cycle = 0;      ///< or any phit;
  std::uint64_t request_cycle = 0;   ///< when the header of the last request was taken,
  std::uint64_t answer_cycle = 0;    ///< and the last phit of an answer;
  std::uint64_t transfer_cycle = 0;  ///< when the last transfer left,
  std::uint64_t message_cycle = 0;   ///< the first word of the last message.

 private:
  static constexpr std::uint64_t kPatience = 200'000;

  /// A word of the oldest line that was asked for.
  void offer_answer(bool goes) {
    bench_->answer_valid_i = 0;
    if (reads_.empty() || is_mute || !goes) return;
    Read& read = reads_.front();
    BitWriter writer(bench_->answer_i);
    writer.put(read_word(read.address), 64);
    writer.put(random.chance(error_percent), 1);
    writer.put(read.tag, 5);
    bench_->answer_valid_i = 1;
    read.address += 8;
    if (--read.left == 0) reads_.pop_front();
    ++moved_;
  }
  void take_response() {
    const bool is_valid = bench_->response_valid_o != 0;
    if (response_waits_ && (!is_valid || bench_->response_phit_o != response_shown_)) {
      throw std::runtime_error("an answer changes while it waits");
    }
    response_shown_ = bench_->response_phit_o;
    response_waits_ = is_valid && bench_->response_ready_i == 0;
    if (!is_valid || response_waits_) return;
    ++moved_;
    response_.push_back(bench_->response_phit_o);
    if (response_.size() <= htax::from_phit(response_[0]).length) return;
    answer_cycle = now();
    responses.push_back(std::move(response_));
    response_.clear();
  }
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

  struct Read {
    std::uint64_t tag = 0;
    std::uint64_t address = 0;
    std::uint64_t left = 0;  ///< Words.
  };

  Bench<Model> bench_;
  std::deque<Read> reads_;
  htax::Packet response_;
  std::size_t request_at_ = 0;
  bool request_offered_ = false;
  bool response_waits_ = false;
  std::uint64_t response_shown_ = 0;
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
