#include "assembler/line.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "microcode/base/hex.hpp"
#include "microcode/base/printable.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit::assembler {
namespace {

constexpr std::string_view kBlanks = " \t\r";

bool is_comment(char c) {
  return c == ';' || c == '#';
}

}  // namespace

Line::Line(std::shared_ptr<const SourceBuffer> source, std::string_view text, std::size_t offset,
           Diagnostics& diagnostics)
    : source_(std::move(source)), diagnostics_(diagnostics) {
  tokenize(text, offset);
}

void Line::fail(const Token& token, std::string message) {
  if (failed_) return;
  failed_ = true;
  diagnostics_.error(ErrorCode::None, range(token), std::move(message));
}

void Line::fail(std::string message) {
  Token end;
  end.offset = end_;
  fail(end, std::move(message));
}

void Line::tokenize(std::string_view text, std::size_t offset) {
  std::size_t at = 0;
  while (!failed_) {
    while (at < text.size() && kBlanks.find(text[at]) != std::string_view::npos) ++at;
    if (at == text.size() || is_comment(text[at])) break;
    Token token;
    const std::size_t begin = at;
    token.offset = offset + begin;
    while (at < text.size() && text[at] != '"' && !is_comment(text[at]) &&
           kBlanks.find(text[at]) == std::string_view::npos) {
      ++at;
    }
    const std::string_view word = text.substr(begin, at - begin);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) {
      token.kind = Token::Kind::Attribute;
      token.key = word.substr(0, equals);
      token.value = word.substr(equals + 1);
    } else {
      token.value = word;
    }
    if (at < text.size() && text[at] == '"') {
      if (!word.empty() && (equals == std::string_view::npos || equals + 1 != word.size())) {
        token.length = at - begin;
        fail(token, "a blank is missing before the string");
        break;
      }
      if (word.empty()) token.kind = Token::Kind::String;
      token.quoted = true;
      at = read_string(text, at + 1, offset, token.value);
    }
    token.length = at - begin;
    tokens_.push_back(std::move(token));
  }
  end_ = tokens_.empty() ? offset : tokens_.back().offset + tokens_.back().length;
}

std::size_t Line::read_string(std::string_view text, std::size_t at, std::size_t offset, std::string& value) {
  const std::size_t begin = at - 1;
  const auto bad = [&](std::size_t from, std::size_t to, const char* message) {
    Token token;
    token.offset = offset + from;
    token.length = std::min(to, text.size()) - from;
    fail(token, message);
    return text.size();
  };
  value.clear();
  while (at < text.size() && text[at] != '"') {
    if (text[at] != '\\') {
      value += text[at++];
      continue;
    }
    const char escape = at + 1 < text.size() ? text[at + 1] : '\0';
    if (escape == 'x') {
      const int high = at + 2 < text.size() ? hex_digit(text[at + 2]) : -1;
      const int low = at + 3 < text.size() ? hex_digit(text[at + 3]) : -1;
      if (high < 0 || low < 0) return bad(at, at + 4, "\\x needs two hexadecimal digits");
      value += static_cast<char>(high << 4 | low);
      at += 4;
      continue;
    }
    switch (escape) {
      case '"': value += '"'; break;
      case '\\': value += '\\'; break;
      case 'n': value += '\n'; break;
      case 'r': value += '\r'; break;
      case 't': value += '\t'; break;
      default: return bad(at, at + 2, "unknown escape; use \\\" \\\\ \\n \\r \\t \\xHH");
    }
    at += 2;
  }
  if (at == text.size()) return bad(begin, text.size(), "the string has no end");
  return at + 1;
}

Token* Line::peek() {
  for (; first_ < tokens_.size(); ++first_) {
    Token& token = tokens_[first_];
    if (!token.used && token.kind != Token::Kind::Attribute) return &token;
  }
  return nullptr;
}

Token* Line::next() {
  Token* token = peek();
  if (token != nullptr) token->used = true;
  return token;
}

Token* Line::word(std::string_view what) {
  Token* token = failed_ ? nullptr : next();
  if (token != nullptr && token->kind == Token::Kind::Word) return token;
  const std::string message = "expected " + std::string(what);
  token == nullptr ? fail(message) : fail(*token, message);
  return nullptr;
}

std::string Line::string(std::string_view what) {
  Token* token = failed_ ? nullptr : next();
  if (token != nullptr && token->kind == Token::Kind::String) return std::move(token->value);
  const std::string message = "expected " + std::string(what) + " in quotes";
  token == nullptr ? fail(message) : fail(*token, message);
  return {};
}

std::uint64_t Line::digits(const Token& token, std::string_view text, std::uint64_t most) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || error == std::errc::invalid_argument || end != text.data() + text.size() || token.quoted) {
    fail(token, "expected a number");
    return 0;
  }
  if (error != std::errc{} || value > most) {
    fail(token, "the number is larger than " + std::to_string(most));
    return 0;
  }
  return value;
}

std::uint64_t Line::number(const Token& token, std::uint64_t most) {
  return digits(token, token.value, most);
}

std::uint64_t Line::signed_number(const Token& token) {
  const std::string_view text = token.value;
  if (!text.starts_with('-')) return digits(token, text, std::numeric_limits<std::uint64_t>::max());
  return 0 - digits(token, text.substr(1), std::uint64_t{1} << 63);
}

std::uint64_t Line::index(char prefix, std::string_view what, std::uint64_t most) {
  Token* token = word(what);
  if (token == nullptr) return 0;
  if (!token->value.starts_with(prefix)) {
    fail(*token, "expected " + std::string(what));
    return 0;
  }
  return digits(*token, std::string_view(token->value).substr(1), most);
}

bool Line::flag(std::string_view word) {
  for (Token& token : tokens_) {
    if (token.used || token.kind != Token::Kind::Word || token.value != word) continue;
    token.used = true;
    return true;
  }
  return false;
}

Token* Line::attribute(std::string_view key) {
  if (failed_) return nullptr;
  for (Token& token : tokens_) {
    if (token.used || token.kind != Token::Kind::Attribute || token.key != key) continue;
    token.used = true;
    return &token;
  }
  return nullptr;
}

std::uint64_t Line::number_attribute(std::string_view key, std::uint64_t otherwise, std::uint64_t most) {
  const Token* token = attribute(key);
  return token == nullptr ? otherwise : number(*token, most);
}

std::string Line::string_attribute(std::string_view key) {
  Token* token = attribute(key);
  if (token == nullptr) return {};
  if (!token->quoted) fail(*token, std::string(key) + " needs a string in quotes");
  return std::move(token->value);
}

std::uint64_t Line::index_attribute(std::string_view key, char prefix, std::uint64_t otherwise, std::uint64_t most) {
  const Token* token = attribute(key);
  if (token == nullptr) return otherwise;
  if (token->quoted || !token->value.starts_with(prefix)) {
    fail(*token, std::string(key) + " wants " + prefix + " and a number");
    return 0;
  }
  return digits(*token, std::string_view(token->value).substr(1), most);
}

void Line::done() {
  for (const Token& token : tokens_) {
    if (token.used) continue;
    const bool again = token.kind == Token::Kind::Attribute && std::ranges::any_of(tokens_, [&](const Token& other) {
                         return other.used && other.key == token.key && other.kind == token.kind;
                       });
    return fail(token, again ? "this is given twice" : "this is not allowed here");
  }
}

std::string quoted(std::string_view text) {
  const bool readable = is_utf8(text);
  std::string out = "\"";
  while (!text.empty()) {
    const std::string_view character = text.substr(0, readable ? utf8_length(text) : 1);
    text.remove_prefix(character.size());
    switch (character.front()) {
      case '"': out += "\\\""; continue;
      case '\\': out += "\\\\"; continue;
      case '\n': out += "\\n"; continue;
      case '\r': out += "\\r"; continue;
      case '\t': out += "\\t"; continue;
      default: break;
    }
    const bool is_shown =
        readable ? !disturbs_terminal(utf8_value(character)) : character.front() >= 0x20 && character.front() < 0x7F;
    if (is_shown) {
      out += character;
      continue;
    }
    for (const char c : character) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(c), 2);
    }
  }
  return out + '"';
}

}  // namespace stopbit::assembler
