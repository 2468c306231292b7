#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stopbit::market {

/// What a run of lost messages has done to books, up to now.
struct LossEffect {
  std::uint16_t channel = 0;  ///< With epoch and first number it names the gap.
  std::uint16_t epoch = 0;
  std::uint64_t first = 0;
  std::uint32_t books = 0;        ///< That were right, and were not any more.
  std::uint32_t stale = 0;        ///< Of these, for certain: the others were suspect.
  std::uint32_t by_snapshot = 0;  ///< Of these, right again by a snapshot,
  std::uint32_t by_message = 0;   ///< as later or late messages have shown.
  std::uint32_t refreshed = 0;    ///< Of these, went on from nothing before that.
  std::uint32_t cycles = 0;       ///< Cycles of snapshots that began from the loss to the last snapshot that helped.
  std::uint64_t longest_ns = 0;   ///< Until a book was right again, or now.

  [[nodiscard]] std::uint32_t open() const noexcept { return books - by_snapshot - by_message; }
};

/// The effects of the newest losses on books. A loss is reported when all of its books are right again; until then
/// after one second, ten, a hundred and so on. One thread; allocates nothing.
class LossEffects {
 public:
  static constexpr std::size_t kFollowed = 256;  ///< Older ones get no further reports.

  /// The books that are hit from here to end() are those of this loss. `cycle`: how many cycles of snapshots have
  /// begun.
  void begin(std::uint16_t channel, std::uint16_t epoch, std::uint64_t first, std::uint64_t now_ns,
             std::uint64_t cycle) noexcept {
    current_ = {.effect = {.channel = channel, .epoch = epoch, .first = first},
                .id = newest_ + 1,
                .since_ns = now_ns,
                .cycle = cycle};
  }
  void end() noexcept { current_.id = 0; }
  /// A book is not right any more. Returns the loss that did it; 0: none.
  std::uint64_t hit() noexcept {
    if (current_.id == 0) return 0;
    if (current_.id != newest_) at(++newest_) = current_;  // the first book of this loss
    ++at(newest_).effect.books;
    return newest_;
  }
  void note_stale(std::uint64_t id) noexcept {
    if (Followed* const loss = find(id)) ++loss->effect.stale;
  }
  /// A book that the loss has hit goes on from nothing.
  void note_refreshed(std::uint64_t id) noexcept {
    if (Followed* const loss = find(id)) ++loss->effect.refreshed;
  }
  /// A book that the loss has hit is right again. `cycle`: of a snapshot, as in begin().
  void heal(std::uint64_t id, bool by_snapshot, std::uint64_t after_ns, std::uint64_t cycle = 0) noexcept {
    Followed* const loss = find(id);
    if (loss == nullptr) return;
    ++(by_snapshot ? loss->effect.by_snapshot : loss->effect.by_message);
    if (by_snapshot && cycle > loss->cycle) {
      loss->effect.cycles = std::max(loss->effect.cycles, static_cast<std::uint32_t>(cycle - loss->cycle));
    }
    loss->healed_ns = std::max(loss->healed_ns, after_ns);
    has_healed_ = has_healed_ || loss->effect.open() == 0;
  }

  /// Takes the next report that is due; the caller takes all of them before it does anything else here. `is_last`: the
  /// feed has ended, so every loss is due.
  [[nodiscard]] bool next(LossEffect& effect, std::uint64_t now_ns, bool is_last) noexcept {
    if (newest_ == 0 || (looked_at_ == 0 && !is_last && !has_healed_ && now_ns < next_look_ns_)) return false;
    while (looked_at_ != kFollowed) {
      Followed& loss = losses_[looked_at_++];
      if (loss.id == 0) continue;
      const std::uint64_t age_ns = now_ns > loss.since_ns ? now_ns - loss.since_ns : 0;
      const bool is_over = loss.effect.open() == 0;
      if (!is_over && !is_last && age_ns < loss.due_ns) continue;
      while (loss.due_ns <= age_ns && loss.due_ns < kLastNs) loss.due_ns *= 10;
      if (loss.due_ns <= age_ns) loss.due_ns = ~std::uint64_t{0};
      effect = loss.effect;
      effect.longest_ns = is_over ? loss.healed_ns : std::max(loss.healed_ns, age_ns);
      if (is_over || is_last) loss.id = 0;
      return true;
    }
    looked_at_ = 0;
    has_healed_ = false;
    next_look_ns_ = now_ns + kLookNs;
    return false;
  }

 private:
  static constexpr std::uint64_t kFirstNs = 1'000'000'000;
  static constexpr std::uint64_t kLastNs = 1'000'000'000'000'000'000;
  static constexpr std::uint64_t kLookNs = 100'000'000;

  struct Followed {
    LossEffect effect;
    std::uint64_t id = 0;  ///< 0: none.
    std::uint64_t since_ns = 0;
    std::uint64_t cycle = 0;      ///< How many cycles of snapshots had begun.
    std::uint64_t healed_ns = 0;  ///< The longest time that a book took.
    std::uint64_t due_ns = kFirstNs;
  };

  [[nodiscard]] Followed& at(std::uint64_t id) noexcept { return losses_[id % kFollowed]; }
  [[nodiscard]] Followed* find(std::uint64_t id) noexcept { return id != 0 && at(id).id == id ? &at(id) : nullptr; }

  std::array<Followed, kFollowed> losses_{};
  std::uint64_t newest_ = 0;
  Followed current_;           ///< Not yet among the others: most losses hit no book.
  std::size_t looked_at_ = 0;  ///< Places of losses_ that next() has looked at since it last returned false.
  bool has_healed_ = false;
  std::uint64_t next_look_ns_ = 0;
};

}  // namespace stopbit::market
