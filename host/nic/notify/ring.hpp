#pragma once

#include <cstdint>

#include "host/nic/notify/notification.hpp"
#include "host/nic/queue/page.hpp"

namespace stopbit::nic {

/// The node's side of a port's notification ring. A full ring drops notifications and counts them in the port's page,
/// so that a port that does not read cannot block the network. One thread.
class NotificationWriter {
 public:
  explicit NotificationWriter(const Page& page) noexcept : page_(page) {}

  /// False: dropped. The number is set here.
  bool put(const Notification& notification) noexcept;
  /// The next one would be dropped.
  [[nodiscard]] bool is_full() noexcept;
  [[nodiscard]] std::uint64_t written() const noexcept { return written_; }

 private:
  Page page_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  ///< As the port's page had it at the last look.
  std::uint64_t dropped_ = 0;
};

/// The port's side. One thread at a time.
class NotificationReader {
 public:
  explicit NotificationReader(const Page& page) noexcept : page_(page) {}

  /// Copies the next notification out, if there is one, and reports free slots to the node now and then.
  [[nodiscard]] bool take(Notification& notification) noexcept;
  /// How many found no room, ever, as the node says.
  [[nodiscard]] std::uint64_t dropped() const noexcept {
    return page_.word(PageWord::DroppedNotifications).load(std::memory_order_acquire);
  }

 private:
  static constexpr std::uint64_t kTellEvery = PageLayout::kNotifications / 4;

  Page page_;
  std::uint64_t read_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace stopbit::nic
