#pragma once

#include "microcode/base/nearest.hpp"

namespace stopbit::config {

using stopbit::nearest;

}  // namespace stopbit::config
