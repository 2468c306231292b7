#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "Vstopbit_gaps_engines.h"
#include "bench.hpp"
#include "fpga/sim/cosim/core.hpp"
#include "fpga/sim/cosim/core_streams.hpp"
#include "host/device/firmware/device.hpp"

namespace stopbit::sim {

/// A datagram, and the cycle from which it may go in. With `beats` only its first ones come, and nothing after them.
struct Arriving {
  Datagram datagram;
  std::uint64_t at = 0;
  std::size_t beats = ~std::size_t{0};
  std::uint32_t gap_first = 0;  ///< The datagram shows that these numbers are missing.
  std::uint32_t gap_count = 0;
};

/// What some datagrams cost.
struct EnginesFigures {
  std::uint64_t cycles = 0;  ///< From the first beat or gap taken to the last slot out.
  std::uint64_t instructions = 0;
  std::uint64_t most_waiting = 0;  ///< Bytes that have arrived and are not taken, at most.
};

/// Drives four cores of stopbit_engines as front end and ring writer would.
class EnginesBench {
 public:
  EnginesBench(const Program& program, const EngineOptions& engine, const CoreOptions& options)
      : bench_(options.seed),
        random_(options.seed),
        in_(random_, options.input_stall),
        out_(random_, options.output_stall),
        max_slots_(program.max_record_slots) {
    bench_->valid_i = 0;
    bench_->gap_valid_i = 0;
    bench_->ready_i = 0;
    bench_->load_i = 0;
    bench_->spoil_i = 0;
    reset();
    const Result<std::vector<firmware::Word>> words = firmware::device_words(program, engine, options.device);
    if (!words) throw std::runtime_error(words.message());
    words_ = words.value();
    for (const firmware::Word& word : firmware::channel_words(program, engine, 0)) words_.push_back(word);
    load();
  }

  void load() {
    for (const firmware::Word& word : words_) {
      bench_->load_i = word.data | std::uint64_t{word.address} << 32 | std::uint64_t{1} << 53;
      bench_.step();
    }
    bench_->load_i = 0;
  }
  /// The tables of the cores stay.
  void reset() { bench_.reset(); }

  /// Changes a bit of a word in the tables of these cores, one bit each, until the next load().
  void spoil(unsigned cores) {
    bench_->spoil_i = static_cast<std::uint8_t>(cores);
    bench_.step();
    bench_->spoil_i = 0;
  }
  /// How many words do not read back as they were loaded.
  [[nodiscard]] std::size_t changed_words() {
    std::size_t changed = 0;
    for (const firmware::Word& word : words_) {
      bench_->load_i = std::uint64_t{word.address} << 32;
      bench_.step();
      bench_.settle();
      changed += bench_->back_data_o != word.data ? 1U : 0U;
    }
    bench_->load_i = 0;
    return changed;
  }

  /// Ends when all that comes is done and nothing has come out for a while.
  std::vector<Record> run(std::span<const Arriving> datagrams, EnginesFigures& figures) {
    constexpr std::uint64_t kPatience = 100'000;
    constexpr std::uint64_t kDrain = 64;  // a packer has no sign for the end of what it does
    const bool is_whole = datagrams.empty() || datagrams.back().beats == ~std::size_t{0};
    std::size_t to_do = datagrams.size() - (is_whole ? 0 : 1);
    RecordReader records(max_slots_);
    std::size_t at = 0;
    std::size_t arrived = 0;
    std::size_t beat = 0;
    std::size_t done = 0;
    bool is_idle = false;
    bool is_offered = false;  // a slot, `shown`, which was not taken
    std::array<std::uint32_t, sizeof(bench_->slot_o) / sizeof(std::uint32_t)> shown{};
    std::uint64_t quiet = 0;
    std::uint64_t waiting = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    const auto goes_on = [&] {
      return done < to_do || arrived < datagrams.size() || quiet < kDrain || (is_whole && !is_idle);
    };
    for (std::uint64_t now = 0; goes_on(); ++now, ++quiet) {
      for (; arrived < datagrams.size() && datagrams[arrived].at <= now; ++arrived) {
        waiting += datagrams[arrived].datagram.bytes.size();
        quiet = 0;
      }
      figures.most_waiting = std::max(figures.most_waiting, waiting);
      if (!offered_ && at < arrived && beat < datagrams[at].beats && in_.open()) {
        offer_beat(*bench_.operator->(), datagrams[at].datagram, datagrams[at].datagram.bytes.size(), beat, random_);
        offered_ = true;
        tells_gap_ = beat == 0 && datagrams[at].gap_count != 0;
        BitWriter gap(bench_->gap_i);
        gap.put(datagrams[at].gap_count, 32);
        gap.put(datagrams[at].gap_first, 32);
        gap.put(0, 32);
      }
      bench_->valid_i = offered_;
      bench_->gap_valid_i = tells_gap_;
      bench_->ready_i = out_.open();
      bench_.settle();
      if (tells_gap_ && bench_->gap_ready_o) {
        if (at == 0) first = now;
        tells_gap_ = false;
        ++to_do;
        quiet = 0;
      }
      if (offered_ && bench_->ready_o) {
        if (at == 0 && beat == 0 && datagrams[at].gap_count == 0) first = now;
        const std::size_t length = datagrams[at].datagram.bytes.size();
        waiting -= std::min(kBeatBytes, length - beat * kBeatBytes);
        if (++beat * kBeatBytes >= length) {
          ++at;
          beat = 0;
        }
        offered_ = false;
        quiet = 0;
      }
      const auto& slot = bench_->slot_o;
      if (is_offered && !(bench_->valid_o && std::equal(shown.begin(), shown.end(), slot.data()))) {
        throw std::runtime_error("a slot changes before it is taken");
      }
      is_offered = bench_->valid_o && !bench_->ready_i;
      if (is_offered) std::copy_n(slot.data(), shown.size(), shown.begin());
      if (bench_->valid_o && bench_->ready_i) {
        records.take(bench_->slot_o);
        last = now;
        quiet = 0;
      }
      done += bench_->datagrams_done_o;
      figures.instructions += bench_->issued_o;
      if (bench_->datagrams_done_o != 0) quiet = 0;
      is_idle = bench_->idle_o != 0;
      bench_.step();
      if (quiet > kPatience) {
        throw std::runtime_error(fmt::format("the cores hang: {} of {} datagrams are done", done, to_do));
      }
    }
    bench_->valid_i = 0;
    bench_->gap_valid_i = 0;
    offered_ = false;
    figures.cycles += last - std::min(first, last);
    return records.finish();
  }

 private:
  Bench<Vstopbit_gaps_engines> bench_;
  Random random_;
  Gate in_;
  Gate out_;
  std::uint32_t max_slots_;
  std::vector<firmware::Word> words_;
  bool offered_ = false;
  bool tells_gap_ = false;
};

/// Records by their channel, in order.
inline std::map<std::uint16_t, std::vector<Record>> by_channel(std::span<const Record> records) {
  std::map<std::uint16_t, std::vector<Record>> out;
  for (const Record& record : records) out[static_cast<std::uint16_t>(record[0].words[2] >> 32)].push_back(record);
  return out;
}

/// Empty if both have the same records of each channel in the same order.
inline std::string difference_by_channel(std::span<const Record> reference, std::span<const Record> cores) {
  const auto wanted = by_channel(reference);
  const auto got = by_channel(cores);
  if (wanted.size() != got.size()) return fmt::format("records of {} channels, not of {}", got.size(), wanted.size());
  for (const auto& [channel, records] : wanted) {
    const auto found = got.find(channel);
    if (found == got.end()) return fmt::format("none of channel {}", channel);
    const std::string wrong = difference(records, found->second);
    if (!wrong.empty()) return fmt::format("channel {}: {}", channel, wrong);
  }
  return {};
}

}  // namespace stopbit::sim
