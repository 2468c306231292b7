#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "decoder/record/layout.hpp"
#include "host/relay/message.hpp"

namespace stopbit::relay {

/// A message on its way to the stream.
struct Outgoing {
  Head head;
  std::uint64_t needed_from = 0;  ///< Once it is stored: the first slot of the ring that later messages may need.
  std::array<std::byte, kMessageBytes> bytes;

  /// Complete once `encode_head` was called, which `Outbox::seal` does.
  [[nodiscard]] std::span<const std::byte> message() const noexcept { return {bytes.data(), head.bytes()}; }
};

/// Messages that the store has not confirmed, oldest first. Bounded; allocates in the constructor only. One thread.
class Outbox {
 public:
  explicit Outbox(std::size_t most) : places_(most) {}

  [[nodiscard]] bool is_full() const noexcept { return size_ == places_.size(); }
  [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Messages that were sent in this session.
  [[nodiscard]] std::size_t sent() const noexcept { return sent_; }
  [[nodiscard]] const Outgoing& at(std::size_t i) const noexcept { return places_[(first_ + i) % places_.size()]; }
  /// The newest message, if slots can still be added to it; else null.
  [[nodiscard]] Outgoing* open() noexcept { return is_open_ ? &place(size_ - 1) : nullptr; }

  /// Adds a message without slots. `is_full` is false.
  Outgoing& add(const Head& head) noexcept {
    seal();
    Outgoing& to = place(size_++);
    to.head = head;
    to.needed_from = head.end;
    is_open_ = true;
    if (head.kind != Kind::Records) seal();
    return to;
  }
  /// Adds to the message that `open` gave; it has room for the slots.
  static void append(Outgoing& to, std::span<const record::Slot> slots) noexcept {
    std::memcpy(to.bytes.data() + to.head.bytes(), slots.data(), slots.size_bytes());
    to.head.end += slots.size();
  }
  /// The newest message takes no more slots.
  void seal() noexcept {
    if (!is_open_) return;
    Outgoing& last = place(size_ - 1);
    encode_head(last.head, {last.bytes.data(), last.head.bytes()});
    is_open_ = false;
  }

  /// The next message to send, or null; `sent_one` after it was.
  [[nodiscard]] const Outgoing* next() const noexcept {
    return sent_ + (is_open_ ? 1 : 0) < size_ ? &at(sent_) : nullptr;
  }
  void sent_one() noexcept { ++sent_; }
  /// The oldest `count` messages are stored.
  void confirm(std::size_t count) noexcept {
    first_ = (first_ + count) % places_.size();
    size_ -= count;
    sent_ -= count < sent_ ? count : sent_;
    if (size_ == 0) is_open_ = false;
  }
  /// A new session: none was sent in it.
  void send_all_again() noexcept { sent_ = 0; }
  void clear() noexcept {
    size_ = sent_ = 0;
    is_open_ = false;
  }

 private:
  [[nodiscard]] Outgoing& place(std::size_t i) noexcept { return places_[(first_ + i) % places_.size()]; }

  std::vector<Outgoing> places_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::size_t sent_ = 0;
  bool is_open_ = false;
};

}  // namespace stopbit::relay
