#pragma once

#include <functional>
#include <vector>

#include "tests/attack/duel.hpp"

namespace stopbit::attack {

/// Leaves moves out, and bytes of datagrams, as long as `still_fails` holds. Asks it some thousand times at most, and
/// for half a minute.
[[nodiscard]] std::vector<Move> shrink(std::vector<Move> moves,
                                       const std::function<bool(const std::vector<Move>&)>& still_fails);

/// Whether the engines do different things with these moves from the start on, or end with a signal, or do not end. In
/// a process of its own.
[[nodiscard]] bool fails_from_the_start(const Feed& feed, const std::vector<Move>& moves);

}  // namespace stopbit::attack
