// Messages, losses, parts of snapshots, resets, time, as the bytes steer them, without an exchange that would make
// sense of them: states are those that were said, a latest book has no hole below it, what waits stays within its room.

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>

#include "host/market/sync/synchroniser.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/lib/random.hpp"
#include "tests/sync/view.hpp"

namespace {

using namespace stopbit;
using namespace stopbit::market;

constexpr std::uint32_t kRows = 4;
constexpr std::uint32_t kProducts = 2;

/// Remembers what was delivered, too.
struct Observer : testing::View {
  using View::View;
  void load(std::uint32_t row, std::uint64_t number) noexcept override {
    View::load(row, number);
    at[row] = number;
  }
  void restarted() noexcept override {
    View::restarted();
    for (auto& numbers : delivered) numbers.clear();
    std::fill(std::begin(at), std::end(at), 0);
  }
  /// Whether no number of an instrument is missing after the snapshot that became its book.
  [[nodiscard]] bool is_whole(std::uint32_t row) const {
    const std::set<std::uint64_t>& numbers = delivered[row];
    const auto after = numbers.upper_bound(at[row]);
    return after == numbers.end() ||
           static_cast<std::uint64_t>(std::distance(after, numbers.end())) == *numbers.rbegin() - at[row];
  }
  std::set<std::uint64_t> delivered[kRows + 1];
  std::uint64_t at[kRows + 1] = {};
};

class Steps {
 public:
  explicit Steps(std::span<const std::uint8_t> bytes)
      : random_(bytes), left_(bytes.size()), options_(choose(random_)), view_(options_.scope, kRows) {
    view_.writes = false;
    machine_ = std::make_unique<Synchroniser>(options_, view_);
    for (std::uint32_t row = 1; options_.scope == ScopeOf::Product && row <= kRows; ++row) {
      machine_->attach(row, 1 + row % kProducts);
      view_.set_product(row, 1 + row % kProducts);
    }
  }

  void play() {
    for (std::size_t i = 0; i < left_ / 2; ++i) {
      step();
      check();
    }
  }

 private:
  static SyncOptions choose(cases::Random& random) {
    SyncOptions options;
    options.scope = static_cast<ScopeOf>(random.below(3));
    options.policy = random.below(2) != 0 ? Policy::Pessimistic : Policy::Optimistic;
    options.refresh = random.below(2) != 0;
    options.instruments = kRows;
    options.products = kProducts;
    options.queued = static_cast<std::uint32_t>(1 + random.below(8));
    options.queued_each = static_cast<std::uint32_t>(1 + random.below(8));
    options.holes = static_cast<std::uint32_t>(1 + random.below(8));
    options.holes_each = static_cast<std::uint32_t>(1 + random.below(4));
    options.wait_ns = random.below(3);
    options.repeat_ns = random.below(3);
    options.give_up_ns = 10;
    options.patience_ns = random.below(3);
    options.cycle_ns = random.below(20);
    options.may_return = random.below(4) != 0;
    return options;
  }
  /// Mostly near the newest one, seldom anything.
  std::uint64_t near(std::uint64_t& newest) {
    const std::uint64_t draw = random_.below(32);
    if (draw == 31) return random_.bits();
    if (draw >= 16) return ++newest;
    if (draw >= 12) return newest += draw - 10;
    return newest - std::min(newest, draw);
  }
  std::uint32_t any_row() { return static_cast<std::uint32_t>(random_.below(kRows + 2)); }

  void step() {
    switch (random_.below(12)) {
      case 8: {
        const std::uint64_t first = near(channel_);
        return machine_->loss(first, near(channel_), ++now_);
      }
      case 9: return machine_->tick(now_ += random_.below(8));
      case 10: return rarely();
      case 4:
      case 5:
      case 6:
      case 7: return part();
      default: return message();
    }
  }
  void message() {
    machine_->begin(near(channel_));
    const auto product = static_cast<std::uint32_t>(random_.below(kProducts + 1));
    if (options_.scope == ScopeOf::Product) (void)machine_->product(product, near(products_[product]));
    for (std::uint64_t entries = random_.below(4); entries != 0; --entries) {
      const std::uint32_t row = any_row();
      const Event event = Event::of({.instrument = row <= kRows ? row : 0, .kind = Kind::New, .price = 1});
      // An entry of another product moves its instrument there.
      const bool is_product = options_.scope == ScopeOf::Product;
      if (is_product && (row == 0 || row > kRows || 1 + row % kProducts != product)) continue;
      const std::uint64_t number = near(rows_[row]);
      const std::uint64_t returns = machine_->returns();
      if (machine_->entry(row, number, event)) view_.apply(event);
      if (machine_->returns() != returns) begin_numbers(row);
      if (row >= 1 && row <= kRows && machine_->is_new_entry()) view_.delivered[row].insert(number);
    }
    machine_->end();
  }
  void part() {
    Synchroniser::Part part;
    part.row = any_row();
    const std::uint32_t product = 1 + part.row % kProducts;
    part.place = near(place_);
    part.number = near(options_.scope == ScopeOf::Channel   ? channel_
                       : options_.scope == ScopeOf::Product ? products_[product]
                                                            : rows_[part.row]);
    part.message = near(channel_);
    part.sent_ns = static_cast<std::int64_t>(now_ - std::min(now_, random_.below(4)));
    part.is_first = random_.below(4) != 0;
    part.is_last = random_.below(4) != 0;
    if (!machine_->part(part)) return;
    if (part.is_first) view_.picture.clear();
    view_.picture.push_back({0, 1, random_.below(4)});
    const std::uint64_t returns = machine_->returns();
    machine_->part_end();
    if (machine_->returns() != returns) begin_numbers(part.row);
  }
  /// The numbers of the instrument have begun anew: what was delivered had those of before.
  void begin_numbers(std::uint32_t row) {
    view_.delivered[row].clear();
    if (random_.below(2) != 0) machine_->refuse_before(static_cast<std::int64_t>(now_));
  }
  void rarely() {
    switch (random_.below(4)) {
      case 0: return machine_->reset(static_cast<std::int64_t>(++now_), random_.below(3));
      case 1: return machine_->cycle(++now_);
      case 2: return machine_->distrust(any_row(), Cause::Contradiction);
      default: return;
    }
  }

  void check() {
    std::uint64_t waiting = 0;
    for (std::uint32_t row = 1; row <= kRows; ++row) {
      waiting += machine_->waiting(row);
      const Mark mark = machine_->mark(row);
      fuzz::require(mark.is_like(view_.mark(row)), "the state is the one that was said", std::to_string(row));
      fuzz::require(machine_->waiting(row) <= options_.queued_each, "an instrument keeps no more than it may", "");
      fuzz::require(mark.state == SyncState::Stale || options_.scope != ScopeOf::Instrument || view_.is_whole(row),
                    "nothing is missing in a book that is not stale", "");
      fuzz::require(mark.state == SyncState::Stale || machine_->waiting(row) == 0, "nothing waits without a hole", "");
    }
    fuzz::require(waiting == machine_->waiting() && waiting <= options_.queued, "the pool is large enough", "");
  }

  cases::Random random_;
  std::size_t left_;
  SyncOptions options_;
  Observer view_;
  std::unique_ptr<Synchroniser> machine_;
  std::uint64_t channel_ = 0;
  std::uint64_t products_[kProducts + 1] = {};
  std::uint64_t rows_[kRows + 2] = {};
  std::uint64_t place_ = 0;
  std::uint64_t now_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4'096) return 0;
  Steps(std::span(data, size)).play();
  return 0;
}
