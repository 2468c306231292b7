#pragma once

#include <cstdint>
#include <vector>

#include "host/lab/venue/true_book.hpp"

namespace stopbit::venue {

/// What a feed of prices by position says of a side.
struct LevelChange {
  enum class Action : std::uint8_t {
    New,         ///< Inserts: the levels from there on move down, and one beyond the depth falls off without a word.
    Change,      ///< Quantity or number of orders.
    Delete,      ///< The levels after it move up.
    DeleteThru,  ///< Levels 1 to this one.
    DeleteFrom,  ///< This one and all after it.
    Overlay,     ///< Another price in the place of this one.
  };
  Action action = Action::New;
  std::size_t position = 1;
  Level level;  ///< Of New, Change and Overlay; else the one that goes.
};

/// Which actions an exchange uses beside new, change and delete.
struct LevelActions {
  bool has_ranges = false;
  bool has_overlay = false;
};

/// How a side with these levels becomes that one, in an order in which a receiver has each state: after a deletion in a
/// full side the level that comes into sight is new.
[[nodiscard]] std::vector<LevelChange> level_changes(Side side, std::vector<Level> before,
                                                     const std::vector<Level>& after, std::size_t depth,
                                                     const LevelActions& actions);

}  // namespace stopbit::venue
