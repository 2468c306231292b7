#include <cstdio>
#include <fstream>
#include <iostream>
#include <string_view>

#include "tests/data/sample/generator/sample.hpp"

namespace {

bool write_file(const char* path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) std::cerr << "stopbit_make_sample: " << path << " cannot be written\n";
  return file.good();
}

}  // namespace

/// Writes the sample capture, and what is in it as JSON lines if a second file is given.
int main(int argc, char** argv) {
  if (argc < 2 || argc > 3 || argv[1][0] == '-') {
    std::cerr << "usage: stopbit_make_sample CAPTURE.pcap [EXPECTED.jsonl]\n";
    return 2;
  }
  const stopbit::sample::Sample sample = stopbit::sample::make_sample(stopbit::sample::kSeed);
  if (!write_file(argv[1], sample.pcap)) return 3;
  if (argc == 3 && !write_file(argv[2], sample.json_lines)) return 3;

  std::cout << sample.packets << " packets, " << sample.other_packets << " of them not of the feed; "
            << sample.sequences << " sequence numbers, " << sample.lost_on_both << " lost on both lines\n";
  for (const int line : {0, 1}) {
    const auto& counts = sample.lines[line];
    std::cout << "line "
              << "AB"[line] << ": " << counts.sent << " packets, " << counts.lost << " lost, " << counts.duplicated
              << " sent twice, " << counts.late << " behind a later one\n";
  }
  for (const auto& [name, count] : sample.messages) std::cout << "  " << count << "  " << name << "\n";
  return 0;
}
