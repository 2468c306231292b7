#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/diagnostic.hpp"

namespace stopbit::assembler {

/// A piece of a line: a word, a "string", or key=value with either as the value.
struct Token {
  enum class Kind : std::uint8_t { Word, String, Attribute };
  Kind kind = Kind::Word;
  std::size_t offset = 0;  ///< In the file.
  std::size_t length = 0;
  std::string_view key;  ///< Attribute only.
  std::string value;     ///< Word as written; string without quotes and escapes.
  bool quoted = false;   ///< The value was a string.
  bool used = false;
};

/// One line, cut into tokens, which its reader takes one after the other. The first fault is reported and fails the
/// line: from then on every getter gives a default, so that a reader runs straight through and asks failed() once.
class Line {
 public:
  /// `text` is the line without its end; `offset` its place in the file.
  Line(std::shared_ptr<const SourceBuffer> source, std::string_view text, std::size_t offset, Diagnostics& diagnostics);

  [[nodiscard]] bool failed() const noexcept { return failed_; }
  [[nodiscard]] bool empty() const noexcept { return tokens_.empty(); }
  void fail(const Token& token, std::string message);
  /// Fails at the end of the line.
  void fail(std::string message);
  [[nodiscard]] SourceRange range(const Token& token) const { return {source_, token.offset, token.length}; }

  /// The next unused word or string; null at the end.
  [[nodiscard]] Token* peek();
  Token* next();
  /// The next word; `what` says what was expected.
  Token* word(std::string_view what);
  std::string string(std::string_view what);
  /// "d17" with prefix 'd'.
  std::uint64_t index(char prefix, std::string_view what, std::uint64_t most);
  std::uint64_t number(const Token& token, std::uint64_t most);
  /// With a sign, as 64-bit two's complement.
  std::uint64_t signed_number(const Token& token);

  /// True if the word occurs anywhere in the line.
  bool flag(std::string_view word);
  /// The attribute; null if it is not given.
  Token* attribute(std::string_view key);
  std::uint64_t number_attribute(std::string_view key, std::uint64_t otherwise, std::uint64_t most);
  std::string string_attribute(std::string_view key);
  /// key=b12
  std::uint64_t index_attribute(std::string_view key, char prefix, std::uint64_t otherwise, std::uint64_t most);

  /// Reports words that were not used.
  void done();

 private:
  void tokenize(std::string_view text, std::size_t offset);
  std::size_t read_string(std::string_view text, std::size_t at, std::size_t offset, std::string& value);
  std::uint64_t digits(const Token& token, std::string_view text, std::uint64_t most);

  std::shared_ptr<const SourceBuffer> source_;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  std::size_t first_ = 0;  ///< Tokens before it are used, or attributes. A line may have a million labels.
  std::size_t end_ = 0;
  bool failed_ = false;
};

/// The text between quotes; every byte survives. UTF-8 stays readable.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace stopbit::assembler
