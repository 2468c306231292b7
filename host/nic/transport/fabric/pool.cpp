#include "host/nic/transport/fabric/pool.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/nic/transport/fabric/endpoint.hpp"
#include "host/nic/transport/fabric/isolated/isolated_device.hpp"

namespace stopbit::nic {
namespace {

constexpr int kEventsPerPoll = 16;

}  // namespace

Status FabricPool::open(const FabricOptions& options, const std::string& host, FabricCounters& counters) {
  if (!options.program.empty() && leaves_host(options.provider)) {
    auto device = IsolatedDevice::open(options, host);
    if (!device) return Failure{device.message()};
    use(options, std::move(device).value(), counters);
    return Done{};
  }
  if (const Status& loaded = fabric_library().loaded; !loaded) return loaded;
  // Pages that are never used cost nothing.
  const FabricSlots slots(options);
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, slots.memory())));
  if (!memory_) return Failure{"not enough memory for " + std::to_string(slots.total) + " frames"};
  auto endpoint = std::make_unique<FabricEndpoint>();
  if (Status opened = endpoint->open(options, host, {memory_.get(), slots.memory()}); !opened) return opened;
  use(options, std::move(endpoint), counters);
  // One that does not take them all at once takes the others as they come back.
  if (unposted_.size() == slots.receive) return Failure{"the endpoint accepts no receive buffers"};
  return Done{};
}

void FabricPool::use(const FabricOptions& options, std::unique_ptr<FabricDevice> device, FabricCounters& counters) {
  options_ = options;
  counters_ = &counters;
  device_ = std::move(device);
  const FabricSlots slots(options);
  shares_.resize(slots.shares);
  for (std::size_t share = 0; share < slots.shares; ++share) {
    for (std::size_t i = 0; i < options.tx_slots; ++i) {
      shares_[share].free.push_back(static_cast<std::uint32_t>(slots.receive + share * options.tx_slots + i));
    }
  }
  known_.resize(fabric_addresses(options));
  unposted_.reserve(slots.receive);
  for (std::size_t slot = 0; slot < slots.receive; ++slot) give_back(static_cast<std::uint32_t>(slot));
}

void FabricPool::give_back(std::uint32_t slot) {
  if (!device_->post(slot)) unposted_.push_back(slot);
}

void FabricPool::give_back_sent(std::uint32_t slot) {
  shares_[(slot - options_.rx_slots) / options_.tx_slots].free.push_back(slot);
}

FabricHandle FabricPool::add(std::span<const std::byte> address) {
  const auto same = std::find_if(known_.begin(), known_.end(),
                                 [&](const Known& k) { return k.uses != 0 && std::ranges::equal(k.address, address); });
  if (same != known_.end()) {
    ++same->uses;
    return same->handle;
  }
  const auto free = std::find_if(known_.begin(), known_.end(), [](const Known& k) { return k.uses == 0; });
  // The provider looks no further than its addresses are long, or than the end of a text.
  const FabricNames& names = device_->names();
  const bool fits = names.has_text_addresses ? !address.empty() && address.back() == std::byte{0}
                                             : address.size() == names.own.size();
  if (free == known_.end() || !fits) return kNoHandle;
  const FabricHandle handle = device_->add(address);
  if (handle == kNoHandle) return kNoHandle;
  free->uses = 1;
  free->handle = handle;
  free->address.assign(address.begin(), address.end());
  return handle;
}

void FabricPool::remove(FabricHandle handle) {
  const auto known =
      std::find_if(known_.begin(), known_.end(), [&](const Known& k) { return k.uses != 0 && k.handle == handle; });
  if (known != known_.end() && --known->uses == 0) device_->remove(handle);
}

bool FabricPool::send(std::size_t share, FabricHandle to, std::span<const std::byte> head,
                      std::span<const std::byte> body, std::size_t spare) {
  std::vector<std::uint32_t>& free = shares_[share].free;
  if (free.size() <= spare || to == kNoHandle) return false;
  const std::uint32_t slot = free.back();
  std::byte* const memory = device_->memory(slot);
  std::memcpy(memory, head.data(), head.size());
  if (!body.empty()) std::memcpy(memory + head.size(), body.data(), body.size());
  if (!device_->submit(slot, to, head.size() + body.size())) return false;
  free.pop_back();
  return true;
}

bool FabricPool::poll(Arrived& arrived) {
  while (!unposted_.empty() && device_->post(unposted_.back())) unposted_.pop_back();
  FabricDevice::Event event;
  for (int i = 0; i < kEventsPerPoll && device_->poll(event); ++i) {
    switch (event.kind) {
      case FabricDevice::Event::Kind::Arrived:
        arrived.source = event.source;
        arrived.frame = event.frame;
        arrived.slot = event.slot;
        return true;
      case FabricDevice::Event::Kind::Sent: give_back_sent(event.slot); break;
      case FabricDevice::Event::Kind::Oversized:
        ++counters_->oversized;
        give_back(event.slot);
        break;
      case FabricDevice::Event::Kind::Broken:
        ++counters_->broken;
        if (event.slot < options_.rx_slots) {
          give_back(event.slot);
        } else {
          give_back_sent(event.slot);
        }
        break;
    }
  }
  return false;
}

}  // namespace stopbit::nic
