#include <Vstopbit_string_unit.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "bench.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kSlotWords = 1U << 13;
constexpr std::size_t kKeptWords = 1U << 9;

/// string_piece_t.
struct Piece {
  enum From : std::uint64_t { Stream, Constant, Slot, Kept };
  From from = Stream;
  std::size_t read_address = 0;
  std::size_t skip = 0;
  std::size_t bytes = 0;
  std::size_t at = 0;
  bool emits = false;
  bool is_first = false;  ///< Of its string.
  bool is_last = false;
  bool writes = false;
  std::size_t write_address = 0;

  [[nodiscard]] std::uint64_t bits() const {
    std::uint64_t out = from;
    out = out << 13 | read_address;
    out = out << 3 | skip;
    out = out << 4 | bytes;
    out = out << 4 | at;
    out = out << 1 | (emits ? 1U : 0U);
    out = out << 1 | (is_first ? 1U : 0U);
    out = out << 1 | (is_last ? 1U : 0U);
    out = out << 1 | (writes ? 1U : 0U);
    return out << 13 | write_address;
  }
};

std::uint64_t low_bytes(std::uint64_t word, std::size_t bytes) {
  return bytes == 0 ? 0 : word & ~std::uint64_t{0} >> (64 - 8 * bytes);
}

/// Pieces from everywhere, one after another, with stages that stall now and then; and a model of it.
class Traffic {
 public:
  Traffic(std::uint64_t seed, std::uint32_t stall) : random_(seed), bench_(seed), moves_(random_, stall) {
    bench_->valid_i = 0;
    bench_->advance_i = 0;
    bench_->flush_i = 0;
    bench_->keep_i = 0;
    bench_.reset();
    // Memories whose content is known.
    for (std::size_t i = 0; i < kKeptWords; ++i) keep(i);
    for (std::size_t i = 0; i < kSlotWords; ++i) {
      send({.bytes = 8, .emits = true, .writes = true, .write_address = i});
      if (::testing::Test::HasFatalFailure()) return;
    }
    drain();
  }

  void run(int pieces) {
    for (int i = 0; i < pieces && !::testing::Test::HasFatalFailure(); ++i) {
      if (random_.chance(10)) keep(random_.below(kKeptWords));
      if (random_.chance(10)) idle();
      send(random_piece());
      if (random_.chance(2)) flush();
    }
    drain();
  }

  /// A reset in the middle: pieces under way are lost, written words are not.
  void reset() {
    bench_->valid_i = 0;
    bench_.reset();
    on_its_way_.clear();
    at_ = 0;
    text_.clear();
  }

 private:
  struct Moving {
    Piece piece;
    std::uint64_t word = 0;
    bool is_wide = false;  ///< What `is_wide_o` says while it is in the second stage,
    bool is_bad = false;   ///< and `is_bad_o`, with the last piece of a string.
  };

  Piece random_piece() {
    Piece piece;
    piece.from = static_cast<Piece::From>(random_.below(4));
    piece.read_address = random_.below(piece.from == Piece::Kept ? kKeptWords : kSlotWords);
    piece.at = at_;
    piece.skip = random_.below(8);
    piece.bytes = random_.below(9 - piece.skip);
    const std::size_t total = piece.at + piece.bytes;
    const bool ends = random_.chance(20);
    piece.emits = total > 8 || ends || (total == 8 && random_.chance(70));
    at_ = piece.emits ? (ends || total < 8 ? 0 : total - 8) : total;
    piece.is_first = text_.empty();
    piece.is_last = piece.emits && total <= 8 && ends;
    if (piece.emits && random_.chance(50)) {
      piece.writes = true;
      piece.write_address = random_.below(kSlotWords);
    }
    return piece;
  }

  /// The output for a piece. Words for the dictionary are written when the piece has left the second stage, which the
  /// consume stage waits for: here too.
  void send(const Piece& piece) {
    if (piece.from == Piece::Slot) {
      while (is_written()) cycle();
    }
    bench_->is_text_i = random_.chance(50);
    bench_->bytes_i = random_word();
    const std::uint64_t constant = random_word();
    std::uint64_t source = bench_->is_text_i ? bench_->bytes_i & 0x7F7F'7F7F'7F7F'7F7F : bench_->bytes_i;
    if (piece.from == Piece::Constant) source = constant;
    if (piece.from == Piece::Slot) source = slots_[piece.read_address];
    if (piece.from == Piece::Kept) source = kept_[piece.read_address];
    const std::uint64_t bytes = low_bytes(source >> 8 * piece.skip, piece.bytes);
    Moving moving{piece, bytes, (rest_ & 0x8080'8080'8080'8080) != 0};
    std::uint64_t behind = 0;
    if (piece.at > 0) {
      moving.word = rest_ | (piece.at == 8 ? 0 : bytes << 8 * piece.at);
      behind = piece.at == 8 ? bytes : bytes >> (64 - 8 * piece.at);
    }
    rest_ = piece.emits ? behind : moving.word;
    if (piece.emits) {
      for (std::size_t i = 0; i < std::min<std::size_t>(8, piece.at + piece.bytes); ++i) {
        text_ += static_cast<char>(moving.word >> 8 * i);
      }
      moving.is_bad = !is_utf8(text_);
      if (at_ == 0) text_.clear();  // another string begins
    }
    bench_->piece_i = piece.bits();
    bench_->valid_i = 1;
    while (!cycle(&moving)) {
    }
    bench_->valid_i = 0;
    bench_->constant_bytes_i = constant;
    if (random_.chance(50)) bench_->piece_i = random_piece_bits();
  }

  /// Often one that can be part of a text.
  std::uint64_t random_word() {
    return random_.bits() & (random_.chance(70) ? 0x7F7F'7F7F'7F7F'7F7F : ~std::uint64_t{0});
  }
  std::uint64_t random_piece_bits() { return Piece{.read_address = random_.below(kSlotWords)}.bits(); }

  bool is_written() const {
    return std::any_of(on_its_way_.begin(), on_its_way_.end(),
                       [](const Place& place) { return place.moving.piece.writes; });
  }

  /// True if the stages moved, and took what was offered.
  bool cycle(const Moving* offered = nullptr) {
    const bool moves = moves_.open();
    bench_->advance_i = moves;
    bench_.settle();
    check();
    EXPECT_EQ(bench_->writes_o, is_written());
    bench_.step();
    if (!moves) return false;
    if (!on_its_way_.empty() && on_its_way_.front().stage == 1) {
      const Moving& done = on_its_way_.front().moving;
      if (done.piece.writes) slots_[done.piece.write_address] = done.word;
      on_its_way_.pop_front();
    }
    for (Place& place : on_its_way_) ++place.stage;
    if (offered != nullptr) on_its_way_.push_back({*offered, 0});
    return true;
  }

  void check() {
    if (on_its_way_.empty() || on_its_way_.front().stage != 1) return;
    const Moving& moving = on_its_way_.front().moving;
    ASSERT_EQ(bench_->word_o, moving.word);
    if (moving.piece.is_last) {
      ASSERT_EQ(bench_->is_bad_o, moving.is_bad);
    }
    if (moving.piece.at == 8) {
      ASSERT_EQ(bench_->is_wide_o, moving.is_wide);
    }
  }

  void keep(std::size_t address) {
    bench_->keep_i = 1;
    bench_->keep_address_i = static_cast<std::uint16_t>(address);
    bench_->is_text_i = random_.chance(50);
    bench_->bytes_i = random_word();
    kept_[address] = bench_->is_text_i ? bench_->bytes_i & 0x7F7F'7F7F'7F7F'7F7F : bench_->bytes_i;
    cycle();
    bench_->keep_i = 0;
  }

  void idle() {
    for (std::uint64_t left = random_.below(4); left > 0; --left) cycle();
  }
  void drain() {
    while (!on_its_way_.empty()) cycle();
  }

  /// Pieces under way are dropped.
  void flush() {
    bench_->flush_i = 1;
    bench_->advance_i = 0;
    bench_.step();
    bench_->flush_i = 0;
    on_its_way_.clear();
    at_ = 0;
    text_.clear();
  }

  struct Place {
    Moving moving;
    int stage = 0;
  };

  Random random_;
  Bench<Vstopbit_string_unit> bench_;
  Gate moves_;
  std::array<std::uint64_t, kSlotWords> slots_{};
  std::array<std::uint64_t, kKeptWords> kept_{};
  std::deque<Place> on_its_way_;
  std::size_t at_ = 0;      ///< Bytes of the word in work.
  std::string text_;        ///< Words of the string in work that are complete.
  std::uint64_t rest_ = 0;  ///< These.
};

TEST(StringUnit, sets_pieces_one_behind_the_other) {
  for (const std::uint32_t stall : {0U, 20U, 60U, 90U}) {
    SCOPED_TRACE("stalls of " + std::to_string(stall) + " %");
    Traffic traffic(stall + 1, stall);
    traffic.run(20'000);
    if (HasFatalFailure()) return;
  }
}

TEST(StringUnit, forgets_what_is_on_its_way_in_a_reset_and_keeps_what_is_written) {
  Traffic traffic(7, 30);
  for (int i = 0; i < 200; ++i) {
    traffic.run(i % 20);
    traffic.reset();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace stopbit::sim
