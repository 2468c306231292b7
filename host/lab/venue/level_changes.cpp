#include "host/lab/venue/level_changes.hpp"

#include <algorithm>

namespace stopbit::venue {
namespace {

bool is_better(Side side, const Level& a, const Level& b) {
  return side == Side::Bid ? a.price > b.price : a.price < b.price;
}

class Walk {
 public:
  Walk(Side side, std::vector<Level> rows, const std::vector<Level>& after, std::size_t depth)
      : side_(side), rows_(std::move(rows)), after_(after), depth_(depth) {}

  std::vector<LevelChange> run(const LevelActions& actions) {
    if (actions.has_ranges) delete_ranges();
    while (at_ < after_.size()) {
      if (at_ == rows_.size() || is_better(side_, after_[at_], rows_[at_])) {
        if (!(actions.has_overlay && overlays())) insert();
      } else if (is_better(side_, rows_[at_], after_[at_])) {
        if (!(actions.has_overlay && overlays())) erase(at_);
      } else {
        if (rows_[at_] != after_[at_]) say(LevelChange::Action::Change, at_, after_[at_]);
        rows_[at_] = after_[at_];
        ++at_;
      }
    }
    while (rows_.size() > after_.size()) erase(after_.size());
    return std::move(changes_);
  }

 private:
  using Action = LevelChange::Action;

  void say(Action action, std::size_t place, const Level& level) { changes_.push_back({action, place + 1, level}); }
  void insert() {
    say(Action::New, at_, after_[at_]);
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(at_), after_[at_]);
    if (rows_.size() > depth_) rows_.pop_back();
    ++at_;
  }
  void erase(std::size_t place) {
    say(Action::Delete, place, rows_[place]);
    rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(place));
  }
  [[nodiscard]] bool stays(const Level& level) const {
    return std::any_of(after_.begin(), after_.end(), [&](const Level& one) { return one.price == level.price; });
  }
  /// One row has become another one, and the next ones are where they were.
  [[nodiscard]] bool overlays() {
    if (at_ >= rows_.size() || stays(rows_[at_])) return false;
    const bool is_last = at_ + 1 == rows_.size() && at_ + 1 == after_.size();
    const bool is_between = at_ + 1 < rows_.size() && at_ + 1 < after_.size() && rows_[at_ + 1] == after_[at_ + 1];
    if (!is_last && !is_between) return false;
    say(Action::Overlay, at_, after_[at_]);
    rows_[at_] = after_[at_];
    ++at_;
    return true;
  }
  /// Two rows or more that go at the top, or at the end.
  void delete_ranges() {
    std::size_t top = 0;
    while (top < rows_.size() && !stays(rows_[top])) ++top;
    if (top >= 2 && (after_.empty() || top == rows_.size() || rows_[top].price == after_.front().price)) {
      say(Action::DeleteThru, top - 1, rows_[top - 1]);
      rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(top));
    }
    std::size_t end = rows_.size();
    while (end > 0 && !stays(rows_[end - 1])) --end;
    if (rows_.size() - end < 2) return;
    say(Action::DeleteFrom, end, rows_[end]);
    rows_.resize(end);
  }

  Side side_;
  std::vector<Level> rows_;
  const std::vector<Level>& after_;
  std::size_t depth_;
  std::size_t at_ = 0;
  std::vector<LevelChange> changes_;
};

}  // namespace

std::vector<LevelChange> level_changes(Side side, std::vector<Level> before, const std::vector<Level>& after,
                                       std::size_t depth, const LevelActions& actions) {
  return Walk(side, std::move(before), after, depth).run(actions);
}

}  // namespace stopbit::venue
