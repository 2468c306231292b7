#pragma once

#include <cstddef>
#include <cstdint>

#include "decoder/engine/machine.hpp"
#include "decoder/engine/steps.hpp"
#include "decoder/record/builder.hpp"
#include "decoder/wire/index.hpp"

namespace stopbit::engine {

/// ASCII strings that are no single word of a record, or whose operator works on characters: the common cases of no
/// operator, default, copy, delta and tail, for the engines that have an index of stop bits. Lengths come from the
/// index, and copies move whole vectors.
class Texts {
 public:
  Texts(Machine& machine, record::Builder& builder, const wire::Index& index, std::size_t max_bytes)
      : m_(machine), builder_(builder), index_(index), max_bytes_(max_bytes) {}

  /// The data-op of a string. `m.in` and the top bit of the map are where it begins. False: nothing has changed, and
  /// the interpreter takes the instruction.
  [[nodiscard]] bool take(const Step& in) noexcept;

 private:
  /// A string in the stream. `end` is where the next entity begins.
  struct Entity {
    const std::uint8_t* begin = nullptr;
    const std::uint8_t* end = nullptr;
    std::size_t length = 0;
  };
  /// One that is not longer than a look at the index shows, and whose first byte is no zero preamble, except the empty
  /// string's.
  [[nodiscard]] bool find(const std::uint8_t* position, Entity& out) const noexcept;
  /// The characters that an operator works on: in the dictionary's entry, whatever its state was.
  [[nodiscard]] bool find_base(const Step& in, std::size_t& length) noexcept;
  /// The same for an entry that has no previous string.
  [[nodiscard]] bool find_initial(const Step& in, std::size_t& length) noexcept;
  [[nodiscard]] bool is_previous(const Step& in) const noexcept;
  [[nodiscard]] char* text_of(const Step& in) const noexcept;
  [[nodiscard]] bool fits(const Step& in, std::size_t length) const noexcept;

  [[nodiscard]] bool is_sent(const Step& in) const noexcept;
  void take_bit(const Step& in) noexcept;
  [[nodiscard]] bool plain(const Step& in) noexcept;
  [[nodiscard]] bool with_bit(const Step& in, bool is_tail) noexcept;
  [[nodiscard]] bool delta(const Step& in) noexcept;
  /// The entry's characters, `length` of them, become the previous value and the field's.
  void keep(const Step& in, std::size_t length) noexcept;
  void store(const Step& in, std::size_t length) noexcept;

  Machine& m_;
  record::Builder& builder_;
  const wire::Index& index_;
  std::size_t max_bytes_;
};

}  // namespace stopbit::engine
