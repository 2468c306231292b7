#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "host/market/sync/synchroniser.hpp"

namespace stopbit::market::testing {

/// A book is a chain of hashes: an entry too many, too few or out of order shows. sync_reference.py has the same.
inline std::uint64_t chain(std::uint64_t book, std::uint64_t value) {
  book = book * 6'364'136'223'846'793'005U + value + 1'442'695'040'888'963'407U;
  return book ^ book >> 29;
}

/// One part of a picture: the exchange writes its whole book into each.
struct PicturePart {
  std::uint64_t index = 0;
  std::uint64_t count = 0;
  std::uint64_t book = 0;
};

/// The book of a picture, or something that is none.
inline std::uint64_t join(const std::vector<PicturePart>& parts) {
  bool is_whole = !parts.empty() && parts.size() == parts[0].count;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    is_whole = is_whole && parts[i].index == i && parts[i].count == parts.size() && parts[i].book == parts[0].book;
  }
  if (is_whole) return parts[0].book;
  std::uint64_t book = 1;
  for (const PicturePart& part : parts) {
    for (const std::uint64_t value : {part.index, part.count, part.book}) book = chain(book, value);
  }
  return book;
}

/// A reader of what the synchroniser says: builds books, keeps the marks of all rows by the rules of SyncSink, and
/// writes lines.
class View : public SyncSink {
 public:
  View(ScopeOf scope, std::uint32_t rows)
      : scope_(scope),
        marks_(rows + 1),
        before_(rows + 1),
        books_(rows + 1),
        products_(rows + 1),
        passed_(rows + 1),
        is_refreshed_(rows + 1) {}

  void apply(const Event& event) noexcept override {
    const auto value = static_cast<std::uint64_t>(event.price());
    books_[event.instrument()] = chain(books_[event.instrument()], value);
    if (is_refreshed_[event.instrument()]) passed_[event.instrument()].push_back(value);
    add(event.instrument(), "apply " + std::to_string(event.instrument()) + " " + std::to_string(value));
  }
  void load(std::uint32_t row, std::uint64_t number) noexcept override {
    books_[row] = join(picture);
    is_refreshed_[row] = false;
    add(row, "load " + std::to_string(row) + " " + std::to_string(number));
  }
  bool audit(std::uint32_t row, std::uint64_t /*number*/) noexcept override {
    const bool is_equal = books_[row] == join(picture);
    add(row, "audit " + std::to_string(row) + (is_equal ? " 1" : " 0"));
    return is_equal;
  }
  void refresh(std::uint32_t row, Cause /*cause*/, std::uint64_t /*missing*/) noexcept override {
    books_[row] = 0;
    is_refreshed_[row] = true;
    passed_[row].clear();
    add(row, "refresh " + std::to_string(row));
  }
  void restarted() noexcept override {
    std::fill(books_.begin(), books_.end(), 0);
    std::fill(is_refreshed_.begin(), is_refreshed_.end(), false);
    std::fill(marks_.begin(), marks_.end(), Mark{SyncState::Latest, Cause::None, Basis::None, 0});
    before_ = marks_;
    add(0, "restart 0");
  }
  void forgotten(Cause cause) noexcept override {
    std::fill(books_.begin(), books_.end(), 0);
    std::fill(is_refreshed_.begin(), is_refreshed_.end(), false);
    std::fill(marks_.begin(), marks_.end(), Mark{SyncState::Stale, cause, Basis::None, 0});
    before_ = marks_;
    add(0, "forget 0");
  }
  void state(std::uint32_t row, const Mark& mark) noexcept override { marks_[row] = mark; }
  void state_of(std::uint32_t scope, const Mark& mark) noexcept override {
    spared_ = marks_;
    for (std::uint32_t row = 1; row < marks_.size(); ++row) {
      const Mark& now = marks_[row];
      const bool is_worse =
          now.state == SyncState::Latest || (now.basis == Basis::Channel && mark.basis == Basis::Scope);
      if (is_worse && is_in(row, scope)) marks_[row] = mark;
    }
  }
  void spared(std::uint32_t row, const Mark& /*mark*/) noexcept override { marks_[row] = spared_[row]; }
  void healed(std::uint32_t scope, Basis basis, std::uint64_t to, const Mark& mark) noexcept override {
    for (std::uint32_t row = 1; row < marks_.size(); ++row) {
      if (is_in(row, scope) && marks_[row].basis == basis && marks_[row].since > to) marks_[row] = mark;
    }
  }
  void ask(std::uint64_t first, std::uint64_t last) noexcept override {
    add(0, "ask 0 " + std::to_string(first) + " " + std::to_string(last));
  }
  void lost(std::uint32_t row, std::uint64_t number) noexcept override {
    add(row, "lost " + std::to_string(row) + " " + std::to_string(number));
  }
  void overdue(std::uint64_t /*ns*/) noexcept override {}

  /// The outputs since the last call, the reference's way: instrument by instrument, then new states.
  std::string lines(const Synchroniser& machine) {
    std::stable_sort(lines_.begin(), lines_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text;
    for (const auto& [row, line] : lines_) text += "= " + line + "\n";
    lines_.clear();
    for (std::uint32_t row = 1; row < marks_.size(); ++row) {
      const Mark& mark = marks_[row];
      if (!machine.mark(row).is_like(mark)) text += "! " + std::to_string(row) + " is in another state\n";
      const std::string line = text_of(mark);
      if (line != text_of(before_[row])) text += "= state " + std::to_string(row) + " " + line + "\n";
    }
    before_ = marks_;
    return text;
  }
  [[nodiscard]] const Mark& mark(std::uint32_t row) const { return marks_[row]; }
  [[nodiscard]] std::uint64_t book(std::uint32_t row) const { return books_[row]; }
  /// A builder's error.
  void spoil(std::uint32_t row) { books_[row] = chain(books_[row], 1); }
  /// Whether the book went on from nothing, and the values that it got since.
  [[nodiscard]] bool is_refreshed(std::uint32_t row) const { return is_refreshed_[row]; }
  [[nodiscard]] const std::vector<std::uint64_t>& passed(std::uint32_t row) const { return passed_[row]; }
  void set_product(std::uint32_t row, std::uint32_t product) { products_[row] = product; }

  std::vector<PicturePart> picture;  ///< Parts so far of the picture that is built.
  bool writes = true;

 private:
  void add(std::uint32_t row, std::string line) {
    if (writes) lines_.emplace_back(row, std::move(line));
  }
  [[nodiscard]] bool is_in(std::uint32_t row, std::uint32_t scope) const {
    return scope == 0 || (scope_ == ScopeOf::Product ? products_[row] == scope : row == scope);
  }
  static std::string text_of(const Mark& mark) {
    if (mark.state == SyncState::Latest) return "latest 0";
    // The reference does not say which of several dropped numbers was the first.
    const std::uint64_t since = mark.cause == Cause::Queue ? 0 : mark.since;
    return std::string(mark.state == SyncState::Suspect ? "suspect " : "stale ") + std::to_string(since) + " " +
           std::string(name_of(mark.cause));
  }

  ScopeOf scope_;
  std::vector<Mark> marks_;
  std::vector<Mark> before_;
  std::vector<Mark> spared_;
  std::vector<std::uint64_t> books_;
  std::vector<std::uint32_t> products_;
  std::vector<std::vector<std::uint64_t>> passed_;
  std::vector<bool> is_refreshed_;
  std::vector<std::pair<std::uint32_t, std::string>> lines_;
};

}  // namespace stopbit::market::testing
