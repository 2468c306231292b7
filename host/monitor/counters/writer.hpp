#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/sink.hpp"
#include "host/monitor/counters/histogram.hpp"
#include "host/monitor/counters/layout.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

/// Counters in shared memory: one writer each, any number of readers that need no schema.
namespace stopbit::counters {

using record::store_word;

[[nodiscard]] inline std::uint64_t load_word(const std::uint64_t& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

/// Handles of values. One thread writes each; any thread or process reads. They point into the segment, which must
/// outlive them; a default one may not be used.
class Counter {
 public:
  Counter() = default;
  explicit Counter(std::uint64_t* word) noexcept : word_(word) {}
  void add(std::uint64_t count = 1) const noexcept { store_word(*word_, *word_ + count); }
  void set(std::uint64_t value) const noexcept { store_word(*word_, value); }
  [[nodiscard]] std::uint64_t value() const noexcept { return load_word(*word_); }
  /// False: a default one.
  [[nodiscard]] bool exists() const noexcept { return word_ != nullptr; }

 private:
  std::uint64_t* word_ = nullptr;
};

class Histogram {
 public:
  Histogram() = default;
  explicit Histogram(HistogramValue* value) noexcept : value_(value) {}
  void add(std::uint64_t value) const noexcept {
    std::uint64_t& bucket = value_->buckets[bucket_of(value)];
    store_word(bucket, bucket + 1);
    store_word(value_->count, value_->count + 1);
    store_word(value_->sum, value_->sum + value);
    if (value > value_->largest) store_word(value_->largest, value);
  }
  /// Overwrites the count of the bucket containing `value`; for callers that keep their own histogram.
  void set_bucket(std::uint64_t value, std::uint64_t count) const noexcept {
    std::uint64_t& bucket = value_->buckets[bucket_of(value)];
    if (count == bucket) return;
    const std::uint64_t more = count - bucket;
    store_word(bucket, count);
    store_word(value_->count, value_->count + more);
    store_word(value_->sum, value_->sum + more * value);
    if (value > value_->largest) store_word(value_->largest, value);
  }
  void clear() const noexcept {
    for (std::uint64_t& bucket : value_->buckets) store_word(bucket, 0);
    for (std::uint64_t* const word : {&value_->count, &value_->sum, &value_->largest}) store_word(*word, 0);
  }

 private:
  HistogramValue* value_ = nullptr;
};

class Text {
 public:
  Text() = default;
  explicit Text(TextValue* value) noexcept : value_(value) {}
  /// Text beyond kTextBytes is cut off.
  void set(std::string_view text) const noexcept;

 private:
  TextValue* value_ = nullptr;
};

/// One kind of error at one place of the program.
struct ErrorFact {
  std::uint64_t time_ns = 0;
  std::uint16_t channel = 0;
  std::uint16_t template_index = 0xFFFF;
  std::uint16_t block = 0xFFFF;
  std::uint8_t word = 255;
  std::uint8_t code = 0;  ///< ErrorCode.
  std::uint32_t sequence = 0;
  std::uint32_t template_id = 0;
  std::uint32_t offset = 0;
  std::uint32_t sample_begin = 0;
  std::span<const std::byte> sample = {};  ///< At most kSampleBytes are kept.
};

/// Counts errors by (channel, template, block, word, code), and keeps the first of each as an example. Bounded: errors
/// beyond the last place are counted together. Searches linearly, so counting an error takes tens of nanoseconds.
class Errors {
 public:
  Errors() = default;
  Errors(ErrorsValue* value, std::size_t places) noexcept
      : value_(value), list_(reinterpret_cast<ErrorValue*>(value + 1)), places_(places) {}
  /// True if it is the first of its kind and was stored.
  bool add(const ErrorFact& fact) const noexcept;

 private:
  ErrorsValue* value_ = nullptr;
  ErrorValue* list_ = nullptr;
  std::size_t places_ = 0;
};

struct Label {
  std::string_view key;  ///< Letters, digits and '_', not beginning with a digit; as is the name of a family.
  std::string_view value;
};

/// The counters of a segment. Add the values of one thread consecutively: writer() separates them from the cache lines
/// of earlier ones.
class Schema {
 public:
  using Id = std::size_t;

  /// The next entries belong to another thread.
  void writer() noexcept { starts_line_ = true; }
  /// `family` is the name without labels: "packets". Together they must be unique.
  Id add(Kind kind, std::string_view family, std::initializer_list<Label> labels, std::string_view help,
         Unit unit = Unit::Number, std::uint16_t size = 0);

  struct Item {
    Kind kind;
    Unit unit;
    std::uint16_t size;
    bool starts_line;
    std::string name;  ///< With labels.
    std::string help;
  };
  [[nodiscard]] std::span<const Item> items() const noexcept { return items_; }

  /// Room in the segment for values that are added later; a writer that never adds needs none.
  struct Room {
    std::size_t entries = 0;
    std::size_t names_bytes = 0;  ///< With their help.
    std::size_t value_bytes = 0;
  };
  void keep_room(Room room) noexcept { room_ = room; }
  [[nodiscard]] const Room& room() const noexcept { return room_; }

 private:
  std::vector<Item> items_;
  Room room_;
  bool starts_line_ = true;
};

/// The writer's side of a segment. Created once; its values are written through the handles.
class Segment {
 public:
  /// Makes `NAME.counters` in the folder of plain names (host/os/shm/folder.hpp), or the file `PATH.counters` for a
  /// name with a '/'. Replaces a segment whose writer has ended; fails if the writer is alive. Fails for a schema
  /// beyond the bounds of layout.hpp.
  [[nodiscard]] static Result<Segment> create(std::string_view name, const Schema& schema);
  /// In private memory, for tests and tools.
  [[nodiscard]] static Result<Segment> create_private(const Schema& schema);

  Segment(Segment&&) = default;
  Segment& operator=(Segment&&) = delete;
  ~Segment();

  /// Adds the values of a schema to a segment whose readers may have opened it already: all or none. A value that the
  /// segment has by its name and kind is not added again and keeps what it says. Returns the identifiers in the order
  /// of the schema. Fails if the room of the segment's own schema is used up. One thread.
  [[nodiscard]] Result<std::vector<Schema::Id>> add(const Schema& more);

  [[nodiscard]] Counter counter(Schema::Id id) const noexcept;
  [[nodiscard]] Histogram histogram(Schema::Id id) const noexcept;
  [[nodiscard]] Text text(Schema::Id id) const noexcept;
  [[nodiscard]] Errors errors(Schema::Id id) const noexcept;

  /// Heartbeat, to be called by one thread from time to time.
  void beat(std::uint64_t now_ns) const noexcept;
  /// Marks the segment as finished; the destructor does the same.
  void finish() const noexcept;
  /// Removes the name if it still belongs to this segment; for a writer that ends before it has begun.
  void unlink() const noexcept;
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {memory_, bytes_}; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Whether the segment's file was truncated: readers no longer see changes.
  [[nodiscard]] bool is_broken() const noexcept { return mapping_.is_broken(); }

 private:
  Segment() = default;
  /// What the segment of the schema has used of its room.
  void begin(const Schema& schema, std::size_t names_used, std::size_t values_end, std::size_t entries_room);
  [[nodiscard]] Header& header() const noexcept { return *reinterpret_cast<Header*>(memory_); }
  template <class T>
  [[nodiscard]] T* value(Schema::Id id, Kind kind) const noexcept;

  std::string path_;
  os::Descriptor file_;  ///< Holds the lock.
  os::Mapping mapping_;
  std::unique_ptr<std::byte[]> private_;
  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::map<std::string, Schema::Id> known_;  ///< By name.
  std::size_t names_used_ = 0;
  std::size_t values_end_ = 0;  ///< Offset of the first free byte.
  std::size_t entries_room_ = 0;
};

/// Path at which this process creates the segment of a name.
[[nodiscard]] Result<std::string> path_of(std::string_view name);

}  // namespace stopbit::counters
