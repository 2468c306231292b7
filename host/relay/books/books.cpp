#include "host/relay/books/books.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/market/instrument/table.hpp"
#include "host/relay/address.hpp"

namespace stopbit::relay {
namespace {

constexpr std::uint64_t kOpenNs = 100'000'000;       ///< For tables of the name.
constexpr std::uint64_t kStatusNs = 1'000'000'000;   ///< The status is written at least this often.
constexpr std::uint64_t kSilentNs = 5'000'000'000;   ///< A writer without a heartbeat for this long is silent.
constexpr std::uint64_t kNever = ~std::uint64_t{0};  ///< No row has this version: odd means that it changes.

}  // namespace

std::string key_of_book(std::string_view instrument) {
  std::string key = "book.";
  for (const char c : instrument) {
    if (is_name_character(c) || c == '/') {
      key += c;
    } else {
      key += fmt::format("={:02X}", static_cast<unsigned char>(c));
    }
  }
  // The engine refuses a name that ends with a dot.
  return instrument.empty() ? key + '=' : key;
}

Books::Books(KeyValues& store, BooksOptions options, std::function<void(const std::string&)> tell,
             std::function<std::uint64_t()> wall_ns)
    : store_(store), options_(std::move(options)), tell_(std::move(tell)), wall_ns_(std::move(wall_ns)) {}

std::string_view Books::name_of(Writer writer) noexcept {
  switch (writer) {
    case Writer::Absent: return "absent";
    case Writer::Running: return "running";
    case Writer::Silent: return "writer_silent";
    case Writer::Ended: return "writer_ended";
    case Writer::Died: return "writer_died";
    case Writer::Replaced: return "replaced";
  }
  return "";
}

Books::State Books::step(std::uint64_t now_ns) {
  if (state_ == State::Failed || state_ == State::Done) return state_;
  if (!has_session_ && backoff_.is_over(now_ns)) begin_session(now_ns);
  if (!has_session_) return state_ == State::Failed ? State::Failed : State::Idle;
  if (!is_looking_ && now_ns >= next_look_ns_) begin_look(now_ns);
  const bool has_written = is_looking_ && look(now_ns);
  const bool has_heard = has_session_ && exchange(now_ns, !has_written);
  const bool is_over = writer_ == Writer::Ended || writer_ == Writer::Died;
  if (options_.once && is_over && has_session_ && !is_looking_ && waiting() == 0) state_ = State::Done;
  if (state_ == State::Failed || state_ == State::Done) return state_;
  return has_written || has_heard ? State::Busy : State::Idle;
}

void Books::begin_session(std::uint64_t now_ns) {
  if (const auto begun = store_.begin(); !begun) return lose_session(begun.failure(), now_ns);
  ++counts_.sessions;
  has_session_ = true;
  put_ = stored_ = 0;
  heard_ns_ = now_ns;
  is_looking_ = false;
  next_look_ns_ = next_status_ns_ = 0;
  forget_sent();
}

/// All rows are written again.
void Books::forget_sent() {
  std::fill(sent_.begin(), sent_.end(), Sent{kNever, kNever});
}

bool Books::open_tables(std::uint64_t now_ns) {
  if (tables_) return true;
  if (now_ns < next_open_ns_) return false;
  next_open_ns_ = now_ns + kOpenNs;
  Result<market::Tables> opened = market::Tables::open(options_.ring);
  if (!opened) {
    tell_once(opened.message() + "; waiting for tables");
    return false;
  }
  tables_.emplace(std::move(opened).value());
  sent_.assign(std::size_t{tables_->states().rows()} + 1, Sent{kNever, kNever});
  writer_ = Writer::Running;
  heartbeat_ns_ = tables_->states().heartbeat_ns();
  beat_ns_ = now_ns;
  has_beaten_ = false;
  tell_(fmt::format("writing the states of {} instruments", tables_->count()));
  return true;
}

void Books::lose_tables(const std::string& why) {
  tables_.reset();
  sent_.clear();
  writer_ = Writer::Absent;
  if (!why.empty()) tell_(why);
}

Books::Writer Books::look_at_writer(std::uint64_t now_ns) {
  using Of = market::state::Reader::Writer;
  if (tables_->replaced()) return Writer::Replaced;
  const Of of = tables_->states().writer();
  if (of != Of::Running) return of == Of::Finished ? Writer::Ended : Writer::Died;
  const std::uint64_t heartbeat_ns = tables_->states().heartbeat_ns();
  if (heartbeat_ns != heartbeat_ns_) {
    heartbeat_ns_ = heartbeat_ns;
    beat_ns_ = now_ns;
    has_beaten_ = true;
  }
  return has_beaten_ && now_ns - beat_ns_ > kSilentNs ? Writer::Silent : Writer::Running;
}

void Books::begin_look(std::uint64_t now_ns) {
  // A look that took longer than the period is followed by the next one at once.
  next_look_ns_ = std::max(next_look_ns_ + options_.period_ns, now_ns);
  is_looking_ = true;
  has_written_ = false;
  row_ = 1;
  unread_ = 0;
  ++counts_.looks;
  if (!open_tables(now_ns)) return;
  const Writer now = look_at_writer(now_ns);
  if (now == writer_) return;
  // All rows change with it: what is stale, and why.
  tell_(now == Writer::Running ? std::string("the writer of the tables goes on")
                               : fmt::format("all books are stale: {}", name_of(now)));
  writer_ = now;
  next_status_ns_ = 0;
  forget_sent();
}

/// Goes on with a look until it is over or enough values wait for the engine. @returns whether it has written.
bool Books::look(std::uint64_t now_ns) {
  const std::uint64_t before = put_;
  const std::uint32_t count = tables_ ? tables_->count() : 0;
  while (row_ <= count) {
    if (waiting() >= options_.outstanding) return put_ != before;
    const auto put = put_row(row_);
    if (!put) {
      lose_session(put.failure(), now_ns);
      return true;
    }
    if (tables_->is_broken()) {
      lose_tables(fmt::format("{}: {}", options_.ring, market::Tables::broken_text()));
      break;
    }
    has_written_ = has_written_ || put.value();
    ++row_;
  }
  if (has_written_ || now_ns >= next_status_ns_) {
    if (const auto put = put_status(now_ns); !put) {
      lose_session(put.failure(), now_ns);
      return true;
    }
  }
  end_look();
  return put_ != before;
}

void Books::end_look() {
  is_looking_ = false;
  if (writer_ == Writer::Replaced) lose_tables("");
}

/// @returns whether the row has changed, so that it was sent.
Result<bool, StoreFailure> Books::put_row(std::uint32_t row) {
  // Before the row itself: a change after this look is one for the next.
  const Sent now{tables_->states().version(row), tables_->instruments().version(row)};
  if (now.state == sent_[row].state && now.instrument == sent_[row].instrument) return false;
  if (!tables_->instruments().read(row, picture_.instrument)) {
    ++unread_;
    return false;
  }
  const bool is_kept = writer_ == Writer::Running;
  if (tables_->states().read(row, picture_.top, picture_.day) != market::state::Read::Ok) {
    ++unread_;
    // A row that just changes is for the next look; one whose writer has died in it is never whole again.
    if (is_kept) return false;
    picture_.top = {};
    picture_.day = {};
  }
  // What was read from a truncated file are zeros.
  if (tables_->is_broken()) return false;
  value_ = fmt::format("{{\"epoch\":{},", tables_->states().ring_epoch());
  const std::size_t brace = value_.size();
  market::state::append_json(row, picture_, tables_->instruments().quantity_decimals(),
                             is_kept ? std::string_view() : name_of(writer_), value_);
  value_.erase(brace, 1);
  const std::string key = key_of_book(market::key_of(picture_.instrument));
  if (const auto sent = put(key, value_, (put_ + 1) % kAskEvery == 0); !sent) return sent.failure();
  ++counts_.values;
  sent_[row] = now;
  return true;
}

Result<Done, StoreFailure> Books::put_status(std::uint64_t now_ns) {
  next_status_ns_ = now_ns + kStatusNs;
  value_ = fmt::format(R"({{"time":{},"writer":"{}")", wall_ns_(), name_of(writer_));
  if (tables_) {
    value_ += fmt::format(R"(,"epoch":{},"heartbeat":{},"instruments":{},"unread":{})", tables_->states().ring_epoch(),
                          tables_->states().heartbeat_ns(), tables_->count(), unread_);
  }
  value_ += '}';
  return put(kStatusKey, value_, true);
}

Result<Done, StoreFailure> Books::put(std::string_view key, std::string_view value, bool asks) {
  if (const auto sent = store_.put(key, value, asks); !sent) return sent;
  ++put_;
  return Done{};
}

/// Takes answers. @returns whether there were any.
bool Books::exchange(std::uint64_t now_ns, bool waits) {
  const std::uint64_t before = waiting();
  if (before == 0) heard_ns_ = now_ns;
  const auto stored = store_.stored(waits && before != 0 ? 1 : 0);
  if (!stored) {
    lose_session(stored.failure(), now_ns);
    return true;
  }
  if (stored.value() < stored_ || stored.value() > put_) {
    lose_session({StoreFailure::Kind::Away, "the store confirms values that were not sent"}, now_ns);
    return true;
  }
  if (stored.value() != stored_) {
    stored_ = stored.value();
    heard_ns_ = now_ns;
    backoff_.succeeded();
    if (tables_) tell_once("");
    return true;
  }
  if (before != 0 && now_ns - heard_ns_ > options_.answer_ns) {
    lose_session({StoreFailure::Kind::Away,
                  fmt::format("the store has confirmed nothing for {} ms", options_.answer_ns / 1'000'000)},
                 now_ns);
  }
  return false;
}

void Books::tell_once(const std::string& line) {
  if (line == told_) return;
  told_ = line;
  if (!line.empty()) tell_(line);
}

void Books::lose_session(const StoreFailure& why, std::uint64_t now_ns) {
  has_session_ = false;
  is_looking_ = false;
  if (why.kind == StoreFailure::Kind::Refused) {
    problem_ = why;
    state_ = State::Failed;
    return;
  }
  backoff_.failed(now_ns);
  tell_once(why.message + "; trying again");
}

}  // namespace stopbit::relay
