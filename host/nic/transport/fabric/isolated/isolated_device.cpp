#include "host/nic/transport/fabric/isolated/isolated_device.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/os/clock.hpp"
#include "microcode/base/round_up.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint64_t kOpeningNs = 30'000'000'000;  // libfabric looks at all hardware
constexpr std::uint64_t kLongLifeNs = 2'000'000'000;  // a server that lived this long is replaced at once
constexpr std::uint64_t kFirstPauseNs = 10'000'000;
constexpr std::uint64_t kLongestPauseNs = 500'000'000;
constexpr std::size_t kStampAt = 32;  // in a handle, above the number of the line

using Said = IsolatedMemory::State;

/// At most the array's length, and printable: the text comes from an untrusted process.
std::string text_of(const std::array<char, IsolatedMemory::kTextBytes>& from) {
  const std::array<char, IsolatedMemory::kTextBytes> copy = from;
  std::string text(copy.data(), ::strnlen(copy.data(), copy.size()));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}
void store(const std::string& text, std::array<char, IsolatedMemory::kTextBytes>& to) {
  to.fill('\0');
  std::copy_n(text.begin(), std::min(text.size(), to.size() - 1), to.begin());
}

}  // namespace

Result<std::unique_ptr<IsolatedDevice>> IsolatedDevice::open(const FabricOptions& options, const std::string& host) {
  for (const std::string* const text : {&options.provider, &options.listen, &host}) {
    if (text->size() >= IsolatedMemory::kTextBytes) return Failure{"'" + *text + "' is too long"};
  }
  SharedMemory shared;
  if (!shared.create("stopbit-fabric", round_up<std::size_t>(IsolatedMemory::bytes(options), kPageBytes))) {
    return Failure{os::system_error("allocate memory for", "an endpoint")};
  }
  auto process = SupervisedProcess::spawn(options.program, shared.descriptor());
  if (!process) return Failure{process.message()};
  auto device = std::make_unique<IsolatedDevice>(options, host, shared.span(), std::move(process).value());
  device->shared_ = std::move(shared);
  constexpr timespec kPause{0, 1'000'000};
  while (!device->is_open()) {
    device->step(os::monotonic_clock_ns());
    if (device->deaths_.count != 0) return Failure{device->deaths_.why};
    if (device->state_ == ServerState::Ending)
      return Failure{device->why_};  // a server that does not obey is not waited for
    ::nanosleep(&kPause, nullptr);
  }
  return device;
}

IsolatedDevice::IsolatedDevice(const FabricOptions& options, const std::string& host, std::span<std::byte> memory,
                               std::unique_ptr<ServerProcess> process)
    : options_(options),
      memory_(memory, options),
      process_(std::move(process)),
      lines_(memory_.addresses()),
      is_there_(memory_.slots().total),
      broken_(memory_.slots().total),
      frames_(memory_.slots().receive * memory_.slots().bytes),
      host_(host),
      pause_ns_(kFirstPauseNs) {}

void IsolatedDevice::step(std::uint64_t now_ns) {
  // If this process was stopped itself, it cannot judge how long the server did nothing: both may have been stopped.
  if (now_ns - now_ns_ >= options_.hung_ns / 2) beat_ns_ = now_ns;
  now_ns_ = now_ns;
  if (const std::optional<std::string> how = process_->ended(); how && state_ != ServerState::Ended) end(*how);
  if (state_ == ServerState::Ended) {
    if (!process_->is_gone() && now_ns_ >= begin_at_ns_ && broken_ == is_there_.size()) begin();
  } else if (state_ != ServerState::Ending) {
    watch();
  }
  for (std::size_t i = 0; untold_ != 0 && i < lines_.size(); ++i) tell(i);
}

std::string IsolatedDevice::problem() const {
  return process_->is_gone() ? "the supervisor of the libfabric processes died" : "";
}

/// What the next server shall open: it believes this, and has its privileges yet, so that nothing of it may be what the
/// last one has left there.
void IsolatedDevice::want() {
  IsolatedMemory::Wanted wanted;
  wanted.nodes = options_.nodes;
  wanted.frame_bytes = options_.frame_bytes;
  wanted.tx_slots = options_.tx_slots;
  wanted.rx_slots = options_.rx_slots;
  store(options_.provider, wanted.provider);
  store(is_open() ? names_.text : options_.listen, wanted.listen);
  store(host_, wanted.host);
  memory_.wanted() = wanted;
}

/// A process, in memory that no other process uses now.
void IsolatedDevice::begin() {
  const std::span<std::byte> control = memory_.control();
  std::fill(control.begin(), control.end(), std::byte{0});
  want();
  to_server_ = memory_.to_server();
  from_server_ = memory_.from_server();
  untold_ = 0;
  for (AddressLine& line : lines_) {
    const bool is_used = line.state == AddressLine::State::Adding || line.state == AddressLine::State::Known;
    line.state = is_used ? AddressLine::State::Adding : AddressLine::State::Free;
    untold_ += is_used ? 1 : 0;
  }
  state_ = ServerState::Opening;
  why_.clear();
  begun_ns_ = now_ns_;
  beat_ = 0;
  beat_ns_ = now_ns_;
  is_asked_ = false;
  first_.reset();
  // The addresses first: a frame from an address that is not yet known has no sender.
  for (std::size_t i = 0; i < lines_.size(); ++i) tell(i);
  for (std::size_t slot = 0; slot < memory_.slots().receive; ++slot) {
    // There is room for all of them, and for the addresses.
    if (is_there_[slot])
      is_there_[slot] = give({.kind = FabricTask::Kind::Post, .slot = static_cast<std::uint32_t>(slot)});
  }
  process_->start();
}

void IsolatedDevice::watch() {
  if (state_ == ServerState::Opening) {
    if (memory_.state().load(std::memory_order_acquire) != static_cast<std::uint32_t>(Said::Serves)) {
      if (now_ns_ - begun_ns_ >= kOpeningNs) condemn("it cannot open an endpoint");
      return;
    }
    if (const Status learnt = learn_names(); !learnt) return condemn(learnt.message());
    state_ = ServerState::Serving;
  }
  const std::uint64_t beat = memory_.beat().load(std::memory_order_relaxed);
  if (beat != beat_) {
    beat_ = beat;
    beat_ns_ = now_ns_;
    first_.reset();
  } else if (is_hung()) {
    condemn("it hangs");
  }
}

/// The clock alone cannot distinguish a process that hangs from one without a processor on a busy machine: its own time
/// can. The first look is after half of the patience, the second after the other half at the earliest.
bool IsolatedDevice::is_hung() {
  const std::uint64_t half_ns = options_.hung_ns / 2;
  const std::uint64_t silent_ns = now_ns_ - beat_ns_;
  const std::optional<ServerFacts> facts = process_->facts();
  if (facts && is_asked_) {
    is_asked_ = false;
    const bool goes_on = first_ && facts->ran_ns >= first_->ran_ns && facts->waited_ns >= first_->waited_ns;
    if (goes_on && hangs(*first_, *facts, half_ns)) return true;
    if (!goes_on) first_ = facts;
    next_look_ns_ = now_ns_ + (first_ && goes_on ? options_.hung_ns / 8 : half_ns);
  }
  if (silent_ns < half_ns || is_asked_ || (first_ && now_ns_ < next_look_ns_)) return false;
  is_asked_ = process_->look();
  return !is_asked_ && silent_ns >= options_.hung_ns;
}

Status IsolatedDevice::learn_names() {
  IsolatedMemory::Answer answer;
  std::memcpy(&answer, &memory_.answer(), sizeof(answer));
  const auto bytes_of = [](const auto& address, std::size_t length) {
    return std::vector<std::byte>(address.begin(), address.begin() + static_cast<std::ptrdiff_t>(length));
  };
  if (answer.own_bytes == 0 || answer.own_bytes > kFabricAddressBytes || answer.host_bytes > kFabricAddressBytes) {
    return Failure{"it has no address"};
  }
  FabricNames names;
  names.own = bytes_of(answer.own, answer.own_bytes);
  names.host = bytes_of(answer.host, answer.host_bytes);
  names.text = text_of(answer.text);
  names.knows_sources = answer.knows_sources != 0;
  names.has_text_addresses = answer.has_text_addresses != 0;
  // Others know it by its address. The rest is as it was.
  if (is_open() && names.own != names_.own) return Failure{"it has another address"};
  if (is_open()) return Done{};
  names_ = std::move(names);
  return Done{};
}

/// The process has to go. What it says from now on is not looked at.
void IsolatedDevice::condemn(const std::string& why) {
  why_ = why;
  state_ = ServerState::Ending;
  process_->kill();
}

void IsolatedDevice::end(const std::string& how) {
  // A server that cannot open its endpoint says why, and ends.
  if (why_.empty() && memory_.state().load(std::memory_order_acquire) == static_cast<std::uint32_t>(Said::Failed)) {
    why_ = text_of(memory_.answer().problem);
  }
  ++deaths_.count;
  deaths_.why = why_.empty() ? how : why_;
  state_ = ServerState::Ended;
  broken_ = memory_.slots().receive;
  pause_ns_ = now_ns_ - begun_ns_ >= kLongLifeNs ? kFirstPauseNs : std::min(2 * pause_ns_, kLongestPauseNs);
  begin_at_ns_ = now_ns_ + pause_ns_;
}

FabricHandle IsolatedDevice::handle_of(std::size_t index) const noexcept {
  return std::uint64_t{lines_[index].stamp} << kStampAt | index;
}

IsolatedDevice::AddressLine* IsolatedDevice::line_of(FabricHandle handle) noexcept {
  const auto index = static_cast<std::size_t>(handle & 0xFFFF'FFFFU);
  if (index >= lines_.size() || handle != handle_of(index)) return nullptr;
  AddressLine& line = lines_[index];
  return line.state == AddressLine::State::Adding || line.state == AddressLine::State::Known ? &line : nullptr;
}

FabricHandle IsolatedDevice::add(std::span<const std::byte> address) {
  // The one that has been free for longest: the server may still have to look at the address of the last one.
  AddressLine* oldest = nullptr;
  for (AddressLine& line : lines_) {
    if (line.state == AddressLine::State::Free && (oldest == nullptr || line.freed < oldest->freed)) oldest = &line;
  }
  if (oldest == nullptr || address.empty() || address.size() > kFabricAddressBytes) return kNoHandle;
  const auto index = static_cast<std::size_t>(oldest - lines_.data());
  ++oldest->stamp;
  oldest->state = AddressLine::State::Adding;
  oldest->address.assign(address.begin(), address.end());
  ++untold_;
  tell(index);
  return handle_of(index);
}

void IsolatedDevice::remove(FabricHandle handle) {
  AddressLine* const line = line_of(handle);
  if (line == nullptr) return;
  if (line->state == AddressLine::State::Known) {
    line->state = AddressLine::State::Removing;
    ++untold_;
    tell(static_cast<std::size_t>(line - lines_.data()));
  } else {
    free(*line);
    --untold_;
  }
}

void IsolatedDevice::free(AddressLine& line) noexcept {
  line.state = AddressLine::State::Free;
  line.freed = ++freed_;
}

/// Updates the server's copy of a line, if it has changed and there is room.
void IsolatedDevice::tell(std::size_t index) {
  AddressLine& line = lines_[index];
  const bool is_serving = state_ == ServerState::Opening || state_ == ServerState::Serving;
  if (line.state == AddressLine::State::Adding) {
    if (!is_serving) return;
    IsolatedMemory::Address& shared = memory_.address(index);
    memory_.handle(index).store(0, std::memory_order_seq_cst);
    shared.bytes = line.address.size();
    std::copy(line.address.begin(), line.address.end(), shared.address.begin());
    memory_.handle(index).store(handle_of(index), std::memory_order_release);
    if (!give({.kind = FabricTask::Kind::Add, .handle = handle_of(index)})) return;
    line.state = AddressLine::State::Known;
    --untold_;
  } else if (line.state == AddressLine::State::Removing) {
    // A server that is over has forgotten it.
    if (is_serving && !give({.kind = FabricTask::Kind::Remove, .handle = handle_of(index)})) return;
    free(line);
    --untold_;
  }
}

bool IsolatedDevice::give(const FabricTask& task) {
  if (!to_server_.push(task)) return false;
  memory_.bell().ring();
  return true;
}

bool IsolatedDevice::post(std::uint32_t slot) {
  if (state_ == ServerState::Opening || state_ == ServerState::Serving) {
    if (!give({.kind = FabricTask::Kind::Post, .slot = slot})) return false;
  }
  is_there_[slot] = true;  // or given to the next server
  return true;
}

bool IsolatedDevice::submit(std::uint32_t slot, FabricHandle to, std::size_t length) {
  const AddressLine* const line = line_of(to);
  if (state_ != ServerState::Serving || line == nullptr || line->state != AddressLine::State::Known) return false;
  const FabricTask task{
      .kind = FabricTask::Kind::Submit, .slot = slot, .handle = to, .length = static_cast<std::uint32_t>(length)};
  if (!give(task)) return false;
  is_there_[slot] = true;
  return true;
}

bool IsolatedDevice::poll(Event& event) {
  for (; broken_ < is_there_.size(); ++broken_) {
    if (!is_there_[broken_]) continue;
    is_there_[broken_] = false;
    event.kind = Event::Kind::Broken;
    event.slot = static_cast<std::uint32_t>(broken_++);
    return true;
  }
  if (state_ != ServerState::Serving) return false;
  const std::optional<FabricTask> task = from_server_.pop();
  if (task && is_believable(*task)) return take(*task, event);
  if (task || from_server_.is_broken() || to_server_.is_broken())
    condemn(
        "it violated the protocol of its shared "
        "memory");
  return false;
}

bool IsolatedDevice::is_believable(const FabricTask& task) const noexcept {
  if (task.slot >= is_there_.size() || !is_there_[task.slot]) return false;
  const bool is_received = task.slot < memory_.slots().receive;
  switch (task.kind) {
    case FabricTask::Kind::Arrived: return is_received && task.length <= memory_.slots().bytes;
    case FabricTask::Kind::Oversized: return is_received;
    case FabricTask::Kind::Sent: return !is_received;
    case FabricTask::Kind::Broken: return true;
    default: return false;
  }
}

bool IsolatedDevice::take(const FabricTask& task, Event& event) {
  is_there_[task.slot] = false;
  event.slot = task.slot;
  switch (task.kind) {
    case FabricTask::Kind::Arrived: {
      std::byte* const copy = frames_.data() + task.slot * memory_.slots().bytes;
      std::memcpy(copy, memory_.slot(task.slot), task.length);
      event.kind = Event::Kind::Arrived;
      event.source = line_of(task.handle) != nullptr ? task.handle : kNoHandle;
      event.frame = {copy, std::min<std::size_t>(task.length, sizeof(FabricHead) + options_.frame_bytes)};
      break;
    }
    case FabricTask::Kind::Oversized: event.kind = Event::Kind::Oversized; break;
    case FabricTask::Kind::Sent: event.kind = Event::Kind::Sent; break;
    default: event.kind = Event::Kind::Broken; break;
  }
  return true;
}

}  // namespace stopbit::nic
