#include "fpga/sim/cosim/lockstep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "decoder/engine/trace.hpp"
#include "decoder/record/schema.hpp"
#include "decoder/record/views.hpp"
#include "decoder/state/dictionary.hpp"
#include "microcode/isa/isa.hpp"

namespace stopbit::sim {
namespace {

/// A message of a few bytes may execute millions of instructions: only the last ones are kept.
constexpr std::size_t kMaxSteps = 1'000'000;
/// Those at 0 and 1, presence map and identifier of a message. The core takes them together where it can.
constexpr std::uint16_t kFirstOfTemplates = 2;
constexpr std::size_t kWindowBytes = 20;

/// Whether the core shows the instruction at all times: not those that begin a message, nor an END alone, which may go
/// with the last element before it.
bool is_shown(const Program& program, std::size_t address) {
  if (address < kFirstOfTemplates || address >= program.code.size()) return address >= kFirstOfTemplates;
  const isa::Instruction& in = program.code[address];
  return in.op != isa::DataOp::Nop || in.control != isa::ControlOp::End;
}

/// Without profile programs, which the tracing interpreter does not enter.
CoreOptions general(CoreOptions options) {
  options.device.profiles = false;
  return options;
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x} ", static_cast<unsigned char>(byte));
  return text.empty() ? "nothing" : text.substr(0, text.size() - 1);
}

std::string_view source_text(trace::Source source) {
  switch (source) {
    case trace::Source::Stream: return "from the stream";
    case trace::Source::Previous: return "from the dictionary";
    case trace::Source::Initial: return "from the template";
    case trace::Source::Nothing: return "absent";
    case trace::Source::Error: break;
  }
  return "an error";
}

/// source_e
trace::Source source_of(const CoreStep& step) {
  constexpr trace::Source kSources[] = {trace::Source::Nothing, trace::Source::Stream, trace::Source::Previous,
                                        trace::Source::Initial};
  return kSources[step.source % 4];
}

std::string error_text(ErrorCode code) {
  return code == ErrorCode::None ? std::string("no error") : "error " + std::string(code_text(code));
}

/// What an instruction did in the interpreter.
struct Step {
  std::uint16_t address = 0;
  std::uint32_t offset = 0;
  std::uint16_t template_index = 0xFFFF;
  std::uint16_t block = kNoBlock;
  std::string before;  ///< The dictionary's entry, in words.
  bool has_value = false;
  bool has_text = false;
  trace::Source source = trace::Source::Nothing;
  std::uint64_t value = 0;
  std::uint32_t length = 0;
  std::uint64_t last_word = 0;
};

std::string value_text(bool has_value, bool has_text, trace::Source source, std::uint64_t value, std::uint32_t length,
                       std::uint64_t last_word) {
  if (source == trace::Source::Nothing && (has_value || has_text)) return "absent";
  if (has_text) return fmt::format("a string of {} bytes, its last word {:016x}", length, last_word);
  if (!has_value) return "no value";
  return fmt::format("{} ({:#x}), {}", static_cast<std::int64_t>(value), value, source_text(source));
}

/// The words of a string that is in pieces of eight bytes.
std::uint64_t last_word_of(std::string_view text) {
  std::uint64_t word = 0;
  if (text.empty()) return word;
  const std::size_t begin = (text.size() - 1) / 8 * 8;
  std::memcpy(&word, text.data() + begin, text.size() - begin);
  return word;
}

}  // namespace

class LockStep::Recorder final : public trace::Observer {
 public:
  explicit Recorder(const Program& program) : program_(program) {}

  void clear() {
    steps_.clear();
    is_open_ = false;
  }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  /// Whether nothing was done after the last one.
  [[nodiscard]] bool ends_with_last() const { return is_open_; }

  void datagram_begins(const state::Dictionary& dictionary) noexcept override { dictionary_ = &dictionary; }
  void message_begins(std::uint32_t /*offset*/) noexcept override {
    template_ = 0xFFFF;
    block_ = kNoBlock;
  }
  void template_begins(std::uint16_t template_index, bool /*is_reference*/) noexcept override {
    template_ = template_index;
    block_ = program_.templates[template_index].root_block;
  }
  void block_opens(std::uint16_t block, std::size_t /*first_slot*/, std::size_t /*base*/) noexcept override {
    block_ = block;
    if (is_open_) steps_.back().block = block;
  }
  void step(std::uint16_t address, std::uint32_t offset) noexcept override {
    is_open_ = is_shown(program_, address) && steps_.size() < kMaxSteps;
    if (!is_open_) return;
    Step& step = steps_.emplace_back();
    step.address = address;
    step.offset = offset;
    step.template_index = template_;
    step.block = block_;
    step.before = entry_text(program_.code[address]);
  }
  void value(trace::Source source, std::uint64_t value) noexcept override {
    if (!is_open_) return;
    steps_.back().has_value = source != trace::Source::Error;
    steps_.back().source = source;
    steps_.back().value = value;
  }
  void text(trace::Source source, std::string_view value) noexcept override {
    if (!is_open_) return;
    Step& step = steps_.back();
    step.has_text = source != trace::Source::Error;
    step.source = source;
    step.length = static_cast<std::uint32_t>(value.size());
    step.last_word = last_word_of(value);
  }

 private:
  [[nodiscard]] std::string entry_text(const isa::Instruction& in) const {
    if (!isa::info(in.op)->uses_slot) return "none";
    switch (dictionary_->state(in.slot)) {
      case state::Dictionary::State::Undefined: return "undefined";
      case state::Dictionary::State::Empty: return "empty";
      case state::Dictionary::State::Assigned: break;
    }
    const state::EntryType type = dictionary_->type(in.slot);
    const bool is_text =
        type == state::EntryType::Ascii || type == state::EntryType::Unicode || type == state::EntryType::Bytes;
    if (is_text) return "assigned, " + hex(dictionary_->string(in.slot).substr(0, kWindowBytes));
    const std::uint64_t value = dictionary_->value(in.slot);
    return fmt::format("assigned, {} ({:#x})", static_cast<std::int64_t>(value), value);
  }

  const Program& program_;
  const state::Dictionary* dictionary_ = nullptr;
  std::vector<Step> steps_;
  bool is_open_ = false;  ///< The last of them is the instruction that runs.
  std::uint16_t template_ = 0xFFFF;
  std::uint16_t block_ = kNoBlock;
};

namespace {

/// An instruction, and whose it is.
std::string instruction_text(const Program& program, const Step& step) {
  const isa::Instruction& in = program.code[step.address];
  std::string text = fmt::format("{}: {} word {} slot {} constant {} {} {}", step.address, isa::info(in.op)->mnemonic,
                                 in.word, in.slot, in.constant, isa::info(in.control)->mnemonic, in.target);
  const Result<record::Schema> schema = record::Schema::make(program);
  if (!schema || schema.value().find(step.template_index) == nullptr) return text;
  text += fmt::format(", template '{}'", program.name(schema.value().find(step.template_index)->name));
  const SchemaNode* const node = schema.value().owner(step.template_index, step.block, in.word);
  if (node != nullptr) text += fmt::format(", field '{}'", schema.value().owner_name(*node));
  return text;
}

std::string window_text(const Datagram& datagram, std::uint32_t offset) {
  const std::size_t at = std::min<std::size_t>(offset, datagram.bytes.size());
  const std::span<const std::byte> bytes =
      datagram.bytes.subspan(at, std::min(kWindowBytes, datagram.bytes.size() - at));
  return fmt::format("byte {}: {}", offset, hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
}

}  // namespace

LockStep::LockStep(const Program& program, const EngineOptions& engine, const CoreOptions& options,
                   const Program* of_core)
    : program_(program),
      recorder_(std::make_unique<Recorder>(program)),
      reference_(make_tracing_interpreter(program, engine, *recorder_)),
      core_(of_core != nullptr ? *of_core : program, engine, general(options)) {}

LockStep::~LockStep() = default;

void LockStep::reset(std::uint16_t channel) {
  reference_->reset(channel);
  core_.reset(channel);
}

std::optional<Divergence> LockStep::decode(const Datagram& datagram) {
  recorder_->clear();
  RecordList wanted(program_.max_record_slots);
  const Outcome outcome = reference_->decode(datagram.bytes, datagram.info, wanted);
  std::vector<CoreStep> steps;
  const std::vector<Record> got = core_.decode({&datagram, 1}, steps);
  std::erase_if(steps, [&](const CoreStep& step) { return !is_shown(program_, step.address); });
  ErrorCode ended = ErrorCode::None;
  if (!got.empty() && record::HeaderView(got.back()[0]).is_event()) ended = record::EventView(got.back()[0]).code();
  if (std::optional<Divergence> found = compare(datagram, outcome, steps, ended)) return found;
  const std::string wrong = difference(wanted.records, got);
  if (wrong.empty()) return std::nullopt;
  return Divergence{std::nullopt, "every instruction does the same, but the records differ: " + wrong};
}

std::optional<Divergence> LockStep::compare(const Datagram& datagram, const Outcome& outcome,
                                            const std::vector<CoreStep>& steps, ErrorCode ended) const {
  // A datagram that waits for its reset is passed over by one and begun by the other; the records tell.
  if (outcome.dropped) return std::nullopt;
  const std::vector<Step>& reference = recorder_->steps();
  const auto tell = [&](std::size_t index, std::string what) {
    const Step& step = reference[index];
    std::string text = instruction_text(program_, step) + '\n' + what + '\n';
    text +=
        fmt::format("  interpreter  {}\n               dictionary {}\n               gives {}\n",
                    window_text(datagram, step.offset), step.before,
                    value_text(step.has_value, step.has_text, step.source, step.value, step.length, step.last_word));
    if (index < steps.size()) {
      const CoreStep& got = steps[index];
      text +=
          fmt::format("  core         {}\n               dictionary {}\n               gives {}, {}\n",
                      window_text(datagram, got.offset),
                      got.has_value ? fmt::format("{} ({:#x})", static_cast<std::int64_t>(got.previous), got.previous)
                                    : std::string("not shown"),
                      value_text(got.has_value, got.has_text, source_of(got), got.value, got.length, got.last_word),
                      error_text(static_cast<ErrorCode>(got.error)));
    }
    return Divergence{step.address, std::move(text)};
  };
  // What leads to an instruction is the doing of the one before it.
  const auto before = [&](std::size_t index, std::string what) {
    if (index == 0) return Divergence{std::nullopt, "before the first instruction of a template: " + what};
    return tell(index - 1, std::move(what));
  };

  for (std::size_t i = 0; i < reference.size(); ++i) {
    const Step& wanted = reference[i];
    if (i == steps.size())
      return before(i, fmt::format("the core ends, the interpreter goes on at {}", wanted.address));
    const CoreStep& got = steps[i];
    if (wanted.address != got.address) {
      return before(i, fmt::format("the core goes on at {}, the interpreter at {}", got.address, wanted.address));
    }
    // A field of a bit group is in bytes that another instruction has taken.
    if (wanted.offset != got.offset && !isa::is_bit(program_.code[wanted.address].op)) {
      return before(i,
                    fmt::format("the core goes on at byte {}, the interpreter at byte {}", got.offset, wanted.offset));
    }
    const bool is_last = i + 1 == reference.size() && recorder_->ends_with_last();
    const ErrorCode error = is_last ? outcome.error : ErrorCode::None;
    const auto core_error = static_cast<ErrorCode>(got.error);
    // Some errors are found after the trace ends, or by no instruction: then only the event reports them.
    if (core_error == ErrorCode::None && error != ErrorCode::None && error == ended) return std::nullopt;
    if (core_error != error) {
      return tell(i, "the core has " + error_text(core_error) + ", the interpreter has " + error_text(error));
    }
    if (core_error != ErrorCode::None) continue;
    const isa::Instruction& in = program_.code[wanted.address];
    const bool is_absent = wanted.source == trace::Source::Nothing;
    if (wanted.has_value && got.has_value) {
      // A field of a bit group is found to be NULL after the trace.
      const bool same_presence = isa::is_bit(in.op) || is_absent == (source_of(got) == trace::Source::Nothing);
      if (!same_presence || (!is_absent && wanted.value != got.value)) return tell(i, "the values differ");
    }
    // The entries of a channel follow each other.
    if (got.writes && got.entry % program_.slots.size() != in.slot) {
      return tell(i, fmt::format("the core writes slot {}", got.entry % program_.slots.size()));
    }
    if (wanted.has_text && got.has_text && (wanted.length != got.length || wanted.last_word != got.last_word)) {
      return tell(i, "the strings differ");
    }
    if ((wanted.has_text && is_absent == got.has_text) || (wanted.has_value && got.has_text)) {
      return tell(i, "one has a string, the other has none");
    }
  }
  if (steps.size() > reference.size() && reference.size() < kMaxSteps) {
    return before(reference.size(), fmt::format("the core goes on at {}, the interpreter ends with {}",
                                                steps[reference.size()].address, error_text(outcome.error)));
  }
  return std::nullopt;
}

}  // namespace stopbit::sim
