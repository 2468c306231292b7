#include "host/monitor/counters/writer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

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
  std::size_t names_bytes = 0;        ///< In use.
  std::size_t names_room = 0;
  std::size_t entries_room = 0;
  std::size_t entries_offset = sizeof(Header);
  std::size_t names_offset = 0;
  std::size_t values_offset = 0;
  std::size_t values_end = 0;  ///< Of those in use.
  std::size_t bytes = 0;
};

Status check(const Schema::Item& item) {
  if (item.name.size() > kMaxNameBytes || !parse_name(item.name)) {
    return Failure{"'" + item.name.substr(0, kMaxNameBytes) + "' is not a valid name of a counter"};
  }
  if (item.help.size() > kMaxHelpBytes) return Failure{"the help of '" + item.name + "' is too long"};
  return Done{};
}

/// Where the value of an item begins, if those before it end at `at`.
std::size_t begin_of(const Schema::Item& item, std::size_t at) {
  return item.starts_line ? round_up<std::size_t>(at, kLinePair) : at;
}

/// Errors in a schema are mistakes of this program, or a configuration beyond every bound.
Result<Plan> plan_segment(const Schema& schema) {
  const std::span<const Schema::Item> items = schema.items();
  const Schema::Room& room = schema.room();
  if (items.size() > kMaxEntries) return Failure{"more than " + std::to_string(kMaxEntries) + " counters"};
  Plan plan;
  std::set<std::string_view> names;
  for (const Schema::Item& item : items) {
    if (!names.insert(item.name).second) return Failure{"two counters have the name '" + item.name + "'"};
    if (Status good = check(item); !good) return good.failure();
    plan.names_bytes += item.name.size() + item.help.size();
  }
  plan.entries_room = std::min(items.size() + room.entries, kMaxEntries);
  plan.names_room = plan.names_bytes + room.names_bytes;
  plan.names_offset = plan.entries_offset + plan.entries_room * sizeof(Entry);
  plan.values_offset = round_up<std::size_t>(plan.names_offset + plan.names_room, kPageBytes);
  std::size_t at = plan.values_offset;
  for (const Schema::Item& item : items) {
    at = begin_of(item, at);
    plan.values.push_back(at);
    at += value_bytes(item.kind, item.size);
  }
  plan.values_end = at;
  plan.bytes = round_up<std::size_t>(at + room.value_bytes, kPageBytes);
  if (plan.bytes > kMaxSegmentBytes) return Failure{"the counters need more memory than a segment can have"};
  return plan;
}

/// Writes the entry of an item, with its name and help from offset `name` in the area of names. Returns the bytes of
/// both.
std::size_t write_entry(Entry& entry, const Schema::Item& item, std::byte* names, std::size_t name,
                        std::uint64_t value_offset) {
  std::memcpy(names + name, item.name.data(), item.name.size());
  std::memcpy(names + name + item.name.size(), item.help.data(), item.help.size());
  entry.name_offset = static_cast<std::uint32_t>(name);
  entry.help_offset = static_cast<std::uint32_t>(name + item.name.size());
  entry.name_bytes = static_cast<std::uint16_t>(item.name.size());
  entry.help_bytes = static_cast<std::uint16_t>(item.help.size());
  entry.kind = static_cast<std::uint8_t>(item.kind);
  entry.unit = static_cast<std::uint8_t>(item.unit);
  entry.size = item.size;
  entry.value_offset = value_offset;
  return item.name.size() + item.help.size();
}

/// Fills zeroed memory of plan.bytes.
void write_header(std::byte* memory, const Plan& plan, std::span<const Schema::Item> items) {
  auto& header = *reinterpret_cast<Header*>(memory);
  header.version = kVersion;
  header.entries = static_cast<std::uint32_t>(items.size());
  header.entries_offset = plan.entries_offset;
  header.names_offset = plan.names_offset;
  header.names_bytes = plan.names_room;
  header.values_offset = plan.values_offset;
  header.segment_bytes = plan.bytes;
  header.epoch = os::wall_clock_ns();
  header.writer_pid = static_cast<std::uint32_t>(::getpid());
  header.heartbeat_ns = header.epoch;
  header.state = static_cast<std::uint64_t>(State::Running);
  auto* const entries = reinterpret_cast<Entry*>(memory + plan.entries_offset);
  std::size_t name = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    name += write_entry(entries[i], items[i], memory + plan.names_offset, name, plan.values[i]);
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
  const Result<Plan> plan = plan_segment(schema);
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
  segment.begin(schema, plan.value().names_bytes, plan.value().values_end, plan.value().entries_room);
  write_header(segment.memory_, plan.value(), schema.items());
  const Status published =
      os::publish(made, segment.file_, path.value(), {.magic = kMagic, .noun = "segment of counters"});
  if (!published) return Failure{published.message()};
  return segment;
}

Result<Segment> Segment::create_private(const Schema& schema) {
  const Result<Plan> plan = plan_segment(schema);
  if (!plan) return Failure{plan.message()};
  Segment segment;
  segment.bytes_ = plan.value().bytes;
  segment.private_ = std::make_unique<std::byte[]>(segment.bytes_ + kLinePair);
  void* begin = segment.private_.get();
  std::size_t room = segment.bytes_ + kLinePair;
  segment.memory_ = static_cast<std::byte*>(std::align(kLinePair, segment.bytes_, begin, room));
  segment.begin(schema, plan.value().names_bytes, plan.value().values_end, plan.value().entries_room);
  write_header(segment.memory_, plan.value(), schema.items());
  return segment;
}

Segment::~Segment() {
  if (mapping_.data() != nullptr && memory_ != nullptr) finish();
}

void Segment::begin(const Schema& schema, std::size_t names_used, std::size_t values_end, std::size_t entries_room) {
  names_used_ = names_used;
  values_end_ = values_end;
  entries_room_ = entries_room;
  for (std::size_t id = 0; id < schema.items().size(); ++id) known_.emplace(schema.items()[id].name, id);
}

Result<std::vector<Schema::Id>> Segment::add(const Schema& more) {
  Header& head = header();
  auto* const entries = reinterpret_cast<Entry*>(memory_ + head.entries_offset);
  const std::size_t present = head.entries;
  std::vector<Schema::Id> ids;
  std::vector<std::pair<const Schema::Item*, std::uint64_t>> made;  // with the offset of the value
  std::map<std::string, Schema::Id> names;
  std::size_t names_bytes = names_used_;
  std::size_t at = values_end_;
  bool starts_line = false;
  for (const Schema::Item& item : more.items()) {
    if (Status good = check(item); !good) return good.failure();
    starts_line = starts_line || item.starts_line;
    if (const auto found = known_.find(item.name); found != known_.end()) {
      const Entry& entry = entries[found->second];
      if (entry.kind != static_cast<std::uint8_t>(item.kind) || entry.size != item.size) {
        return Failure{"the counter '" + item.name + "' is of another kind"};
      }
      ids.push_back(found->second);
      continue;
    }
    if (!names.emplace(item.name, present + made.size()).second) {
      return Failure{"two counters have the name '" + item.name + "'"};
    }
    ids.push_back(present + made.size());
    at = std::exchange(starts_line, false) ? round_up<std::size_t>(at, kLinePair) : at;
    made.emplace_back(&item, at);
    at += value_bytes(item.kind, item.size);
    names_bytes += item.name.size() + item.help.size();
  }
  if (present + made.size() > entries_room_ || names_bytes > head.names_bytes || at > bytes_) {
    return Failure{"there is no room for " + std::to_string(made.size()) + " further counters until a restart"};
  }
  std::size_t name = names_used_;
  for (std::size_t i = 0; i < made.size(); ++i) {
    name += write_entry(entries[present + i], *made[i].first, memory_ + head.names_offset, name, made[i].second);
  }
  names_used_ = name;
  values_end_ = at;
  known_.merge(names);
  // A reader that sees the number sees the entries, too.
  __atomic_store_n(&head.entries, static_cast<std::uint32_t>(present + made.size()), __ATOMIC_RELEASE);
  return ids;
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
