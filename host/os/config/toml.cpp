#include "host/os/config/toml.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "host/os/config/keys.hpp"
#include "host/os/config/nearest.hpp"
#include "host/os/config/units.hpp"
#include "microcode/base/ascii.hpp"

namespace {

/// Some malformed files break assertions of the parser, "[[ =" is one. They would end a debug build, and be promises to
/// the compiler in a release build; so all builds check them, and leave the parser.
struct AssertionBroken {};
[[noreturn]] void leave_parser() {
  throw AssertionBroken();
}

}  // namespace

#ifdef NDEBUG
#undef NDEBUG
#endif
#define TOML_EXCEPTIONS 0
#define TOML_ASSERT(expression) ((expression) ? static_cast<void>(0) : leave_parser())
#include <toml++/toml.h>

namespace stopbit::config {

/// A value of the file. toml++ keeps its tables sorted by name; ours keep the order of the file.
struct Node {
  enum Kind : int { kTable, kArray, kText, kInteger, kReal, kFlag, kTime };
  Kind kind = kTable;
  std::size_t offset = 0;  ///< In the file.
  std::size_t length = 1;
  std::string text;
  std::int64_t integer = 0;
  double real = 0;
  bool flag = false;

  struct Member {
    std::string key;
    std::size_t offset = 0;
    std::unique_ptr<Node> node;
  };
  std::vector<Member> members;        ///< Of tables; of arrays, without keys.
  std::vector<const Member*> by_key;  ///< Of tables: `members` in the order of their keys.

  /// Null if the table has no such key.
  [[nodiscard]] const Member* member(std::string_view key) const {
    const auto at = std::lower_bound(by_key.begin(), by_key.end(), key,
                                     [](const Member* one, std::string_view wanted) { return one->key < wanted; });
    return at != by_key.end() && (*at)->key == key ? *at : nullptr;
  }
};

namespace {

constexpr std::array<std::string_view, 7> kKindNames = {
    "a table", "an array", "a string", "an integer", "a number with a point", "true or false", "a time"};

bool is_key_character(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '-';
}

/// The position after the string that begins at `at`, or after the line if the string does not end on it.
std::size_t skip_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  if (text.substr(at, 3) == std::string(3, quote)) {
    for (at += 3; at < text.size(); ++at) {
      if (text[at] == '\\' && quote == '"') {
        ++at;
      } else if (text.substr(at, 3) == std::string(3, quote)) {
        at += 3;
        for (int more = 0; more < 2 && at < text.size() && text[at] == quote; ++more) ++at;
        return at;
      }
    }
    return text.size();
  }
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      return at + 1;
    }
  }
  return std::min(at, text.size());
}

struct Refusal {
  std::size_t offset = 0;
  std::string why;
};

/// Refuses input that must not reach the parser. Keys with many dots: it nests a table per part, and frees them
/// recursively. Letters beyond ASCII outside of comments: its test for white space is undefined for many of them, and
/// it applies that to whatever it takes for a value.
std::optional<Refusal> find_refused(std::string_view text) {
  const auto is_beyond_ascii = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    const std::size_t end = c == '"' || c == '\'' ? skip_string(text, at) : at + 1;
    const std::string_view token = text.substr(at, end - at);
    if (const auto* const letter = std::find_if(token.begin(), token.end(), is_beyond_ascii); letter != token.end()) {
      return Refusal{static_cast<std::size_t>(letter - text.begin()),
                     "letters beyond ASCII are allowed in comments only; in a string, write \\u and the number"};
    }
    if (c == '.') {
      if (++dots >= kMaxKeyParts) return Refusal{at, "a key has at most " + std::to_string(kMaxKeyParts) + " parts"};
    } else if (token.size() == 1 && !is_key_character(c) && c != ' ' && c != '\t') {
      dots = 0;
    }
    at = end;
  }
  return std::nullopt;
}

/// A text without quotes as the value in the line of an error: the parser takes its first letter for that of a number.
std::optional<Refusal> find_bare_word(std::string_view text, std::size_t error) {
  const std::size_t newline = text.substr(0, error).rfind('\n');
  const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
  const std::size_t sign = text.substr(0, text.find('\n', line)).find('=', line);
  if (sign == std::string_view::npos) return std::nullopt;
  const std::size_t begin = text.find_first_not_of(" \t", sign + 1);
  if (begin == std::string_view::npos || !is_letter(text[begin])) return std::nullopt;
  std::size_t end = begin;
  while (end < text.size() && is_key_character(text[end])) ++end;
  const std::string_view word = text.substr(begin, end - begin);
  if (word == "true" || word == "false" || word == "inf" || word == "nan") return std::nullopt;
  return Refusal{begin, "a text needs quotes: \"" + std::string(word) + "\""};
}

/// Positions of the parser, which counts code points, as byte offsets.
class Places {
 public:
  explicit Places(const SourceBuffer& source) : source_(source) {}

  /// Of keys and values: before them the line is ASCII, which find_refused saw to, so code points are bytes.
  [[nodiscard]] std::size_t offset(const toml::source_position& position) const {
    const std::string_view line = source_.line(position.line);
    if (line.data() == nullptr || position.column == 0) return source_.text().size();
    return static_cast<std::size_t>(line.data() - source_.text().data()) +
           std::min<std::size_t>(position.column - 1, line.size());
  }

  /// Of an error, which may be in a comment. Takes time with the length of the line.
  [[nodiscard]] std::size_t offset_of_error(const toml::source_position& position) const {
    const std::string_view line = source_.line(position.line);
    if (line.data() == nullptr) return source_.text().size();
    std::size_t at = 0;
    for (auto column = position.column; column > 1 && at < line.size(); --column) {
      ++at;
      while (at < line.size() && (static_cast<unsigned char>(line[at]) & 0xC0U) == 0x80U) ++at;
    }
    return static_cast<std::size_t>(line.data() - source_.text().data()) + at;
  }

 private:
  const SourceBuffer& source_;
};

std::unique_ptr<Node> convert(const toml::node& from, const Places& places);

void add_member(Node& to, std::string key, std::size_t offset, const toml::node& node, const Places& places) {
  to.members.push_back({std::move(key), offset, convert(node, places)});
}

std::unique_ptr<Node> convert(const toml::node& from, const Places& places) {
  auto to = std::make_unique<Node>();
  to->offset = places.offset(from.source().begin);
  const std::size_t end = places.offset(from.source().end);
  to->length = end > to->offset ? end - to->offset : 1;
  if (const toml::table* table = from.as_table()) {
    for (const auto& [key, value] : *table) {
      add_member(*to, std::string(key.str()), places.offset(key.source().begin), value, places);
    }
    std::stable_sort(to->members.begin(), to->members.end(),
                     [](const Node::Member& a, const Node::Member& b) { return a.offset < b.offset; });
    for (const Node::Member& member : to->members) to->by_key.push_back(&member);
    std::sort(to->by_key.begin(), to->by_key.end(),
              [](const Node::Member* a, const Node::Member* b) { return a->key < b->key; });
  } else if (const toml::array* array = from.as_array()) {
    to->kind = Node::kArray;
    for (const toml::node& value : *array) add_member(*to, {}, 0, value, places);
  } else if (const auto* text = from.as_string()) {
    to->kind = Node::kText;
    to->text = text->get();
  } else if (const auto* integer = from.as_integer()) {
    to->kind = Node::kInteger;
    to->integer = integer->get();
  } else if (const auto* real = from.as_floating_point()) {
    to->kind = Node::kReal;
    to->real = real->get();
  } else if (const auto* flag = from.as_boolean()) {
    to->kind = Node::kFlag;
    to->flag = flag->get();
  } else {
    to->kind = Node::kTime;
  }
  return to;
}

/// Control characters in a name or path only ever deceive whoever reads it.
bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  std::string_view name(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (name.starts_with(' ')) name.remove_prefix(1);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(number, unit.size, &product)) return std::nullopt;
    return product;
  }
  return std::nullopt;
}

std::string real_text(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), error == std::errc() ? end : text.data()};
}

}  // namespace

std::string in_folder(const std::string& folder, const std::string& path) {
  return path.empty() || path.front() == '/' ? path : (std::filesystem::path(folder) / path).string();
}

Document::Document(std::shared_ptr<const SourceBuffer> source, std::unique_ptr<Node> root, Diagnostics& diagnostics,
                   bool ok)
    : source_(std::move(source)), root_(std::move(root)), diagnostics_(&diagnostics), ok_(ok) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Document Document::parse(std::string name, std::string text, Diagnostics& diagnostics) {
  auto source = std::make_shared<const SourceBuffer>(std::move(name), std::move(text));
  const auto refuse = [&](std::size_t offset, std::string why) {
    diagnostics.error(ErrorCode::None, {source, offset, 1}, std::move(why));
    return Document(source, std::make_unique<Node>(), diagnostics, false);
  };
  if (source->text().size() > kMaxFileBytes) {
    return refuse(0, "the file has more than " + in_units(kMaxFileBytes, kByteUnits));
  }
  if (auto refused = find_refused(source->text())) return refuse(refused->offset, std::move(refused->why));
  try {
    const toml::parse_result parsed = toml::parse(source->text());
    const Places places(*source);
    if (parsed) return {source, convert(parsed.table(), places), diagnostics, true};
    const std::size_t offset = places.offset_of_error(parsed.error().source().begin);
    if (auto word = find_bare_word(source->text(), offset)) return refuse(word->offset, std::move(word->why));
    return refuse(offset, std::string(parsed.error().description()));
  } catch (const AssertionBroken&) {
    return refuse(0, "the file is not valid TOML");
  }
}

Document Document::load(const std::string& path, Diagnostics& diagnostics) {
  const auto refuse = [&](const std::string& why) {
    diagnostics.error(ErrorCode::None, {}, "cannot read " + path + ": " + why);
    return Document(std::make_shared<const SourceBuffer>(path, ""), std::make_unique<Node>(), diagnostics, false);
  };
  const bool is_stdin = path == "-";
  const int file = is_stdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refuse(std::strerror(errno));
  std::string text;
  std::array<char, 65'536> buffer;
  int problem = 0;
  while (text.size() <= kMaxFileBytes) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) problem = errno;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  if (!is_stdin) ::close(file);
  if (problem != 0) return refuse(std::strerror(problem));
  return parse(is_stdin ? "stdin" : path, std::move(text), diagnostics);
}

namespace {

/// How the elements of an array are called in a path.
std::vector<std::string> labels_of(const Node& array) {
  std::vector<std::string> labels;
  std::map<std::string, std::size_t> uses;
  for (const Node::Member& element : array.members) {
    std::string label;
    for (const std::string_view key : {"name", "ring", "file"}) {
      for (const Node::Member& member : element.node->members) {
        const bool is_label = element.node->kind == Node::kTable && member.key == key && label.empty();
        if (is_label && member.node->kind == Node::kText) label = member.node->text;
      }
    }
    ++uses[label];
    labels.push_back(std::move(label));
  }
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].empty() || uses[labels[i]] > 1) labels[i] = std::to_string(i);
  }
  return labels;
}

/// Documents have a bounded depth: the parser refuses others.
void add_values(const Node& node, const std::string& path, std::map<std::string, std::string>& values) {
  switch (node.kind) {
    case Node::kTable:
      for (const Node::Member& member : node.members) {
        add_values(*member.node, path.empty() ? member.key : path + "." + member.key, values);
      }
      return;
    case Node::kArray: {
      const std::vector<std::string> labels = labels_of(node);
      for (std::size_t i = 0; i < labels.size(); ++i) {
        add_values(*node.members[i].node, path + "[" + labels[i] + "]", values);
      }
      return;
    }
    case Node::kInteger: values[path] = std::to_string(node.integer); return;
    case Node::kReal: values[path] = std::to_string(node.real); return;
    case Node::kFlag: values[path] = node.flag ? "true" : "false"; return;
    case Node::kText:
    case Node::kTime: values[path] = node.text; return;
  }
}

}  // namespace

std::map<std::string, std::string> Document::values() const {
  std::map<std::string, std::string> values;
  add_values(*root_, "", values);
  return values;
}

Table Document::root() const {
  return {*root_, source_, *diagnostics_};
}
Table Document::root(const TableKeys& keys) const {
  return {*root_, source_, *diagnostics_, &keys};
}

const Key* Table::row(std::string_view key) const {
  if (rows_ == nullptr) return nullptr;
  if (const Key* found = rows_->find(key)) return found;
  std::fprintf(stderr, "stopbit: the key '%s' of settings has no row\n", std::string(key).c_str());
  std::abort();
}

const Key& Table::row_of(std::string_view key, KeyType type) const {
  const Key* const found = row(key);
  if (found != nullptr && found->type == type) return *found;
  std::fprintf(stderr, "stopbit: the key '%s' of settings has a row of another type, or none\n",
               std::string(key).c_str());
  std::abort();
}

Count Table::count_of(std::string_view key) const {
  const Key* const found = row(key);
  return found != nullptr ? found->count : Count{};
}

const TableKeys* Table::rows_of(std::string_view key) const {
  const Key* const found = row(key);
  return found != nullptr ? found->table.get() : nullptr;
}

std::optional<std::uint64_t> Table::fallback_of(const Key& row) {
  if (row.number) return row.number;
  return row.is_required ? std::nullopt : std::optional(row.range.least);
}

std::size_t Table::choice(std::string_view key) {
  const Key& row = row_of(key, KeyType::Choice);
  const std::vector<std::string_view> words(row.words.begin(), row.words.end());
  return choice_of(key, words, fallback_of(row));
}
std::uint64_t Table::integer(std::string_view key) {
  const Key& row = row_of(key, KeyType::Integer);
  return integer(key, row.range, fallback_of(row));
}
std::uint64_t Table::integer_or(std::string_view key, std::uint64_t fallback) {
  return integer(key, row_of(key, KeyType::Integer).range, fallback);
}
double Table::real(std::string_view key) {
  const Key& row = row_of(key, KeyType::Real);
  return real(key, {0, row.most_real}, static_cast<double>(fallback_of(row).value_or(0)));
}
std::uint64_t Table::duration_ns(std::string_view key) {
  const Key& row = row_of(key, KeyType::Duration);
  return duration_ns(key, row.range, fallback_of(row));
}
std::uint64_t Table::bytes(std::string_view key) {
  const Key& row = row_of(key, KeyType::Bytes);
  return bytes(key, row.range, fallback_of(row));
}
std::vector<std::uint64_t> Table::integers(std::string_view key) {
  const Key& row = row_of(key, KeyType::Integers);
  return integers(key, row.range, row.count);
}

SourceRange Table::range_of(const Node& node) const {
  return {source_, node.offset, node.length};
}
SourceRange Table::range() const {
  return range_of(*node_);
}

SourceRange Table::range(std::string_view key) const {
  const Node::Member* const member = node_->member(key);
  return member != nullptr ? range_of(*member->node) : range();
}

void Table::error(std::string_view key, std::string message) {
  diagnostics_->error(ErrorCode::None, range(key), std::move(message));
}
void Table::error(std::string message) {
  diagnostics_->error(ErrorCode::None, range(), std::move(message));
}

const Node* Table::find(std::string_view key) {
  (void)row(key);
  if (!known_.contains(key)) known_.emplace(key);
  const Node::Member* const member = node_->member(key);
  return member != nullptr ? member->node.get() : nullptr;
}

const Node* Table::find(std::string_view key, int kind, bool optional) {
  const Node* node = find(key);
  if (node == nullptr) {
    if (!optional) error("the key '" + std::string(key) + "' is missing");
    return nullptr;
  }
  if (node->kind == kind) return node;
  error(key, "'" + std::string(key) + "' must be " + std::string(kKindNames[static_cast<std::size_t>(kind)]) +
                 ", not " + std::string(kKindNames[static_cast<std::size_t>(node->kind)]));
  return nullptr;
}

bool Table::has(std::string_view key) {
  return find(key) != nullptr;
}

Kind Table::kind(std::string_view key) const {
  const Node::Member* const member = node_->member(key);
  if (member == nullptr) return Kind::None;
  switch (member->node->kind) {
    case Node::kTable: return Kind::Table;
    case Node::kArray: return Kind::Array;
    case Node::kText: return Kind::Text;
    case Node::kInteger: return Kind::Integer;
    case Node::kReal: return Kind::Real;
    case Node::kFlag: return Kind::Flag;
    default: return Kind::Time;
  }
}

SourceRange Table::key_range(std::string_view key) const {
  const Node::Member* const member = node_->member(key);
  return member != nullptr ? SourceRange{source_, member->offset, member->key.size()} : range();
}

std::string Table::text(std::string_view key, std::optional<std::string> fallback) {
  if (const Key* const found = row(key); found != nullptr && !fallback) {
    fallback = found->text ? found->text : found->is_required ? std::nullopt : std::optional<std::string>("");
  }
  const Node* node = find(key, Node::kText, fallback.has_value());
  if (node == nullptr) return fallback.value_or("");
  if (node->text.size() > kMaxTextBytes) {
    error(key, "'" + std::string(key) + "' must have at most " + std::to_string(kMaxTextBytes) + " bytes");
    return fallback.value_or("");
  }
  if (has_control_character(node->text)) error(key, "'" + std::string(key) + "' contains a control character");
  return node->text;
}

std::size_t Table::choice(std::string_view key, std::initializer_list<std::string_view> words,
                          std::optional<std::size_t> fallback) {
  return choice_of(key, {words.begin(), words.size()}, fallback);
}

std::size_t Table::choice_of(std::string_view key, std::span<const std::string_view> words,
                             std::optional<std::size_t> fallback) {
  const Node* node = find(key, Node::kText, fallback.has_value());
  if (node == nullptr) return fallback.value_or(0);
  const auto found = std::find(words.begin(), words.end(), node->text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  std::string all;
  for (const std::string_view word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  error(key, "'" + std::string(key) + "' must be one of: " + all +
                 did_you_mean(node->text, std::vector<std::string>(words.begin(), words.end())));
  return fallback.value_or(0);
}

std::uint64_t Table::integer(std::string_view key, Range<std::uint64_t> range, std::optional<std::uint64_t> fallback) {
  const Node* node = find(key, Node::kInteger, fallback.has_value());
  if (node == nullptr) return fallback.value_or(range.least);
  const auto value = static_cast<std::uint64_t>(node->integer);
  if (node->integer >= 0 && value >= range.least && value <= range.most) return value;
  error(key,
        "'" + std::string(key) + "' must be from " + std::to_string(range.least) + " to " + std::to_string(range.most));
  return fallback.value_or(range.least);
}

double Table::real(std::string_view key, Range<double> range, std::optional<double> fallback) {
  const Node* node = find(key);
  if (node == nullptr || node->kind != Node::kInteger) node = find(key, Node::kReal, fallback.has_value());
  if (node == nullptr) return fallback.value_or(range.least);
  const double value = node->kind == Node::kInteger ? static_cast<double>(node->integer) : node->real;
  if (value >= range.least && value <= range.most) return value;  // not a number is neither
  error(key, "'" + std::string(key) + "' must be from " + real_text(range.least) + " to " + real_text(range.most));
  return fallback.value_or(range.least);
}

bool Table::flag(std::string_view key, std::optional<bool> fallback) {
  if (const Key* const found = row(key); found != nullptr && !fallback) fallback = found->number.value_or(0) != 0;
  const Node* node = find(key, Node::kFlag, fallback.has_value());
  return node != nullptr ? node->flag : fallback.value_or(false);
}

std::uint64_t Table::quantity(std::string_view key, Range<std::uint64_t> range, std::optional<std::uint64_t> fallback,
                              bool is_time) {
  const Node* node = find(key, Node::kText, fallback.has_value());
  if (node == nullptr) return fallback.value_or(range.least);
  const std::span<const Unit> units = is_time ? std::span<const Unit>(kTimeUnits) : std::span<const Unit>(kByteUnits);
  const auto value = parse_quantity(node->text, units);
  if (!value) {
    error(key, "'" + std::string(key) + "' must be a whole number with a unit: " +
                   (is_time ? "ns, us, ms, s, min or h" : "B, KiB, MiB or GiB"));
  } else if (*value < range.least || *value > range.most) {
    error(key, "'" + std::string(key) + "' must be from " + in_units(range.least, units) + " to " +
                   in_units(range.most, units));
  } else {
    return *value;
  }
  return fallback.value_or(range.least);
}

std::uint64_t Table::duration_ns(std::string_view key, Range<std::uint64_t> range,
                                 std::optional<std::uint64_t> fallback) {
  return quantity(key, range, fallback, true);
}

std::uint64_t Table::bytes(std::string_view key, Range<std::uint64_t> range, std::optional<std::uint64_t> fallback) {
  return quantity(key, range, fallback, false);
}

const Node* Table::array(std::string_view key, Count count) {
  const Node* node = find(key);
  if (node == nullptr) {
    if (count.least != 0) error("the key '" + std::string(key) + "' is missing");
    return nullptr;
  }
  node = find(key, Node::kArray, false);
  if (node == nullptr) return nullptr;
  const std::size_t size = node->members.size();
  if (size >= count.least && size <= count.most) return node;
  error(key, "'" + std::string(key) + "' must have " + std::to_string(count.least) + " to " +
                 std::to_string(count.most) + " entries, not " + std::to_string(size));
  return nullptr;
}

std::vector<std::string> Table::texts(std::string_view key, Count count) {
  std::vector<std::string> found;
  const Node* node = array(key, count);
  if (node == nullptr) return found;
  for (const Node::Member& member : node->members) {
    const Node& item = *member.node;
    if (item.kind == Node::kText && item.text.size() <= kMaxTextBytes && !has_control_character(item.text)) {
      found.push_back(item.text);
    } else {
      diagnostics_->error(ErrorCode::None, range_of(item), "'" + std::string(key) + "' must contain strings");
    }
  }
  return found;
}

std::vector<std::uint64_t> Table::integers(std::string_view key, Range<std::uint64_t> range, Count count) {
  std::vector<std::uint64_t> found;
  const Node* node = array(key, count);
  if (node == nullptr) return found;
  for (const Node::Member& member : node->members) {
    const Node& item = *member.node;
    const auto value = static_cast<std::uint64_t>(item.integer);
    if (item.kind == Node::kInteger && item.integer >= 0 && value >= range.least && value <= range.most) {
      found.push_back(value);
    } else {
      diagnostics_->error(ErrorCode::None, range_of(item),
                          "'" + std::string(key) + "' must contain integers from " + std::to_string(range.least) +
                              " to " + std::to_string(range.most));
    }
  }
  return found;
}

std::vector<Scalar> Table::scalars(std::string_view key, Count count) {
  std::vector<Scalar> found;
  const auto add = [&](const Node& node) {
    if (node.kind == Node::kText && node.text.size() <= kMaxTextBytes && !has_control_character(node.text)) {
      found.push_back({.is_text = true, .text = node.text, .range = range_of(node)});
    } else if (node.kind == Node::kInteger && node.integer >= 0) {
      const auto integer = static_cast<std::uint64_t>(node.integer);
      found.push_back({.text = std::to_string(integer), .integer = integer, .range = range_of(node)});
    } else {
      diagnostics_->error(ErrorCode::None, range_of(node),
                          "'" + std::string(key) + "' must be strings or integers from 0");
    }
  };
  const Node* node = find(key);
  if (node != nullptr && node->kind != Node::kArray) {
    add(*node);
  } else if ((node = array(key, count)) != nullptr) {
    for (const Node::Member& member : node->members) add(*member.node);
  }
  return found;
}

std::vector<Table> Table::tables(std::string_view key, Count count) {
  std::vector<Table> found;
  const Node* node = array(key, count);
  if (node == nullptr) return found;
  for (const Node::Member& member : node->members) {
    if (member.node->kind == Node::kTable) {
      found.push_back(Table(*member.node, source_, *diagnostics_, rows_of(key)));
    } else {
      diagnostics_->error(ErrorCode::None, range_of(*member.node), "'" + std::string(key) + "' must contain tables");
    }
  }
  return found;
}

std::optional<Table> Table::table(std::string_view key) {
  const Node* node = find(key, Node::kTable, true);
  if (node == nullptr) return std::nullopt;
  return Table(*node, source_, *diagnostics_, rows_of(key));
}

std::vector<std::string> Table::keys() const {
  std::vector<std::string> found;
  for (const Node::Member& member : node_->members) found.push_back(member.key);
  return found;
}

void Table::finish() {
  const std::vector<std::string> known(known_.begin(), known_.end());
  for (const Node::Member& member : node_->members) {
    if (known_.contains(member.key)) continue;
    const std::string near = nearest(member.key, known);
    diagnostics_->error(ErrorCode::None, {source_, member.offset, member.key.size()},
                        "unknown key '" + member.key + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
}

}  // namespace stopbit::config
