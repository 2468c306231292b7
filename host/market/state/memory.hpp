#pragma once

#include "host/market/state/protocol.hpp"
#include "host/os/shm/shared_words.hpp"

namespace stopbit::market::state {

/// The table in real shared memory.
using SharedMemory = os::SharedWords<Step, order_of>;

}  // namespace stopbit::market::state
