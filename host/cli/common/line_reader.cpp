#include "host/cli/common/line_reader.hpp"

#include <algorithm>
#include <utility>

#include "host/cli/common/signals.hpp"

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

/// Skips the rest of a line that was reported as too long. False at the end.
bool LineReader::skip_line() {
  for (;;) {
    if (stop_requested() || (chunk_at_ == chunk_.size() && !fill())) return false;
    const std::size_t end = chunk_.find('\n', chunk_at_);
    chunk_at_ = std::min(end, chunk_.size() - 1) + 1;
    if (end != std::string::npos) return true;
  }
}

bool LineReader::next() {
  if (is_cut_ && !skip_line()) return false;
  is_cut_ = false;
  line_.clear();
  for (bool any = false;; any = true) {
    const bool has_more = chunk_at_ != chunk_.size() || fill();
    if (stop_requested()) return false;
    if (!has_more) {
      number_ += any ? 1 : 0;
      return any;
    }
    const std::size_t end = chunk_.find('\n', chunk_at_);
    const std::size_t stop = std::min(end, chunk_.size());
    line_.append(chunk_, chunk_at_, stop - chunk_at_);
    chunk_at_ = std::min(stop + 1, chunk_.size());
    is_cut_ = end == std::string::npos && is_too_long();
    if (end == std::string::npos && !is_cut_) continue;
    ++number_;
    return true;
  }
}

}  // namespace stopbit::tools
