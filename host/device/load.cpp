#include "host/device/load.hpp"

#include <vector>

namespace stopbit::device {

Status load_words(Kernel& kernel, std::span<const firmware::Word> words) {
  std::vector<LoadWord> load;
  load.reserve(words.size());
  for (const firmware::Word& word : words) load.push_back({word.address, word.data});
  return kernel.load(kEngineBank, load);
}

}  // namespace stopbit::device
