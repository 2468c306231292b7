#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/digits.hpp"

namespace stopbit::record {

/// Texts that were made ready to be copied, in one block of memory. The copy of a short one is two moves.
class Pieces {
 public:
  static constexpr std::size_t kBlockBytes = 32;

  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t length = 0;
  };

  [[nodiscard]] Piece add(std::string_view text) {
    const Piece piece{static_cast<std::uint32_t>(bytes_.size() - kBlockBytes), static_cast<std::uint32_t>(text.size())};
    bytes_.insert(bytes_.size() - kBlockBytes, text);  // a copy reads whole blocks: there is one after the last text
    return piece;
  }
  [[nodiscard]] const char* data(Piece piece) const noexcept { return bytes_.data() + piece.begin; }

 private:
  std::string bytes_ = std::string(kBlockBytes, '\0');
};

/// The text of a record while it is made. Grows to the longest one and keeps its memory. Callers bound what they
/// append.
class TextBuffer {
 public:
  [[nodiscard]] std::string_view text() const noexcept { return {begin_.get(), size()}; }
  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(at_ - begin_.get()); }
  void clear() noexcept { at_ = begin_.get(); }
  /// Back to a size that it had.
  void resize(std::size_t bytes) noexcept { at_ = begin_.get() + bytes; }

  void put(char c) {
    ensure(1);
    *at_++ = c;
  }
  void append(std::string_view text) {
    if (text.empty()) return;
    ensure(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void append(const Pieces& pieces, Pieces::Piece piece) {
    ensure(piece.length + Pieces::kBlockBytes);
    const char* const from = pieces.data(piece);
    std::memcpy(at_, from, Pieces::kBlockBytes);
    if (piece.length > Pieces::kBlockBytes) {
      std::memcpy(at_ + Pieces::kBlockBytes, from + Pieces::kBlockBytes, piece.length - Pieces::kBlockBytes);
    }
    at_ += piece.length;
  }
  /// A piece without its first byte.
  void append_rest(const Pieces& pieces, Pieces::Piece piece) {
    append(pieces, Pieces::Piece{piece.begin + 1, piece.length - 1});
  }
  void append_unsigned(std::uint64_t value) {
    ensure(kDigitsRoom);
    at_ = write_unsigned(at_, value);
  }
  void append_signed(std::int64_t value) {
    ensure(kDigitsRoom);
    at_ = write_signed(at_, value);
  }
  void append_decimal(std::int64_t mantissa, std::int32_t exponent) {
    ensure(kDigitsRoom);
    at_ = write_decimal(at_, mantissa, exponent);
  }
  /// Appends the text between two `quote` characters if every byte is printable ASCII other than `quote` and `escape`;
  /// else appends nothing and returns false.
  [[nodiscard]] bool append_plain(std::string_view text, char quote, char escape) {
    ensure(text.size() + 2);
    char* const to = at_ + 1;
    if (!copy_plain(to, text, quote, escape)) return false;
    *at_ = quote;
    to[text.size()] = quote;
    at_ = to + text.size() + 1;
    return true;
  }
  /// The same without the quotes around it.
  [[nodiscard]] bool append_bare(std::string_view text, char quote, char escape) {
    ensure(text.size());
    if (!copy_plain(at_, text, quote, escape)) return false;
    at_ += text.size();
    return true;
  }

 private:
  static constexpr std::uint64_t kOnes = 0x0101'0101'0101'0101;
  static constexpr std::uint64_t kTops = 0x8080'8080'8080'8080;

  static constexpr std::uint64_t zero_bytes(std::uint64_t word) noexcept { return (word - kOnes) & ~word & kTops; }
  /// 0 if all eight bytes are plain.
  static std::uint64_t unplain(std::uint64_t word, std::uint64_t quotes, std::uint64_t escapes) noexcept {
    return ((word - kOnes * 0x20) | (word + kOnes) | word | zero_bytes(word ^ quotes) | zero_bytes(word ^ escapes)) &
           kTops;
  }

  static bool copy_plain(char* to, std::string_view text, char quote, char escape) noexcept {
    const std::uint64_t quotes = kOnes * static_cast<unsigned char>(quote);
    const std::uint64_t escapes = kOnes * static_cast<unsigned char>(escape);
    const char* from = text.data();
    std::size_t left = text.size();
    std::uint64_t bad = 0;
    std::uint64_t word = 0;
    if (left >= 8) {
      for (; left > 8; left -= 8, from += 8, to += 8) {
        std::memcpy(&word, from, 8);
        bad |= unplain(word, quotes, escapes);
        std::memcpy(to, &word, 8);
      }
      from -= 8 - left;
      to -= 8 - left;
      std::memcpy(&word, from, 8);
      std::memcpy(to, &word, 8);
      return (bad | unplain(word, quotes, escapes)) == 0;
    }
    if (left >= 4) {
      std::uint32_t first = 0;
      std::uint32_t last = 0;
      std::memcpy(&first, from, 4);
      std::memcpy(&last, from + left - 4, 4);
      std::memcpy(to, &first, 4);
      std::memcpy(to + left - 4, &last, 4);
      return unplain(std::uint64_t{last} << 32 | first, quotes, escapes) == 0;
    }
    word = kOnes * 'a';
    for (std::size_t i = 0; i < left; ++i) {
      to[i] = from[i];
      word = word << 8 | static_cast<unsigned char>(from[i]);
    }
    return unplain(word, quotes, escapes) == 0;
  }

  void ensure(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) [[unlikely]]
      grow(bytes);
  }
  void grow(std::size_t bytes) {
    const std::size_t used = size();
    const std::size_t capacity = std::max(2 * static_cast<std::size_t>(end_ - begin_.get()), used + bytes + 4096);
    auto larger = std::make_unique_for_overwrite<char[]>(capacity);
    if (used != 0) std::memcpy(larger.get(), begin_.get(), used);
    begin_ = std::move(larger);
    at_ = begin_.get() + used;
    end_ = begin_.get() + capacity;
  }

  std::unique_ptr<char[]> begin_;
  char* at_ = nullptr;
  char* end_ = nullptr;
};

}  // namespace stopbit::record
