#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "host/nic/atu/atu.hpp"
#include "host/nic/protocol/protocol.hpp"

/// The address translation unit in RTL, with the memory of its tables and the units that ask it.
namespace stopbit::sim::atu {

namespace protocol = nic::protocol;

inline constexpr std::size_t kUnits = 4;  ///< Those of the class, which are the first, and the message unit.
inline constexpr std::uint64_t kTranslationChannel = 3;
inline constexpr int kClearCycles = 1100;       ///< In which it is ready after a reset.
inline constexpr std::uint64_t kPort = kUnits;  ///< Of the unit itself; those of the others are their numbers.

/// A message between a unit and the address translation unit.
struct Message {
  std::uint64_t origin = 0;
  std::uint64_t tag = 0;
  std::uint64_t operation = 0;
  std::uint64_t body = 0;
  bool operator==(const Message&) const = default;
};

[[nodiscard]] inline std::uint64_t to_phit(const Message& message) {
  return protocol::kAtsChannel.put(kTranslationChannel) | protocol::kAtsOrigin.put(message.origin) |
         protocol::kAtsTag.put(message.tag) | protocol::kAtsOperation.put(message.operation) |
         protocol::kAtsBody.put(message.body);
}
[[nodiscard]] inline Message from_phit(std::uint64_t phit) {
  return {protocol::kAtsOrigin.of(phit), protocol::kAtsTag.of(phit), protocol::kAtsOperation.of(phit),
          protocol::kAtsBody.of(phit)};
}

struct Lookup {
  nic::Vpid vpid = 0;
  std::uint64_t page = 0;
  nic::Access access = nic::Access::Read;
};
[[nodiscard]] inline Message ask(std::size_t unit, std::uint64_t tag, const Lookup& lookup) {
  return {unit, tag, protocol::kAtsTranslateRequest,
          protocol::kTranslateRequestAccess.put(static_cast<std::uint64_t>(lookup.access)) |
              protocol::kTranslateRequestVpid.put(lookup.vpid) | protocol::kTranslateRequestPage.put(lookup.page)};
}
[[nodiscard]] inline Message flush_answer(std::size_t unit, std::uint64_t tag, std::uint64_t page) {
  return {unit, tag, protocol::kAtsFlushResponse, protocol::kFlushPage.put(page)};
}

struct Flush {
  std::uint64_t page = 0;
  bool cache = true;
  unsigned units = (1U << kUnits) - 1;
};

/// A model of `stopbit_atu`, and what is at its ports. A cycle sends the next of what is queued, and says what it saw.
template <class Model>
class Driver {
 public:
  struct Read {
    std::uint64_t address = 0;
    std::uint64_t id = 0;
    std::uint64_t word = 0;  ///< As it was when the read was taken.
    std::uint64_t due = 0;   ///< The cycle in which it is answered.
  };
  struct Seen {
    std::optional<std::uint64_t> sent;
    std::array<std::optional<std::uint64_t>, kUnits> received;
    std::optional<Read> read;
    std::optional<Flush> flush;  ///< Taken.
    bool is_done = false;        ///< The oldest flush.
  };
  struct Events {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t faults = 0;
    std::uint64_t drops = 0;
    std::uint64_t failed = 0;
    std::uint64_t malformed = 0;
    std::uint64_t refused = 0;
    std::uint64_t late = 0;
    std::uint64_t unasked = 0;
    bool operator==(const Events&) const = default;
  };

  explicit Driver(std::uint64_t seed) : random(seed), bench_(seed) {
    bench_->valid_i = bench_->ready_i = bench_->read_ready_i = bench_->answer_valid_i = bench_->answer_error_i = 0;
    bench_->base_write_i = bench_->flush_valid_i = 0;
    reset();
  }

  /// Everything under way is forgotten, but not the memory; tables have no place any more.
  void reset() {
    to_send.clear();
    flushes.clear();
    reads.clear();
    bench_->valid_i = bench_->answer_valid_i = bench_->flush_valid_i = bench_->base_write_i = 0;
    bench_.reset();
    events = {};
    for (int i = 0; bench_->ready_o == 0; ++i) {
      count_events();
      if (events != Events{}) throw std::runtime_error("the unit shows events from before its reset");
      if (i == kClearCycles) throw std::runtime_error("the unit does not begin");
      bench_.step();
    }
  }

  void set_base(std::uint64_t table, std::uint64_t address, bool present = true) {
    bench_->base_write_i = 1;
    bench_->base_index_i = static_cast<std::uint16_t>(table);
    bench_->base_i = static_cast<std::uint32_t>(protocol::kGatBasePresent.put(present ? 1 : 0) |
                                                protocol::kGatBaseAddress.put(address >> 21U));
    bench_->valid_i = bench_->flush_valid_i = bench_->answer_valid_i = 0;
    bench_.settle();
    bench_.step();
    bench_->base_write_i = 0;
    bases[table] = address;
  }
  /// The word of a page in its table, which has a place.
  std::uint64_t& entry(std::uint64_t page) {
    return memory[bases.at(page >> nic::kEntryBits) + (page & ((std::uint64_t{1} << nic::kEntryBits) - 1)) * 8];
  }

  Seen cycle() {
    const auto goes = [&] { return !random.chance(stall_percent); };
    // What is offered stays until it is taken.
    bench_->valid_i = !to_send.empty() && (bench_->valid_i != 0 || goes());
    if (!to_send.empty()) bench_->phit_i = to_send.front();
    bench_->flush_valid_i = !flushes.empty() && (bench_->flush_valid_i != 0 || goes());
    if (!flushes.empty()) {
      bench_->flush_page_i = static_cast<std::uint32_t>(flushes.front().page);
      bench_->flush_cache_i = flushes.front().cache;
      bench_->flush_units_i = static_cast<std::uint8_t>(flushes.front().units);
    }
    unsigned ready = 0;
    for (std::size_t unit = 0; unit < kUnits; ++unit) ready |= goes() && !is_deaf[unit] ? 1U << unit : 0U;
    bench_->ready_i = static_cast<std::uint8_t>(ready);
    bench_->read_ready_i = goes() && !memory_is_shut;
    bench_->answer_valid_i = 0;
    bench_->answer_error_i = 0;
    std::vector<std::size_t> due;
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (reads[i].due <= now()) due.push_back(i);
    }
    if (forged_answer) {
      answer(forged_answer->id, forged_answer->word, false);
      forged_answer.reset();
    } else if (!due.empty()) {
      const std::size_t at = due[answers_in_any_order ? random.below(due.size()) : 0];
      answer(reads[at].id, reads[at].word, random.chance(error_percent));
      reads.erase(reads.begin() + static_cast<std::ptrdiff_t>(at));
    }
    bench_.settle();

    Seen seen;
    if (bench_->valid_i != 0 && bench_->ready_o != 0) {
      seen.sent = to_send.front();
      to_send.pop_front();
    }
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      if ((bench_->valid_o & ready) >> unit & 1) {
        seen.received[unit] = bench_->phit_o[2 * unit] | std::uint64_t{bench_->phit_o[2 * unit + 1]} << 32U;
      }
    }
    if (bench_->read_valid_o != 0 && bench_->read_ready_i != 0) {
      Read read{bench_->read_address_o, bench_->read_id_o, 0, 0};
      const auto found = memory.find(read.address);
      read.word = found == memory.end() ? 0 : found->second;
      read.due = now() + latency();
      seen.read = read;
      reads.push_back(read);
    }
    if (bench_->flush_valid_i != 0 && bench_->flush_ready_o != 0) {
      seen.flush = flushes.front();
      flushes.pop_front();
    }
    seen.is_done = bench_->flush_done_o != 0;
    count_events();
    bench_.step();
    if (seen.sent) bench_->valid_i = 0;
    if (seen.flush) bench_->flush_valid_i = 0;
    return seen;
  }

  [[nodiscard]] std::uint64_t now() const { return bench_.cycles(); }
  /// Units that the oldest flush waits for.
  [[nodiscard]] unsigned flush_waits() { return bench_->flush_waits_o; }

  Random random;
  std::uint32_t stall_percent = 0;
  std::uint32_t error_percent = 0;
  bool answers_in_any_order = false;
  bool memory_is_shut = false;                                               ///< It takes no read.
  std::array<bool, kUnits> is_deaf{};                                        ///< Units that take nothing.
  std::function<std::uint64_t()> latency = [] { return std::uint64_t{1}; };  ///< Cycles of a read, from 1 on.
  std::map<std::uint64_t, std::uint64_t> memory;
  std::map<std::uint64_t, std::uint64_t> bases;
  std::deque<std::uint64_t> to_send;
  std::deque<Flush> flushes;
  std::deque<Read> reads;  ///< Without an answer.
  std::optional<Read> forged_answer;
  Events events;

 private:
  void count_events() {
    events.hits += bench_->hit_o;
    events.misses += bench_->miss_o;
    events.faults += bench_->fault_o;
    events.drops += bench_->drop_o;
    events.failed += bench_->failed_o;
    events.malformed += bench_->malformed_o;
    events.refused += bench_->refused_o;
    events.late += bench_->late_o;
    events.unasked += bench_->unasked_o;
  }
  void answer(std::uint64_t id, std::uint64_t word, bool is_error) {
    bench_->answer_valid_i = 1;
    bench_->answer_id_i = static_cast<std::uint8_t>(id);
    bench_->answer_data_i = word;
    bench_->answer_error_i = is_error;
  }

  Bench<Model> bench_;
};

}  // namespace stopbit::sim::atu
