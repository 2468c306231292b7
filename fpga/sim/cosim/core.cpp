#include "fpga/sim/cosim/core.hpp"

#include <Vstopbit_core.h>
#include <Vstopbit_core___024root.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <stdexcept>
#include <utility>

#include "bench.hpp"
#include "bits.hpp"
#include "decoder/interp/interpreter.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "fpga/sim/cosim/core_streams.hpp"
#include "host/device/firmware/device.hpp"

namespace stopbit::sim {
namespace {

constexpr std::uint64_t kPatience = 500'000;  ///< Cycles in which nothing goes in or out: the core hangs.

/// A part of what an instruction does.
struct TracedPart {
  bool begins = false;  ///< Its first.
  CoreStep step;
};

/// trace_t of stopbit_uop_pkg.sv, from its lowest bit on.
template <class Wide>
std::vector<TracedPart> read_trace(const Wide& trace) {
  unsigned at = 0;
  const auto take = [&](unsigned bits) {
    const std::uint64_t value = bits_at(trace, at, bits);
    at += bits;
    return value;
  };
  std::vector<TracedPart> out;
  if (take(1) == 0) return out;
  const bool is_pair = take(1) != 0;
  const bool begins = take(1) != 0;
  const std::uint64_t address = take(14);
  CoreStep text;
  text.has_text = take(1) != 0;
  text.length = static_cast<std::uint32_t>(take(17));
  text.last_word = take(64);
  for (unsigned lane = 0; lane < 2; ++lane) {
    CoreStep step = lane == 0 ? text : CoreStep();
    step.address = static_cast<std::uint16_t>(address + lane);
    step.error = static_cast<std::uint8_t>(take(8));
    step.offset = static_cast<std::uint32_t>(take(17));
    step.has_value = take(1) != 0;
    step.source = static_cast<std::uint8_t>(take(2));
    step.value = take(64);
    step.previous = take(64);
    step.writes = take(1) != 0;
    step.entry = static_cast<std::uint16_t>(take(std::bit_width(firmware::kMaxEntries - 1)));
    if (lane == 0 || (is_pair && out.front().step.error == 0)) out.push_back({begins || lane == 1, step});
  }
  return out;
}

}  // namespace

class Core::Model {
 public:
  explicit Model(const CoreOptions& options)
      : bench_(options.seed),
        random_(options.seed),
        in_(random_, options.input_stall),
        out_(random_, options.output_stall) {
    bench_->valid_i = 0;
    bench_->ready_i = 0;
    bench_->load_i = 0;
    bench_.reset_until_ready();
  }

  void load(const std::vector<firmware::Word>& words, unsigned bank) {
    load_later(words, bank);
    while (load_word()) bench_.step();
  }

  /// With the cycles that come.
  void load_later(const std::vector<firmware::Word>& words, unsigned bank) {
    for (const firmware::Word& word : words) {
      loads_.push_back(word.data | std::uint64_t{word.address} << 32 | std::uint64_t{bank} << 52 |
                       std::uint64_t{1} << 53);
    }
  }

  /// The memory word at an address.
  std::uint32_t read_back(std::uint32_t address, unsigned bank) {
    bench_->load_i = std::uint64_t{address} << 32 | std::uint64_t{bank} << 52;
    bench_.step();
    bench_.settle();
    return bench_->back_data_o;
  }

  std::vector<Record> run(std::span<const Datagram> datagrams, std::size_t max_bytes, std::uint32_t max_slots,
                          CoreFigures& figures, std::vector<CoreStep>* steps) {
    RecordReader records(max_slots);
    std::size_t at = 0;
    std::size_t beat = 0;
    std::size_t done = 0;
    bool offered = false;
    std::uint64_t quiet = 0;
    std::uint64_t first_beat = 0;
    std::uint64_t last_slot = bench_.cycles();
    // The packer has no sign for the end of what it does: a while without anything is the end. A datagram that was
    // given up is done before its last beat has come.
    constexpr std::uint64_t kDrain = 64;
    while (done < datagrams.size() || at < datagrams.size() || quiet < kDrain) {
      if (!offered && at < datagrams.size() && in_.open()) {
        offer_beat(*bench_.operator->(), datagrams[at], std::min(datagrams[at].bytes.size(), max_bytes), beat, random_);
        offered = true;
      }
      if (load_word()) quiet = 0;
      bench_->valid_i = offered;
      bench_->ready_i = done == datagrams.size() || out_.open();
      bench_.settle();
      ++quiet;
      if (offered && bench_->ready_o) {
        if (at == 0 && beat == 0) first_beat = bench_.cycles();
        const std::size_t length = std::min(datagrams[at].bytes.size(), max_bytes);
        ++beat;
        if (beat * kBeatBytes >= length) {
          ++at;
          beat = 0;
        }
        offered = false;
        quiet = 0;
      }
      if (bench_->valid_o && bench_->ready_i) {
        records.take(bench_->slot_o);
        last_slot = bench_.cycles();
        quiet = 0;
      }
      figures.instructions += bench_->issued_o;
      if (steps != nullptr) take_steps(*steps);
      if (bench_->datagram_done_o) {
        ++done;
        quiet = 0;
      }
      bench_.step();
      if (quiet > kPatience) {
        throw std::runtime_error(fmt::format("the core hangs: {} of {} datagrams are done", done, datagrams.size()));
      }
    }
    bench_->valid_i = 0;
    if (!datagrams.empty()) figures.cycles += last_slot - std::min(last_slot, first_beat);
    return records.finish();
  }

  void interrupt(const Datagram& datagram, std::size_t beats) {
    for (std::size_t beat = 0; beat < beats && beat * kBeatBytes < datagram.bytes.size();) {
      offer_beat(*bench_.operator->(), datagram, datagram.bytes.size(), beat, random_);
      bench_->valid_i = 1;
      bench_->ready_i = 0;
      bench_.settle();
      if (bench_->ready_o) ++beat;
      bench_.step();
      if (random_.chance(10)) break;
    }
    for (std::uint64_t left = random_.below(40); left > 0; --left) bench_.step();
    bench_->valid_i = 0;
    bench_.reset_until_ready();
  }

 private:
  /// Offers the next word to be loaded; false if there is none.
  bool load_word() {
    bench_->load_i = loads_.empty() ? 0 : loads_.front();
    if (loads_.empty()) return false;
    loads_.pop_front();
    return true;
  }

  /// An instruction may come in several parts, of which the first says so.
  void take_steps(std::vector<CoreStep>& steps) {
    const auto& trace = bench_->rootp->stopbit_core__DOT__i_engine__DOT__i_operate__DOT__trace;
    for (const auto& [begins, part] : read_trace(trace)) {
      if (begins || steps.empty()) {
        steps.push_back(part);
        continue;
      }
      CoreStep& step = steps.back();
      if (part.has_value) {
        step.has_value = true;
        step.source = part.source;
        step.value = part.value;
        step.previous = part.previous;
        step.writes = part.writes;
        step.entry = part.entry;
      }
      if (part.has_text) {
        step.has_text = true;
        step.length = part.length;
        step.last_word = part.last_word;
      }
      if (part.error != 0) step.error = part.error;
    }
  }

  Bench<Vstopbit_core> bench_;
  Random random_;
  Gate in_;
  Gate out_;
  std::deque<std::uint64_t> loads_;
};

Core::Core(const Program& program, const EngineOptions& engine, const CoreOptions& options)
    : model_(std::make_unique<Model>(options)),
      program_(program),
      engine_(engine),
      device_(options.device),
      bank_(options.seed % 2) {
  const Result<std::vector<firmware::Word>> words = firmware::device_words(program, engine, options.device);
  if (!words) throw std::runtime_error(words.message());
  model_->load(words.value(), bank_);
  channel_words_ = firmware::channel_words(program, engine, bank_);
  model_->load(channel_words_, bank_);
}

Core::~Core() = default;

std::vector<Record> Core::decode(std::span<const Datagram> datagrams) {
  const std::size_t max_bytes = std::min<std::size_t>(engine_.limits.datagram_bytes, limits::kMaxDatagramBytes);
  return model_->run(datagrams, max_bytes, program_.max_record_slots, figures_, nullptr);
}

std::vector<Record> Core::decode(std::span<const Datagram> datagrams, std::vector<CoreStep>& steps) {
  const std::size_t max_bytes = std::min<std::size_t>(engine_.limits.datagram_bytes, limits::kMaxDatagramBytes);
  return model_->run(datagrams, max_bytes, program_.max_record_slots, figures_, &steps);
}

void Core::interrupt(const Datagram& datagram, std::size_t beats) {
  model_->interrupt(datagram, beats);
}

std::size_t Core::changed_words() {
  const Result<std::vector<firmware::Word>> words = firmware::device_words(program_, engine_, device_);
  if (!words) throw std::runtime_error(words.message());
  std::size_t changed = 0;
  for (const auto* list : {&words.value(), &std::as_const(channel_words_)}) {
    for (const firmware::Word& word : *list) {
      if (model_->read_back(word.address, bank_) != word.data) ++changed;
    }
  }
  return changed;
}

void Core::reset(std::uint16_t channel) {
  const std::size_t words = channel_words_.size() / engine_.channels;
  model_->load({channel_words_.begin() + static_cast<std::ptrdiff_t>(channel * words),
                channel_words_.begin() + static_cast<std::ptrdiff_t>((channel + 1) * words)},
               bank_);
}

void Core::load_beside(const Program& other, std::uint16_t channel) {
  const unsigned bank = bank_ ^ 1;
  const Result<std::vector<firmware::Word>> words = firmware::device_words(other, engine_, device_);
  if (!words) throw std::runtime_error(words.message());
  model_->load_later(words.value(), bank);
  const std::vector<firmware::Word> channels = firmware::channel_words(other, engine_, bank);
  const auto count = static_cast<std::ptrdiff_t>(channels.size() / engine_.channels);
  model_->load_later({channels.begin() + channel * count, channels.begin() + (channel + 1) * count}, bank);
}

Reference::Reference(const Program& program, const EngineOptions& options)
    : sink_(program.max_record_slots), engine_(make_interpreter(program, options)) {}

std::vector<Record> Reference::decode(std::span<const Datagram> datagrams) {
  sink_.records.clear();
  for (const Datagram& datagram : datagrams) {
    const Outcome outcome = engine_->decode(datagram.bytes, datagram.info, sink_);
    messages_ += outcome.messages;
    fields_ += outcome.fields;
  }
  for (const Record& record : sink_.records) {
    for (const record::Slot& slot : record) {
      for (unsigned word = 0; word < record::kValueWords; ++word) {
        const std::uint64_t tag = slot.words[record::kTagWord] >> 8 * word & 0xFF;
        words_ += tag >= 1 && tag <= record::kMaxValueTag ? 1U : 0U;
      }
    }
  }
  return std::move(sink_.records);
}

void Reference::reset(std::uint16_t channel) {
  engine_->reset(channel);
}

std::string difference(std::span<const Record> reference, std::span<const Record> core) {
  const auto describe = [](const Record& record) {
    std::string text;
    for (const record::Slot& slot : record) {
      for (const std::uint64_t word : slot.words) text += fmt::format(" {:016x}", word);
      text += '\n';
    }
    return text;
  };
  for (std::size_t i = 0; i < std::max(reference.size(), core.size()); ++i) {
    const Record wanted = i < reference.size() ? reference[i] : Record();
    const Record got = i < core.size() ? core[i] : Record();
    const auto is_same = [](const record::Slot& a, const record::Slot& b) {
      return std::equal(std::begin(a.words), std::end(a.words), std::begin(b.words));
    };
    if (wanted.size() == got.size() && std::equal(wanted.begin(), wanted.end(), got.begin(), is_same)) continue;
    return fmt::format("record {} of {} differs (the core gave {} records)\ninterpreter:\n{}core:\n{}", i + 1,
                       reference.size(), core.size(), describe(wanted), describe(got));
  }
  return {};
}

}  // namespace stopbit::sim
