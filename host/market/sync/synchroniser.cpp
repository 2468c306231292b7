#include "host/market/sync/synchroniser.hpp"

namespace stopbit::market {

Synchroniser::Synchroniser(const SyncOptions& options, SyncSink& sink)
    : options_(options),
      sink_(sink),
      keeps_(options.snapshots || !options.refresh || options.patience_ns != 0 ||
             options.policy == Policy::Pessimistic),
      holes_(options.holes, options.holes_each),
      queues_(options.instruments, std::max(options.queued, 1U)),
      asks_(options.wait_ns, options.repeat_ns, options.give_up_ns),
      in_step_(options.instruments),
      rows_(std::make_unique<Row[]>(std::size_t{options.instruments} + 1)) {
  options_.queued_each = std::max(options.queued_each, 1U);
  taken_rows_ = options_.instruments;
  scopes_ = std::make_unique<Scope[]>(std::size_t{is_each() ? options.instruments : options.products} + 1);
  for (std::uint32_t row = 1; is_each() && row <= options.instruments; ++row) rows_[row].scope = row;
}

void Synchroniser::attach(std::uint32_t row, std::uint32_t product) noexcept {
  if (options_.scope != ScopeOf::Product) return;
  if (!is_known(row) || product - 1 >= options_.products) {
    ++counts_.refused;
    return;
  }
  if (rows_[row].scope == product) return;
  Row& known = change(row);
  if (known.scope == 0) {
    known.scope = product;
    return;
  }
  const Mark before = mark(row);
  queues_.drop(row, kEver);
  known = {.scope = product, .next_ahead = known.next_ahead, .is_ahead = known.is_ahead};
  tell_from(row, before, false);
}

// The state of an instrument.

std::uint64_t Synchroniser::proof(const Scope& scope) const noexcept {
  // A snapshot from before the first message proves nothing of later losses.
  return std::max(scope.proof, std::min(scope.pictured, joined_));
}

bool Synchroniser::is_blocked(const Row& row, const Scope& scope) const noexcept {
  return !row.has_book || std::max(row.lost, missing(scope)) > row.at ||
         (options_.policy == Policy::Pessimistic && is_doubtful(scope));
}

std::uint64_t Synchroniser::first_missing(const Numbers& numbers, std::uint64_t n) const noexcept {
  if (!is_joined_) return n + 1;
  return n < numbers.floor ? 1 : holes_.first_above(numbers, n);
}

Mark Synchroniser::doubt(const Scope& scope) const noexcept {
  if (!is_doubtful(scope)) return {SyncState::Latest, Cause::None, Basis::None, 0};
  const std::uint64_t known = proof(scope);
  return {options_.policy == Policy::Pessimistic ? SyncState::Stale : SyncState::Suspect,
          known < joined_ ? Cause::Join : Cause::Gap, Basis::Channel, first_missing(channel_.numbers, known)};
}

Mark Synchroniser::mark(std::uint32_t row) const noexcept {
  if (!is_known(row)) return {};
  const Row& known = rows_[row];
  const Scope& scope = scope_of(row);
  if (!known.has_book) return {SyncState::Stale, known.cause, Basis::None, known.since};
  if (known.lost > known.at) return {SyncState::Stale, Cause::Queue, Basis::None, known.lost};
  if (missing(scope) <= known.at) return doubt(scope);
  const bool is_before = is_channel() && known.at < joined_;
  return {SyncState::Stale, is_before ? Cause::Join : Cause::Gap, is_channel() ? Basis::Channel : Basis::Scope,
          first_missing(scope.numbers, known.at)};
}

std::uint64_t Synchroniser::reached(std::uint32_t row) const noexcept {
  return is_known(row) ? holes_.reach(scope_of(row).numbers, rows_[row].at) : 0;
}

std::optional<Synchroniser::Pictured> Synchroniser::pictured(std::uint32_t row) const noexcept {
  if (!is_known(row)) return std::nullopt;
  const Row& known = rows_[row];
  const Scope& scope = scope_of(row);
  if (!known.has_book || known.lost > known.at || !queues_.is_empty(row)) return std::nullopt;
  // Before the first message a book is that of its snapshot.
  if (!is_joined_) return Pictured{known.at, is_channel() ? known.at : proof(scope)};
  if (is_blocked(known, scope)) return std::nullopt;
  const std::uint64_t number = holes_.reach(scope.numbers, known.at);
  if (is_channel()) return Pictured{number, number};
  return Pictured{number, is_doubtful(scope) ? proof(scope) : channel_.numbers.high};
}

SyncCounts Synchroniser::counts() const noexcept {
  SyncCounts counts = counts_;
  counts.forgotten = holes_.forgotten();
  counts.dropped_asks = asks_.dropped();
  return counts;
}

void Synchroniser::tell_from(std::uint32_t row, const Mark& before, bool is_retold) noexcept {
  const Mark now = mark(row);
  if (!now.is_like(before) || (is_retold && now.state != SyncState::Latest)) sink_.state(row, now);
}

// Numbers.

void Synchroniser::begin_slowly(std::uint64_t number) noexcept {
  channel_missing_before_ = channel_missing_;
  is_newest_ = is_in_order_ = false;
  if (number > kMost) {
    ++counts_.refused;
    message_ = 0;
    is_new_ = false;
    is_over_ = true;
    taken_rows_ = 0;
    return;
  }
  if (!is_joined_) {
    forget_pictured(number);
    joined_ = number == 0 ? 0 : number - 1;
    is_joined_ = true;
  } else if (number > channel_.numbers.high + 1) {
    lose(channel_.numbers.high + 1, number - 1);  // the arbiter did not say so
  }
  is_over_ = number < over_;
  const bool is_new = !is_over_ && take(channel_, number);
  channel_missing_ = channel_.numbers.missing;
  if (is_channel()) is_new_ = is_new;
  is_newest_ = is_new && number == channel_.numbers.high;
  if (!is_newest_) taken_rows_ = 0;
  may_heal_ = channel_missing_ < channel_missing_before_;
}

bool Synchroniser::product_slowly(std::uint32_t product, std::uint64_t number) noexcept {
  is_in_order_ = false;
  if (may_heal_) {
    // Another product of the same message.
    drain_waiting();
    heal_product();
  }
  if (options_.scope != ScopeOf::Product || product - 1 >= options_.products || number > kMost) {
    ++counts_.refused;
    product_ = 0;
    return is_new_ = false;
  }
  Scope& scope = scopes_[product];
  product_ = product;
  number_ = number;
  missing_before_ = scope.numbers.missing;
  was_doubtful_ = is_doubtful(scope);
  const std::uint64_t known = scope.numbers.high;
  const bool was_seen = scope.numbers.is_seen;
  is_new_ = take(scope, number);
  if (scope.numbers.missing > missing_before_) {
    counts_.holes += was_seen ? 1 : 0;
    hit(product, was_seen ? known + 1 : 1);
  }
  const bool is_proved = step(scope, known, was_seen, number);
  may_heal_ = may_heal_ || is_proved || scope.numbers.missing < missing_before_;
  return is_new_;
}

bool Synchroniser::take(Scope& scope, std::uint64_t n) noexcept {
  const std::uint64_t before = scope.numbers.missing;
  const bool is_new = holes_.take(scope.numbers, n);
  if (scope.numbers.missing > before) {
    scope.hole_ns = now_ns_;
    if (!is_each()) end_steps();
  }
  return is_new;
}

/// A step of one proves what was lost before the message that makes it: a late message's proves nothing.
bool Synchroniser::step(Scope& scope, std::uint64_t known, bool was_seen, std::uint64_t n) noexcept {
  if (!is_doubtful(scope) || (was_seen && n != known + 1) || message_ <= channel_missing_) return false;
  return prove(scope, message_);
}

/// Whether more is proved than before.
bool Synchroniser::prove(Scope& scope, std::uint64_t message) noexcept {
  if (message == 0) return false;  // it is not known
  const std::uint64_t before = proof(scope);
  if (!is_joined_) {
    forget_pictured(message);
    pictured_ = message;
    scope.pictured = std::max(scope.pictured, message);
  } else {
    scope.proof = std::max(before, std::min(message, channel_.numbers.high));
  }
  return proof(scope) > before;
}

/// Before the first message, which is `message` or what a snapshot says of itself: snapshots that were far ahead of it
/// had numbers that have begun anew since, and prove nothing of these. Those of an instrument may go on all the same,
/// as its next entry shows; but if nothing was before the first message, that entry would show nothing.
void Synchroniser::forget_pictured(std::uint64_t message) noexcept {
  if (pictured_ <= message + kMostAhead) return;
  end_steps();
  for (std::uint32_t row = 1; row <= options_.instruments; ++row) {
    if (!is_known(row) || scope_of(row).pictured <= message + kMostAhead) continue;
    const Mark before = mark(row);
    Scope& scope = scope_of(row);
    scope.pictured = rows_[row].pictured = 0;
    if (message <= 1) {
      holes_.forget(scope.numbers, scope.numbers.high);
      scope.numbers = {};
      queues_.drop(row, kEver);
      change(row) = {.scope = row};
    }
    tell_from(row, before, true);  // since another message
  }
}

void Synchroniser::loss(std::uint64_t first, std::uint64_t last, std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  channel_missing_before_ = channel_missing_;
  product_ = 0;
  lose(first, std::min(last, kMost));
  if (channel_missing_ < channel_missing_before_) heal();
}

void Synchroniser::lose(std::uint64_t first, std::uint64_t last) noexcept {
  Numbers& numbers = channel_.numbers;
  end_steps();
  if (!is_joined_) {
    forget_pictured(last);
    is_joined_ = true;
    joined_ = last;
    first = std::min(first, last);
    numbers.is_seen = true;
    numbers.high = numbers.floor = numbers.missing = last;
    channel_missing_ = channel_.numbers.missing;
  } else if (last <= numbers.high) {
    return;
  } else {
    first = numbers.high + 1;
    holes_.miss(numbers, first, last);
    numbers.high = last;
    channel_missing_ = channel_.numbers.missing;
    if (is_channel()) {
      hit(0, first);
    } else {
      const bool is_stale = options_.policy == Policy::Pessimistic;
      sink_.state_of(0, {is_stale ? SyncState::Stale : SyncState::Suspect, Cause::Gap, Basis::Channel, first});
    }
  }
  channel_.hole_ns = now_ns_;
  ++counts_.losses;
  if (asks_.add(first, last, now_ns_)) {
    ++counts_.asks;
    sink_.ask(first, last);
  }
}

void Synchroniser::damage(std::uint64_t now_ns) noexcept {
  Numbers& numbers = channel_.numbers;
  if (!is_joined_ || message_ > numbers.high || message_ <= numbers.floor) return;
  now_ns_ = now_ns;
  end_steps();
  is_in_order_ = false;
  holes_.miss_again(numbers, message_);
  channel_missing_ = numbers.missing;
  ++counts_.losses;
  if (product_ != 0 && is_new_) {
    holes_.miss_again(scopes_[product_].numbers, number_);
    hit(product_, number_);
  }
  if (is_channel()) {
    hit(0, message_);
  } else {
    const bool is_stale = options_.policy == Policy::Pessimistic;
    sink_.state_of(0, {is_stale ? SyncState::Stale : SyncState::Suspect, Cause::Gap, Basis::Channel, message_});
  }
  may_heal_ = is_new_ = false;
}

/// Numbers of a scope that several instruments share are missing.
void Synchroniser::hit(std::uint32_t scope, std::uint64_t first) noexcept {
  sink_.state_of(scope, {SyncState::Stale, Cause::Gap, scope == 0 ? Basis::Channel : Basis::Scope, first});
  correct_ahead(scope, first);
}

/// A snapshot may have been ahead of the increments: some of what is missing now is in it, or all.
void Synchroniser::correct_ahead(std::uint32_t scope, std::uint64_t first) noexcept {
  std::uint32_t* link = &ahead_;
  while (*link != 0) {
    const std::uint32_t row = *link;
    Row& known = rows_[row];
    const Scope& its = scope_of(row);
    const bool is_concerned = scope == 0 || known.scope == scope;
    if (is_concerned && known.has_book && known.lost <= known.at && known.at >= first) {
      if (missing(its) <= known.at) {
        sink_.spared(row, mark(row));
      } else {
        sink_.state(row, mark(row));
      }
    }
    if (known.at <= its.numbers.high) {
      known.is_ahead = false;
      *link = known.next_ahead;
    } else {
      link = &known.next_ahead;
    }
  }
}

/// Something that was missing has come, or does not matter any more.
void Synchroniser::heal() noexcept {
  if (!is_each() || options_.policy == Policy::Pessimistic) drain_waiting();
  heal_product();
  if (channel_missing_ < channel_missing_before_) {
    sink_.healed(0, Basis::Channel, channel_missing_, {SyncState::Latest, Cause::None, Basis::None, 0});
  }
}

void Synchroniser::heal_product() noexcept {
  if (product_ == 0) return;
  const Scope& scope = scopes_[product_];
  if (scope.numbers.missing < missing_before_) {
    sink_.healed(product_, Basis::Scope, scope.numbers.missing, doubt(scope));
  }
  if (was_doubtful_ && !is_doubtful(scope)) sink_.healed(product_, Basis::Channel, 0, doubt(scope));
}

void Synchroniser::drain_waiting() noexcept {
  for (std::uint32_t row = queues_.first_row(), next = 0; row != 0; row = next) {
    next = queues_.row_after(row);
    settle(row);
  }
}

// Entries.

/// Whether an entry, of a message that came in order after a loss, has a number that its instrument has passed, and no
/// snapshot can have brought: the numbers have begun anew in what was lost.
bool Synchroniser::goes_back(std::uint32_t row, std::uint64_t number) const noexcept {
  const Scope& scope = scope_of(row);
  return options_.may_return && is_newest_ && is_joined_ && scope.numbers.is_seen && number <= scope.numbers.high &&
         is_doubtful(scope) && message_ > rows_[row].pictured;
}

/// The same of a snapshot that was taken after what was lost, and lacks entries of messages before it.
bool Synchroniser::goes_back(const Part& part) const noexcept {
  if (!options_.may_return || !is_each() || !is_joined_) return false;
  const Row& known = rows_[part.row];
  const Scope& scope = scope_of(part.row);
  return is_doubtful(scope) && part.message >= channel_missing_ && part.message > known.pictured &&
         part.message >= known.high_in && part.number < scope.numbers.high;
}

/// Before the first message: whether a snapshot of an earlier message than that of the one that its instrument has was
/// sent later. All that snapshots have said so far is then of numbers that have begun anew.
bool Synchroniser::is_of_another_run(const Part& part) const noexcept {
  const Row& known = rows_[part.row];
  return options_.may_return && is_each() && !is_joined_ && known.has_book && part.message != 0 &&
         known.pictured != kEver && part.message < known.pictured && part.sent_ns > pictured_ns_;
}

/// Whether a message has a number of its instrument that messages before the proof cannot have: numbers grow with the
/// messages, so those of that message were over when the proof came.
bool Synchroniser::is_of_before(std::uint32_t row, std::uint64_t message, std::uint64_t number) const noexcept {
  return options_.may_return && is_each() && number > rows_[row].proved && message < proof(scope_of(row));
}

/// With this number: of the book nothing is known, and of the numbers only those before it. Messages up to `over` that
/// are missing are not waited for any more: they may have the numbers of before.
void Synchroniser::begin_anew(std::uint32_t row, std::uint64_t number, std::uint64_t over) noexcept {
  ++counts_.returns;
  over_ = over + 1;
  if (picture_.part.row == row) picture_.is_open = false;
  asks_.clear();
  Scope& scope = scope_of(row);
  holes_.forget(scope.numbers, scope.numbers.high);
  const std::uint64_t before = number == 0 ? 0 : number - 1;
  scope.numbers = {.high = before, .missing = before, .floor = before, .is_seen = number != 0};
  queues_.drop(row, kEver);
  Row& known = change(row);
  known = {.high_in = known.high_in, .proved = known.proved, .scope = row, .cause = Cause::Reset};
}

bool Synchroniser::entry_slowly(std::uint32_t row, std::uint64_t number, std::span<const Event> events) noexcept {
  if (!is_known(row) || number > kMost) {
    ++counts_.refused;
    return is_new_entry_ = false;
  }
  if (is_over_) {
    ++counts_.repeats;
    return is_new_entry_ = false;
  }
  Scope& scope = scope_of(row);
  const Mark before = mark(row);
  Mark told = before;
  if (is_of_before(row, message_, number)) {
    begin_anew(row, scope.numbers.high + 1, std::max(channel_missing_, message_));
    tell_from(row, before, false);
    is_over_ = true;
    ++counts_.repeats;
    return is_new_entry_ = false;
  }
  if (goes_back(row, number)) begin_anew(row, number, channel_missing_);
  if (is_joined_) scope.proof = proof(scope);  // settle() looks at nothing else
  const std::uint64_t known = scope.numbers.high;
  const bool was_seen = scope.numbers.is_seen;
  const bool is_new = is_new_entry_ = take(scope, number);
  if (was_seen && number > known + 1) ++counts_.holes;
  if (number == scope.numbers.high) rows_[row].high_in = message_;
  const bool is_proved = step(scope, known, was_seen, number);
  if (is_proved) rows_[row].proved = number - 1;
  if (is_new) {
    for (const Event& event : events) keep(row, number, event, told);
  } else {
    ++counts_.repeats;
  }
  settle(row);
  tell_from(row, told, is_proved && before.basis == Basis::Channel);
  return false;
}

bool Synchroniser::shared_entry(std::uint32_t row, std::span<const Event> events) noexcept {
  if (!is_known(row) || (!is_channel() && product_ == 0)) {
    ++counts_.refused;
    return false;
  }
  Row& known = rows_[row];
  if (!is_channel() && known.scope != product_) attach(row, product_);
  const Scope& scope = scope_of(row);
  const bool follows = number_ > known.at && queues_.is_empty(row) && !is_blocked(known, scope);
  if (follows || (!keeps_ && number_ >= scope.numbers.high && is_refreshed(known, scope))) {
    known.last = number_;
    if (is_in_order_) in_step_.begin(row, product_);
    return true;
  }
  Mark told = mark(row);
  for (const Event& event : events) keep(row, number_, event, told);
  tell_from(row, told, false);
  return false;
}

/// An entry that is new in its scope: applied, or kept, or of no use.
void Synchroniser::keep(std::uint32_t row, std::uint64_t number, const Event& event, Mark& told) noexcept {
  Row& known = rows_[row];
  if (known.has_book && number <= known.at) {
    ++counts_.repeats;
    return;
  }
  const Scope& scope = scope_of(row);
  if (!is_blocked(known, scope)) {
    queues_.take(row, number, [this](const Event& kept, std::uint64_t) { sink_.apply(kept); });
    sink_.apply(event);
    known.last = number;
    return;
  }
  const bool is_hit = !known.has_book || std::max(known.lost, missing(scope)) > known.at;
  if (options_.refresh && is_hit) refresh(row, number, event, told);
  if (!keeps_) {
    known.last = number;
    return;
  }
  // No snapshot that will do needs it.
  if (number <= known.lost && (!known.has_book || known.lost > known.at)) return;
  wait(row, number, event);
}

void Synchroniser::wait(std::uint32_t row, std::uint64_t number, const Event& event) noexcept {
  if (queues_.count(row) >= options_.queued_each) {
    const std::uint64_t gone = std::min(queues_.oldest(row), number);
    give_up(row, gone);
    if (gone == number) return;
  }
  if (queues_.is_full()) {
    const std::uint32_t longest = longest_blocked();
    const bool is_own = longest == 0 || longest == row;
    const std::uint32_t victim = is_own ? row : longest;
    std::uint64_t gone = longest == 0 ? number : queues_.oldest(victim);
    if (is_own) gone = std::min(gone, number);
    const Mark before = mark(victim);
    give_up(victim, gone);
    if (!is_own) {
      tell_from(victim, before, false);
    } else if (gone == number) {
      return;
    }
  }
  end_step(row);
  queues_.push(row, number, event);
  ++counts_.queued;
}

/// The row that waits longest, but for those that get what waits at the end of the message; 0: none.
std::uint32_t Synchroniser::longest_blocked() const noexcept {
  std::uint32_t row = queues_.first_row();
  while (row != 0 && !is_blocked(rows_[row], scope_of(row))) row = queues_.row_after(row);
  return row;
}

/// Kept entries up to a number go: only a snapshot that has them will do.
void Synchroniser::give_up(std::uint32_t row, std::uint64_t number) noexcept {
  queues_.drop(row, number);
  end_step(row);
  rows_[row].lost = std::max(rows_[row].lost, number);
  ++counts_.lost;
  sink_.lost(row, number);
}

/// The book goes on from nothing. The entries are kept, too: a snapshot needs them.
void Synchroniser::refresh(std::uint32_t row, std::uint64_t number, const Event& event, Mark& told) noexcept {
  Row& known = change(row);
  const Scope& scope = scope_of(row);
  if (now_ns_ - scope.hole_ns < options_.patience_ns) {
    known.is_refreshed = false;  // what it does not get now is missing
    return;
  }
  const std::uint64_t missing = this->missing(scope);
  if (known.has_book) {
    const Mark now = mark(row);
    known.cause = now.cause;
    known.since = now.since;
    known.lost = std::max(known.lost, holes_.reach(scope.numbers, known.at));
    known.has_book = false;
  }
  if (number < scope.numbers.high) {
    known.is_refreshed = false;  // out of order: the rows begin anew with the next one
    return;
  }
  if (!known.is_refreshed || known.refreshed < missing) {
    const bool was_refreshed = known.is_refreshed;
    const std::uint64_t first = was_refreshed ? first_missing(scope.numbers, known.refreshed) : 0;
    known.is_refreshed = true;
    known.refreshed = missing;
    ++counts_.refreshes;
    tell_from(row, told, false);
    told = mark(row);
    sink_.refresh(row, was_refreshed ? Cause::Gap : known.cause, first);
    queues_.for_each_after(row, std::max(missing, known.lost), [this](const Event& kept) { sink_.apply(kept); });
  }
  sink_.apply(event);
}

/// Applies what waits, if nothing is missing before it.
void Synchroniser::settle(std::uint32_t row) noexcept {
  Row& known = change(row);
  Scope& scope = scope_of(row);
  const bool is_open = !is_blocked(known, scope);
  if (is_open) {
    queues_.take(row, kEver, [&](const Event& kept, std::uint64_t number) {
      known.last = number;
      sink_.apply(kept);
    });
    known.at = std::max(known.at, scope.numbers.high);
  }
  if (!is_each()) return;
  const bool has_next = is_open || (!keeps_ && is_refreshed(known, scope));
  if (has_next && scope.proof >= channel_missing_) in_step_.begin(row, scope.numbers.high + 1);
}

// Snapshots.

bool Synchroniser::part(const Part& part) noexcept {
  if (part.sent_ns < reset_ns_) {
    ++counts_.outdated;
    return false;
  }
  if (!is_known(part.row) || part.number > kMost || part.message > kMost) {
    ++counts_.refused;
    return false;
  }
  const Part& last = picture_.part;
  const bool follows = picture_.is_open && part.row == last.row && part.place == last.place + 1 &&
                       part.number == last.number && part.message == last.message;
  if (picture_.is_open && (part.is_first || !follows)) ++counts_.torn;
  // Consecutive places are not enough: the next one of another cycle is consecutive, too.
  picture_ = {part, part.is_first || follows};
  return picture_.is_open;
}

void Synchroniser::part_end() noexcept {
  if (!picture_.is_open || !picture_.part.is_last) return;
  picture_.is_open = false;
  const std::uint32_t row = picture_.part.row;
  const std::uint64_t number = picture_.part.number;
  Row& known = rows_[row];
  Scope& scope = scope_of(row);
  if (is_of_another_run(picture_.part)) {
    ++counts_.returns;
    forget(Cause::Reset, picture_.part.sent_ns);
  }
  if (picture_.part.message != 0 && is_of_before(row, picture_.part.message, number)) {
    ++counts_.outdated;
    return;
  }
  Mark before = mark(row);
  if (goes_back(picture_.part)) {
    refuse_before(picture_.part.sent_ns);
    begin_anew(row, number + 1, channel_missing_);
  }
  const std::uint64_t reach = holes_.reach(scope.numbers, known.at);
  // Where instruments share numbers, a book is the same until the instrument's next entry.
  const std::uint64_t last = is_each() ? reach : known.last;
  const bool is_equal = known.has_book && number >= last && number <= reach;
  const bool is_latest = before.state == SyncState::Latest;
  bool is_retold = false;
  if (is_each() && (is_equal || (!is_latest && (!known.has_book || number > reach)))) {
    if (prove(scope, picture_.part.message)) known.proved = number;
    is_retold = before.basis == Basis::Channel;
  }
  if (picture_.part.replaces && is_equal) {
    load(row, std::max(number, reach));
    is_retold = true;
  } else if (is_equal && before.state != SyncState::Stale) {
    ++counts_.audits;
    if (!sink_.audit(row, number)) {
      ++counts_.differences;
      distrust(row, Cause::Audit);
      before = mark(row);
      load(row, std::max(number, reach));
      is_retold = true;
    }
  } else if (!is_latest && is_useful(known, scope, number)) {
    load(row, number);
    is_retold = true;
  } else {
    ++counts_.useless;
  }
  settle(row);
  tell_from(row, before, is_retold);
}

/// Whether the snapshot says more than the book and what waits for it.
bool Synchroniser::is_useful(const Row& row, const Scope& scope, std::uint64_t number) const noexcept {
  const std::uint64_t need = std::max(row.lost, scope.numbers.floor);
  // A refreshed book knows what came after the hole; a snapshot from before it would take that away.
  if (!row.has_book || need > row.at) return number >= std::max(need, row.is_refreshed ? row.refreshed : 0);
  return number > holes_.reach(scope.numbers, row.at);
}

void Synchroniser::load(std::uint32_t row, std::uint64_t number) noexcept {
  Row& known = change(row);
  known.at = known.last = number;
  known.pictured = picture_.part.message == 0 ? kEver : picture_.part.message;
  pictured_ns_ = std::max(pictured_ns_, picture_.part.sent_ns);
  known.has_book = true;
  known.is_refreshed = false;
  ++counts_.loads;
  sink_.load(row, number);
  Numbers& numbers = scope_of(row).numbers;
  if (is_each()) {
    holes_.forget(numbers, number);
  } else if ((number > numbers.high || !numbers.is_seen) && !known.is_ahead) {
    known.is_ahead = true;
    known.next_ahead = ahead_;
    ahead_ = row;
  }
  queues_.drop(row, number);  // an entry with the snapshot's own number is in it
}

void Synchroniser::cycle(std::uint64_t now_ns) noexcept {
  now_ns_ = cycle_ns_ = now_ns;
  if (picture_.is_open) ++counts_.torn;
  picture_.is_open = false;
}

// The exchange, the books, the time.

/// All instruments and their scopes have these values from here on.
void Synchroniser::clear(const Scope& scope, const Row& row) noexcept {
  holes_.clear();
  end_steps();
  in_step_.clear();
  queues_.clear();
  asks_.clear();
  ahead_ = 0;
  pictured_ = over_ = 0;
  pictured_ns_ = INT64_MIN;
  picture_.is_open = may_heal_ = false;
  channel_missing_ = is_joined_ ? channel_.numbers.missing : kEver;
  for (std::uint32_t i = 1; i <= (is_each() ? options_.instruments : options_.products); ++i) scopes_[i] = scope;
  for (std::uint32_t i = 1; i <= options_.instruments; ++i) {
    const std::uint32_t its_scope = rows_[i].scope;
    rows_[i] = row;
    rows_[i].scope = its_scope;
  }
}

void Synchroniser::reset(std::int64_t sent_ns, std::uint64_t number) noexcept {
  number = std::min(number, kMost);
  reset_ns_ = sent_ns;
  is_joined_ = true;
  joined_ = number;
  channel_ = {.numbers = {.high = number, .is_seen = true}};
  clear({.numbers = {.is_seen = true}, .proof = number}, {.at = is_channel() ? number : 0, .has_book = true});
  if (number != 0) over_ = number + 1;
  for (std::uint32_t row = 1; is_each() && row <= options_.instruments; ++row) {
    in_step_.begin(row, scopes_[row].numbers.high + 1);
  }
  sink_.restarted();
}

void Synchroniser::forget(Cause cause, std::int64_t sent_ns) noexcept {
  reset_ns_ = std::max(reset_ns_, sent_ns);
  is_joined_ = is_new_ = is_newest_ = is_in_order_ = false;
  joined_ = kEver;
  channel_ = {};
  product_ = 0;
  clear({}, {.cause = cause});
  sink_.forgotten(cause);
}

void Synchroniser::restart(std::uint32_t row) noexcept {
  if (!is_each() || !is_known(row)) return;
  const Mark before = mark(row);
  Scope& scope = scope_of(row);
  holes_.forget(scope.numbers, scope.numbers.high);
  scope.numbers = {.is_seen = true};
  queues_.drop(row, kEver);
  change(row) = {.proved = kEver, .scope = row, .has_book = true};
  if (picture_.part.row == row) picture_.is_open = false;
  settle(row);  // a pessimist in doubt waits
  tell_from(row, before, false);
}

bool Synchroniser::follows(std::uint32_t row, std::uint64_t number) const noexcept {
  if (!is_known(row)) return false;
  const Row& known = rows_[row];
  const Scope& scope = scope_of(row);
  if (is_each() && number != scope.numbers.high + 1) return false;
  return !is_blocked(known, scope) || is_refreshed(known, scope);
}

void Synchroniser::need(std::uint32_t row, std::uint64_t number) noexcept {
  if (!is_known(row)) return;
  const Mark before = mark(row);
  if (!is_each()) number = number_;
  Row& known = change(row);
  queues_.drop(row, number);
  known.lost = std::max(known.lost, number);
  tell_from(row, before, false);
}

std::uint64_t Synchroniser::end_refresh(std::uint32_t row) noexcept {
  if (!is_known(row)) return 0;
  Row& known = change(row);
  const Scope& scope = scope_of(row);
  if (known.has_book || !known.is_refreshed || known.refreshed >= missing(scope)) return 0;
  known.is_refreshed = false;
  return first_missing(scope.numbers, known.refreshed);
}

void Synchroniser::expect_snapshots() noexcept {
  if (keeps_) return;
  keeps_ = true;
  for (std::uint32_t row = 1; row <= options_.instruments; ++row) {
    if (rows_[row].has_book) continue;
    Row& known = change(row);
    // What came so far was not kept.
    known.lost =
        std::max(known.lost, is_each() && scopes_[row].numbers.is_seen ? scopes_[row].numbers.high : known.last);
  }
}

void Synchroniser::distrust(std::uint32_t row, Cause cause) noexcept {
  if (!is_known(row)) return;
  Row& known = change(row);
  const Scope& scope = scope_of(row);
  const Mark before = mark(row);
  if (known.has_book) known.lost = std::max(known.lost, holes_.reach(scope.numbers, known.at));
  known.has_book = known.is_refreshed = false;
  known.cause = cause;
  known.since = 0;
  tell_from(row, before, false);
}

void Synchroniser::tick(std::uint64_t now_ns) noexcept {
  now_ns_ = now_ns;
  asks_.tick(holes_, channel_.numbers, now_ns, [this](std::uint64_t first, std::uint64_t last) {
    ++counts_.asks;
    sink_.ask(first, last);
  });
  // A clock may be set back.
  if (options_.cycle_ns == 0 || cycle_ns_ == 0 || now_ns < cycle_ns_) return;
  if (now_ns - cycle_ns_ <= options_.cycle_ns / 2 * 3) return;
  ++counts_.overdue_cycles;
  sink_.overdue(now_ns - cycle_ns_);
  cycle_ns_ = 0;
}

}  // namespace stopbit::market
