#include "decoder/record/json_value.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace stopbit::record {
namespace {

/// Tells how far the parser has read: its callbacks do not say where in the text they are.
class ReportingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  ReportingIterator() = default;
  ReportingIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}

  reference operator*() const { return *at_; }
  ReportingIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  ReportingIterator operator++(int) {  // NOLINT(cert-dcl21-cpp): iterators must return themselves
    ReportingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const ReportingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const ReportingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_ = nullptr;
  const char** reached_ = nullptr;
};

constexpr std::string_view kNumberCharacters = "+-.0123456789Ee";
constexpr std::string_view kBetweenValues = " \t\r\n,:";

}  // namespace

/// Callbacks of nlohmann's parser.
class JsonLine::Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(JsonLine& out, std::string_view line, const char* const& reached)
      : out_(out), line_(line), reached_(reached) {}

  bool null() override { return add(JsonValue::Kind::Null) && leave(); }
  bool boolean(bool value) override { return add(value ? JsonValue::Kind::True : JsonValue::Kind::False) && leave(); }
  bool number_integer(number_integer_t) override { return number(); }
  bool number_unsigned(number_unsigned_t) override { return number(); }
  bool number_float(number_float_t, const string_t&) override { return number(); }
  bool string(string_t& value) override {
    if (!add(JsonValue::Kind::String)) return false;
    out_.values_.back().text = keep(value);
    return leave();
  }
  bool binary(binary_t&) override { return false; }  // not in text
  bool start_object(std::size_t) override { return add(JsonValue::Kind::Object) && enter(); }
  bool start_array(std::size_t) override { return add(JsonValue::Kind::Array) && enter(); }
  bool end_object() override { return end_container(); }
  bool end_array() override { return end_container(); }
  bool key(string_t& value) override {
    key_offset_ = token();
    key_ = keep(value);
    return leave();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: what is wrong"
    std::string_view text = error.what();
    for (const std::string_view end : {"] ", ": "}) {
      const std::size_t at = text.find(end);
      if (at != std::string_view::npos) text.remove_prefix(at + end.size());
    }
    const auto read = static_cast<std::size_t>(reached_ - line_.data());
    return fail(std::string(text), read == 0 ? 0 : read - 1);
  }

 private:
  bool fail(std::string problem, std::size_t offset) {
    out_.problem_ = std::move(problem);
    out_.problem_offset_ = offset;
    return false;
  }

  /// First byte of the token just read.
  [[nodiscard]] std::size_t token() const {
    return std::min(line_.find_first_not_of(kBetweenValues, left_), line_.size());
  }

  std::string_view keep(const std::string& text) {
    const std::size_t at = out_.strings_.size();
    out_.strings_ += text;
    return std::string_view(out_.strings_).substr(at);
  }

  bool add(JsonValue::Kind kind) {
    const std::size_t offset = token();
    if (out_.values_.size() == kMaxJsonValues) return fail("the line has more values than a record can hold", offset);
    JsonValue value;
    value.kind = kind;
    value.end = static_cast<std::uint32_t>(out_.values_.size() + 1);
    value.offset = static_cast<std::uint32_t>(offset);
    value.key = key_;
    value.key_offset = static_cast<std::uint32_t>(key_offset_);
    key_ = {};
    out_.values_.push_back(value);
    return true;
  }

  bool number() {
    if (!add(JsonValue::Kind::Number)) return false;
    // The parser has looked one byte past the number.
    JsonValue& value = out_.values_.back();
    const std::size_t end = std::min(line_.find_first_not_of(kNumberCharacters, value.offset), line_.size());
    value.text = line_.substr(value.offset, end - value.offset);
    left_ = end;
    return true;
  }

  bool leave() {
    left_ = static_cast<std::size_t>(reached_ - line_.data());
    return true;
  }

  bool enter() {
    if (open_.size() == kMaxJsonDepth) return fail("the line is nested too deeply", token());
    open_.push_back(out_.values_.size() - 1);
    return leave();
  }

  bool end_container() {
    out_.values_[open_.back()].end = static_cast<std::uint32_t>(out_.values_.size());
    open_.pop_back();
    return leave();
  }

  JsonLine& out_;
  std::string_view line_;
  const char* const& reached_;
  std::size_t left_ = 0;  ///< After the previous token.
  std::vector<std::size_t> open_;
  std::string_view key_;
  std::size_t key_offset_ = 0;
};

bool JsonLine::parse(std::string_view line) {
  values_.clear();
  strings_.clear();
  problem_.clear();
  problem_offset_ = 0;
  if (line.size() > kMaxJsonLine) {
    problem_ = "the line is longer than a record's text can be";
    return false;
  }
  strings_.reserve(line.size());
  const char* reached = line.data();
  Handler handler(*this, line, reached);
  const ReportingIterator begin(line.data(), &reached);
  const ReportingIterator end(line.data() + line.size(), &reached);
  return nlohmann::json::sax_parse(begin, end, &handler);
}

}  // namespace stopbit::record
