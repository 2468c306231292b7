#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/nic/queue/command.hpp"
#include "host/nic/queue/page.hpp"

namespace stopbit::nic {

/// Whether a command is written with one store of 64 bytes (MOVDIR64B). Never run on such a processor, and an emulation
/// was slower than eight stores; therefore only if STOPBIT_NIC_MOVDIR64B in the environment, `wanted`, is "on".
[[nodiscard]] bool chooses_line_store(bool has_instruction, const char* wanted) noexcept;

/// What became of an attempt to insert commands; codes of the trigger page (table 4.4).
enum class Reply : std::uint8_t {
  NoError = 0,    ///< All were inserted.
  Partial = 1,    ///< Only the first `accepted`; the rest again, later.
  Full = 2,       ///< None: again later.
  Invalid = 3,    ///< The first one not accepted is not a command.
  Forbidden = 5,  ///< The port is not open.
  Disabled = 6,   ///< The port is stopped for now.
};
[[nodiscard]] const char* to_text(Reply reply) noexcept;

struct Issue {
  Reply reply = Reply::NoError;
  std::size_t accepted = 0;
};

/// The port's side: inserts commands if there is room, never waits. Any number of threads of the process at once; the
/// commands of one call, and those of one thread, keep their order. Nothing is lost or doubled.
///
/// The checks avoid a round trip; the node makes its own and does not trust the page. A thread that dies between claim
/// and store stops the queue of its own port, and of no other.
class CommandQueue {
 public:
  explicit CommandQueue(const Page& page, CommandRing ring = CommandRing::Low) noexcept
      : page_(page), place_(place_of(ring)) {}
  [[nodiscard]] Issue insert(std::span<const Command> commands) const noexcept { return insert(commands, false); }
  /// All or none of up to PageLayout::kCommands: never Partial.
  [[nodiscard]] Issue insert_whole(std::span<const Command> commands) const noexcept { return insert(commands, true); }

 private:
  [[nodiscard]] Issue insert(std::span<const Command> commands, bool is_whole) const noexcept;

  Page page_;
  RingPlace place_;
};

/// The node's side. One thread.
class CommandSource {
 public:
  explicit CommandSource(const Page& page, CommandRing ring = CommandRing::Low) noexcept
      : page_(page), place_(place_of(ring)), next_at_(place_.at) {}

  /// Whether there is a next command. If not, the port learns that all slots are free.
  [[nodiscard]] bool has_next() noexcept {
    const bool is_there = page_.word(next_at_, kNumberWord).load(std::memory_order_relaxed) == taken_ + 1;
    if (!is_there && told_ != taken_) tell();
    return is_there;
  }
  /// Copies the next command out, if there is one. Its contents are as the port wrote them, whatever that is.
  [[nodiscard]] bool take(Command& command) noexcept;
  /// How many have been taken.
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

 private:
  /// The port learns that slots are free when a quarter of them is, or when nothing is left to take.
  static constexpr std::uint64_t kTellEvery = PageLayout::kCommands / 4;
  static constexpr std::size_t kNumberWord = offsetof(Command, number) / sizeof(std::uint64_t);

  void tell() noexcept;

  Page page_;
  RingPlace place_;
  std::size_t next_at_;  ///< Position of the next command.
  std::uint64_t taken_ = 0;
  std::uint64_t told_ = 0;
};

}  // namespace stopbit::nic
