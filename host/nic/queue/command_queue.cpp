#include "host/nic/queue/command_queue.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>

namespace stopbit::nic {
namespace {

constexpr std::size_t kWords = sizeof(Command) / sizeof(std::uint64_t);
constexpr std::size_t kNumberWord = kWords - 1;
using Words = std::array<std::uint64_t, kWords>;

constexpr std::size_t slot_at(const RingPlace& place, std::uint64_t number) noexcept {
  return place.at + (number % PageLayout::kCommands) * kLineBytes;
}

#if defined(__x86_64__)
/// The whole command with one store of 64 bytes (MOVDIR64B), which no reader sees in part.
__attribute__((target("movdir64b"))) void store_line(void* line, const Command& command) noexcept {
  _mm_sfence();  // it is not ordered behind earlier stores by itself: what the command speaks of must be there first
  _movdir64b(line, &command);
}
bool has_line_store() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c >> 28U & 1U) != 0;
}
#else
void store_line(void*, const Command&) noexcept {}
bool has_line_store() noexcept {
  return false;
}
#endif
const bool kHasLineStore = has_line_store();

bool is_command(const Command& command) noexcept {
  return command.operation >= Operation::FastSend && command.operation <= kLastOperation;
}

}  // namespace

const char* to_text(Operation operation) noexcept {
  switch (operation) {
    case Operation::FastSend: return "fast-send";
    case Operation::Send: return "send";
    case Operation::Put: return "put";
    case Operation::ImmediatePut: return "immediate-put";
    case Operation::NotificationPut: return "notification-put";
    case Operation::Get: return "get";
    case Operation::FetchAdd: return "fetch-add";
    case Operation::CompareSwap: return "compare-swap";
    case Operation::FetchCompareAdd: return "fetch-compare-add";
    case Operation::LockWindow: return "lock-window";
    case Operation::UnlockWindow: return "unlock-window";
    case Operation::Signal: return "signal";
    case Operation::Fence: return "fence";
    case Operation::SendPart: return "send-part";
    case Operation::Swap: return "swap";
    case Operation::Synchronize: return "synchronize";
  }
  return "?";
}

const char* to_text(Reply reply) noexcept {
  switch (reply) {
    case Reply::NoError: return "no error";
    case Reply::Partial: return "partially executed";
    case Reply::Full: return "full";
    case Reply::Invalid: return "invalid";
    case Reply::Forbidden: return "forbidden";
    case Reply::Disabled: return "disabled";
  }
  return "?";
}

Issue CommandQueue::insert(std::span<const Command> commands, bool is_whole) const noexcept {
  switch (page_.state()) {
    case PortState::Enabled: break;
    case PortState::Disabled: return {Reply::Disabled, 0};
    default: return {Reply::Forbidden, 0};
  }
  const auto first_bad = std::find_if_not(commands.begin(), commands.end(), is_command);
  const auto wanted = static_cast<std::uint64_t>(first_bad - commands.begin());
  if (is_whole && wanted != commands.size()) return {Reply::Invalid, 0};

  // `claimed` is read before `taken`: if it has not changed when it is exchanged, at least so many slots are free.
  // What some producer saw of `taken` is as good while there is room, and spares the transfer of the node's line.
  const auto claimed_word = page_.word(place_.claimed);
  const auto seen_word = page_.word(place_.taken_seen);
  std::uint64_t claimed = claimed_word.load(std::memory_order_relaxed);
  std::uint64_t count = 0;
  for (;;) {
    // Acquire: the node has read what lay in the slots before it gave them back.
    std::uint64_t taken = seen_word.load(std::memory_order_acquire);
    if (claimed - taken > PageLayout::kCommands - std::min<std::uint64_t>(PageLayout::kCommands, wanted)) {
      taken = page_.word(place_.taken).load(std::memory_order_acquire);
      seen_word.store(taken, std::memory_order_release);
    }
    const auto used = static_cast<std::int64_t>(claimed - taken);
    if (used < 0) {  // others were faster in between
      claimed = claimed_word.load(std::memory_order_relaxed);
      if (static_cast<std::int64_t>(claimed - taken) < 0) return {Reply::Full, 0};  // nonsense in the page
      continue;
    }
    const std::uint64_t room =
        PageLayout::kCommands - std::min<std::uint64_t>(PageLayout::kCommands, static_cast<std::uint64_t>(used));
    count = is_whole && room < wanted ? 0 : std::min(wanted, room);
    if (count == 0) break;
    if (claimed_word.compare_exchange_weak(claimed, claimed + count, std::memory_order_relaxed)) break;
  }

  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = claimed + i;
    Command command = commands[i];
    command.number = number + 1;
    store(slot_at(place_, number), command);
  }

  if (count == commands.size()) return {Reply::NoError, count};
  if (count == wanted) return {Reply::Invalid, count};
  return {count == 0 ? Reply::Full : Reply::Partial, count};
}

void CommandQueue::store(std::size_t at, const Command& command) const noexcept {
  if (kHasLineStore) {
    store_line(page_.line(at), command);
    return;
  }
  const auto words = std::bit_cast<Words>(command);
  for (std::size_t w = 0; w < kNumberWord; ++w) page_.word(at, w).store(words[w], std::memory_order_relaxed);
  page_.word(at, kNumberWord).store(words[kNumberWord], std::memory_order_release);  // the command is there
}

bool CommandSource::take(Command& command) noexcept {
  const std::size_t at = slot_at(place_, taken_);
  if (page_.word(at, kNumberWord).load(std::memory_order_acquire) != taken_ + 1) {
    tell();
    return false;
  }
  Words words;
  for (std::size_t w = 0; w < kNumberWord; ++w) words[w] = page_.word(at, w).load(std::memory_order_relaxed);
  words[kNumberWord] = ++taken_;
  command = std::bit_cast<Command>(words);
  if (taken_ - told_ >= kTellEvery) tell();
  return true;
}

void CommandSource::tell() noexcept {
  if (told_ == taken_) return;
  told_ = taken_;
  page_.word(place_.taken).store(taken_, std::memory_order_release);
}

}  // namespace stopbit::nic
