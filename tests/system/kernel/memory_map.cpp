#include "tests/system/kernel/memory_map.hpp"

#include <fstream>
#include <sstream>

namespace stopbit::kernel {

std::vector<MapLine> memory_map() {
  std::vector<MapLine> lines;
  std::ifstream file("/proc/self/maps");
  for (std::string text; std::getline(file, text);) {
    std::istringstream words(text);
    MapLine line;
    char dash = 0;
    std::string offset;
    std::string device;
    std::string inode;
    words >> std::hex >> line.begin >> dash >> line.end >> line.rights >> offset >> device >> inode >> line.name;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace stopbit::kernel
