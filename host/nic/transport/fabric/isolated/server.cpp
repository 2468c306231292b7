#include "host/nic/transport/fabric/isolated/server.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "host/nic/word_copy.hpp"
#include "host/os/clock.hpp"

namespace stopbit::nic {
namespace {

constexpr std::size_t kTasksPerTurn = 64;
constexpr std::uint64_t kShortestPauseNs = 5'000;
constexpr std::uint64_t kLongestPauseNs = 20'000'000;

std::string text_of(const std::array<char, IsolatedMemory::kTextBytes>& from) {
  return {from.data(), ::strnlen(from.data(), from.size())};
}
void store(const std::string& text, std::array<char, IsolatedMemory::kTextBytes>& to) {
  std::copy_n(text.begin(), std::min(text.size(), to.size() - 1), to.begin());
}

}  // namespace

FabricOptions FabricServer::wanted(std::span<const std::byte> memory) {
  IsolatedMemory::Wanted wanted;
  std::memcpy(&wanted, memory.data(), sizeof(wanted));
  FabricOptions options;
  options.nodes = wanted.nodes;
  options.frame_bytes = wanted.frame_bytes;
  options.tx_slots = wanted.tx_slots;
  options.rx_slots = wanted.rx_slots;
  options.provider = text_of(wanted.provider);
  options.listen = text_of(wanted.listen);
  return options;
}

FabricServer::FabricServer(std::span<std::byte> memory)
    : options_(wanted(memory)),
      memory_(memory, options_),
      to_server_(memory_.to_server()),
      from_server_(memory_.from_server()),
      lines_(memory_.addresses()),
      waiting_(memory_.slots().total) {
  unposted_.reserve(memory_.slots().receive);
}

Status FabricServer::open() {
  Status opened = fabric_library().loaded;
  if (opened) opened = endpoint_.open(options_, text_of(memory_.wanted().host), memory_.slot_memory());
  IsolatedMemory::Answer& answer = memory_.answer();
  if (!opened) {
    store(opened.message(), answer.problem);
    memory_.state().store(static_cast<std::uint32_t>(IsolatedMemory::State::Failed), std::memory_order_release);
    return opened;
  }
  const FabricNames& names = endpoint_.names();
  answer.own_bytes = static_cast<std::uint32_t>(names.own.size());
  answer.host_bytes = static_cast<std::uint32_t>(names.host.size());
  std::copy(names.own.begin(), names.own.end(), answer.own.begin());
  std::copy(names.host.begin(), names.host.end(), answer.host.begin());
  store(names.text, answer.text);
  answer.knows_sources = names.knows_sources ? 1 : 0;
  answer.has_text_addresses = names.has_text_addresses ? 1 : 0;
  return Done{};
}

void FabricServer::begin() {
  memory_.state().store(static_cast<std::uint32_t>(IsolatedMemory::State::Serves), std::memory_order_release);
}

std::size_t FabricServer::step() {
  memory_.beat().store(++beat_, std::memory_order_relaxed);
  std::size_t work = 0;
  for (; work < kTasksPerTurn; ++work) {
    const std::optional<FabricTask> task = to_server_.pop();
    if (!task) break;
    take(*task);
  }
  while (!unposted_.empty() && endpoint_.post(unposted_.back())) unposted_.pop_back();
  if (waits_ != 0) {
    const std::uint64_t now = os::monotonic_clock_ns();
    for (Line& line : lines_) work += send(line, now);
  }
  FabricDevice::Event event;
  for (std::size_t i = 0; i < kTasksPerTurn && endpoint_.poll(event); ++i) {
    tell(event);
    ++work;
  }
  return work;
}

void FabricServer::doze(std::chrono::nanoseconds longest) {
  os::Doorbell bell = memory_.bell();
  bell.lie_down();
  if (step() == 0) bell.sleep(longest);
  bell.get_up();
}

FabricServer::Line* FabricServer::line_of(FabricHandle handle) noexcept {
  const auto index = static_cast<std::size_t>(handle & 0xFFFF'FFFFU);
  return index < lines_.size() ? &lines_[index] : nullptr;
}

FabricHandle FabricServer::name_of(FabricHandle provider) const noexcept {
  if (provider >= lines_by_provider_.size() || lines_by_provider_[provider] == kNone) return kNoHandle;
  return lines_[lines_by_provider_[provider]].handle;
}

void FabricServer::take(const FabricTask& task) {
  Line* const line = line_of(task.handle);
  const bool has_slot = task.slot < waiting_.size();
  switch (task.kind) {
    case FabricTask::Kind::Add: add(task); break;
    case FabricTask::Kind::Remove:
      if (line != nullptr && line->handle == task.handle) remove(*line);
      break;
    case FabricTask::Kind::Post:
      if (has_slot && !endpoint_.post(task.slot)) unposted_.push_back(task.slot);
      break;
    case FabricTask::Kind::Submit:
      if (!has_slot) break;
      if (line != nullptr && line->handle == task.handle && line->provider != kNoHandle) {
        wait(*line, task);
      } else {
        tell(FabricTask::Kind::Broken, task.slot);
      }
      break;
    default: break;
  }
}

void FabricServer::add(const FabricTask& task) {
  Line* const line = line_of(task.handle);
  if (line == nullptr) return;
  const auto index = static_cast<std::uint32_t>(line - lines_.data());
  line->handle = task.handle;
  line->provider = kNoHandle;
  // If the line is another's by now, this one is about to be removed.
  if (memory_.handle(index).load(std::memory_order_acquire) != task.handle) return;
  const IsolatedMemory::Address shared = memory_.address(index);
  order_reads();
  if (memory_.handle(index).load(std::memory_order_relaxed) != task.handle) return;
  line->provider = endpoint_.add(std::span(shared.address).first(std::min(shared.bytes, kFabricAddressBytes)));
  // A table's handles are small: they count its lines.
  constexpr FabricHandle kMost = 1 << 16;
  if (line->provider >= kMost) return;
  if (line->provider >= lines_by_provider_.size()) lines_by_provider_.resize(line->provider + 1, kNone);
  lines_by_provider_[line->provider] = index;
}

void FabricServer::remove(Line& line) {
  while (line.first != kNone) {
    const std::uint32_t slot = line.first;
    line.first = waiting_[slot].next;
    --waits_;
    tell(FabricTask::Kind::Broken, slot);
  }
  if (line.provider != kNoHandle) {
    endpoint_.remove(line.provider);
    const auto index = static_cast<std::uint32_t>(&line - lines_.data());
    // Another line may have the same address by now, and then the provider's handle of it is the same.
    if (line.provider < lines_by_provider_.size() && lines_by_provider_[line.provider] == index) {
      lines_by_provider_[line.provider] = kNone;
    }
  }
  line = Line();
}

/// Queues the frame after those that wait for the same line: frames go in order.
void FabricServer::wait(Line& line, const FabricTask& task) {
  waiting_[task.slot] = {.next = kNone, .length = task.length};
  if (line.first == kNone) {
    line.first = task.slot;
  } else {
    waiting_[line.last].next = task.slot;
  }
  line.last = task.slot;
  ++waits_;
}

/// Every attempt to send to an absent node makes the provider connect, so the pauses between attempts
/// grow.
std::size_t FabricServer::send(Line& line, std::uint64_t now_ns) {
  if (line.first == kNone || now_ns < line.again_ns) return 0;
  std::size_t sent = 0;
  for (; line.first != kNone; ++sent) {
    if (!endpoint_.submit(line.first, line.provider, waiting_[line.first].length)) break;
    line.first = waiting_[line.first].next;
    --waits_;
  }
  if (sent != 0 || line.first == kNone) {
    line.refused_ns = 0;
    line.again_ns = 0;
  } else {
    if (line.refused_ns == 0) line.refused_ns = now_ns;
    line.again_ns = now_ns + std::clamp((now_ns - line.refused_ns) / 4, kShortestPauseNs, kLongestPauseNs);
  }
  return sent;
}

void FabricServer::tell(FabricTask::Kind kind, std::uint32_t slot) {
  // Each slot is in the queue once at most, and there is room for all of them.
  (void)from_server_.push({.kind = kind, .slot = slot});
}

void FabricServer::tell(const FabricDevice::Event& event) {
  FabricTask task{.slot = event.slot};
  switch (event.kind) {
    case FabricDevice::Event::Kind::Arrived:
      task.kind = FabricTask::Kind::Arrived;
      task.handle = name_of(event.source);
      task.length = static_cast<std::uint32_t>(event.frame.size());
      break;
    case FabricDevice::Event::Kind::Oversized: task.kind = FabricTask::Kind::Oversized; break;
    case FabricDevice::Event::Kind::Sent: task.kind = FabricTask::Kind::Sent; break;
    case FabricDevice::Event::Kind::Broken: task.kind = FabricTask::Kind::Broken; break;
  }
  (void)from_server_.push(task);
}

}  // namespace stopbit::nic
