#include "host/monitor/counters/reader.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/os/shm/folder.hpp"

#include "microcode/base/printable.hpp"

namespace stopbit::counters {
namespace {

constexpr int kTries = 100;  ///< To read a value of several words while its writer changes it.

/// Whether [offset, offset + bytes) lies inside `whole`.
bool is_inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t whole) {
  return offset <= whole && bytes <= whole - offset;
}

bool matches(const Name& name, std::string_view family, std::initializer_list<Label> labels) {
  return name.family == family && std::all_of(labels.begin(), labels.end(),
                                              [&](const Label& label) { return name.label(label.key) == label.value; });
}

}  // namespace

Result<Reader> Reader::open(std::string_view name) {
  Result<os::FoundFile> found = os::open_accepted(name, ".counters", "segment of counters");
  if (!found) return Failure{found.message()};
  Reader reader;
  reader.file_ = std::move(found.value().file);
  reader.path_ = std::move(found.value().path);
  const std::string& path = reader.path_;
  struct stat status {};
  if (::fstat(reader.file_.get(), &status) != 0) return Failure{os::system_error("look at", path)};
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || bytes < sizeof(Header) || bytes > kMaxSegmentBytes) {
    return Failure{"'" + path + "' is not a segment of counters"};
  }
  if (!reader.mapping_.map(reader.file_, bytes, os::Mapping::Use::Read)) {
    return Failure{os::system_error("map", path)};
  }
  reader.memory_ = {reader.mapping_.data(), bytes};
  const Status read = reader.read_tables();
  if (reader.mapping_.is_broken()) return Failure{"'" + path + "' was truncated while it was opened"};
  if (!read) return Failure{"'" + path + "': " + read.message()};
  return reader;
}

Result<Reader> Reader::over(std::span<const std::byte> memory) {
  Reader reader;
  reader.memory_ = memory;
  if (const Status read = reader.read_tables(); !read) return read.failure();
  return reader;
}

Status Reader::read_tables() {
  if (memory_.size() < sizeof(Header)) return Failure{"it is no segment of counters"};
  std::memcpy(&header_, memory_.data(), sizeof(Header));
  if (header_.magic != kMagic) return Failure{"it is no segment of counters"};
  if (header_.version != kVersion) {
    return Failure{"version " + std::to_string(header_.version) +
                   " of the layout is not supported; this program supports " + std::to_string(kVersion)};
  }
  if (header_.entries > kMaxEntries || header_.entries_offset % alignof(Entry) != 0 ||
      !is_inside(header_.entries_offset, header_.entries * sizeof(Entry), memory_.size()) ||
      !is_inside(header_.names_offset, header_.names_bytes, memory_.size())) {
    return Failure{"its tables are outside the segment"};
  }
  Result<std::vector<Metric>> metrics = read_entries(0, header_.entries);
  if (!metrics) return metrics.failure();
  metrics_ = std::move(metrics).value();
  return Done{};
}

Status Reader::refresh() {
  const auto* const word = reinterpret_cast<const std::uint32_t*>(memory_.data() + offsetof(Header, entries));
  const std::uint32_t entries = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  if (entries <= header_.entries) return Done{};
  if (entries > kMaxEntries || !is_inside(header_.entries_offset, entries * sizeof(Entry), memory_.size())) {
    return Failure{"its tables are outside the segment"};
  }
  Result<std::vector<Metric>> added = read_entries(header_.entries, entries);
  if (!added) return added.failure();
  for (Metric& metric : added.value()) metrics_.push_back(std::move(metric));
  header_.entries = entries;
  return Done{};
}

Result<std::vector<Metric>> Reader::read_entries(std::uint32_t first, std::uint32_t end) const {
  const std::string_view names(reinterpret_cast<const char*>(memory_.data() + header_.names_offset),
                               header_.names_bytes);
  std::vector<Metric> metrics;
  metrics.reserve(end - first);
  for (std::uint32_t i = first; i < end; ++i) {
    Entry entry{};
    std::memcpy(&entry, memory_.data() + header_.entries_offset + i * sizeof(Entry), sizeof(Entry));
    const std::string which = "entry " + std::to_string(i);
    if (entry.name_bytes > kMaxNameBytes || entry.help_bytes > kMaxHelpBytes ||
        !is_inside(entry.name_offset, entry.name_bytes, names.size()) ||
        !is_inside(entry.help_offset, entry.help_bytes, names.size())) {
      return Failure{which + " has no name"};
    }
    auto name = parse_name(names.substr(entry.name_offset, entry.name_bytes));
    if (!name) return Failure{which + " has a malformed name"};
    const auto kind = static_cast<Kind>(entry.kind);
    const std::size_t bytes = value_bytes(kind, entry.size);
    if (bytes == 0) return Failure{which + " is of an unknown kind"};
    if (entry.unit > static_cast<std::uint8_t>(Unit::Time)) return Failure{which + " has an unknown unit"};
    if (entry.value_offset % alignof(std::uint64_t) != 0 || !is_inside(entry.value_offset, bytes, memory_.size())) {
      return Failure{which + " has its value outside the segment"};
    }
    metrics.push_back({.name = std::move(*name),
                       .help = printable(std::string(names.substr(entry.help_offset, entry.help_bytes))),
                       .kind = kind,
                       .unit = static_cast<Unit>(entry.unit),
                       .size = entry.size,
                       .offset = entry.value_offset});
  }
  return metrics;
}

std::uint64_t Reader::load(std::uint64_t offset) const noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(memory_.data() + offset), __ATOMIC_ACQUIRE);
}

const Metric* Reader::find(std::string_view family, std::initializer_list<Label> labels) const noexcept {
  const auto found = std::find_if(metrics_.begin(), metrics_.end(),
                                  [&](const Metric& metric) { return matches(metric.name, family, labels); });
  return found != metrics_.end() ? &*found : nullptr;
}

std::uint64_t Reader::value(std::string_view family, std::initializer_list<Label> labels) const noexcept {
  const Metric* metric = find(family, labels);
  return metric != nullptr ? value(*metric) : 0;
}

std::uint64_t Reader::sum(std::string_view family, std::initializer_list<Label> labels) const noexcept {
  std::uint64_t all = 0;
  for (const Metric& metric : metrics_) {
    if (matches(metric.name, family, labels)) all += value(metric);
  }
  return all;
}

std::uint64_t Reader::value(const Metric& metric) const noexcept {
  return metric.kind == Kind::Counter || metric.kind == Kind::Gauge ? load(metric.offset) : 0;
}

Distribution Reader::distribution(const Metric& metric) const noexcept {
  Distribution found;
  if (metric.kind != Kind::Histogram) return found;
  const auto* value = reinterpret_cast<const HistogramValue*>(memory_.data() + metric.offset);
  const auto at = [&](const std::uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_RELAXED); };
  found.count = at(value->count);
  found.sum = at(value->sum);
  for (std::size_t i = 0; i < kBuckets; ++i) found.buckets[i] = at(value->buckets[i]);
  found.largest = at(value->largest);
  return found;
}

std::string Reader::text(const Metric& metric) const {
  if (metric.kind != Kind::Text) return {};
  constexpr std::size_t kWords = kTextBytes / 8;
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t version = load(metric.offset);
    const std::uint64_t bytes = std::min<std::uint64_t>(load(metric.offset + 8), kTextBytes);
    std::array<std::uint64_t, kWords> words{};
    for (std::size_t word = 0; word < kWords; ++word) words[word] = load(metric.offset + 16 + 8 * word);
    if (version % 2 != 0 || load(metric.offset) != version) continue;
    return printable(std::string(reinterpret_cast<const char*>(words.data()), bytes));
  }
  return {};
}

std::vector<SeenError> Reader::errors(const Metric& metric) const {
  std::vector<SeenError> found;
  if (metric.kind != Kind::Errors) return found;
  const std::uint64_t distinct = std::min<std::uint64_t>(load(metric.offset), metric.size);
  constexpr std::size_t kWords = sizeof(ErrorValue) / 8;
  for (std::uint64_t i = 0; i < distinct; ++i) {
    const std::uint64_t begin = metric.offset + sizeof(ErrorsValue) + i * sizeof(ErrorValue);
    ErrorValue value{};
    bool is_whole = false;
    for (int tries = 0; tries < kTries && !is_whole; ++tries) {
      std::array<std::uint64_t, kWords> words{};
      for (std::size_t word = 0; word < kWords; ++word) words[word] = load(begin + 8 * word);
      is_whole = words[0] % 2 == 0 && words[0] != 0 && load(begin) == words[0];
      std::memcpy(&value, words.data(), sizeof(value));
    }
    if (!is_whole) continue;
    SeenError& error = found.emplace_back();
    error.count = value.count;
    error.first_ns = value.first_ns;
    error.last_ns = value.last_ns;
    error.channel = static_cast<std::uint16_t>(value.place);
    error.template_index = static_cast<std::uint16_t>(value.place >> 16);
    error.block = static_cast<std::uint16_t>(value.place >> 32);
    error.word = static_cast<std::uint8_t>(value.place >> 48);
    error.code = static_cast<ErrorCode>(value.place >> 56);
    error.sequence = static_cast<std::uint32_t>(value.packet);
    error.template_id = static_cast<std::uint32_t>(value.packet >> 32);
    error.offset = static_cast<std::uint32_t>(value.offset);
    error.sample_begin = static_cast<std::uint32_t>(value.offset >> 32);
    error.sample_bytes = static_cast<std::uint8_t>(std::min<std::uint64_t>(value.sample_bytes, kSampleBytes));
    std::memcpy(error.sample.data(), value.sample, kSampleBytes);
  }
  return found;
}

std::uint64_t Reader::errors_beyond(const Metric& metric) const noexcept {
  return metric.kind == Kind::Errors ? load(metric.offset + sizeof(std::uint64_t)) : 0;
}

std::uint64_t Reader::heartbeat_ns() const noexcept {
  return load(offsetof(Header, heartbeat_ns));
}

Reader::Writer Reader::writer() const noexcept {
  if (mapping_.is_broken()) return Writer::Dead;
  if (load(offsetof(Header, state)) == static_cast<std::uint64_t>(State::Finished)) return Writer::Finished;
  return !file_.ok() || os::is_locked(file_) ? Writer::Running : Writer::Dead;
}

}  // namespace stopbit::counters
