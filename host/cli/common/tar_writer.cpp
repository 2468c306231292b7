#include "host/cli/common/tar_writer.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>
#include <span>

#include "microcode/base/time.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kBlockBytes = 512;

/// "000000644\0": octal, right-aligned, and a zero.
void put_octal(std::span<char> to, std::uint64_t value) {
  for (std::size_t i = to.size() - 1; i-- > 0; value >>= 3) to[i] = static_cast<char>('0' + (value & 7));
}

}  // namespace

void TarWriter::begin(std::string_view name, std::uint64_t bytes, std::uint64_t time_ns) {
  std::array<char, kBlockBytes> head{};
  const std::span<char> all(head);
  const auto put = [&](std::size_t at, std::string_view text) { std::copy(text.begin(), text.end(), &head[at]); };
  if (name.size() > kMaxNameBytes) name.remove_prefix(name.size() - kMaxNameBytes);
  while (name.starts_with('/')) name.remove_prefix(1);
  put(0, name);
  put_octal(all.subspan(100, 8), 0644);
  put_octal(all.subspan(108, 8), 0);  // owner and group: root
  put_octal(all.subspan(116, 8), 0);
  put_octal(all.subspan(124, 12), bytes);
  put_octal(all.subspan(136, 12), time_ns / kNsPerSecond);
  put(148, "        ");  // the checksum counts as blanks
  head[156] = '0';       // a regular file
  put(257, std::string_view("ustar\00000", 8));
  const std::uint64_t sum =
      std::accumulate(head.begin(), head.end(), std::uint64_t{0},
                      [](std::uint64_t all_so_far, char c) { return all_so_far + static_cast<unsigned char>(c); });
  put_octal(all.subspan(148, 7), sum);
  head[155] = ' ';
  sink_(std::string_view(head.data(), head.size()));
  bytes_left_ = bytes;
  padding_ = (kBlockBytes - bytes % kBlockBytes) % kBlockBytes;
}

void TarWriter::write(std::string_view piece) {
  // A file that grew meanwhile does not spoil the archive.
  piece = piece.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), bytes_left_)));
  bytes_left_ -= piece.size();
  sink_(piece);
}

void TarWriter::end() {
  // Nor does one that has shrunk.
  const std::string zeros(kBlockBytes, '\0');
  for (std::uint64_t left = bytes_left_ + padding_; left != 0;) {
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(left, kBlockBytes));
    sink_(std::string_view(zeros).substr(0, now));
    left -= now;
  }
  bytes_left_ = padding_ = 0;
}

void TarWriter::add(std::string_view name, std::string_view content, std::uint64_t time_ns) {
  begin(name, content.size(), time_ns);
  write(content);
  end();
}

void TarWriter::finish() {
  sink_(std::string(2 * kBlockBytes, '\0'));
}

}  // namespace stopbit::tools
