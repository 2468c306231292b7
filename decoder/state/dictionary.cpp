#include "decoder/state/dictionary.hpp"

namespace stopbit::state {

Dictionary::Dictionary(const Program& program) : entries_(program.slots.size()) {
  std::uint32_t bytes = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    entries_[i].string_offset = bytes;
    entries_[i].string_capacity = program.slots[i].string_capacity;
    if (program.slots[i].string_capacity != 0) bytes += program.slots[i].string_capacity + kStringSlack;
  }
  strings_ = std::make_unique<char[]>(bytes);
}

}  // namespace stopbit::state
