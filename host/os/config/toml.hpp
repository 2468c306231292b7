#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/diagnostic.hpp"

/// Settings in TOML, read with bounds on everything. Errors are collected, with file, line, column and the line itself,
/// in the style of template errors; the formatter is Diagnostics::format.
///
///     config::Document document = config::Document::parse("feed.toml", text, diagnostics);
///     config::Table root = document.root();
///     const std::uint64_t window = root.integer("window", {.least = 0, .most = 4096}, 64);
///     for (config::Table& channel : root.tables("channel", {.most = 1024})) {
///       const std::string name = channel.text("name");
///       channel.finish();
///     }
///     root.finish();  // refuses keys that were not read
///     if (diagnostics.has_errors()) ...
///
/// A getter that finds a problem reports it and returns a harmless value, so that one run reports every problem.
namespace stopbit::config {

inline constexpr std::size_t kMaxFileBytes = 4U << 20;
inline constexpr std::size_t kMaxKeyParts = 16;  ///< "a.b.c" has three.

struct Node;
struct Key;
struct TableKeys;
enum class KeyType : std::uint8_t;
class Table;

/// A path in a file of settings: relative to the file's folder.
[[nodiscard]] std::string in_folder(const std::string& folder, const std::string& path);

/// Bounds of a number, both legal.
template <class T>
struct Range {
  T least = 0;
  T most = std::numeric_limits<T>::max();
};

/// Bounds of the length of an array.
struct Count {
  std::size_t least = 0;
  std::size_t most = 1'024;
};

/// What the value of a key is.
enum class Kind : std::uint8_t { None, Text, Integer, Real, Flag, Array, Table, Time };

/// A text or an integer, and where it is.
struct Scalar {
  bool is_text = false;
  std::string text;  ///< Of an integer: its decimal digits.
  std::uint64_t integer = 0;
  SourceRange range;
};

/// A parsed file. Owns the data of its tables; they are valid while it exists.
class Document {
 public:
  /// Parses `text`. A file that is not TOML, or too large, is reported and gives an empty document.
  [[nodiscard]] static Document parse(std::string name, std::string text, Diagnostics& diagnostics);
  /// Reads and parses a file. "-" is standard input.
  [[nodiscard]] static Document load(const std::string& path, Diagnostics& diagnostics);

  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  /// Diagnostics are those that the document was parsed with.
  [[nodiscard]] Table root() const;
  /// With the rows of its keys, which must outlive the tables: getters without a range read by them.
  [[nodiscard]] Table root(const TableKeys& keys) const;
  /// False if the text could not be parsed; the document is then empty.
  [[nodiscard]] bool ok() const noexcept { return ok_; }

  /// Every value by its path, as text: "http.listen", "port[wire].kind", "feed[0].channels[2]". A table of an array is
  /// named by its `name`, `ring` or `file`, if it has one and no other table of the array has the same, else counted.
  [[nodiscard]] std::map<std::string, std::string> values() const;

 private:
  Document(std::shared_ptr<const SourceBuffer> source, std::unique_ptr<Node> root, Diagnostics& diagnostics, bool ok);

  std::shared_ptr<const SourceBuffer> source_;
  std::unique_ptr<Node> root_;
  Diagnostics* diagnostics_;
  bool ok_;
};

/// One table of a document. Every getter marks its key as known. A getter without a fallback reports a key that is
/// missing.
///
/// A table with rows (keys.hpp) takes range and default of a key from its row. A key without a row is a mistake of the
/// program and ends it. A key that its row neither requires nor gives a default is the least value when it is missing.
class Table {
 public:
  [[nodiscard]] bool has(std::string_view key);
  /// For keys with values of several kinds. Does not mark the key as known.
  [[nodiscard]] Kind kind(std::string_view key) const;

  /// Text of at most `kMaxTextBytes` bytes, without control characters.
  static constexpr std::size_t kMaxTextBytes = 4'096;
  [[nodiscard]] std::string text(std::string_view key, std::optional<std::string> fallback = std::nullopt);
  /// One of the words; returns its index.
  [[nodiscard]] std::size_t choice(std::string_view key, std::initializer_list<std::string_view> words,
                                   std::optional<std::size_t> fallback = std::nullopt);
  [[nodiscard]] std::uint64_t integer(std::string_view key, Range<std::uint64_t> range,
                                      std::optional<std::uint64_t> fallback = std::nullopt);
  [[nodiscard]] std::size_t choice(std::string_view key);
  [[nodiscard]] std::uint64_t integer(std::string_view key);
  /// With a default that only the caller knows.
  [[nodiscard]] std::uint64_t integer_or(std::string_view key, std::uint64_t fallback);
  [[nodiscard]] double real(std::string_view key);
  [[nodiscard]] std::uint64_t duration_ns(std::string_view key);
  [[nodiscard]] std::uint64_t bytes(std::string_view key);
  [[nodiscard]] std::vector<std::uint64_t> integers(std::string_view key);
  [[nodiscard]] double real(std::string_view key, Range<double> range, std::optional<double> fallback = std::nullopt);
  [[nodiscard]] bool flag(std::string_view key, std::optional<bool> fallback = std::nullopt);
  /// "2ms": a whole number and ns, us, ms, s, min or h. Ranges and result in nanoseconds.
  [[nodiscard]] std::uint64_t duration_ns(std::string_view key, Range<std::uint64_t> range,
                                          std::optional<std::uint64_t> fallback = std::nullopt);
  /// "64MiB": a whole number and B, KiB, MiB or GiB. Ranges and result in bytes.
  [[nodiscard]] std::uint64_t bytes(std::string_view key, Range<std::uint64_t> range,
                                    std::optional<std::uint64_t> fallback = std::nullopt);

  /// Arrays; a missing key is an empty array.
  [[nodiscard]] std::vector<std::string> texts(std::string_view key, Count count);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key) { return texts(key, count_of(key)); }
  [[nodiscard]] std::vector<std::uint64_t> integers(std::string_view key, Range<std::uint64_t> range, Count count = {});
  /// A text or an integer from 0, or an array of them. A missing key is an error if `count.least` is not 0.
  [[nodiscard]] std::vector<Scalar> scalars(std::string_view key, Count count);
  [[nodiscard]] std::vector<Scalar> scalars(std::string_view key) { return scalars(key, count_of(key)); }
  /// `[[key]]`, or an array of inline tables.
  [[nodiscard]] std::vector<Table> tables(std::string_view key, Count count);
  [[nodiscard]] std::vector<Table> tables(std::string_view key) { return tables(key, count_of(key)); }
  /// `[key]`; nothing if it is missing or not a table.
  [[nodiscard]] std::optional<Table> table(std::string_view key);

  /// The keys of the table in the order of the file; for tables whose keys are names chosen by users.
  [[nodiscard]] std::vector<std::string> keys() const;

  /// Position of the value of a key, else of the table; for errors that only the caller can detect.
  [[nodiscard]] SourceRange range(std::string_view key) const;
  [[nodiscard]] SourceRange range() const;
  /// Position of the key itself.
  [[nodiscard]] SourceRange key_range(std::string_view key) const;
  void error(std::string_view key, std::string message);
  void error(std::string message);

  /// Reports every key that no getter has read, with the most similar known key.
  void finish();

 private:
  friend class Document;
  Table(const Node& node, std::shared_ptr<const SourceBuffer> source, Diagnostics& diagnostics,
        const TableKeys* rows = nullptr) noexcept
      : node_(&node), source_(std::move(source)), diagnostics_(&diagnostics), rows_(rows) {}

  /// Null: the table has no rows.
  [[nodiscard]] const Key* row(std::string_view key) const;
  [[nodiscard]] const Key& row_of(std::string_view key, KeyType type) const;
  [[nodiscard]] std::size_t choice_of(std::string_view key, std::span<const std::string_view> words,
                                      std::optional<std::size_t> fallback);
  [[nodiscard]] Count count_of(std::string_view key) const;
  [[nodiscard]] const TableKeys* rows_of(std::string_view key) const;
  /// The default of a number, and the least value if it has none but need not be there.
  [[nodiscard]] static std::optional<std::uint64_t> fallback_of(const Key& row);

  const Node* find(std::string_view key);
  /// Null after an error, or if the key is missing; that is an error unless `optional`.
  const Node* find(std::string_view key, int kind, bool optional);
  const Node* array(std::string_view key, Count count);
  [[nodiscard]] SourceRange range_of(const Node& node) const;
  std::uint64_t quantity(std::string_view key, Range<std::uint64_t> range, std::optional<std::uint64_t> fallback,
                         bool is_time);

  const Node* node_;
  std::shared_ptr<const SourceBuffer> source_;
  Diagnostics* diagnostics_;
  const TableKeys* rows_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace stopbit::config
