#pragma once

#include <cstdint>

#include "host/feed/arbitrate/account.hpp"
#include "host/feed/packet/group_table.hpp"

namespace stopbit::feed {

struct LineTarget {
  std::uint32_t channel = 0;
  arbitrate::Line line = arbitrate::Line::A;
};

/// Finds the channel and line of a datagram. Two lines of one group need different sources, which feed descriptions
/// guarantee.
using LineTable = net::GroupTable<LineTarget>;

}  // namespace stopbit::feed
