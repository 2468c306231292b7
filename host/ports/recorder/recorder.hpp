#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "host/feed/packet/packet.hpp"
#include "host/ports/recorder/archive.hpp"

namespace stopbit::recorder {

/// Datagrams on their way from the thread that decodes to the one that writes them to disk. One thread adds, one takes;
/// neither waits for the other. A datagram that finds no room is counted and not recorded.
class Queue {
 public:
  /// Rounded up to a power of two. Allocates and touches all of it here, never later.
  explicit Queue(std::size_t bytes);

  /// Freeze: of all archives.
  static constexpr std::uint32_t kAllLines = 0xFFFF'FFFF;

  struct Item {
    enum class Kind : std::uint32_t { Datagram, Freeze };
    Kind kind = Kind::Datagram;
    std::uint32_t line = 0;  ///< Index of the archive.
    net::Endpoint source;
    net::Endpoint group;
    std::uint64_t time_ns = 0;
    std::span<const std::byte> payload;
  };

  /// From the decoding thread. Copies the payload; no system call, no allocation, no wait. Some room is kept for
  /// freezes: packets that fill the queue are when there is something to keep.
  void add(const Item& item) noexcept;
  /// Before the first add: what was added stays known to the adder until its room is needed, whether it has been taken
  /// or not.
  void keep_history() noexcept { keeps_history_ = true; }
  /// From the decoding thread: calls `take(item)` for each item that is still known, the oldest first. `take` must not
  /// add.
  template <class Take>
  void recall(const Take& take) const noexcept {
    for (std::uint64_t at = oldest_; at != added_.load(std::memory_order_relaxed);) {
      Item item;
      at = read(at, item);
      take(item);
    }
  }

  /// From the writing thread. False: there is nothing. The payload is valid until the next call.
  [[nodiscard]] bool take(Item& item) noexcept;
  /// Items that found no room.
  [[nodiscard]] std::uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kAlign = 16;
  static constexpr std::size_t kRoomForFreezes = 16'384;
  struct Header {
    std::uint32_t bytes = 0;  ///< With this header, rounded up. 0 = the rest up to the end is unused.
    std::uint32_t kind = 0;
    std::uint32_t line = 0;
    std::uint32_t payload_bytes = 0;
    net::Endpoint source;
    net::Endpoint group;
    std::uint64_t time_ns = 0;
  };

  /// The item at this place, counted over the laps; @returns the place of the next one.
  [[nodiscard]] std::uint64_t read(std::uint64_t at, Item& item) const noexcept;
  void forget(std::uint64_t needed) noexcept;

  std::size_t capacity_;
  std::unique_ptr<std::byte[]> bytes_;
  bool keeps_history_ = false;
  std::uint64_t oldest_ = 0;                          ///< Of the history: the adder's.
  alignas(64) std::atomic<std::uint64_t> added_ = 0;  ///< Bytes, counted over the laps.
  std::uint64_t known_taken_ = 0;                     ///< The adder's last look at taken_.
  std::atomic<std::uint64_t> lost_ = 0;
  alignas(64) std::atomic<std::uint64_t> taken_ = 0;
  std::uint64_t pending_ = 0;  ///< Of the item handed out last: free at the next take.
};

/// The archives of some lines and the queue to them. `do_work` is called by a thread of its own, again and again.
class Recorder {
 public:
  Recorder(std::vector<ArchiveOptions> lines, std::size_t queue_bytes);

  /// Another line, with the next index. From a thread that may look into folders; packets of the line come afterwards.
  void add_line(ArchiveOptions line);

  /// Before the first datagram: recall() gives what has come lately, as much as the queue has room for.
  void keep_history() noexcept { queue_.keep_history(); }
  /// From the decoding thread: calls `take(item)` for each datagram of the history, the oldest first; its payload is
  /// valid during the call.
  template <class Take>
  void recall(const Take& take) const noexcept {
    queue_.recall([&](const Queue::Item& item) {
      if (item.kind == Queue::Item::Kind::Datagram) take(item);
    });
  }

  // From the decoding thread.
  void add(std::uint32_t line, net::Endpoint source, net::Endpoint group, std::span<const std::byte> payload,
           std::uint64_t time_ns) noexcept {
    queue_.add({.kind = Queue::Item::Kind::Datagram,
                .line = line,
                .source = source,
                .group = group,
                .time_ns = time_ns,
                .payload = payload});
  }
  /// Something was lost: what lies around this time stays, of this line or of all.
  void freeze(std::uint64_t time_ns, std::uint32_t line = Queue::kAllLines) noexcept {
    queue_.add({.kind = Queue::Item::Kind::Freeze,
                .line = line,
                .source = {},
                .group = {},
                .time_ns = time_ns,
                .payload = {}});
  }

  /// From the writing thread. Writes what has come, at most `max_items`. @returns how many there were. Flushes the
  /// files when there is nothing more.
  std::size_t do_work(std::size_t max_items = 4'096);

  /// From the writing thread: what lies around the newest packet stays, of every line.
  void freeze_newest();

  /// From the writing thread: see Archive.
  void set_frozen_bytes(std::size_t line, std::uint64_t bytes) { archives_.at(line).set_frozen_bytes(bytes); }

  [[nodiscard]] const Archive& archive(std::size_t line) const { return archives_.at(line); }
  [[nodiscard]] std::size_t lines() const noexcept { return archives_.size(); }
  [[nodiscard]] std::uint64_t lost() const noexcept { return queue_.lost(); }

 private:
  void take_new_lines();

  Queue queue_;
  std::vector<Archive> archives_;
  std::mutex mutex_;             ///< Of the thread that adds lines and the one that writes.
  std::vector<Archive> coming_;  ///< Added, and not yet among `archives_`.
  std::atomic<bool> has_coming_ = false;
  std::uint64_t newest_ns_ = 0;
  bool is_dirty_ = false;
};

}  // namespace stopbit::recorder
