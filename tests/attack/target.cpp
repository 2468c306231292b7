#include "tests/attack/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "assembler/assembler.hpp"
#include "decoder/engine/trace.hpp"
#include "tests/attack/allocations.hpp"
#include "tests/lib/hex.hpp"

/// There in a build with sanitizers.
// NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming): its name
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace stopbit::attack {
namespace {

constexpr std::size_t kMaxDetail = 4'000;
constexpr std::size_t kMaxHistory = 64;
constexpr std::size_t kMaxBytes = 1U << 20;  ///< More than any datagram of an attack.
constexpr std::size_t kJunkSlots = 4;
constexpr std::uint64_t kJunk = 0xA5A5'A5A5'A5A5'A5A5;

struct CaseWriter {
  std::string folder = ".";
  std::string attack;
  const Attacked* attacked = nullptr;  ///< The one made last.
};

CaseWriter& case_writer() {
  static CaseWriter it;
  return it;
}

/// Once, whoever calls first: an error within an error keeps nothing.
void keep_case(std::string_view text) {
  const Attacked* attacked = std::exchange(case_writer().attacked, nullptr);
  if (attacked == nullptr) return;
  std::string name = case_writer().attack + "-" + attacked->feed().name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '-'; }, '-');
  const std::filesystem::path path = std::filesystem::path(case_writer().folder) / (name + ".case");
  std::ofstream(path) << (text.empty() ? attacked->history() : std::string(text));
  std::fprintf(stderr, "the case is kept: %s\n", path.c_str());
}

extern "C" void keep_case_of_sanitizer() {
  keep_case({});
}

extern "C" void keep_case_of_signal(int number) {
  keep_case({});
  std::signal(number, SIG_DFL);
  std::raise(number);
}

std::string_view reset_name(ResetRule rule) {
  switch (rule) {
    case ResetRule::Packet: return "packet";
    case ResetRule::Template: return "template";
    case ResetRule::Never: break;
  }
  return "never";
}

record::Schema schema_of(const Feed& feed) {
  auto schema = record::Schema::make(feed.program);
  require(schema.ok(), "a verified program has a schema", feed.name);
  return schema.value();
}

/// Looks at every value and its bytes.
struct Toucher : record::Visitor {
  void field(const SchemaNode&, const record::Value& value) {
    sum += value.bits + static_cast<std::uint64_t>(value.exponent);
    for (const char c : value.bytes) sum += static_cast<unsigned char>(c);
  }
  void begin_sequence(const SchemaNode&, std::uint32_t count) { sum += count; }
  std::uint64_t sum = 0;
};

}  // namespace

void attacked_is(const Attacked* attacked) noexcept {
  case_writer().attacked = attacked;
}

EngineOptions engine_options(const Feed& feed) {
  EngineOptions options;
  options.reset = feed.reset;
  options.strict = feed.strict;
  options.channels = feed.channels;
  options.limits = feed.limits;
  options.least_saved = 0;  // every profile program is entered
  return options;
}

void report(std::string_view promise, std::string_view detail, std::string_view kept_case) {
  std::fputs(fmt::format("broken promise: {}\n{}\n", promise, detail.substr(0, kMaxDetail)).c_str(), stderr);
  keep_case(kept_case);
}

void fail(std::string_view promise, std::string_view detail, std::string_view kept_case) {
  report(promise, detail, kept_case);
  std::exit(1);
}

void keep_cases_in(const std::string& folder, std::string_view attack) {
  case_writer().folder = folder;
  case_writer().attack = attack;
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(keep_case_of_sanitizer);
  } else {
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) std::signal(number, keep_case_of_signal);
  }
  std::signal(SIGALRM, keep_case_of_signal);
}

/// Checks that each event lies in the datagram, and that what begins ends.
class Watcher final : public trace::Observer {
 public:
  void begin(std::size_t bytes) {
    bytes_ = bytes;
    steps = 0;
    maps_ = 0;
  }
  void message_begins(std::uint32_t offset) noexcept override {
    inside({offset, offset});
    maps_ = 0;
  }
  void message_ends() noexcept override { require(maps_ == 0, "every presence map of a whole message ends"); }
  void step(std::uint16_t /*address*/, std::uint32_t offset) noexcept override {
    inside({offset, offset});
    ++steps;
  }
  void map_begins(trace::Extent bytes) noexcept override {
    inside(bytes);
    ++maps_;
  }
  void map_ends() noexcept override { require(maps_-- > 0, "a presence map ends once"); }
  void integer(trace::Extent bytes, wire::Int128 /*raw*/) noexcept override { inside(bytes); }
  void ascii(trace::Extent bytes, std::string_view text, bool /*is_null*/) noexcept override {
    inside(bytes);
    require(text.size() <= bytes.end - bytes.begin, "a string is not longer than its bytes");
  }
  void vector(trace::Extent bytes, std::string_view text) noexcept override {
    inside(bytes);
    require(text.size() == bytes.end - bytes.begin, "a vector is as long as its bytes");
  }

  std::uint64_t steps = 0;

 private:
  void inside(trace::Extent bytes) const {
    require(bytes.begin <= bytes.end && bytes.end <= bytes_, "what is told lies inside the datagram");
  }

  std::size_t bytes_ = 0;
  int maps_ = 0;
};

CheckingSink::CheckingSink(const Program& program, const record::Schema& schema)
    : max_slots_(program.max_record_slots),
      place_(std::make_unique_for_overwrite<record::Slot[]>(max_slots_)),
      reader_(schema) {}

record::RecordSink::Place CheckingSink::open() noexcept {
  std::fill_n(place_[0].words, std::min(kJunkSlots, max_slots_) * record::kSlotWords, kJunk);
  return {place_.get(), 0, false};
}

void CheckingSink::commit(const record::Slot& first, std::uint32_t slots) noexcept {
  if (slots == 0 || slots > max_slots_) fail("a record has 1 slot up to the program's limit");
  place_[0] = first;
  const std::span<const record::Slot> record(place_.get(), slots);
  for (const record::Slot& slot : record) {
    for (const std::uint64_t word : slot.words) digest = (digest ^ word) * 0x9E37'79B9'7F4A'7C15 + 1;
  }
  if (record::HeaderView(record[0]).is_event()) {
    ++events;
    if (reader_.open(record) != record::ReadError::None) fail("an event record can be read");
    return;
  }
  ++messages;
  Toucher toucher;
  const record::ReadError error = reader_.read(record, toucher);
  if (error != record::ReadError::None) fail("every record can be read", record::error_text(error));
  digest += toucher.sum;
}

Target::Target(const Feed& feed, const std::vector<verify::TemplateCost>& costs, Counts& counts)
    : feed_(feed),
      costs_(costs),
      counts_(counts),
      schema_(schema_of(feed)),
      sink_(feed.program, schema_),
      engines_(cases::make_engines(feed.program, engine_options(feed))),
      guarded_(kMaxBytes) {
  if (feed.is_traced) {
    watcher_ = std::make_unique<Watcher>();
    traced_engine_ = make_tracing_interpreter(feed.program, engine_options(feed), *watcher_);
  }
  history_.resize(kMaxHistory);
  attacked_is(this);
}

Target::~Target() {
  if (case_writer().attacked == this) attacked_is(nullptr);
}

void Target::reset() {
  for (const cases::TestedEngine& tested : engines_) tested.engine->reset(0);
  if (traced_engine_ != nullptr) traced_engine_->reset(0);
  history_size_ = 0;
}

Outcome Target::decode(std::span<const std::byte> datagram) {
  if (history_size_ == kMaxHistory) history_size_ = 0;  // a case that long is of no use
  history_[history_size_++].assign(datagram.begin(), datagram.end());
  sink_.clear();
  const std::span<const std::byte> copy = exact_copy(datagram);
  const std::uint64_t allocations_before = allocations();
  const Outcome outcome = engines_[0].engine->decode(copy, {.number = 1}, sink_);
  require(allocations() == allocations_before, "an engine allocates nothing after it is made");

  const bool failed = outcome.error != ErrorCode::None;
  require(outcome.offset_bytes <= datagram.size(), "the offset is inside the datagram");
  require(!failed || !code_text(outcome.error).empty(), "an error has a name");
  require(failed || outcome.dropped || outcome.offset_bytes == datagram.size(),
          "without an error the datagram is decoded to its end");
  require(sink_.messages == outcome.messages, "a record per message");
  require(sink_.events == (failed || outcome.dropped ? 1U : 0U), "an event per error");
  const std::uint64_t allowed = bound(datagram.size());
  if (outcome.instructions > allowed) {
    fail("no more instructions than the verifier's bound",
         fmt::format("{} for {} bytes, {} allowed", outcome.instructions, datagram.size(), allowed));
  }
  counts_.worst_share_percent = std::max(counts_.worst_share_percent, outcome.instructions * 100 / allowed);
  compare_with_others(copy, outcome);
  if (traced_engine_ != nullptr) compare_with_traced(copy, outcome);
  return outcome;
}

void Target::compare_with_others(std::span<const std::byte> datagram, const Outcome& outcome) {
  for (std::size_t i = 1; i < engines_.size(); ++i) {
    const std::uint64_t digest = sink_.digest;
    sink_.clear();
    const std::uint64_t allocations_before = allocations();
    const Outcome other = engines_[i].engine->decode(guarded_.place(datagram), {.number = 1}, sink_);
    require(allocations() == allocations_before, "no engine allocates after it is made");
    const std::string text = cases::difference(outcome, other);
    require(text.empty(), "every engine says the same", std::string(engines_[i].name) + ": " + text);
    require(sink_.digest == digest, "every engine writes the same records");
  }
}

void Target::compare_with_traced(std::span<const std::byte> datagram, const Outcome& outcome) {
  const std::uint64_t digest = sink_.digest;
  sink_.clear();
  watcher_->begin(datagram.size());
  const Outcome traced = traced_engine_->decode(datagram, {.number = 1}, sink_);
  const bool same = traced.error == outcome.error && traced.offset_bytes == outcome.offset_bytes &&
                    traced.messages == outcome.messages && traced.instructions == outcome.instructions &&
                    traced.block == outcome.block && traced.word == outcome.word && sink_.digest == digest;
  require(same, "an engine that is watched does the same");
  require(watcher_->steps == outcome.instructions, "every instruction is told");
}

std::span<const std::byte> Target::exact_copy(std::span<const std::byte> datagram) {
  if (datagram.size() >= copies_.size()) copies_.resize(datagram.size() + 1);
  auto& copy = copies_[datagram.size()];
  if (copy == nullptr) copy = std::make_unique<std::byte[]>(datagram.size());
  std::copy(datagram.begin(), datagram.end(), copy.get());
  return {copy.get(), datagram.size()};
}

std::uint64_t Target::bound(std::size_t bytes) {
  if (bytes >= bounds_.size()) bounds_.resize(bytes + 1);
  if (bounds_[bytes] == 0) bounds_[bytes] = verify::instruction_bound(costs_, static_cast<std::uint32_t>(bytes));
  return bounds_[bytes];
}

std::string case_text(const Feed& feed, std::span<const Move> moves) {
  std::string text = fmt::format("-- about\nKept by an attack on {}.\n-- options\nreset {}\n{}", feed.name,
                                 reset_name(feed.reset), feed.strict ? "strict\n" : "");
  if (feed.channels != 1) text += fmt::format("channels {}\n", feed.channels);
  constexpr EngineLimits kUsual;
  const auto add = [&](std::string_view name, std::uint32_t limit, std::uint32_t usual) {
    if (limit != usual) text += fmt::format("{} {}\n", name, limit);
  };
  add("datagram_bytes", feed.limits.datagram_bytes, kUsual.datagram_bytes);
  add("elements", feed.limits.elements, kUsual.elements);
  add("empty_elements", feed.limits.empty_elements, kUsual.empty_elements);
  add("nesting", feed.limits.nesting, kUsual.nesting);
  add("string_bytes", feed.limits.string_bytes, kUsual.string_bytes);
  if (!feed.template_text.empty()) {
    if (feed.options.template_id) text += fmt::format("template_id {}\n", *feed.options.template_id);
    if (!feed.options.supply_fast_reset) text += "no_fast_reset\n";
    text += fmt::format("string_capacity {}\nmax_record_slots {}\n", feed.options.string_capacity,
                        feed.options.max_record_slots);
    if (feed.options.fields) {
      std::string fields(feed.options.fields->text());
      std::replace(fields.begin(), fields.end(), '\n', ',');
      text += "fields " + fields + '\n';
    }
  }
  text += feed.template_text.empty() ? "-- program\n" + assembler::disassemble(feed.program)
                                     : "-- template\n" + feed.template_text;
  if (text.back() != '\n') text += '\n';
  text += "-- bytes\n";
  for (const Move& move : moves) {
    const std::string channel = move.channel == 0 ? "" : fmt::format("({})", move.channel);
    text += fmt::format("{}{} {}\n", move.is_reset ? "reset" : "packet", channel, testing::hex(move.bytes));
  }
  return text + "-- records\n";
}

std::string case_text(const Feed& feed, std::span<const Bytes> datagrams) {
  std::vector<Move> moves;
  for (const Bytes& bytes : datagrams) moves.push_back({0, false, bytes});
  return case_text(feed, moves);
}

}  // namespace stopbit::attack
