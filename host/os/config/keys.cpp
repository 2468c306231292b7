#include "host/os/config/keys.hpp"

#include <utility>

#include "host/os/config/units.hpp"

namespace stopbit::config {

const Key* TableKeys::find(std::string_view name) const noexcept {
  for (const Key& key : keys) {
    if (key.name == name) return &key;
  }
  return any.get();
}

namespace {

Key key_of(KeyType type, std::string name, std::string meaning) {
  Key key;
  key.name = std::move(name);
  key.type = type;
  key.meaning = std::move(meaning);
  return key;
}

Key number_key(KeyType type, std::string name, Range<std::uint64_t> range, std::string meaning) {
  Key key = key_of(type, std::move(name), std::move(meaning));
  key.range = range;
  return key;
}

Key array_key(KeyType type, std::string name, Count count, std::string meaning) {
  Key key = key_of(type, std::move(name), std::move(meaning));
  key.count = count;
  key.is_required = count.least != 0;
  return key;
}

}  // namespace

bool TableKeys::is_live(std::string_view path) const noexcept {
  const std::string_view first = path.substr(0, path.find_first_of(".["));
  const Key* const key = find(first);
  if (key == nullptr) return false;
  if (key->is_live) return true;
  path.remove_prefix(first.size());
  // The name of a table of an array may have dots and brackets; its own bracket is the last before a dot, or the end.
  if (path.starts_with('[')) {
    const std::size_t end = path.find("].");
    if (end == std::string_view::npos) return false;
    path.remove_prefix(end + 1);
  }
  return key->table != nullptr && path.starts_with('.') && key->table->is_live(path.substr(1));
}

Key text_key(std::string name, std::string meaning) {
  return key_of(KeyType::Text, std::move(name), std::move(meaning));
}
Key flag_key(std::string name, bool value, std::string meaning) {
  Key key = key_of(KeyType::Flag, std::move(name), std::move(meaning));
  key.number = value ? 1 : 0;
  return key;
}
Key integer_key(std::string name, Range<std::uint64_t> range, std::string meaning) {
  return number_key(KeyType::Integer, std::move(name), range, std::move(meaning));
}
Key real_key(std::string name, double most, std::string meaning) {
  Key key = key_of(KeyType::Real, std::move(name), std::move(meaning));
  key.most_real = most;
  return key;
}
Key duration_key(std::string name, Range<std::uint64_t> range, std::string meaning) {
  return number_key(KeyType::Duration, std::move(name), range, std::move(meaning));
}
Key bytes_key(std::string name, Range<std::uint64_t> range, std::string meaning) {
  return number_key(KeyType::Bytes, std::move(name), range, std::move(meaning));
}
Key choice_key(std::string name, std::vector<std::string> words, std::string meaning) {
  Key key = key_of(KeyType::Choice, std::move(name), std::move(meaning));
  key.words = std::move(words);
  return key;
}
Key texts_key(std::string name, Count count, std::string meaning) {
  return array_key(KeyType::Texts, std::move(name), count, std::move(meaning));
}
Key integers_key(std::string name, Range<std::uint64_t> range, Count count, std::string meaning) {
  Key key = array_key(KeyType::Integers, std::move(name), count, std::move(meaning));
  key.range = range;
  return key;
}
Key scalars_key(std::string name, Count count, std::string meaning) {
  return array_key(KeyType::Scalars, std::move(name), count, std::move(meaning));
}
Key table_key(std::string name, TableKeys keys, std::string meaning) {
  Key key = key_of(KeyType::Table, std::move(name), std::move(meaning));
  key.table = std::make_shared<const TableKeys>(std::move(keys));
  return key;
}
Key tables_key(std::string name, Count count, TableKeys keys, std::string meaning) {
  Key key = array_key(KeyType::Tables, std::move(name), count, std::move(meaning));
  key.table = std::make_shared<const TableKeys>(std::move(keys));
  return key;
}
Key names_key(std::string name, Key any, std::string meaning) {
  return table_key(std::move(name), {.keys = {}, .any = std::make_shared<const Key>(std::move(any))},
                   std::move(meaning));
}

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string toml_of(const Key& key, std::uint64_t value) {
  if (!key.words.empty()) return toml_text(key.words.at(static_cast<std::size_t>(value)));
  switch (key.type) {
    case KeyType::Flag: return value != 0 ? "true" : "false";
    case KeyType::Duration: return toml_text(in_units(value, kTimeUnits));
    case KeyType::Bytes: return toml_text(in_units(value, kByteUnits));
    default: return std::to_string(value);
  }
}

}  // namespace stopbit::config
