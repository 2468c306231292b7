#include "tests/lib/byte_notation.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "microcode/base/ascii.hpp"
#include "microcode/base/hex.hpp"
#include "tests/lib/wire_encoder.hpp"

namespace stopbit::cases {
namespace {

constexpr std::size_t kMaxRepeat = 100'000;  // a datagram has at most 65,536 bytes; a little more provokes errors
constexpr Int128 kMaxNumber = Int128{1} << 100;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_word(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '.' || c == '?' || c == '-' || c == '+' || c == ':';
}

std::optional<std::uint8_t> hex_byte(std::string_view text) {
  if (text.size() != 2 || hex_digit(text[0]) < 0 || hex_digit(text[1]) < 0) return std::nullopt;
  return static_cast<std::uint8_t>(hex_digit(text[0]) * 16 + hex_digit(text[1]));
}

std::optional<Int128> number(std::string_view text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) text.remove_prefix(1);
  if (text.empty()) return std::nullopt;
  Int128 value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > kMaxNumber) return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

struct Word {
  std::string text;
  bool quoted = false;
  std::size_t offset = 0;
  std::size_t length = 0;
};

struct IntegerType {
  std::string_view name;
  bool is_signed;
  Int128 min;
  Int128 max;
};

const IntegerType kIntegerTypes[] = {
    {"u32", false, 0, std::numeric_limits<std::uint32_t>::max()},
    {"u64", false, 0, std::numeric_limits<std::uint64_t>::max()},
    {"i32", true, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()},
    {"i64", true, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()},
    {"delta", true, -kMaxNumber, kMaxNumber},
};

class Parser {
 public:
  Parser(std::shared_ptr<const SourceBuffer> source, std::size_t begin, std::size_t end, Diagnostics& diagnostics)
      : source_(std::move(source)), text_(source_->text().substr(0, end)), at_(begin), diagnostics_(diagnostics) {}

  std::optional<std::vector<Step>> parse() {
    const std::size_t errors = diagnostics_.errors();
    while (skip_space()) item();
    if (diagnostics_.errors() != errors) return std::nullopt;
    return std::move(steps_);
  }

 private:
  void error(std::size_t offset, std::size_t length, std::string message) {
    diagnostics_.error(ErrorCode::None, {source_, offset, length}, std::move(message));
  }
  void error(const Word& word, std::string message) { error(word.offset, word.length, std::move(message)); }

  /// False at the end of the text.
  bool skip_space() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (is_space(text_[at_])) {
        ++at_;
      } else {
        return true;
      }
    }
    return false;
  }

  Word read_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return {std::string(text_.substr(begin, at_ - begin)), false, begin, at_ - begin};
  }

  /// "..." with \" \\ \n \t \0 and \xNN.
  Word read_string() {
    const std::size_t begin = at_++;
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        const char escape = text_[at_++];
        const std::optional<std::uint8_t> byte =
            escape == 'x' ? hex_byte(text_.substr(at_, 2)) : std::optional<std::uint8_t>();
        const std::string_view plain = "\"\\nt0";
        const std::size_t index = plain.find(escape);
        if (byte) {
          c = static_cast<char>(*byte);
          at_ += 2;
        } else if (index != std::string_view::npos) {
          c = "\"\\\n\t\0"[index];
        } else {
          error(at_ - 2, 2, "unknown escape; there are \\\" \\\\ \\n \\t \\0 \\xNN");
        }
      }
      value.push_back(c);
    }
    if (at_ < text_.size() && text_[at_] == '"') {
      ++at_;
    } else {
      error(begin, 1, "the string has no end");
    }
    return {value, true, begin, at_ - begin};
  }

  void item() {
    const std::size_t begin = at_;
    const Word name = read_word();
    if (name.length == 0) {
      ++at_;
      error(begin, 1, "expected a hex byte or a word such as u32(5)");
      return;
    }
    if (at_ >= text_.size() || text_[at_] != '(') {
      plain(name);
      return;
    }
    ++at_;
    std::vector<Word> arguments;
    while (skip_space() && text_[at_] != ')') {
      const std::size_t before = at_;
      arguments.push_back(text_[at_] == '"' ? read_string() : read_word());
      if (at_ == before) {
        error(at_++, 1, "expected a value or ')'");
        arguments.pop_back();
      }
    }
    if (at_ >= text_.size()) {
      error(name, "'(' has no ')'");
      return;
    }
    ++at_;
    call(name, arguments);
  }

  void plain(const Word& name) {
    if (name.text == "packet") {
      begin_step(Step::Kind::Datagram, 0);
    } else if (name.text == "reset") {
      begin_step(Step::Kind::Reset, 0);
    } else if (const std::optional<std::uint8_t> byte = hex_byte(name.text)) {
      append({*byte}, name);
    } else {
      error(name, "'" + name.text + "' is neither a hex byte nor a word with '('");
    }
  }

  void call(const Word& name, const std::vector<Word>& arguments) {
    std::string_view base = name.text;
    bool nullable = false;
    bool overlong = false;
    const auto strip = [&base](std::string_view ending) {
      if (!base.ends_with(ending)) return false;
      base.remove_suffix(ending.size());
      return true;
    };
    overlong = strip(".overlong");
    nullable = strip("?");

    for (const IntegerType& type : kIntegerTypes) {
      if (base == type.name) return integer(name, type, nullable, overlong, arguments);
    }
    if (base == "dec" && !overlong) return decimal(name, nullable, arguments);
    if (base == "ascii") return ascii(name, nullable, overlong, arguments);
    if ((base == "uni" || base == "bytes") && !overlong) return vector(name, nullable, arguments);
    if (nullable || overlong) return error(name, "unknown word '" + name.text + "'");
    if (base == "pmap") return presence_map(arguments);
    if (base == "bits") return bit_group(name, arguments);
    if (base == "pmap.raw" || base == "hex") return hex(name, arguments);
    if (base == "repeat") return repeat(name, arguments);
    if (base == "cut") return cut(name, arguments);
    if (base == "packet" || base == "reset") return channel_step(name, arguments);
    error(name, "unknown word '" + name.text + "'");
  }

  std::optional<Int128> number_argument(const Word& word, Int128 min, Int128 max) {
    const std::optional<Int128> value = word.quoted ? std::nullopt : number(word.text);
    if (!value) {
      error(word, "expected a number");
    } else if (*value < min || *value > max) {
      error(word, "the number is out of range");
      return std::nullopt;
    }
    return value;
  }

  static bool is_null(const Word& word) { return !word.quoted && word.text == "null"; }

  void integer(const Word& name, const IntegerType& type, bool nullable, bool overlong,
               const std::vector<Word>& arguments) {
    if (arguments.size() != (overlong ? 2U : 1U)) {
      return error(name, overlong ? "wants a value and the number of redundant bytes" : "wants one value");
    }
    std::optional<Int128> value;
    if (!nullable || !is_null(arguments[0])) {
      value = number_argument(arguments[0], type.min, type.max);
      if (!value) return;
    }
    std::size_t redundant = 0;
    if (overlong) {
      const std::optional<Int128> count = number_argument(arguments[1], 1, static_cast<Int128>(kMaxRepeat));
      if (!count) return;
      redundant = static_cast<std::size_t>(*count);
    }
    const Int128 wire = nullable ? to_nullable(value) : *value;
    append(type.is_signed ? encode_signed(wire, redundant) : encode_unsigned(wire, redundant), name);
  }

  void decimal(const Word& name, bool nullable, const std::vector<Word>& arguments) {
    if (nullable && arguments.size() == 1 && is_null(arguments[0])) return append({0x80}, name);
    if (arguments.size() != 2) return error(name, "wants exponent and mantissa");
    const auto exponent = number_argument(arguments[0], kIntegerTypes[2].min, kIntegerTypes[2].max);
    const auto mantissa = number_argument(arguments[1], kIntegerTypes[3].min, kIntegerTypes[3].max);
    if (!exponent || !mantissa) return;
    append(encode_signed(nullable ? to_nullable(exponent) : *exponent), name);
    append(encode_signed(*mantissa), name);
  }

  void ascii(const Word& name, bool nullable, bool overlong, const std::vector<Word>& arguments) {
    const bool null = nullable && !overlong && arguments.size() == 1 && is_null(arguments[0]);
    if (arguments.size() != 1 || (!null && !arguments[0].quoted)) return error(name, "wants one string in quotes");
    std::optional<std::string_view> text;
    if (!null) text = arguments[0].text;
    const std::optional<Bytes> bytes = encode_ascii(text, nullable);
    if (!bytes || (overlong && text->empty())) return error(name, "no sender can write this string; use hex(..)");
    if (overlong) append({0x00}, name);
    append(*bytes, name);
  }

  /// One string in quotes, or hex bytes.
  void vector(const Word& name, bool nullable, const std::vector<Word>& arguments) {
    if (nullable && arguments.size() == 1 && is_null(arguments[0])) {
      return append(encode_vector(std::nullopt, true), name);
    }
    std::string text;
    if (arguments.size() == 1 && arguments[0].quoted) {
      text = arguments[0].text;
    } else {
      const std::optional<Bytes> bytes = hex_arguments(arguments);
      if (!bytes) return;
      text.assign(bytes->begin(), bytes->end());
    }
    append(encode_vector(text, nullable), name);
  }

  void presence_map(const std::vector<Word>& arguments) {
    std::string bits;
    for (const Word& word : arguments) {
      if (word.quoted || word.text.find_first_not_of("01") != std::string::npos) return error(word, "expected 0 and 1");
      bits += word.text;
    }
    append(encode_presence_map(bits), {});
  }

  /// width:value, as the bits are: NULL is 0, a nullable 1 is 2.
  void bit_group(const Word& name, const std::vector<Word>& arguments) {
    std::vector<std::pair<unsigned, Int128>> fields;
    for (const Word& word : arguments) {
      const std::size_t colon = std::min(word.text.find(':'), word.text.size());
      const std::optional<Int128> width = number(std::string_view(word.text).substr(0, colon));
      const std::optional<Int128> value =
          colon == word.text.size() ? std::nullopt : number(std::string_view(word.text).substr(colon + 1));
      if (word.quoted || !width || !value || *width < 1 || *width > 63) return error(word, "expected width:value");
      const Int128 bound = Int128{1} << *width;
      if (*value < -bound / 2 || *value >= bound) return error(word, "the value does not fit its bits");
      fields.emplace_back(static_cast<unsigned>(*width), *value);
    }
    if (fields.empty()) return error(name, "wants fields as width:value");
    append(encode_bits(fields), name);
  }

  std::optional<Bytes> hex_arguments(const std::vector<Word>& arguments) {
    Bytes bytes;
    for (const Word& word : arguments) {
      const std::optional<std::uint8_t> byte = word.quoted ? std::nullopt : hex_byte(word.text);
      if (!byte) {
        error(word, "expected a byte of two hex digits");
        return std::nullopt;
      }
      bytes.push_back(*byte);
    }
    return bytes;
  }

  void hex(const Word& name, const std::vector<Word>& arguments) {
    if (const std::optional<Bytes> bytes = hex_arguments(arguments)) append(*bytes, name);
  }

  void repeat(const Word& name, const std::vector<Word>& arguments) {
    if (arguments.size() < 2) return error(name, "wants a count and hex bytes");
    const std::optional<Int128> count = number_argument(arguments[0], 1, static_cast<Int128>(kMaxRepeat));
    const std::optional<Bytes> bytes = hex_arguments({arguments.begin() + 1, arguments.end()});
    if (!count || !bytes) return;
    for (Int128 i = 0; i < *count; ++i) append(*bytes, name);
  }

  void cut(const Word& name, const std::vector<Word>& arguments) {
    if (arguments.size() != 1) return error(name, "wants the number of bytes to take away");
    std::vector<std::byte>* bytes = steps_.empty() ? nullptr : &steps_.back().bytes;
    const std::size_t size = bytes ? bytes->size() : 0;
    if (const auto count = number_argument(arguments[0], 1, static_cast<Int128>(size))) {
      bytes->resize(size - static_cast<std::size_t>(*count));
    }
  }

  void channel_step(const Word& name, const std::vector<Word>& arguments) {
    if (arguments.size() != 1) return error(name, "wants a channel");
    const auto channel = number_argument(arguments[0], 0, std::numeric_limits<std::uint16_t>::max());
    if (!channel) return;
    begin_step(name.text == "packet" ? Step::Kind::Datagram : Step::Kind::Reset, static_cast<std::uint16_t>(*channel));
  }

  void begin_step(Step::Kind kind, std::uint16_t channel) { steps_.push_back({kind, channel, {}}); }

  void append(const Bytes& bytes, const Word& name) {
    if (steps_.empty()) begin_step(Step::Kind::Datagram, 0);
    Step& step = steps_.back();
    if (step.kind == Step::Kind::Reset) return error(name, "after 'reset', 'packet' comes first");
    for (const std::uint8_t byte : bytes) step.bytes.push_back(static_cast<std::byte>(byte));
  }

  std::shared_ptr<const SourceBuffer> source_;
  std::string_view text_;
  std::size_t at_;
  Diagnostics& diagnostics_;
  std::vector<Step> steps_;
};

}  // namespace

std::optional<std::vector<Step>> parse_bytes(std::shared_ptr<const SourceBuffer> source, std::size_t begin,
                                             std::size_t end, Diagnostics& diagnostics) {
  return Parser(std::move(source), begin, end, diagnostics).parse();
}

std::optional<std::vector<Step>> parse_bytes(std::string_view text, Diagnostics& diagnostics) {
  auto source = std::make_shared<const SourceBuffer>("bytes", std::string(text));
  return parse_bytes(source, 0, text.size(), diagnostics);
}

}  // namespace stopbit::cases
