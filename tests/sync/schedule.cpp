#include "tests/sync/schedule.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "tests/lib/random.hpp"
#include "tests/sync/view.hpp"

namespace stopbit::market::testing {
namespace {

constexpr std::uint32_t kProducts = 2;
constexpr std::uint64_t kCalm = 200;  ///< Steps at the end without a loss, in which everything has to become latest.

struct Entry {
  std::uint32_t row;
  std::uint64_t number;  ///< Of the instrument.
  std::uint64_t value;
};
struct Message {
  std::uint64_t number = 0;
  std::uint32_t product = 0;
  std::uint64_t of_product = 0;
  std::vector<Entry> entries;
  bool begins_numbers = false;  ///< It never comes: what it says would be another input.
};

/// Knows the truth: after message m an instrument has a book.
class Exchange {
 public:
  Exchange(cases::Random& random, std::uint32_t rows) : random_(random), rows_(rows) { begin(); }

  void begin() {
    sent_.assign(1, {});
    of_product_.fill(0);
    numbers_.assign(rows_ + 1, 0);
    books_.assign(1, std::vector<std::uint64_t>(rows_ + 1, 0));
    values_.assign(rows_ + 1, {});
  }
  /// Empties all books with the next message: instruments' numbers begin anew, those of messages go on.
  void begin_numbers() {
    numbers_.assign(rows_ + 1, 0);
    sent_.push_back(
        {.number = number() + 1, .product = 1, .of_product = ++of_product_[1], .entries = {}, .begins_numbers = true});
    books_.emplace_back(rows_ + 1, 0);
    for (auto& values : values_) values.push_back(~std::uint64_t{0});
  }
  /// Whether each instrument has had an entry since then.
  [[nodiscard]] bool has_shown_all() const {
    return std::all_of(numbers_.begin() + 1, numbers_.end(), [](std::uint64_t number) { return number != 0; });
  }
  const Message& send() {
    Message message;
    message.number = number() + 1;
    message.product = static_cast<std::uint32_t>(1 + random_.below(kProducts));
    message.of_product = ++of_product_[message.product];
    books_.push_back(books_.back());
    // Else a heartbeat, a state: a number without entries.
    const std::uint64_t entries = random_.chance(85) ? 1 + random_.below(3) : 0;
    for (std::uint64_t i = 0; i < entries; ++i) {
      std::uint32_t row = 0;
      do row = static_cast<std::uint32_t>(1 + random_.below(rows_));
      while (product_of(row) != message.product);
      const std::uint64_t value = random_.below(1U << 30);
      message.entries.push_back({row, ++numbers_[row], value});
      books_.back()[row] = chain(books_.back()[row], value);
      values_[row].push_back(value);
    }
    sent_.push_back(std::move(message));
    return sent_.back();
  }
  static std::uint32_t product_of(std::uint32_t row) { return 1 + row % kProducts; }
  [[nodiscard]] std::uint64_t number() const { return sent_.size() - 1; }
  [[nodiscard]] const Message& sent(std::uint64_t number) const { return sent_[number]; }
  [[nodiscard]] std::uint64_t book(std::uint32_t row) const { return books_.back()[row]; }
  [[nodiscard]] std::uint64_t count(std::uint32_t row, ScopeOf scope) const {
    if (scope == ScopeOf::Channel) return number();
    return scope == ScopeOf::Product ? of_product_[product_of(row)] : numbers_[row];
  }
  /// Whether the row had this book after a message from `first` on.
  [[nodiscard]] bool had(std::uint32_t row, std::uint64_t book, std::uint64_t first) const {
    for (std::size_t m = books_.size(); m-- > first;) {
      if (books_[m][row] == book) return true;
    }
    return false;
  }
  /// Whether these values followed each other.
  [[nodiscard]] bool had_run(std::uint32_t row, const std::vector<std::uint64_t>& run) const {
    return std::search(values_[row].begin(), values_[row].end(), run.begin(), run.end()) != values_[row].end() ||
           run.empty();
  }

 private:
  cases::Random& random_;
  std::uint32_t rows_;
  std::vector<Message> sent_;
  std::array<std::uint64_t, kProducts + 1> of_product_{};
  std::vector<std::uint64_t> numbers_;
  std::vector<std::vector<std::uint64_t>> books_;   ///< By message.
  std::vector<std::vector<std::uint64_t>> values_;  ///< By row.
};

class Schedule {
 public:
  Schedule(std::uint64_t seed, ScopeOf scope, Happened& happened)
      : random_(seed * 3 + static_cast<std::uint64_t>(scope)),
        happened_(happened),
        options_(choose(random_, scope)),
        exchange_(random_, options_.instruments),
        view_(scope, options_.instruments),
        machine_(options_, view_),
        is_spoiled_(options_.instruments + 1),
        books_(options_.instruments + 1),
        before_(options_.instruments + 1) {
    view_.writes = false;
    for (std::uint32_t row = 1; scope == ScopeOf::Product && row <= options_.instruments; ++row) {
      machine_.attach(row, Exchange::product_of(row));
      view_.set_product(row, Exchange::product_of(row));
    }
  }

  std::string play() {
    const std::uint64_t length = pick({60, 200, 400});
    if (from_start_) restart(0);
    for (step_ = 0; step_ < length + kCalm && problem_.empty(); ++step_) {
      is_calm_ = step_ >= length;
      is_joined_ = from_start_ || step_ >= 20;
      machine_.tick(step_);
      if (!is_calm_ && is_joined_ && seen_ != 0 && random_.below(1'000) < anew_) {
        exchange_.begin();
        restart(step_);
        ++happened_.resets;
      }
      // A message that says so is lost; the others come until the numbers show it.
      const bool may_return = options_.scope == ScopeOf::Instrument && !is_calm_ && is_joined_ && seen_ != 0;
      is_settling_ = is_settling_ && !exchange_.has_shown_all();
      if (may_return && returns_ != 0 && !is_settling_ && random_.below(1'000) < returns_) {
        exchange_.begin_numbers();
        dead_ = 0;
        is_settling_ = true;
      }
      exchange_.send();
      if (is_joined_ && exchange_.number() > lag_) deliver();
      take_pictures();
      disturb();
    }
    for (std::uint32_t row = 1; row <= options_.instruments && problem_.empty(); ++row) {
      while (seen_ < exchange_.number()) give(++seen_);
      photograph(row, 0);
      show_pictures();
      if (view_.mark(row).state != SyncState::Latest) {
        fail(row, "is not latest long after the last loss");
      } else if (is_spoiled_[row]) {
        fail(row, "has an error that no snapshot has found");
      }
    }
    happened_.counts = machine_.counts();
    return problem_;
  }

 private:
  struct Coming {
    std::uint64_t step;
    std::uint64_t number;
  };
  struct Picture {
    std::uint64_t step;
    Synchroniser::Part part;
    PicturePart content;
  };

  std::uint64_t pick(std::initializer_list<std::uint64_t> from) { return pick_from(random_, from); }
  static std::uint64_t pick_from(cases::Random& random, std::initializer_list<std::uint64_t> from) {
    return from.begin()[random.below(from.size())];
  }
  static SyncOptions choose(cases::Random& random, ScopeOf scope) {
    const auto pick = [&](std::initializer_list<std::uint64_t> from) {
      return static_cast<std::uint32_t>(pick_from(random, from));
    };
    SyncOptions options;
    options.scope = scope;
    options.policy = random.chance(20) ? Policy::Pessimistic : Policy::Optimistic;
    options.refresh = random.chance(30);
    options.instruments = pick({2, 4, 6});
    options.products = kProducts;
    options.queued = pick({8, 32, 1'000});
    options.queued_each = pick({2, 8, 64});
    options.holes = pick({1, 3, 1'000});
    options.holes_each = pick({1, 2, 5, 64});
    options.wait_ns = pick({0, 0, 3});
    options.repeat_ns = pick({0, 5});
    options.give_up_ns = 20;
    options.patience_ns = pick({0, 0, 4});
    return options;
  }

  void restart(std::uint64_t time) {
    machine_.reset(static_cast<std::int64_t>(time));
    is_spoiled_.assign(is_spoiled_.size(), false);
    coming_.clear();
    seen_ = 0;
    dead_ = 0;
    has_reset_ = true;
    remember();
  }

  /// The newest message, or its loss; and those that come late.
  void deliver() {
    if (dead_ == 0 && !is_calm_ && !is_settling_ && random_.below(100) < loss_) dead_ = 1 + random_.below(burst_);
    if (dead_ != 0) {
      --dead_;
      ++happened_.messages_lost;
    } else {
      const std::uint64_t number = exchange_.number() - lag_;
      if ((seen_ != 0 || has_reset_) && seen_ + 1 < number) lose(seen_ + 1, number - 1);
      seen_ = number;
      give(number);
      if (random_.chance(5)) give(number);
    }
    for (std::size_t i = 0; i < coming_.size();) {
      if (coming_[i].step > step_) {
        ++i;
        continue;
      }
      const std::uint64_t number = coming_[i].number;
      coming_.erase(coming_.begin() + static_cast<std::ptrdiff_t>(i));
      give(number);
    }
  }
  void lose(std::uint64_t first, std::uint64_t last) {
    if (tells_) {
      machine_.loss(first, last, step_);
      check();
    }
    const bool comes_back = random_.chance(static_cast<unsigned>(replay_));
    for (std::uint64_t number = first; number <= last; ++number) {
      if (exchange_.sent(number).begins_numbers) continue;
      if (random_.chance(static_cast<unsigned>(late_))) coming_.push_back({step_ + 1 + random_.below(6), number});
      if (comes_back && random_.chance(90)) coming_.push_back({step_ + 3 + random_.below(13), number});
    }
  }
  void give(std::uint64_t number) {
    const Message& message = exchange_.sent(number);
    machine_.begin(message.number);
    if (options_.scope == ScopeOf::Product) (void)machine_.product(message.product, message.of_product);
    for (const Entry& entry : message.entries) {
      const Event event =
          Event::of({.instrument = entry.row, .kind = Kind::New, .price = static_cast<std::int64_t>(entry.value)});
      const std::uint64_t returns = machine_.counts().returns;
      if (machine_.entry(entry.row, entry.number, event)) view_.apply(event);
      if (machine_.counts().returns != returns) {
        machine_.refuse_before(static_cast<std::int64_t>(step_ - lag_));
      }
    }
    machine_.end();
    check();
  }

  void take_pictures() {
    if (cycle_ >= options_.instruments) {
      cycle_ = 0;
      place_ = 0;
      if (marks_cycles_) machine_.cycle(step_);
    }
    if (is_calm_ || random_.chance(50)) {
      photograph(++cycle_, random_.below(delay_ + 1));
    }
    show_pictures();
  }
  /// The exchange takes a snapshot of an instrument; it arrives later.
  void photograph(std::uint32_t row, std::uint64_t delay) {
    const std::uint64_t when = step_ + delay;
    for (std::uint64_t i = 0; i < parts_; ++i) {
      pictures_.push_back({when,
                           {.row = row,
                            .place = ++place_,
                            .number = exchange_.count(row, options_.scope),
                            .message = exchange_.number(),
                            .sent_ns = static_cast<std::int64_t>(step_),
                            .is_first = i == 0,
                            .is_last = i + 1 == parts_},
                           {i, parts_, exchange_.book(row)}});
    }
  }
  void show_pictures() {
    std::vector<Picture> later;
    for (const Picture& picture : pictures_) {
      if (picture.step > step_) {
        later.push_back(picture);
      } else if (!(is_joined_ || step_ >= early_) || (!is_calm_ && random_.below(100) < torn_)) {
        ++happened_.parts_lost;
      } else {
        show(picture);
      }
    }
    pictures_ = std::move(later);
  }
  void show(const Picture& picture) {
    if (machine_.part(picture.part)) {
      if (picture.part.is_first) view_.picture.clear();
      view_.picture.push_back(picture.content);
      const SyncCounts before = machine_.counts();
      machine_.part_end();
      // A book that was wrong is right again when a snapshot was compared with it, or became it.
      const SyncCounts after = machine_.counts();
      if (before.loads != after.loads) {
        is_spoiled_[picture.part.row] = false;
        before_[picture.part.row].state = SyncState::Latest;
      }
    }
    check();
  }

  /// Builders err: an entry contradicts a book, or a book is wrong without a sign.
  void disturb() {
    if (is_calm_ || !is_disturbed_) return;
    const auto row = static_cast<std::uint32_t>(1 + random_.below(options_.instruments));
    if (random_.below(100) == 0) machine_.distrust(row, Cause::Contradiction);
    if (random_.below(100) == 0) {
      view_.spoil(row);
      is_spoiled_[row] = true;
      ++happened_.spoiled;
    }
    remember();
    check();
  }

  void check() {
    std::uint64_t held = 0;
    for (std::uint32_t row = 1; row <= options_.instruments; ++row) {
      const Mark& mark = view_.mark(row);
      held += machine_.waiting(row);
      if (!machine_.mark(row).is_like(mark)) fail(row, "is not in the state that was said");
      if (machine_.waiting(row) > options_.queued_each) fail(row, "keeps more than it may");
      if (mark.state == SyncState::Stale) {
        ++happened_.stale;
        check_stale(row);
      } else if (mark.state == SyncState::Suspect) {
        ++happened_.suspect;
        if (!is_spoiled_[row] && !exchange_.had(row, view_.book(row), 0))
          fail(row, "is suspect with a book that never was");
      } else {
        ++happened_.latest;
        if (!is_spoiled_[row] && !exchange_.had(row, view_.book(row), seen_)) fail(row, "is latest with a wrong book");
      }
    }
    if (held != machine_.waiting() || held > options_.queued) fail(0, "more events wait than there is room for");
    remember();
  }
  void check_stale(std::uint32_t row) {
    if (view_.is_refreshed(row)) {
      if (!exchange_.had_run(row, view_.passed(row))) fail(row, "went on from nothing and missed an entry");
    } else if (before_[row].state == SyncState::Stale && view_.book(row) != books_[row]) {
      fail(row, "is stale and was changed");
    }
  }
  void remember() {
    for (std::uint32_t row = 1; row < books_.size(); ++row) {
      books_[row] = view_.book(row);
      before_[row] = view_.mark(row);
    }
  }
  void fail(std::uint32_t row, const char* what) {
    if (problem_.empty()) {
      problem_ = "step " + std::to_string(step_) + ", instrument " + std::to_string(row) + " " + what;
    }
  }

  cases::Random random_;
  Happened& happened_;
  SyncOptions options_;
  Exchange exchange_;
  View view_;
  Synchroniser machine_;
  std::vector<bool> is_spoiled_;
  std::vector<std::uint64_t> books_;  ///< At the last check.
  std::vector<Mark> before_;
  std::string problem_;

  std::uint64_t loss_ = pick({0, 2, 10, 30});
  std::uint64_t burst_ = pick({1, 3, 10});
  std::uint64_t late_ = pick({0, 30});
  std::uint64_t replay_ = pick({0, 50, 100});
  std::uint64_t torn_ = pick({0, 10, 40});
  std::uint64_t parts_ = pick({1, 2, 3});
  std::uint64_t delay_ = pick({0, 3, 12});
  std::uint64_t anew_ = pick({0, 0, 10});
  std::uint64_t lag_ = pick({0, 0, 0, 5});  ///< By how many messages the increments lag the snapshots.
  std::uint64_t early_ = pick({10, 20});    ///< Snapshots may be seen before the first message.
  bool from_start_ = random_.chance(50);
  bool tells_ = random_.chance(80);
  bool marks_cycles_ = random_.chance(50);
  bool is_disturbed_ = random_.chance(25);
  std::uint64_t returns_ = lag_ == 0 ? pick({0, 0, 5}) : 0;

  std::uint64_t step_ = 0;
  std::uint64_t seen_ = 0;  ///< Newest message delivered.
  std::uint64_t dead_ = 0;  ///< Messages that the line still loses.
  std::uint64_t place_ = 0;
  std::uint32_t cycle_ = 0;
  bool is_calm_ = false;
  bool is_joined_ = false;
  bool is_settling_ = false;  ///< Numbers have gone back, and not all instruments have shown it.
  bool has_reset_ = false;
  std::vector<Coming> coming_;
  std::vector<Picture> pictures_;
};

constexpr std::uint64_t SyncCounts::*kCounts[] = {
    &SyncCounts::repeats,  &SyncCounts::queued, &SyncCounts::lost,   &SyncCounts::forgotten,   &SyncCounts::torn,
    &SyncCounts::outdated, &SyncCounts::loads,  &SyncCounts::audits, &SyncCounts::differences, &SyncCounts::refreshes,
    &SyncCounts::losses,   &SyncCounts::asks,   &SyncCounts::returns};
constexpr const char* kNames[] = {"repeats",
                                  "queued",
                                  "numbers lost for room",
                                  "holes forgotten",
                                  "torn",
                                  "outdated",
                                  "loads",
                                  "audits",
                                  "differences",
                                  "refreshes",
                                  "losses",
                                  "asks",
                                  "numbers that went back"};

}  // namespace

void Happened::add(const Happened& other) {
  latest += other.latest;
  suspect += other.suspect;
  stale += other.stale;
  messages_lost += other.messages_lost;
  parts_lost += other.parts_lost;
  resets += other.resets;
  spoiled += other.spoiled;
  for (const auto count : kCounts) counts.*count += other.counts.*count;
}

std::string Happened::text() const {
  std::string text = "latest " + std::to_string(latest) + ", suspect " + std::to_string(suspect) + ", stale " +
                     std::to_string(stale) + ", messages lost " + std::to_string(messages_lost) + ", parts lost " +
                     std::to_string(parts_lost) + ", resets " + std::to_string(resets) + ", books spoiled " +
                     std::to_string(spoiled);
  for (std::size_t i = 0; i < std::size(kCounts); ++i) {
    text += std::string(", ") + kNames[i] + " " + std::to_string(counts.*kCounts[i]);
  }
  return text;
}

std::string play(std::uint64_t seed, ScopeOf scope, Happened& happened) {
  return Schedule(seed, scope, happened).play();
}

const char* name_of(ScopeOf scope) {
  constexpr const char* kScopes[] = {"instrument", "product", "channel"};
  return kScopes[static_cast<std::size_t>(scope)];
}

}  // namespace stopbit::market::testing
