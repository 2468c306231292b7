#include "host/nic/notify/ring.hpp"

#include <array>
#include <bit>

namespace stopbit::nic {
namespace {

constexpr std::size_t kWords = sizeof(Notification) / sizeof(std::uint64_t);
constexpr std::size_t kNumberWord = kWords - 1;
using Words = std::array<std::uint64_t, kWords>;

constexpr std::size_t slot_at(std::uint64_t number) noexcept {
  return PageLayout::kNotificationsAt + (number % PageLayout::kNotifications) * kLineBytes;
}

}  // namespace

const char* to_text(Teller teller) noexcept {
  switch (teller) {
    case Teller::Requester: return "requester";
    case Teller::Completer: return "completer";
    case Teller::Responder: return "responder";
    case Teller::Acknowledge: return "acknowledge";
    case Teller::Supervisor: return "supervisor";
  }
  return "?";
}

bool NotificationWriter::is_full() noexcept {
  // Acquire: the port has read the slot before it gave it back. What it says is believed only within the ring's size,
  // and looked at only when that is needed: its line is the port's.
  if (written_ - read_ >= PageLayout::kNotifications) {
    read_ = page_.word(PageWord::NotificationsRead).load(std::memory_order_acquire);
  }
  return written_ - read_ >= PageLayout::kNotifications;
}

bool NotificationWriter::put(const Notification& notification) noexcept {
  if (is_full()) {
    page_.word(PageWord::DroppedNotifications).store(++dropped_, std::memory_order_relaxed);
    return false;
  }
  const std::size_t at = slot_at(written_);
  const auto words = std::bit_cast<Words>(notification);
  for (std::size_t w = 0; w < kNumberWord; ++w) page_.word(at, w).store(words[w], std::memory_order_relaxed);
  page_.word(at, kNumberWord).store(++written_, std::memory_order_release);
  return true;
}

bool NotificationReader::take(Notification& notification) noexcept {
  const std::size_t at = slot_at(read_);
  const bool is_there = page_.word(at, kNumberWord).load(std::memory_order_acquire) == read_ + 1;
  if (is_there) {
    Words words;
    for (std::size_t w = 0; w < kNumberWord; ++w) words[w] = page_.word(at, w).load(std::memory_order_relaxed);
    words[kNumberWord] = ++read_;
    notification = std::bit_cast<Notification>(words);
  }
  if (read_ - told_ >= kTellEvery || (!is_there && told_ != read_)) {
    told_ = read_;
    page_.word(PageWord::NotificationsRead).store(read_, std::memory_order_release);
  }
  return is_there;
}

}  // namespace stopbit::nic
