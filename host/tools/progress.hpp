#pragma once

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "host/replay/replay.hpp"
#include "host/replay/summary.hpp"

namespace stopbit::tools {

/// "12 s", "3 min 05 s", "2 h 10 min"
inline std::string duration_text(double seconds) {
  const auto whole = static_cast<unsigned long>(std::clamp(std::ceil(seconds), 0.0, 1e9));
  char text[64];
  if (whole < 60) {
    std::snprintf(text, sizeof text, "%lu s", whole);
  } else if (whole < 3600) {
    std::snprintf(text, sizeof text, "%lu min %02lu s", whole / 60, whole % 60);
  } else {
    std::snprintf(text, sizeof text, "%lu h %02lu min", whole / 3600, whole / 60 % 60);
  }
  return text;
}

/// "[#########-----------]  45 %  1,234,567 packets, 812,345 per second, 12 s left"
inline std::string progress_line(const replay::Progress& progress) {
  std::string line;
  if (progress.bytes_total != 0) {
    constexpr std::size_t kWidth = 30;
    const double part =
        std::clamp(static_cast<double>(progress.bytes_done) / static_cast<double>(progress.bytes_total), 0.0, 1.0);
    const auto full = static_cast<std::size_t>(part * static_cast<double>(kWidth));
    char percent[16];
    std::snprintf(percent, sizeof percent, "] %3.0f %%  ", std::floor(part * 100));
    line = "[" + std::string(full, '#') + std::string(kWidth - full, '-') + percent;
  }
  line += replay::grouped(progress.packets) + " packets, ";
  line += replay::grouped(static_cast<std::uint64_t>(progress.packets_per_second())) + " per second";
  if (const auto left = progress.seconds_left()) line += ", " + duration_text(*left) + " left";
  return line;
}

/// Draws the progress of a replay on standard error while that is a terminal; writes nothing otherwise. Give it as
/// replay::Options::on_progress, by reference; it wipes its line at the end.
class ProgressBar {
 public:
  ProgressBar() : visible_(::isatty(STDERR_FILENO) == 1) {}

  void operator()(const replay::Progress& progress) {
    if (!visible_) return;
    constexpr const char* kWipe = "\r\033[K";
    const std::string line = kWipe + (progress.finished ? std::string() : progress_line(progress));
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
  }

 private:
  bool visible_;
};

}  // namespace stopbit::tools
