#include "host/device/card_station.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/device/generated/registers.hpp"

namespace stopbit::device {
namespace {

namespace station = registers::station;
constexpr std::uint32_t kBase = station::base(0);
constexpr std::uint32_t kState = kBase + station::kState;
constexpr std::uint32_t kLost = kBase + station::kLost;

constexpr std::uint32_t kBytesMask = 0x7F;
constexpr std::size_t kWordBytes = 64;
constexpr std::size_t kPieceBytes = 4;
constexpr std::size_t kLeastBytes = 60;      // of a frame, FCS apart
constexpr unsigned kOldWords = 64;           // that a kernel can have kept
constexpr unsigned kLooksOfLost = 16;        // from one look at the counter to the next
constexpr unsigned kReadsOfLeaving = 1'000;  // while the MAC takes the last frame

}  // namespace

CardStation::CardStation(Device& device, std::span<const net::Membership> memberships, const StationOptions& options)
    : device_(&device), station_(memberships, options.own, std::mt19937_64(options.seed)), options_(options) {}

Status CardStation::begin() {
  Status done = device_->write(kBase + station::kControl, 0);
  std::uint32_t high = 0;
  std::uint32_t low = 0;
  const ingest::MacAddress& mac = options_.own.mac;
  for (std::size_t i = 0; i < mac.size(); ++i) {
    std::uint32_t& half = i < 2 ? high : low;
    half = half << 8 | mac[i];
  }
  if (done) done = device_->write(kBase + station::kMacHigh, high);
  if (done) done = device_->write(kBase + station::kMacLow, low);
  if (done) done = device_->write(kBase + station::kAddress, options_.own.address);
  // Words of a frame that was never sent are given up.
  if (done) done = device_->write(kBase + station::kSend, 0);
  for (unsigned word = 0; done && word < kOldWords; ++word) {
    const Result<std::uint32_t> state = device_->read(kState);
    if (!state) return Failure{state.message()};
    if ((state.value() & station::kStateKept) == 0) break;
    done = device_->write(kBase + station::kNext, 1);
  }
  if (!done) return done;
  const Result<std::uint32_t> lost = device_->read(kLost);
  if (!lost) return Failure{lost.message()};
  lost_before_ = lost.value();
  return device_->write(kBase + station::kControl, station::kControlListen);
}

Result<bool> CardStation::step(std::uint64_t now_ns) {
  if (!std::exchange(has_joined_, true)) station_.join(now_ns);
  Status done = Done{};
  switch (state_) {
    case State::Rests:
      if (now_ns < next_ns_) return false;
      next_ns_ = now_ns + kPollNs;
      done = look(now_ns);
      break;
    case State::Reads: done = read_pieces(now_ns); break;
    case State::NextWord: done = look_at_next_word(now_ns); break;
    case State::Writes: done = write_words(kWritesOfStep); break;
  }
  if (!done) return done.failure();
  return state_ != State::Rests;
}

/// What is to be said comes first: it is little, whatever others send.
Status CardStation::look(std::uint64_t now_ns) {
  if (looks_++ % kLooksOfLost == 0) {
    const Result<std::uint32_t> lost = device_->read(kLost);
    if (!lost) return Failure{lost.message()};
    counters_.lost = lost.value() - lost_before_;
  }
  const Result<std::uint32_t> state = device_->read(kState);
  if (!state) return Failure{state.message()};
  if ((state.value() & station::kStateSending) != 0) {
    if (waits_since_ns_ == 0) waits_since_ns_ = now_ns;
    counters_.stuck_ns = now_ns - waits_since_ns_;
  } else {
    waits_since_ns_ = 0;
    counters_.stuck_ns = 0;
    const auto frame = station_.next(now_ns);
    if (!frame.empty()) {
      begin_sending(frame);
      return Done{};
    }
  }
  if ((state.value() & station::kStateKept) == 0) return Done{};
  heard_bytes_ = 0;
  is_too_long_ = false;
  words_ = 0;
  begin_word(state.value());
  return Done{};
}

void CardStation::begin_word(std::uint32_t state) noexcept {
  word_bytes_ = std::min<std::size_t>(state >> station::kStateBytesShift & kBytesMask, kWordBytes);
  is_last_word_ = (state & station::kStateLast) != 0 || ++words_ == kOldWords;  // a frame without end is none
  piece_ = 0;
  state_ = State::Reads;
}

Status CardStation::read_pieces(std::uint64_t now_ns) {
  if (heard_bytes_ + word_bytes_ > heard_.size()) is_too_long_ = true;
  for (unsigned i = 0; i < kReadsOfStep && !is_too_long_ && piece_ * kPieceBytes < word_bytes_; ++i, ++piece_) {
    const Result<std::uint32_t> piece =
        device_->read(registers::piece::base(static_cast<std::uint32_t>(piece_)) + registers::piece::kWord);
    if (!piece) return Failure{piece.message()};
    for (std::size_t byte = piece_ * kPieceBytes; byte < std::min((piece_ + 1) * kPieceBytes, word_bytes_); ++byte) {
      heard_[heard_bytes_ + byte] = static_cast<std::byte>(piece.value() >> 8 * (byte % kPieceBytes));
    }
  }
  if (!is_too_long_ && piece_ * kPieceBytes < word_bytes_) return Done{};
  if (!is_too_long_) heard_bytes_ += word_bytes_;
  if (is_last_word_) {
    end_frame(now_ns);
  } else {
    state_ = State::NextWord;
  }
  return device_->write(kBase + station::kNext, 1);
}

Status CardStation::look_at_next_word(std::uint64_t now_ns) {
  const Result<std::uint32_t> state = device_->read(kState);
  if (!state) return Failure{state.message()};
  if ((state.value() & station::kStateKept) != 0) {
    begin_word(state.value());
  } else {
    end_frame(now_ns);  // a kernel keeps whole frames only
  }
  return Done{};
}

void CardStation::end_frame(std::uint64_t now_ns) noexcept {
  station_.take(is_too_long_ ? std::span<const std::byte>() : std::span(heard_).first(heard_bytes_), now_ns);
  counters_.frames = station_.counts();
  state_ = State::Rests;
}

void CardStation::begin_sending(std::span<const std::byte> frame) noexcept {
  said_bytes_ = std::min(frame.size(), kMostBytes);
  std::memcpy(said_.data(), frame.data(), said_bytes_);
  std::fill(said_.begin() + static_cast<std::ptrdiff_t>(said_bytes_), said_.end(), std::byte{0});
  said_bytes_ = std::max(said_bytes_, kLeastBytes);
  said_at_ = 0;
  counters_.frames = station_.counts();
  state_ = State::Writes;
}

Status CardStation::write_words(unsigned most) {
  for (; most > 0 && said_at_ < said_bytes_; --most, said_at_ += kPieceBytes) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < kPieceBytes; ++i) {
      word |= std::to_integer<std::uint32_t>(said_[said_at_ + i]) << 8 * i;
    }
    if (const Status done = device_->write(kBase + station::kWord, word); !done) return done;
  }
  if (most == 0) return Done{};
  state_ = State::Rests;
  return device_->write(kBase + station::kSend, static_cast<std::uint32_t>(said_bytes_));
}

void CardStation::leave(std::uint64_t now_ns) noexcept {
  if (!device_->write(kBase + station::kControl, 0)) return;
  constexpr unsigned kAll = static_cast<unsigned>(kMostBytes);
  if (state_ == State::Writes && !write_words(kAll)) return;
  station_.leave(now_ns);
  for (auto frame = station_.next(now_ns); !frame.empty(); frame = station_.next(now_ns)) {
    unsigned reads = 0;
    for (bool waits = true; waits; ++reads) {
      const Result<std::uint32_t> state = device_->read(kState);
      if (!state || reads == kReadsOfLeaving) return;
      waits = (state.value() & station::kStateSending) != 0;
    }
    begin_sending(frame);
    if (!write_words(kAll)) return;
  }
}

}  // namespace stopbit::device
