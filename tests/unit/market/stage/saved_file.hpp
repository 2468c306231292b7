#pragma once

#include <vector>

#include "host/market/stage/saver.hpp"
#include "host/market/stage/translator.hpp"

namespace stopbit::market {

/// All that a stage knows, as a file.
inline std::vector<record::Slot> saved_file(const Translator& translator, std::uint32_t rows,
                                            const SavedHead& head = {}) {
  struct Out {
    std::vector<record::Slot> slots;
    [[nodiscard]] static std::size_t room() { return 65'536; }
    [[nodiscard]] static std::size_t capacity() { return 65'536; }
    void put(const record::Slot& slot) { slots.push_back(slot); }
  };
  Out out;
  BookSaver saver;
  saver.begin();
  while (saver.is_running()) saver.step(translator, rows, head, 1, 65'536, out);
  return out.slots;
}

}  // namespace stopbit::market
