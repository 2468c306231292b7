#include "host/cli/common/progress_bar.hpp"
#include "host/cli/common/messages.hpp"
#include "host/os/readable.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace stopbit::tools {
namespace {

constexpr std::size_t kBarColumns = 30;

std::string time_left_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(std::min(seconds, 359'999.0)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string progress_text(const replay::Progress& progress) {
  std::string text;
  if (progress.bytes_total != 0) {
    const double part =
        std::min(1.0, static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes_total));
    const auto full = static_cast<std::size_t>(part * static_cast<double>(kBarColumns));
    text = fmt::format("[{}{}] {:3.0f} %  ", std::string(full, '#'), std::string(kBarColumns - full, '.'),
                       std::floor(part * 100));
  }
  text += replay::byte_text(progress.bytes_done);
  if (progress.bytes_total != 0) text += " of " + replay::byte_text(progress.bytes_total);
  if (progress.seconds > 0) {
    text += fmt::format(
        ", {}/s",
        replay::byte_text(static_cast<std::uint64_t>(static_cast<double>(progress.bytes_done) / progress.seconds)));
  }
  text += fmt::format(", {} packets", os::thousands(progress.packets));
  if (const auto left = progress.seconds_left()) text += fmt::format(", {} left", time_left_text(*left));
  return text;
}

ProgressBar::ProgressBar(bool wanted) : active_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void ProgressBar::draw(const replay::Progress& progress) {
  if (!active_) return;
  if (progress.finished) return erase();
  const std::string text = progress_text(progress);
  print_stderr("\r{:<{}}", text, shown_);
  shown_ = text.size();
}

void ProgressBar::erase() {
  print_stderr("\r{:<{}}\r", "", shown_);
}

}  // namespace stopbit::tools
