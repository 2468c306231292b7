#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/config/toml.hpp"

/// The keys of a file of settings, one row each: kind, range, default, meaning, example. The reader takes kind, range
/// and default of a key from its row, and manual page, JSON schema and the printed defaults are made of the same rows.
///
///     const TableKeys kKeys = {{
///         text_key("name", "Name of the feed.").required(),
///         duration_key("time", {1'000, kMax}, "How long a missing packet is waited for.").otherwise(2'000'000),
///     }};
///     config::Table root = document.root(kKeys);
///     root.duration_ns("time");
namespace stopbit::config {

enum class KeyType : std::uint8_t {
  Text,
  Integer,
  Real,
  Flag,
  Duration,
  Bytes,
  Choice,
  Texts,
  Integers,
  Scalars,  ///< A text or an integer, or an array of them.
  Table,
  Tables,
  TextOrTable,
  TableOrTables,
};

struct TableKeys;

struct Key {
  std::string name;  ///< Empty: any name, chosen by the user (TableKeys::any).
  KeyType type = KeyType::Text;
  std::string meaning;  ///< Sentences.
  bool is_required = false;
  bool is_live = false;             ///< A running process takes a change; of a table: of every key in it.
  bool is_shown = false;            ///< In a file of defaults with its example, although it may be left out.
  Range<std::uint64_t> range = {};  ///< Of a number, in ns, in bytes, or of each integer of an array.
  double most_real = 0;             ///< Reals are from 0.
  Count count = {.least = 0};       ///< Of an array.
  std::vector<std::string> words = {};
  std::optional<std::uint64_t> number = {};     ///< Default: a number, ns, bytes, index of a word, 0 or 1.
  std::optional<std::string> text = {};         ///< Default of a text.
  std::string when = {};                        ///< What else the table must say: kind = "dpdk".
  std::string without = {};                     ///< What holds without the key, where no value says it: "no limit".
  std::string example = {};                     ///< As TOML: "\"224.0.0.1\"".
  std::shared_ptr<const TableKeys> table = {};  ///< Null, of a table: anything is legal that the meaning says.

  // For rows: each returns the row again.
  Key required() && {
    is_required = true;
    return std::move(*this);
  }
  Key live() && {
    is_live = true;
    return std::move(*this);
  }
  Key shown() && {
    is_shown = true;
    return std::move(*this);
  }
  Key otherwise(std::uint64_t value) && {
    number = value;
    return std::move(*this);
  }
  Key otherwise(std::string value) && {
    text = std::move(value);
    return std::move(*this);
  }
  Key unless(std::string what) && {
    without = std::move(what);
    return std::move(*this);
  }
  Key such_as(std::string toml) && {
    example = std::move(toml);
    return std::move(*this);
  }
};

struct TableKeys {
  std::vector<Key> keys = {};
  std::shared_ptr<const Key> any = {};  ///< Of a table whose keys are names that users choose.

  /// Null: there is no such key.
  [[nodiscard]] const Key* find(std::string_view name) const noexcept;
  /// Whether a running process takes a change of a value by its path, as Document::values has it:
  /// "port[wire].kind".
  [[nodiscard]] bool is_live(std::string_view path) const noexcept;
};

[[nodiscard]] Key text_key(std::string name, std::string meaning);
[[nodiscard]] Key flag_key(std::string name, bool value, std::string meaning);
[[nodiscard]] Key integer_key(std::string name, Range<std::uint64_t> range, std::string meaning);
[[nodiscard]] Key real_key(std::string name, double most, std::string meaning);
[[nodiscard]] Key duration_key(std::string name, Range<std::uint64_t> range, std::string meaning);
[[nodiscard]] Key bytes_key(std::string name, Range<std::uint64_t> range, std::string meaning);
[[nodiscard]] Key choice_key(std::string name, std::vector<std::string> words, std::string meaning);
[[nodiscard]] Key texts_key(std::string name, Count count, std::string meaning);
[[nodiscard]] Key integers_key(std::string name, Range<std::uint64_t> range, Count count, std::string meaning);
[[nodiscard]] Key scalars_key(std::string name, Count count, std::string meaning);
[[nodiscard]] Key table_key(std::string name, TableKeys keys, std::string meaning);
[[nodiscard]] Key tables_key(std::string name, Count count, TableKeys keys, std::string meaning);
/// A table whose keys users choose; `any` is the row of each.
[[nodiscard]] Key names_key(std::string name, Key any, std::string meaning);

/// A value of the key's type as TOML: 7, "50us", "64MiB", true, "sleep".
[[nodiscard]] std::string toml_of(const Key& key, std::uint64_t value);
[[nodiscard]] std::string toml_text(std::string_view text);

}  // namespace stopbit::config
