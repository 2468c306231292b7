#include "host/nic/queue/command_queue.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "host/nic/queue/queue_protocol.hpp"
#include "host/nic/word_copy.hpp"

namespace stopbit::nic {

bool chooses_line_store(bool has_instruction, const char* wanted) noexcept {
  return has_instruction && wanted != nullptr && std::strcmp(wanted, "on") == 0;
}

namespace {

constexpr std::size_t kWords = sizeof(Command) / sizeof(std::uint64_t);
using Words = std::array<std::uint64_t, kWords>;

constexpr std::size_t slot_at(const RingPlace& place, std::uint64_t number) noexcept {
  return place.at + (number % PageLayout::kCommands) * kLineBytes;
}

#if defined(__x86_64__)
/// The whole command with one store of 64 bytes (MOVDIR64B), which no reader sees in part.
__attribute__((target("movdir64b"))) void store_line(void* line, const Command& command) noexcept {
  _mm_sfence();  // not ordered after earlier stores by itself: the command's data must be visible first
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
const bool kHasLineStore = chooses_line_store(has_line_store(), ::secure_getenv("STOPBIT_NIC_MOVDIR64B"));

/// The memory of a port's ring.
struct RingMemory {
  static constexpr std::uint64_t kSlots = PageLayout::kCommands;
  static constexpr std::size_t kWords = nic::kWords;

  template <QueueStep step>
  [[nodiscard]] std::uint64_t load() const noexcept {
    return page.word(word_of(step)).load(order_of(step));
  }
  template <QueueStep step>
  void store(std::uint64_t value) const noexcept {
    page.word(word_of(step)).store(value, order_of(step));
  }
  [[nodiscard]] bool claim(std::uint64_t& expected, std::uint64_t desired) const noexcept {
    return page.word(place.claimed).compare_exchange_weak(expected, desired, order_of(QueueStep::Claim));
  }
  template <QueueStep step>
  [[nodiscard]] std::uint64_t load_slot(std::uint64_t number, std::size_t word) const noexcept {
    return page.word(slot_at(place, number), word).load(order_of(step));
  }
  template <QueueStep step>
  void store_slot(std::uint64_t number, std::size_t word, std::uint64_t value) const noexcept {
    page.word(slot_at(place, number), word).store(value, order_of(step));
  }
  [[nodiscard]] PageWord word_of(QueueStep step) const noexcept {
    switch (step) {
      case QueueStep::LoadSeen:
      case QueueStep::StoreSeen: return place.taken_seen;
      case QueueStep::LoadTaken:
      case QueueStep::StoreTaken: return place.taken;
      default: return place.claimed;
    }
  }
  Page page;
  RingPlace place;
};

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
    case Operation::PutWords: return "put-words";
    case Operation::GetWords: return "get-words";
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

  RingMemory memory{page_, place_};
  const auto [first, count] = claim_slots(memory, wanted, is_whole);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = first + i;
    if (kHasLineStore) {
      Command command = commands[i];
      command.number = number + 1;
      store_line(page_.line(slot_at(place_, number)), command);
    } else {
      fill_slot(memory, number, std::bit_cast<Words>(commands[i]).data());
    }
  }

  if (count == commands.size()) return {Reply::NoError, count};
  if (count == wanted) return {Reply::Invalid, count};
  return {count == 0 ? Reply::Full : Reply::Partial, count};
}

bool CommandSource::take(Command& command) noexcept {
  RingMemory memory{page_, place_};
  Words words;
  if (!read_slot(memory, taken_, words.data())) {
    if (told_ != taken_) tell();
    return false;
  }
  ++taken_;
  next_at_ = slot_at(place_, taken_);
  auto* const to = reinterpret_cast<std::byte*>(&command);
  for (std::size_t w = 0; w < kWords; ++w) store_word(to + w * kWordBytes, words[w]);
  if (taken_ - told_ >= kTellEvery) tell();
  return true;
}

void CommandSource::tell() noexcept {
  told_ = taken_;
  RingMemory memory{page_, place_};
  give_back(memory, taken_);
}

}  // namespace stopbit::nic
