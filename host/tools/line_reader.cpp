#include "host/tools/line_reader.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::tools {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;

}  // namespace

LineReader::LineReader(InputFile file, std::size_t max_line_bytes, std::function<void()> before_read)
    : file_(std::move(file)), max_line_bytes_(max_line_bytes), before_read_(std::move(before_read)) {}

bool LineReader::fill() {
  if (before_read_) before_read_();
  chunk_.resize(kChunkBytes);
  chunk_.resize(file_.read(chunk_.data(), chunk_.size()));
  chunk_at_ = 0;
  return !chunk_.empty();
}

bool LineReader::next() {
  line_.clear();
  for (bool any = false;; any = true) {
    if (chunk_at_ == chunk_.size() && !fill()) {
      number_ += any ? 1 : 0;
      return any;
    }
    const std::size_t end = chunk_.find('\n', chunk_at_);
    const std::size_t stop = std::min(end, chunk_.size());
    if (line_.size() <= max_line_bytes_) line_.append(chunk_, chunk_at_, stop - chunk_at_);
    chunk_at_ = std::min(stop + 1, chunk_.size());
    if (end == std::string::npos) continue;
    ++number_;
    return true;
  }
}

}  // namespace stopbit::tools
