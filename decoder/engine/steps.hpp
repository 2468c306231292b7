#pragma once

#include <cstdint>
#include <vector>

#include "decoder/engine/profiles.hpp"
#include "decoder/record/word_place.hpp"
#include "microcode/program.hpp"

/// A verified program, made ready for an executor in software.
namespace stopbit::engine {

/// Of the stacks. The same on each path to an instruction, as the verifier has shown.
struct Depth {
  std::uint8_t maps = 0;
  std::uint8_t loops = 0;
};

/// An instruction, with what its numbers stand for. Points into the program.
struct Step {
  isa::DataOp op;
  isa::ControlOp control;
  std::uint8_t word;
  isa::KnownBit known;
  record::WordPlace place;
  std::uint16_t slot;
  std::uint16_t target;
  std::uint16_t block = kNoBlock;  ///< Open while its data-op runs.
  Depth depth = {};  ///< Before its data-op. Not in a dynamic reference, which is as deep as its caller, and more.
  std::uint16_t profiles = 0;  ///< PMAP: 1 + number of its segment if its map is to be looked up, else 0.
  // What would otherwise have to be looked up each time.
  std::uint8_t block_slots = 0;    ///< BLOCK: slots of the block.
  bool is_limited = false;         ///< The constant has a limit.
  bool has_initial_word = false;   ///< The constant has a value that fits a word of the record: ...
  std::uint64_t initial_word = 0;  ///< ... this one.
  const Constant* constant = nullptr;
};

/// A step per instruction. In a dynamic reference a template's root block has another base than in a message, so its
/// words have other places: `root_base` is record::kHeaderWords or record::kReferenceWords.
/// `profiles` has what PMAP is to look up.
[[nodiscard]] std::vector<Step> make_steps(const Program& program, std::size_t root_base,
                                           const Profiles& profiles = {});

/// The entry for an identifier, null if the table has none.
[[nodiscard]] const DispatchEntry* find_dispatch(const Program& program, std::uint16_t table,
                                                 std::uint32_t id) noexcept;

}  // namespace stopbit::engine
