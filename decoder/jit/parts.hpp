#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace stopbit::jit {

/// What a piece of generated code is for.
enum class Part : std::uint8_t {
  Frame,        ///< Entry and exit of the code.
  Interpreter,  ///< Calls of the interpreter's functions.
  Texts,        ///< Calls of engine::Texts.
  Template,     ///< Identifier, dispatch, reset, the root block.
  Map,
  Bit,
  Stop,  ///< Where an entity ends.
  Integer,
  Null,
  Operator,  ///< Dictionary, initial values, limits.
  String,
  Store,  ///< Words, their tags, the count of fields.
  Block,
  Sequence,
  Rare,
};
inline constexpr std::array<std::string_view, 15> kPartNames = {"entry and exit",
                                                                "the interpreter's functions",
                                                                "functions for longer strings",
                                                                "template",
                                                                "presence maps",
                                                                "presence bits",
                                                                "stop bits",
                                                                "integers",
                                                                "NULL",
                                                                "operators",
                                                                "strings of up to 8 bytes",
                                                                "stores",
                                                                "blocks",
                                                                "sequences",
                                                                "rare paths"};

/// Which part each byte of the code belongs to: for tools that count instructions.
class Parts {
 public:
  /// From `begin` on. The calls are in the order of the addresses.
  void add(const std::uint8_t* begin, Part part) {
    if (!stretches_.empty() && stretches_.back().begin == begin) stretches_.pop_back();
    if (stretches_.empty() || stretches_.back().part != part) stretches_.push_back({begin, part});
  }
  void end(const std::uint8_t* end) { end_ = end; }

  [[nodiscard]] bool has(const std::uint8_t* address) const noexcept {
    return !stretches_.empty() && address >= stretches_.front().begin && address < end_;
  }
  /// Of an address that it has.
  [[nodiscard]] Part at(const std::uint8_t* address) const noexcept {
    const auto after = std::upper_bound(stretches_.begin(), stretches_.end(), address,
                                        [](const std::uint8_t* x, const Stretch& y) { return x < y.begin; });
    return (after - 1)->part;
  }

 private:
  struct Stretch {
    const std::uint8_t* begin;
    Part part;
  };
  std::vector<Stretch> stretches_;
  const std::uint8_t* end_ = nullptr;
};

}  // namespace stopbit::jit
