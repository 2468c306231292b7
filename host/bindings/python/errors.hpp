#pragma once

#include <stdexcept>

namespace stopbit::python {

/// Becomes stopbit.RingError.
class RingFailed : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace stopbit::python
