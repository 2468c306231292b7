#include "host/remote/far_tables.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stopbit::remote {
namespace {

constexpr std::size_t kTablePieceBytes = 16 * nic::kPageBytes;
constexpr unsigned kPieces = 3;
constexpr std::uint64_t kRoundNs = 20'000'000;      ///< Between rounds through what events have named,
constexpr std::uint64_t kRoundBytes = 640U << 10U;  ///< each of which fetches at most so much, and a piece.
constexpr std::uint64_t kHeadsNs = 500'000'000;     ///< Between looks at the headers.
constexpr std::uint64_t kSweepNs = 10'000'000'000;  ///< Between rounds through all instruments, if any has changed.
constexpr const char* kTruncated = "the publisher's tables of instruments and states have been truncated";
constexpr unsigned kHeartbeats = 2;  ///< The first may have been under way before the event; the next was not.

}  // namespace

Result<std::unique_ptr<FarTables>> FarTables::make(NodePort& port, const From& from) {
  std::unique_ptr<FarTables> made(new FarTables(port, from));
  Result<PortMemory> memory =
      PortMemory::make(port, "stopbit-tables", kPieces * kTablePieceBytes, nic::Access::ReadWrite);
  if (!memory) return Failure{memory.message()};
  made->memory_ = std::move(memory).value();
  return made;
}

void FarTables::begin(market::TableCopy& copy) {
  copy_ = &copy;
  if (count_ < known()) return fail(State::Unusable, kTruncated);
  old_instruments_ = RowMarks(shape_.instruments.capacity);
  old_states_ = RowMarks(shape_.states.rows);
  fill_to_ = count_;
  filled_ = 0;
  if (known() != 0) {
    // Rows of an earlier session are renewed while records come already.
    filled_ = fill_to_;
    old_instruments_.mark_all(known());
    old_states_.mark_all(fill_to_);
  }
  state_ = State::Filling;
  look_at_filling();
}

bool FarTables::hear(const nic::Notification& notification) noexcept {
  return instruments_.hear(notification) || states_.hear(notification);
}

std::size_t FarTables::step(std::uint64_t now_ns) {
  if (state_ == State::Unusable || state_ == State::Failed || state_ == State::Shaped) return 0;
  if (job_ == Job::None) {
    job_ = choose(now_ns);
    asked_ = 0;
    if (job_ == Job::None) return 0;
  }
  if (!ask() || !instruments_.is_done() || !states_.is_done()) return 0;
  const nic::Error error = instruments_.error() != nic::Error::None ? instruments_.error() : states_.error();
  if (error != nic::Error::None) {
    fail(State::Failed, std::string("the tables of instruments and states cannot be fetched: ") + to_meaning(error));
    return 1;
  }
  const Job done = std::exchange(job_, Job::None);
  if (done == Job::Heads) {
    take_heads(now_ns);
  } else {
    take_rows(done);
  }
  return 1;
}

/// What is to be fetched next.
FarTables::Job FarTables::choose(std::uint64_t now_ns) noexcept {
  if (wants_heads_ || now_ns >= next_heads_ns_) {
    wants_heads_ = false;
    heads_for_ = wanted_;
    next_heads_ns_ = now_ns + kHeadsNs;
    return Job::Heads;
  }
  const auto rows = [&](std::uint32_t from, std::uint32_t to, Job job) {
    run_ = {from + 1, std::min(to - from, rows_of_piece(job))};
    return job;
  };
  // Instruments come before everything that may name them.
  if (known() < count_) return rows(known(), count_, Job::Instruments);
  const std::uint32_t last = std::min(fill_to_, shape_.states.rows);
  if (filled_ < last) return rows(filled_, last, Job::States);
  return choose_old(now_ns);
}

/// In rounds, so that a row of many events is not fetched for each of them, and changes of all rows do not fill the
/// network: what is left comes first in the next round.
FarTables::Job FarTables::choose_old(std::uint64_t now_ns) noexcept {
  const std::uint64_t old = std::uint64_t{old_states_.size()} + old_instruments_.size();
  if (old == 0) return Job::None;
  if (round_left_ == 0 || budget_left_ == 0) {
    if (!hurries_ && now_ns < next_round_ns_) return Job::None;
    next_round_ns_ = now_ns + kRoundNs;
    round_left_ = old;
    budget_left_ = kRoundBytes;
    // Instruments get their turn, and states most of it.
    if (!old_instruments_.is_empty()) return take_old(Job::Instruments);
  }
  return take_old(old_states_.is_empty() ? Job::Instruments : Job::States);
}

FarTables::Job FarTables::take_old(Job job) noexcept {
  RowMarks& rows = job == Job::States ? old_states_ : old_instruments_;
  const std::uint32_t before = rows.size();
  run_ = rows.take(rows_of_piece(job));
  round_left_ -= std::min<std::uint64_t>(round_left_, before - rows.size());
  budget_left_ -= std::min<std::uint64_t>(budget_left_, kPieces * run_.count * row_bytes(job));
  return job;
}

std::size_t FarTables::row_bytes(Job job) const noexcept {
  return job == Job::States ? shape_.state_row_bytes : sizeof(market::InstrumentRow);
}

std::uint32_t FarTables::rows_of_piece(Job job) const noexcept {
  return static_cast<std::uint32_t>(kTablePieceBytes / row_bytes(job));
}

/// The gets of the job, as far as the node takes them. False: not all of them yet.
bool FarTables::ask() noexcept {
  const nic::Nla to = memory_.address();
  if (job_ == Job::Heads) {
    if (asked_ == 0 && !instruments_.start(0, to, sizeof(market::InstrumentHeader))) return false;
    asked_ = std::max(asked_, 1U);
    if (asked_ == 1 && !states_.start(0, to + kTablePieceBytes, sizeof(market::state::Header))) return false;
    asked_ = 2;
    return true;
  }
  const bool is_state = job_ == Job::States;
  const std::uint64_t row_bytes = this->row_bytes(job_);
  const std::uint64_t begin = is_state ? shape_.states_offset : market::kInstrumentHeaderBytes;
  for (; asked_ < kPieces; ++asked_) {
    if (!(is_state ? states_ : instruments_)
             .start(begin + run_.first * row_bytes, to + asked_ * kTablePieceBytes,
                    static_cast<std::uint32_t>(run_.count * row_bytes))) {
      return false;
    }
  }
  return true;
}

void FarTables::take_heads(std::uint64_t now_ns) {
  market::InstrumentHeader instruments;
  market::state::Header states;
  std::memcpy(&instruments, memory_.span().data(), sizeof(instruments));
  std::memcpy(&states, memory_.span().data() + kTablePieceBytes, sizeof(states));
  const Result<market::TableShape> shape = market::TableShape::of(instruments, states, ring_epoch_);
  if (!shape) return fail(State::Unusable, shape.message());
  count_ = std::min(instruments.count, shape.value().instruments.capacity);
  if (state_ == State::Working) {
    shape_ = shape.value();
    changes_ = instruments.changes;
    next_sweep_ns_ = now_ns + kSweepNs;
    state_ = State::Shaped;
    return;
  }
  if (!shape.value().is_same(shape_) || count_ < known()) {
    return fail(State::Unusable, kTruncated);
  }
  if (heads_for_ > count_) is_wrong_ = true;
  copy_->take_header(instruments);
  if (instruments.changes != changes_ && now_ns >= next_sweep_ns_) {
    // Not every change has an event that names the row.
    changes_ = instruments.changes;
    next_sweep_ns_ = now_ns + kSweepNs;
    old_instruments_.mark_all(known());
  }
}

void FarTables::take_rows(Job job) {
  using Taken = market::TableCopy::Taken;
  const bool is_state = job == Job::States;
  const std::size_t row_bytes = this->row_bytes(job);
  const std::byte* const pieces = memory_.span().data();
  for (std::uint32_t i = 0; i < run_.count; ++i) {
    const std::uint32_t row = run_.first + i;
    const std::byte* const before = pieces + i * row_bytes;
    const std::byte* const words = before + kTablePieceBytes;
    const std::byte* const after = words + kTablePieceBytes;
    const bool is_new = !is_state && row > known();
    const Taken taken =
        is_state ? copy_->take_state(row, before, words, after) : copy_->take_instrument(row, before, words, after);
    if (taken == Taken::Refused) {
      return fail(State::Unusable, "the publisher's tables hold what is no row of an instrument, or were truncated");
    }
    if (taken == Taken::Whole) continue;
    if (is_new) break;  // those after it come after it
    (is_state ? old_states_ : old_instruments_).mark(row);
  }
  if (is_state && filled_ < fill_to_ && run_.first == filled_ + 1) filled_ += run_.count;
  look_at_filling();
}

void FarTables::look_at_filling() noexcept {
  if (state_ == State::Filling && known() >= fill_to_ && filled_ >= std::min(fill_to_, shape_.states.rows)) {
    state_ = State::Ready;
  }
}

void FarTables::fail(State state, std::string why) {
  state_ = state;
  problem_ = std::move(why);
  job_ = Job::None;
}

bool FarTables::may_show(const record::Slot& slot) noexcept {
  if (state_ != State::Ready || !market::is_event(slot)) return true;
  const std::uint32_t row = market::Event::from(slot).instrument();
  if (row <= known()) {
    wanted_ = 0;
    return true;
  }
  if (wanted_ != row) {
    wanted_ = row;
    wants_heads_ = row > count_;
  }
  return false;
}

void FarTables::saw(const record::Slot& slot, bool is_old) noexcept {
  if (copy_ == nullptr || !market::is_event(slot)) return;
  const market::Event event = market::Event::from(slot);
  if (is_newest_ended_) {
    // The publisher stores what an event changes after the event, and before the next one. The first levels of a book
    // come with the last event of the exchange's.
    if (!is_old) mark_newest();
    newest_count_ = 0;
  }
  if (newest_count_ < newest_.size()) newest_[newest_count_] = {event.instrument(), event.kind()};
  newest_count_ = std::min(newest_count_ + 1, newest_.size() + 1);
  heartbeats_left_ = kHeartbeats;
  is_newest_ended_ = event.last_of_event();
  if (is_newest_ended_ && !is_old) mark_newest();
}

/// What the newest events may have changed.
void FarTables::mark_newest() noexcept {
  if (newest_count_ > newest_.size()) {
    old_states_.mark_all(known());
    old_instruments_.mark_all(known());
    return;
  }
  for (std::size_t i = 0; i < newest_count_; ++i) {
    const auto [row, kind] = newest_[i];
    const auto mark = [&, row = row](RowMarks& marks) {
      row == market::kAllInstruments ? marks.mark_all(known()) : marks.mark(row);
    };
    if (market::changes_book(kind) || market::changes_day(kind)) mark(old_states_);
    if (market::changes_instrument(kind)) mark(old_instruments_);
  }
}

void FarTables::heartbeat(std::uint64_t heartbeat_ns) noexcept {
  if (copy_ == nullptr || heartbeat_ns == heartbeat_ns_ || state_ == State::Unusable) return;
  heartbeat_ns_ = heartbeat_ns;
  copy_->beat(heartbeat_ns);
  // The thread that stores states also stores heartbeats.
  if (heartbeats_left_ == 0) return;
  --heartbeats_left_;
  mark_newest();
}

void FarTables::last_look() noexcept {
  if (state_ != State::Ready) return;
  mark_newest();
  newest_count_ = heartbeats_left_ = 0;
  wants_heads_ = true;
  next_sweep_ns_ = 0;
  hurries_ = true;
}

bool FarTables::is_current() const noexcept {
  if (state_ == State::Unusable || state_ == State::Failed) return true;
  return state_ == State::Ready && job_ == Job::None && !wants_heads_ && known() >= count_ && old_states_.is_empty() &&
         old_instruments_.is_empty();
}

}  // namespace stopbit::remote
