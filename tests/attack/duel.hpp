#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/attack/target.hpp"
#include "tests/lib/engines.hpp"
#include "tests/lib/guarded_memory.hpp"

namespace stopbit::attack {

/// Keeps the records of a datagram as bytes. The place it gives ends where the memory ends, and is full of junk of its
/// own, so that a word which an engine forgets differs from the same word of another engine.
class LoggingSink final : public record::RecordSink {
 public:
  LoggingSink(std::uint32_t max_slots, unsigned char junk);

  [[nodiscard]] Place open() noexcept override;
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override;

  /// Forgets the records of the last datagram.
  void clear() noexcept {
    size_ = 0;
    overflow = 0;
  }

  [[nodiscard]] std::span<const record::Slot> log() const noexcept { return {log_.data(), size_}; }
  std::uint64_t overflow = 0;  ///< Digest of the slots for which the log has no room.

 private:
  std::uint32_t max_slots_;
  int junk_;
  cases::GuardedMemory memory_;
  record::Slot* place_;
  std::vector<record::Slot> log_;
  std::size_t size_ = 0;
  std::uint32_t stamp_ = 0xFFFF'FF00;  // soon wraps
  bool phase_ = false;
};

/// All engines side by side on the same datagrams: outcomes and records must be the same, byte for byte. Datagrams lie
/// at the end of memory. Leaner than a Target, which looks at every value.
class Duel {
 public:
  /// The feed must outlive the duel.
  explicit Duel(const Feed& feed);
  /// The first is the reference.
  Duel(const Feed& feed, std::vector<cases::TestedEngine> engines);

  /// What the engines do differently, empty if nothing. `outcome` is the reference's.
  [[nodiscard]] std::string decode(std::uint16_t channel, std::span<const std::byte> datagram, Outcome& outcome);
  void reset(std::uint16_t channel);

  /// Everything since the engines were made or all channels reset.
  [[nodiscard]] std::span<const Move> history() const noexcept { return std::span(history_).first(moves_); }

 private:
  struct Side {
    std::string_view name;
    std::unique_ptr<Engine> engine;
    std::unique_ptr<LoggingSink> sink;
  };

  Move& next_move(std::uint16_t channel);

  const Feed& feed_;
  std::vector<Side> sides_;
  cases::GuardedMemory datagram_;
  std::vector<Move> history_;
  std::size_t moves_ = 0;
};

}  // namespace stopbit::attack
