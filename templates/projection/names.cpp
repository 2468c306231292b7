#include "templates/projection/names.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace stopbit::templates::projection {
namespace {

constexpr std::size_t kMaxNames = 4'096;
constexpr std::string_view kBlanks = " \t\r";

Part part_of(std::string_view text) {
  Part part{text, std::nullopt};
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  if (const auto [at, error] = std::from_chars(text.data(), end, number); error == std::errc() && at == end) {
    part.number = number;
  }
  return part;
}

class Parser {
 public:
  Parser(const std::shared_ptr<const SourceBuffer>& fields, Report& report) : source_(fields), report_(report) {}

  std::vector<FieldName> run() {
    const std::size_t size = source_->text().size();
    for (std::size_t begin = 0; begin <= size && !is_full_;) {
      const std::size_t end = find('\n', begin, size);
      line(begin, find('#', begin, end));
      begin = end + 1;
    }
    if (names_.empty() && !report_.has_errors()) report_.error(ErrorCode::None, {source_, 0, 0}, "no field is named");
    return std::move(names_);
  }

 private:
  /// The first such character from `begin` on; `end` if there is none before. What is after `end` is not looked at.
  [[nodiscard]] std::size_t find(char c, std::size_t begin, std::size_t end) const {
    const std::size_t found = source_->text().substr(begin, end - begin).find(c);
    return found == std::string_view::npos ? end : begin + found;
  }

  void line(std::size_t begin, std::size_t end) {
    while (begin < end && !is_full_) {
      const std::size_t comma = find(',', begin, end);
      name(begin, comma);
      begin = comma + 1;
    }
  }

  void name(std::size_t begin, std::size_t end) {
    const std::string_view text = source_->text();
    while (begin < end && kBlanks.find(text[begin]) != kBlanks.npos) ++begin;
    while (begin < end && kBlanks.find(text[end - 1]) != kBlanks.npos) --end;
    if (begin == end) return;
    FieldName name;
    name.range = {source_, begin, end - begin};
    if (names_.size() == kMaxNames) {
      report_.error(ErrorCode::T1, name.range, "more than " + std::to_string(kMaxNames) + " names of fields");
      is_full_ = true;
      return;
    }
    for (std::size_t at = begin; at <= end;) {
      const std::size_t slash = find('/', at, end);
      if (slash == at) {
        report_.error(ErrorCode::None, name.range, "a name is missing beside '/'");
        return;
      }
      name.parts.push_back(part_of(text.substr(at, slash - at)));
      at = slash + 1;
    }
    names_.push_back(std::move(name));
  }

  const std::shared_ptr<const SourceBuffer>& source_;
  Report& report_;
  std::vector<FieldName> names_;
  bool is_full_ = false;
};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::vector<FieldName> parse(const std::shared_ptr<const SourceBuffer>& fields, Report& report) {
  return Parser(fields, report).run();
}

std::size_t distance(std::string_view a, std::string_view b, std::size_t bound) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > bound) return bound + 1;
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = i;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (lower(a[i]) == lower(b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return std::min(row.back(), bound + 1);
}

}  // namespace stopbit::templates::projection
