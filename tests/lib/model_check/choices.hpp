#pragma once

#include <cstddef>
#include <vector>

namespace stopbit::model_check {

/// Goes through all sequences of choices, depth first: run the program again until next() is false.
class Choices {
 public:
  std::size_t choose(std::size_t count) {
    if (count == 1) return 0;
    if (depth_ == path_.size()) path_.push_back({0, count});
    return path_[depth_++].taken;
  }
  /// To the next sequence; false after the last one.
  [[nodiscard]] bool next() {
    depth_ = 0;
    while (!path_.empty() && path_.back().taken + 1 == path_.back().count) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().taken;
    return true;
  }

 private:
  struct Choice {
    std::size_t taken;
    std::size_t count;
  };
  std::vector<Choice> path_;
  std::size_t depth_ = 0;
};

}  // namespace stopbit::model_check
