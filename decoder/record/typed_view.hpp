#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <ratio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "decoder/record/frame.hpp"
#include "decoder/record/layout.hpp"
#include "decoder/record/read_error.hpp"
#include "decoder/record/views.hpp"
#include "microcode/base/limits.hpp"
#include "microcode/base/result.hpp"

/// Common part of the headers made by `stopbit gen cpp`. Header only.
///
/// A generated view is two pointers into a record, and trusts the record. Use it only after `Feed::check` has accepted
/// these slots (a private copy, as ring::Reader returns), and only while they do not change. After the check no
/// accessor, range or after-view reads outside the record. Without the check, a damaged record can cause reads of any
/// memory.
namespace stopbit::view {

static_assert(std::endian::native == std::endian::little, "records are little-endian; views do not swap");

using record::ReadError;
using record::Slot;

/// Position of a block. Each view has one.
struct Place {
  const Slot* block = nullptr;    ///< First slot of the block.
  const Slot* strings = nullptr;  ///< First slot of the record's string area, which is the end of its blocks.
};

/// A scaled number, mantissa * 10^exponent. Equal if both parts are: 1.50 is not 1.5.
struct Decimal {
  std::int64_t mantissa = 0;
  std::int32_t exponent = 0;  ///< -63 to 63.

  bool operator==(const Decimal&) const = default;

  /// The nearest double.
  [[nodiscard]] double to_double() const noexcept {
    constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    constexpr std::int64_t kExact = std::int64_t{1} << 53;
    // Both operands are exact doubles, so the one operation rounds once.
    if (mantissa >= -kExact && mantissa <= kExact) {
      const auto value = static_cast<double>(mantissa);
      if (exponent <= 0 && exponent >= -22) return value / kPowers[static_cast<std::size_t>(-exponent)];
      if (exponent > 0 && exponent <= 22) return value * kPowers[static_cast<std::size_t>(exponent)];
    }
    std::array<char, 48> text{};
    char* end = std::to_chars(text.data(), text.data() + 24, mantissa).ptr;
    *end++ = 'e';
    end = std::to_chars(end, text.data() + text.size(), exponent).ptr;
    double value = 0;
    (void)std::from_chars(text.data(), end, value);
    return value;
  }

  /// The integer n with n * 10^unit == *this; nothing if there is none or it needs more than 64 bits.
  [[nodiscard]] constexpr std::optional<std::int64_t> scaled(std::int32_t unit) const noexcept {
    std::int64_t value = mantissa;
    if (value == 0) return 0;
    std::int32_t steps = exponent - unit;
    for (; steps > 0; --steps) {
      if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return std::nullopt;
    }
    for (; steps < 0; ++steps) {
      if (value % 10 != 0) return std::nullopt;
      value /= 10;
    }
    return value;
  }
};

/// Elements of an enumeration, a bit for each.
template <class E>
class Set {
 public:
  using Element = E;

  constexpr Set() = default;
  constexpr explicit Set(std::uint64_t bits) : bits_(bits) {}

  [[nodiscard]] constexpr bool has(E element) const noexcept {
    return (bits_ >> static_cast<unsigned>(element) & 1) != 0;
  }
  [[nodiscard]] constexpr std::uint64_t bits() const noexcept { return bits_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return static_cast<std::size_t>(std::popcount(bits_)); }
  constexpr bool operator==(const Set&) const = default;

 private:
  std::uint64_t bits_ = 0;
};

/// A string (`Char` is char) or byte vector (std::byte) of a record. It may be stored in pieces or packed; to get it in
/// one piece, pass a buffer.
template <class Char>
class Run {
 public:
  using View = std::conditional_t<std::is_same_v<Char, char>, std::string_view, std::span<const Char>>;
  /// Space for the longest string that a record can hold.
  using Buffer = std::array<Char, limits::kMaxStringBytes>;

  Run(std::uint64_t word, const Slot* strings) noexcept {
    const auto form = static_cast<std::uint8_t>(word >> 56);
    if (form == record::kLongString) {
      size_ = static_cast<std::uint32_t>(word);
      long_ = strings + (word >> 32 & 0xFFFF);
    } else {
      size_ = form < 8 ? form : 8;
      short_ = word & 0x7FFF'FFFF'FFFF'FFFF;
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// The bytes in one piece: in the record if they are contiguous there (9 to 56 bytes), otherwise copied to the
  /// buffer. Valid while record and buffer exist.
  [[nodiscard]] View view(Buffer& buffer) const noexcept {
    if (long_ != nullptr && size_ <= record::kStringSlotBytes) return piece(0);
    copy_to(buffer.data());
    return View(buffer.data(), size_);
  }

  /// `to` must have space for size() bytes.
  void copy_to(Char* to) const noexcept {
    for (std::size_t i = 0; i < record::string_slots(size_); ++i) {
      const View part = piece(i);
      std::memcpy(to + i * record::kStringSlotBytes, part.data(), part.size());
    }
  }

  [[nodiscard]] std::string str() const {
    std::string text(size_, '\0');
    copy_to(reinterpret_cast<Char*>(text.data()));
    return text;
  }

  [[nodiscard]] friend bool operator==(const Run& run, View other) noexcept {
    if (run.size_ != other.size()) return false;
    for (std::size_t i = 0; i < record::string_slots(run.size_); ++i) {
      const View part = run.piece(i);
      if (std::memcmp(part.data(), other.data() + i * record::kStringSlotBytes, part.size()) != 0) return false;
    }
    return true;
  }

 private:
  /// Up to 56 bytes are contiguous.
  [[nodiscard]] View piece(std::size_t index) const noexcept {
    const std::size_t rest = size_ - index * record::kStringSlotBytes;
    const void* from = long_ != nullptr ? static_cast<const void*>(long_[index].words) : &short_;
    return View(static_cast<const Char*>(from), rest < record::kStringSlotBytes ? rest : record::kStringSlotBytes);
  }

  std::uint64_t short_ = 0;
  const Slot* long_ = nullptr;
  std::size_t size_ = 0;
};
using Text = Run<char>;
using Bytes = Run<std::byte>;

/// Time stamps count in 64 bits.
using Days = std::chrono::duration<std::int64_t, std::chrono::days::period>;
using Seconds = std::chrono::duration<std::int64_t>;
using Milliseconds = std::chrono::duration<std::int64_t, std::milli>;
using Microseconds = std::chrono::duration<std::int64_t, std::micro>;
using Nanoseconds = std::chrono::duration<std::int64_t, std::nano>;

namespace detail {

template <class T>
struct FromWord {
  static T make(std::uint64_t word, const Slot*) noexcept { return static_cast<T>(word); }
};
template <>
struct FromWord<bool> {
  static bool make(std::uint64_t word, const Slot*) noexcept { return word != 0; }
};
template <class E>
struct FromWord<Set<E>> {
  static Set<E> make(std::uint64_t word, const Slot*) noexcept { return Set<E>(word); }
};
template <class Char>
struct FromWord<Run<Char>> {
  static Run<Char> make(std::uint64_t word, const Slot* strings) noexcept { return {word, strings}; }
};
template <class Rep, class Period>
struct FromWord<std::chrono::duration<Rep, Period>> {
  static auto make(std::uint64_t word, const Slot*) noexcept {
    return std::chrono::duration<Rep, Period>(static_cast<Rep>(word));
  }
};
template <class Clock, class Duration>
struct FromWord<std::chrono::time_point<Clock, Duration>> {
  static auto make(std::uint64_t word, const Slot* strings) noexcept {
    return std::chrono::time_point<Clock, Duration>(FromWord<Duration>::make(word, strings));
  }
};

}  // namespace detail

/// Word `kWord` of a block, counted from word 0 of its first slot.
template <std::size_t kWord>
[[nodiscard]] inline std::uint64_t word_at(const Slot* block) noexcept {
  return block[kWord / record::kValueWords].words[kWord % record::kValueWords];
}

/// Whether the word has a value.
template <std::size_t kWord>
[[nodiscard]] inline bool has(const Slot* block) noexcept {
  const std::uint64_t& tags = block[kWord / record::kValueWords].words[record::kTagWord];
  return reinterpret_cast<const unsigned char*>(&tags)[kWord % record::kValueWords] != 0;
}

template <class T, std::size_t kWord>
[[nodiscard]] inline T get(Place place) noexcept {
  if constexpr (std::is_same_v<T, Decimal>) {
    return {static_cast<std::int64_t>(word_at<kWord + 1>(place.block)),
            static_cast<std::int32_t>(word_at<kWord>(place.block))};
  } else {
    return detail::FromWord<T>::make(word_at<kWord>(place.block), place.strings);
  }
}

template <class T, std::size_t kWord>
[[nodiscard]] inline std::optional<T> find(Place place) noexcept {
  if (!has<kWord>(place.block)) return std::nullopt;
  return get<T, kWord>(place);
}

/// Schema node, as needed for a walk.
enum class Kind : std::uint8_t { Field, Group, Sequence, Reference };
/// Check required for a field's word.
enum class Form : std::uint8_t { Constant, Plain, Decimal, String, Enum, Set, Boolean };

struct Node {
  Kind kind;
  Form form;
  bool optional;
  bool flat;  ///< No child opens a block: an element has a constant length, a group takes no slots.
  std::uint8_t word;
  std::uint16_t block;
  std::uint16_t element_block;
  std::uint16_t end;       ///< Index after the last child node.
  std::uint32_t elements;  ///< Of an enumeration or set.
};
struct Block {
  std::uint8_t words;
  std::uint16_t first_word;
};
struct Template {
  std::uint16_t first_node;
  std::uint16_t end_node;
  std::uint16_t root_block;
};

/// The schema as tables; those of a header are constants.
struct Shape {
  std::span<const Node> nodes;
  std::span<const Block> blocks;
  std::span<const Template> templates;
};

inline constexpr std::uint16_t kNoBlock = 0xFFFF;

/// Walks the blocks of a record using the tables. With kCheck it checks every value, as record::Reader does; without,
/// only the values that determine the position of the next block. Never reads at or after `end`.
template <bool kCheck>
class Walk {
 public:
  /// No block is open; the next block begins at `next`.
  Walk(const Shape& shape, const Slot* next, const Slot* end, std::size_t string_slots = 0) noexcept
      : shape_(shape), next_(next), end_(end), string_slots_(string_slots) {}

  [[nodiscard]] ReadError error() const noexcept { return error_; }
  [[nodiscard]] const Slot* next() const noexcept { return next_; }
  /// First slot of block `index` if that is open, else where it would begin.
  [[nodiscard]] const Slot* place_of(std::uint16_t index) const noexcept {
    return index != kNoBlock && index == open_block_ ? block_ : next_;
  }

  bool open(std::uint16_t index, std::size_t base) noexcept {
    const Block& block = shape_.blocks[index];
    const std::size_t slots = record::block_slots(base, block.words);
    if (slots > static_cast<std::size_t>(end_ - next_)) return fail(ReadError::MissingSlots);
    block_ = next_;
    next_ += slots;
    base_ = base;
    first_word_ = block.first_word;
    open_block_ = index;
    return true;
  }

  bool nodes(std::size_t first, std::size_t end) noexcept {
    for (std::size_t i = first; i < end;) {
      const Node& node = shape_.nodes[i];
      if (visits_left_-- == 0) return fail(ReadError::TooMuchWork);
      bool ok = true;
      switch (node.kind) {
        case Kind::Field: ok = field(node); break;
        case Kind::Group: ok = group(node, i); break;
        case Kind::Sequence: ok = sequence(node, i); break;
        case Kind::Reference: ok = reference(); break;
      }
      if (!ok) return false;
      i = node.end;
    }
    return true;
  }

 private:
  bool field(const Node& node) noexcept {
    if (node.form == Form::Constant) return true;
    if (node.block != open_block_ && !open(node.block, 0)) return false;
    if constexpr (kCheck) {
      bool present = false;
      if (!load(node.word, present)) return false;
      if (!present) return node.optional || fail(ReadError::MissingValue);
      return check(node);
    }
    return true;
  }

  bool check(const Node& node) noexcept {
    switch (node.form) {
      case Form::Constant:
      case Form::Plain: return true;
      case Form::String: return check_text();
      case Form::Enum: return raw_ < node.elements || fail(ReadError::BadValue);
      case Form::Set: return node.elements >= 64 || raw_ >> node.elements == 0 || fail(ReadError::BadValue);
      case Form::Boolean: return raw_ <= 1 || fail(ReadError::BadValue);
      case Form::Decimal: {
        const auto exponent = static_cast<std::int64_t>(raw_);
        if (exponent < -record::kMaxExponent || exponent > record::kMaxExponent) return fail(ReadError::BadValue);
        bool present = false;
        if (!load(node.word + std::size_t{1}, present)) return false;
        return present || fail(ReadError::MissingValue);
      }
    }
    return true;
  }

  bool check_text() noexcept {
    const auto form = static_cast<std::uint8_t>(raw_ >> 56);
    if (form < 8 || form >= 0x80) return true;
    const auto length = static_cast<std::uint32_t>(raw_);
    const std::size_t first = raw_ >> 32 & 0xFFFF;
    const bool has_form = form == record::kLongString && (raw_ >> 48 & 0xFF) == 0 && length <= limits::kMaxStringBytes;
    return (has_form && first + record::string_slots(length) <= string_slots_) || fail(ReadError::BadString);
  }

  bool group(const Node& node, std::size_t index) noexcept {
    if (!kCheck && node.flat) return true;
    if (node.optional) {
      if (node.block != open_block_ && !open(node.block, 0)) return false;
      bool present = false;
      if (!load(node.word, present)) return false;
      if (!present) return true;
    }
    return nodes(index + 1, node.end);
  }

  bool sequence(const Node& node, std::size_t index) noexcept {
    if (node.block != open_block_ && !open(node.block, 0)) return false;
    bool present = false;
    if (!load(node.word, present)) return false;
    if (!present && !node.optional) return fail(ReadError::MissingValue);
    if (present && !elements(node, index, raw_)) return false;
    open_block_ = kNoBlock;
    return true;
  }

  bool elements(const Node& node, std::size_t index, std::uint64_t count) noexcept {
    if (count > elements_left_) return fail(ReadError::TooManyElements);
    elements_left_ -= count;
    if (!kCheck && node.flat) {
      const std::size_t slots = count * record::block_slots(0, shape_.blocks[node.element_block].words);
      if (slots > static_cast<std::size_t>(end_ - next_)) return fail(ReadError::MissingSlots);
      next_ += slots;
      return true;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      if (!open(node.element_block, 0) || !nodes(index + 1, node.end)) return false;
    }
    return true;
  }

  bool reference() noexcept {
    if (references_ == limits::kMaxCallDepth) return fail(ReadError::TooDeep);
    if (next_ == end_) return fail(ReadError::MissingSlots);
    if ((next_->words[record::kTagWord] & 0xFF) != record::kReferenceTag) return fail(ReadError::WrongTag);
    if (next_->words[0] >= shape_.templates.size()) return fail(ReadError::UnknownTemplate);
    const Template& item = shape_.templates[next_->words[0]];
    if (!open(item.root_block, record::kReferenceWords)) return false;
    ++references_;
    if (!nodes(item.first_node, item.end_node)) return false;
    --references_;
    open_block_ = kNoBlock;
    return true;
  }

  /// Takes a word of the open block into raw_.
  bool load(std::size_t word, bool& present) noexcept {
    const std::size_t place = base_ + word;
    const Slot& slot = block_[place / record::kValueWords];
    raw_ = slot.words[place % record::kValueWords];
    const auto tag = static_cast<std::uint8_t>(slot.words[record::kTagWord] >> 8 * (place % record::kValueWords));
    present = tag != 0;
    if (present ? tag != record::value_tag(first_word_ + word) : raw_ != 0) return fail(ReadError::WrongTag);
    return true;
  }

  bool fail(ReadError error) noexcept {
    error_ = error;
    return false;
  }

  const Shape& shape_;
  const Slot* next_;
  const Slot* end_;
  std::size_t string_slots_;
  const Slot* block_ = next_;
  std::size_t base_ = 0;
  std::size_t first_word_ = 0;
  std::uint16_t open_block_ = kNoBlock;
  std::uint64_t raw_ = 0;
  std::uint64_t elements_left_ = record::kMaxElements;
  std::uint64_t visits_left_ = record::kMaxVisits;
  std::size_t references_ = 0;
  ReadError error_ = ReadError::None;
};

/// Checks the record at the front of `slots`. None means that views of it are safe: every block, element and string is
/// inside the record, mandatory values are present, and every value is valid for its type.
[[nodiscard]] inline ReadError check(const Shape& shape, std::span<const Slot> slots) noexcept {
  if (const ReadError error = record::check_frame(slots); error != ReadError::None) return error;
  const record::HeaderView header(slots[0]);
  if (header.is_event()) return ReadError::None;
  if (header.template_index() >= shape.templates.size()) return ReadError::UnknownTemplate;
  const Template& item = shape.templates[header.template_index()];
  const Slot* const end = slots.data() + header.slots() - header.string_slots();
  Walk<true> walk(shape, slots.data(), end, header.string_slots());
  if (!walk.open(item.root_block, record::kHeaderWords) || !walk.nodes(item.first_node, item.end_node)) {
    return walk.error();
  }
  return walk.next() == end ? ReadError::None : ReadError::LeftOver;
}

/// The first block of a checked record.
[[nodiscard]] inline Place root_of(std::span<const Slot> slots) noexcept {
  const record::HeaderView header(slots[0]);
  return {slots.data(), slots.data() + header.slots() - header.string_slots()};
}

/// Position of block `next_block`, which follows node `node`; the node belongs to block `block`, at `place`.
[[nodiscard]] inline Place behind(const Shape& shape, Place place, std::uint16_t block, std::size_t base,
                                  std::size_t node, std::uint16_t next_block) noexcept {
  Walk<false> walk(shape, place.block, place.strings);
  if (block != kNoBlock) (void)walk.open(block, base);
  (void)walk.nodes(node, shape.nodes[node].end);
  return {walk.place_of(next_block), place.strings};
}

/// A sequence whose elements all take `kStride` slots. `Element` is a view; an iterator gives an `Item` made of it.
template <class Element, std::size_t kStride, class Item = Element>
class Elements {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::random_access_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using reference = Item;

    Iterator() = default;
    Iterator(Place first, std::ptrdiff_t index) noexcept : first_(first), index_(index) {}

    Item operator*() const noexcept { return at(index_); }
    Item operator[](difference_type n) const noexcept { return at(index_ + n); }
    Iterator& operator++() noexcept { return *this += 1; }
    Iterator& operator--() noexcept { return *this += -1; }
    // NOLINTBEGIN(cert-dcl21-cpp): iterators must return themselves
    Iterator operator++(int) noexcept { return std::exchange(*this, *this + 1); }
    Iterator operator--(int) noexcept { return std::exchange(*this, *this - 1); }
    // NOLINTEND(cert-dcl21-cpp)
    Iterator& operator+=(difference_type n) noexcept {
      index_ += n;
      return *this;
    }
    Iterator& operator-=(difference_type n) noexcept { return *this += -n; }
    friend Iterator operator+(Iterator it, difference_type n) noexcept { return it += n; }
    friend Iterator operator+(difference_type n, Iterator it) noexcept { return it += n; }
    friend Iterator operator-(Iterator it, difference_type n) noexcept { return it -= n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) noexcept { return a.index_ - b.index_; }
    bool operator==(const Iterator& other) const noexcept { return index_ == other.index_; }
    auto operator<=>(const Iterator& other) const noexcept { return index_ <=> other.index_; }

   private:
    [[nodiscard]] Item at(difference_type n) const noexcept {
      return Element{{first_.block + n * static_cast<difference_type>(kStride), first_.strings}};
    }

    Place first_;
    std::ptrdiff_t index_ = 0;
  };

  /// `first` is where the first element begins.
  Elements(Place first, std::uint64_t count) noexcept : first_(first), count_(count) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] Item operator[](std::size_t index) const noexcept {
    return begin()[static_cast<std::ptrdiff_t>(index)];
  }
  [[nodiscard]] Iterator begin() const noexcept { return {first_, 0}; }
  [[nodiscard]] Iterator end() const noexcept { return {first_, static_cast<std::ptrdiff_t>(count_)}; }
  /// Where the record continues after the elements.
  [[nodiscard]] Place behind() const noexcept { return {first_.block + count_ * kStride, first_.strings}; }

 private:
  Place first_;
  std::size_t count_;
};

/// A sequence whose elements contain sequences or references; the walk skips them to reach the next element.
template <class Element, const Shape& kShape>
class Walked {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using iterator_concept = std::forward_iterator_tag;
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using reference = Element;

    Iterator() = default;
    Iterator(Place place, std::size_t left) noexcept : place_(place), left_(left) {}

    Element operator*() const noexcept { return {place_}; }
    Iterator& operator++() noexcept {
      if (--left_ == 0) return *this;  // after the last element; never read
      Walk<false> walk(kShape, place_.block, place_.strings);
      (void)walk.open(Element::kBlock, 0);
      (void)walk.nodes(Element::kFirstNode, Element::kEndNode);
      place_.block = walk.next();
      return *this;
    }
    Iterator operator++(int) noexcept {  // NOLINT(cert-dcl21-cpp): iterators must return themselves
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator& other) const noexcept { return left_ == other.left_; }

   private:
    Place place_;
    std::size_t left_ = 0;  ///< Number of remaining elements, this one included.
  };

  Walked(Place first, std::uint64_t count) noexcept : first_(first), count_(count) {}

  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] Iterator begin() const noexcept { return {first_, count_}; }
  [[nodiscard]] Iterator end() const noexcept { return {first_, 0}; }

 private:
  Place first_;
  std::size_t count_;
};

/// The elements of a vector: plain values, one per slot.
template <class T>
class Values {
 public:
  struct Holder {
    Place place;
    operator T() const noexcept { return get<T, 0>(place); }  // NOLINT(google-explicit-constructor): it is the value
  };

  Values(Place first, std::uint64_t count) noexcept : elements_(first, count) {}

  [[nodiscard]] std::size_t size() const noexcept { return elements_.size(); }
  [[nodiscard]] bool empty() const noexcept { return elements_.empty(); }
  [[nodiscard]] T operator[](std::size_t index) const noexcept { return elements_[index]; }
  [[nodiscard]] auto begin() const noexcept { return elements_.begin(); }
  [[nodiscard]] auto end() const noexcept { return elements_.end(); }
  [[nodiscard]] Place behind() const noexcept { return elements_.behind(); }

 private:
  Elements<Holder, 1, T> elements_;
};

/// A sequence that may be absent; it then has no elements, so that a loop needs no check. (A std::optional would invite
/// loops over a dangling temporary.)
template <class Range>
class OptionalRange : public Range {
 public:
  OptionalRange(Range range, bool is_there) noexcept : Range(range), is_there_(is_there) {}

  [[nodiscard]] bool has_value() const noexcept { return is_there_; }
  [[nodiscard]] explicit operator bool() const noexcept { return is_there_; }

 private:
  bool is_there_;
};

/// The sequence whose length is word `kWord` of a block of `kSlots` slots. A block ends where a sequence begins.
template <class Range, std::size_t kWord, std::size_t kSlots>
[[nodiscard]] inline Range get_elements(Place place) noexcept {
  return {{place.block + kSlots, place.strings}, word_at<kWord>(place.block)};
}

template <class Range, std::size_t kWord, std::size_t kSlots>
[[nodiscard]] inline OptionalRange<Range> find_elements(Place place) noexcept {
  return {get_elements<Range, kWord, kSlots>(place), has<kWord>(place.block)};
}

/// The position after it, if its elements take `kStride` slots each.
template <std::size_t kWord, std::size_t kSlots, std::size_t kStride>
[[nodiscard]] inline Place behind_elements(Place place) noexcept {
  return {place.block + kSlots + word_at<kWord>(place.block) * kStride, place.strings};
}

/// Calls the visitor if it accepts such a view.
template <class Visitor, class View>
void show(Visitor& visitor, const View& view) {
  if constexpr (std::is_invocable_v<Visitor&, const View&>) visitor(view);
}

/// The records of one layout. A generated header's `Feed` is one: `Dispatch` makes views by template.
template <std::uint64_t kHash, const Shape& kShape, class Dispatch>
class Feed {
 public:
  static constexpr std::uint64_t kLayoutHash = kHash;

  /// For records of an image with this layout_hash(); `generation` is the one in their headers. Fails, with both
  /// hashes, if they have another layout.
  [[nodiscard]] static Result<Feed> open(std::uint64_t layout_hash, std::uint16_t generation = 0) {
    if (layout_hash != kHash) return Failure{refusal(layout_hash)};
    return Feed(generation);
  }

  /// For the records of a ring::Reader, or of a class with the same functions.
  template <class Ring>
  requires requires(const Ring& ring) { ring.layout_hash(), ring.image_generation(); }
  [[nodiscard]] static Result<Feed> open(const Ring& ring) {
    return open(ring.layout_hash(), static_cast<std::uint16_t>(ring.image_generation()));
  }

  /// Checks the record, message or event, at the front of `slots`. None: views of these slots are safe.
  [[nodiscard]] ReadError check(std::span<const Slot> slots) const noexcept {
    const ReadError error = view::check(kShape, slots);
    if (error != ReadError::None) return error;
    return record::HeaderView(slots[0]).image_generation() == generation_ ? ReadError::None : ReadError::ForeignImage;
  }

  /// Calls the visitor with the view of a checked record's template, or with the record::EventView of an event, if it
  /// accepts that type.
  template <class Visitor>
  void visit(std::span<const Slot> checked, Visitor&& visitor) const {
    const record::HeaderView header(checked[0]);
    if (header.is_event()) return show(visitor, record::EventView(checked[0]));
    Dispatch::template call<record::kHeaderWords>(header.template_index(), root_of(checked), visitor);
  }

  /// Checks the record, then calls the visitor if the record is valid.
  template <class Visitor>
  [[nodiscard]] ReadError read(std::span<const Slot> slots, Visitor&& visitor) const {
    const ReadError error = check(slots);
    if (error == ReadError::None) visit(slots, visitor);
    return error;
  }

 private:
  explicit Feed(std::uint16_t generation) noexcept : generation_(generation) {}

  static std::string refusal(std::uint64_t theirs) {
    const auto hex = [](std::uint64_t value) {
      std::string text(16, '0');
      for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 0xF];
      return text;
    };
    return "this view was generated for records of layout " + hex(kHash) + ", these have layout " + hex(theirs) +
           "; generate a view with `stopbit gen cpp`, and see the changes with `stopbit diff`";
  }

  std::uint16_t generation_;
};

}  // namespace stopbit::view
