#pragma once

#include <cstddef>
#include <vector>

namespace stopbit::cases {

/// Makes the checksums of an image fit its bytes, where there are bytes for them: as who forges an image would.
void mend_checksums(std::vector<std::byte>& bytes);

}  // namespace stopbit::cases
