#include "host/monitor/counters/writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "host/monitor/counters/name.hpp"
#include "host/os/clock.hpp"
#include "host/os/shm/name.hpp"
#include "host/os/shm/publish.hpp"
#include "host/ring/header.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::counters {
namespace {

constexpr std::size_t kPageBytes = 4096;

/// A value of several words changes between two odd steps of its version: readers then know that what they copied is
/// void. Every store has release order, so who sees one of the new words sees that the version had become odd.
class Change {
 public:
  explicit Change(std::uint64_t& version) noexcept : version_(version) { store_word(version_, version_ + 1); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
  ~Change() { put(version_, version_ + 1); }

  static void put(std::uint64_t& word, std::uint64_t value) noexcept {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
  }
  static void put(std::uint64_t* words, const void* from, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at < bytes; at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const char*>(from) + at, std::min<std::size_t>(8, bytes - at));
      put(words[at / 8], word);
    }
  }

 private:
  std::uint64_t& version_;
};

}  // namespace

void Text::set(std::string_view text) const noexcept {
  text = text.substr(0, kTextBytes);
  const Change change(value_->version);
  Change::put(value_->bytes, text.size());
  Change::put(value_->words, text.data(), text.size());
}

bool Errors::add(const ErrorFact& fact) const noexcept {
  const std::uint64_t place = std::uint64_t{fact.channel} | std::uint64_t{fact.template_index} << 16 |
                              std::uint64_t{fact.block} << 32 | std::uint64_t{fact.word} << 48 |
                              std::uint64_t{fact.code} << 56;
  const std::uint64_t used = value_->distinct;
  for (std::uint64_t i = 0; i < used; ++i) {
    ErrorValue& known = list_[i];
    if (known.place != place) continue;
    store_word(known.count, known.count + 1);
    store_word(known.last_ns, fact.time_ns);
    return false;
  }
  if (used == places_) {
    store_word(value_->beyond, value_->beyond + 1);
    return false;
  }
  ErrorValue& made = list_[used];
  const std::size_t sample = std::min(fact.sample.size(), kSampleBytes);
  {
    const Change change(made.version);
    Change::put(made.count, 1);
    Change::put(made.first_ns, fact.time_ns);
    Change::put(made.last_ns, fact.time_ns);
    Change::put(made.place, place);
    Change::put(made.packet, std::uint64_t{fact.sequence} | std::uint64_t{fact.template_id} << 32);
    Change::put(made.offset, std::uint64_t{fact.offset} | std::uint64_t{fact.sample_begin} << 32);
    Change::put(made.sample_bytes, sample);
    Change::put(made.sample, fact.sample.data(), sample);
  }
  __atomic_store_n(&value_->distinct, used + 1, __ATOMIC_RELEASE);
  return true;
}

Schema::Id Schema::add(Kind kind, std::string_view family, std::initializer_list<Label> labels, std::string_view help,
                       Unit unit, std::uint16_t size) {
  items_.push_back({.kind = kind,
                    .unit = unit,
                    .size = kind == Kind::Errors ? size : std::uint16_t{0},
                    .starts_line = starts_line_,
                    .name = write_name(family, labels),
                    .help = std::string(help)});
  starts_line_ = false;
  return items_.size() - 1;
}

namespace {

/// Where everything lies in a segment.
struct Plan {
  std::vector<std::uint64_t> values;  ///< Offset of each.
  std::size_t names_bytes = 0;
  std::size_t entries_offset = sizeof(Header);
  std::size_t names_offset = 0;
  std::size_t values_offset = 0;
  std::size_t bytes = 0;
};

/// Errors in a schema are mistakes of this program, or a configuration beyond every bound.
Result<Plan> plan_segment(std::span<const Schema::Item> items) {
  if (items.size() > kMaxEntries) return Failure{"more than " + std::to_string(kMaxEntries) + " counters"};
  Plan plan;
  std::set<std::string_view> names;
  for (const Schema::Item& item : items) {
    if (!names.insert(item.name).second) return Failure{"two counters have the name '" + item.name + "'"};
    if (item.name.size() > kMaxNameBytes || !parse_name(item.name)) {
      return Failure{"'" + item.name.substr(0, kMaxNameBytes) + "' is not a valid name of a counter"};
    }
    if (item.help.size() > kMaxHelpBytes) return Failure{"the help of '" + item.name + "' is too long"};
    plan.names_bytes += item.name.size() + item.help.size();
  }
  plan.names_offset = plan.entries_offset + items.size() * sizeof(Entry);
  plan.values_offset = round_up<std::size_t>(plan.names_offset + plan.names_bytes, kPageBytes);
  std::size_t at = plan.values_offset;
  for (const Schema::Item& item : items) {
    if (item.starts_line) at = round_up<std::size_t>(at, kLinePair);
    plan.values.push_back(at);
    at += value_bytes(item.kind, item.size);
  }
  plan.bytes = round_up<std::size_t>(at, kPageBytes);
  if (plan.bytes > kMaxSegmentBytes) return Failure{"the counters need more memory than a segment can have"};
  return plan;
}

/// Fills zeroed memory of plan.bytes.
void write_header(std::byte* memory, const Plan& plan, std::span<const Schema::Item> items) {
  auto& header = *reinterpret_cast<Header*>(memory);
  header.version = kVersion;
  header.entries = static_cast<std::uint32_t>(items.size());
  header.entries_offset = plan.entries_offset;
  header.names_offset = plan.names_offset;
  header.names_bytes = plan.names_bytes;
  header.values_offset = plan.values_offset;
  header.segment_bytes = plan.bytes;
  header.epoch = os::wall_clock_ns();
  header.writer_pid = static_cast<std::uint32_t>(::getpid());
  header.heartbeat_ns = header.epoch;
  header.state = static_cast<std::uint64_t>(State::Running);
  auto* entry = reinterpret_cast<Entry*>(memory + plan.entries_offset);
  std::size_t name = 0;
  const auto put = [&](const std::string& text) {
    std::memcpy(memory + plan.names_offset + name, text.data(), text.size());
    name += text.size();
    return static_cast<std::uint32_t>(name - text.size());
  };
  for (std::size_t i = 0; i < items.size(); ++i, ++entry) {
    const Schema::Item& item = items[i];
    entry->name_offset = put(item.name);
    entry->help_offset = put(item.help);
    entry->name_bytes = static_cast<std::uint16_t>(item.name.size());
    entry->help_bytes = static_cast<std::uint16_t>(item.help.size());
    entry->kind = static_cast<std::uint8_t>(item.kind);
    entry->unit = static_cast<std::uint8_t>(item.unit);
    entry->size = item.size;
    entry->value_offset = plan.values[i];
  }
  __atomic_store_n(&header.magic, kMagic, __ATOMIC_RELEASE);
}

}  // namespace

Result<std::string> path_of(std::string_view name) {
  Result<std::string> path = os::path_of(name);
  if (!path) return path;
  return path.value() + ".counters";
}

Result<Segment> Segment::create(std::string_view name, const Schema& schema) {
  const Result<std::string> path = counters::path_of(name);
  if (!path) return Failure{path.message()};
  const Result<Plan> plan = plan_segment(schema.items());
  if (!plan) return Failure{plan.message()};
  os::TemporaryFile made(path.value());
  Segment segment;
  segment.path_ = path.value();
  segment.file_ = made.create();
  if (!segment.file_.ok()) return Failure{made.problem()};
  if (!os::lock(segment.file_)) return Failure{os::system_error("lock", path.value())};
  if (!segment.mapping_.create(segment.file_, plan.value().bytes)) {
    return Failure{os::no_memory(segment.file_, path.value(), plan.value().bytes)};
  }
  segment.memory_ = segment.mapping_.data();
  segment.bytes_ = plan.value().bytes;
  write_header(segment.memory_, plan.value(), schema.items());
  const Status published =
      os::publish(made, segment.file_, path.value(), {.magic = kMagic, .noun = "segment of counters"});
  if (!published) return Failure{published.message()};
  return segment;
}

Result<Segment> Segment::create_private(const Schema& schema) {
  const Result<Plan> plan = plan_segment(schema.items());
  if (!plan) return Failure{plan.message()};
  Segment segment;
  segment.bytes_ = plan.value().bytes;
  segment.private_ = std::make_unique<std::byte[]>(segment.bytes_ + kLinePair);
  void* begin = segment.private_.get();
  std::size_t room = segment.bytes_ + kLinePair;
  segment.memory_ = static_cast<std::byte*>(std::align(kLinePair, segment.bytes_, begin, room));
  write_header(segment.memory_, plan.value(), schema.items());
  return segment;
}

Segment::~Segment() {
  if (mapping_.data() != nullptr && memory_ != nullptr) finish();
}

template <class T>
T* Segment::value(Schema::Id id, Kind kind) const noexcept {
  const auto* entries = reinterpret_cast<const Entry*>(memory_ + header().entries_offset);
  // A handle of the wrong kind is a mistake of ours that would corrupt its neighbours.
  if (id >= header().entries || entries[id].kind != static_cast<std::uint8_t>(kind)) std::abort();
  return reinterpret_cast<T*>(memory_ + entries[id].value_offset);
}

Counter Segment::counter(Schema::Id id) const noexcept {
  const auto* entries = reinterpret_cast<const Entry*>(memory_ + header().entries_offset);
  const bool is_gauge = id < header().entries && entries[id].kind == static_cast<std::uint8_t>(Kind::Gauge);
  return Counter(value<std::uint64_t>(id, is_gauge ? Kind::Gauge : Kind::Counter));
}
Histogram Segment::histogram(Schema::Id id) const noexcept {
  return Histogram(value<HistogramValue>(id, Kind::Histogram));
}
Text Segment::text(Schema::Id id) const noexcept {
  return Text(value<TextValue>(id, Kind::Text));
}
Errors Segment::errors(Schema::Id id) const noexcept {
  auto* found = value<ErrorsValue>(id, Kind::Errors);
  return {found, reinterpret_cast<const Entry*>(memory_ + header().entries_offset)[id].size};
}

void Segment::beat(std::uint64_t now_ns) const noexcept {
  store_word(header().heartbeat_ns, now_ns);
}
void Segment::finish() const noexcept {
  __atomic_store_n(&header().state, static_cast<std::uint64_t>(State::Finished), __ATOMIC_RELEASE);
}
void Segment::unlink() const noexcept {
  if (os::is_at(file_, path_)) ::unlink(path_.c_str());
}

}  // namespace stopbit::counters
