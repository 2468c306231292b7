// Whatever the process in which libfabric runs writes into the memory that it shares, in whatever order: each slot
// comes back once for each time that it was given away, a frame is as long as one may be and from a peer that there is,
// and names are short; and one that keeps to the rules afterwards serves.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/nic/transport/fabric/isolated/isolated_device.hpp"

namespace {

using namespace stopbit::nic;

void require(bool holds) {
  if (!holds) std::abort();
}

struct alignas(kPageBytes) PageOfBytes {
  std::byte bytes[kPageBytes];
};

/// The process is the input.
class Played final : public ServerProcess {
 public:
  struct State {
    bool runs = false;
    std::optional<std::string> end;
  };
  explicit Played(State& state) : state_(state) {}
  void start() override {
    require(!state_.runs);
    state_.runs = true;
  }
  void kill() override {
    if (state_.runs) state_.end = "killed";
  }
  [[nodiscard]] std::optional<std::string> ended() override {
    if (state_.end) state_.runs = false;
    return std::exchange(state_.end, std::nullopt);
  }

 private:
  State& state_;
};

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  [[nodiscard]] bool has_more() const { return at_ != end_; }
  [[nodiscard]] std::uint8_t byte() { return at_ != end_ ? *at_++ : 0; }
  template <class T>
  [[nodiscard]] T take() {
    T value{};
    const std::size_t length = std::min(sizeof(T), static_cast<std::size_t>(end_ - at_));
    if (length != 0) std::memcpy(&value, at_, length);
    at_ += length;
    return value;
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* end_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FabricOptions options;
  options.nodes = 2;
  options.frame_bytes = 256;
  options.tx_slots = 4;
  options.rx_slots = 16;
  const FabricSlots slots(options);
  static std::vector<PageOfBytes> pages(IsolatedMemory::bytes(options) / kPageBytes + 1);
  const std::span<std::byte> memory(reinterpret_cast<std::byte*>(pages.data()), pages.size() * kPageBytes);
  std::fill(memory.begin(), memory.end(), std::byte{0});
  const IsolatedMemory shared(memory, options);
  Played::State state;
  IsolatedDevice device(options, "", memory, std::make_unique<Played>(state));
  std::uint64_t now = 0;
  std::vector<bool> is_away(slots.total);
  std::vector<FabricHandle> peers;
  TaskQueue to_server = shared.to_server();
  TaskQueue from_server = shared.from_server();
  const auto begin = [&] {
    to_server = shared.to_server();
    from_server = shared.from_server();
    IsolatedMemory::Answer& answer = shared.answer();
    // The address of the first one is that of all others.
    const std::vector<std::byte> own = device.is_open() ? device.names().own : std::vector<std::byte>(16, std::byte{1});
    answer.own_bytes = static_cast<std::uint32_t>(own.size());
    std::copy(own.begin(), own.end(), answer.own.begin());
    answer.host_bytes = 0;
    shared.state().store(static_cast<std::uint32_t>(IsolatedMemory::State::Serves));
  };
  const auto drain = [&] {
    for (FabricDevice::Event event; device.poll(event);) {
      require(event.slot < slots.total && is_away[event.slot]);
      is_away[event.slot] = false;
      const bool is_received = event.slot < slots.receive;
      if (event.kind == FabricDevice::Event::Kind::Arrived) {
        require(is_received && event.frame.size() <= sizeof(FabricHead) + options.frame_bytes);
        require(event.source == kNoHandle || std::find(peers.begin(), peers.end(), event.source) != peers.end());
      }
      require(event.kind != FabricDevice::Event::Kind::Sent || !is_received);
    }
    require(device.names().own.size() <= kFabricAddressBytes &&
            device.names().text.size() <= IsolatedMemory::kTextBytes);
    require(device.deaths().why.size() <= IsolatedMemory::kTextBytes);
  };
  Input input(data, size);
  while (input.has_more()) {
    const std::uint8_t what = input.byte();
    switch (what % 8) {
      case 0: (void)from_server.push(input.take<FabricTask>()); break;
      case 1: {  // a task that may well be right
        FabricTask task;
        task.kind = static_cast<FabricTask::Kind>(4 + what / 8 % 4);
        task.slot = input.byte() % static_cast<std::uint32_t>(slots.total);
        task.handle = peers.empty() ? 0 : peers[input.byte() % peers.size()];
        task.length = input.take<std::uint16_t>() % 512;
        if (state.runs) (void)from_server.push(task);
        break;
      }
      case 2: {  // anything, anywhere but where only the device writes
        const std::size_t at = kPageBytes + input.take<std::uint32_t>() % (shared.control().size() - kPageBytes - 8);
        const auto word = input.take<std::uint64_t>();
        std::memcpy(shared.control().data() + at, &word, sizeof(word));
        break;
      }
      case 3:
        if (state.runs) begin();
        break;
      case 4: device.step(now += std::uint64_t{input.byte()} << 22U); break;
      case 5: {
        const auto slot = static_cast<std::uint32_t>(input.byte() % slots.total);
        if (is_away[slot]) break;
        is_away[slot] = slot < slots.receive ? device.post(slot)
                                             : !peers.empty() && device.submit(slot, peers.back(), input.byte());
        break;
      }
      case 6: {
        const std::array<std::byte, 16> address{std::byte{input.byte()}};
        const FabricHandle handle = device.add(address);
        if (handle != kNoHandle) peers.push_back(handle);
        break;
      }
      default:
        if (peers.empty()) break;
        if (what / 8 % 4 == 0) {
          device.remove(peers.back());
          peers.pop_back();
        } else if (what / 8 % 4 == 1 && state.runs) {
          state.end = "died";
        }
        break;
    }
    drain();
  }
  // The next one is honest, and everything comes back.
  for (const FabricHandle peer : std::exchange(peers, {})) device.remove(peer);
  if (state.runs) state.end = "died";
  device.step(now += 1'000'000'000);
  drain();
  device.step(now += 1'000'000'000);
  require(state.runs);
  begin();
  device.step(now += 1'000'000);
  require(device.is_serving());
  for (std::size_t slot = 0; slot < slots.receive; ++slot) {
    require(is_away[slot] || device.post(static_cast<std::uint32_t>(slot)));
    is_away[slot] = true;
  }
  for (std::size_t slot = slots.receive; slot < slots.total; ++slot) require(!is_away[slot]);
  std::size_t posted = 0;
  while (const auto task = to_server.pop()) {
    if (task->kind == FabricTask::Kind::Post) {
      ++posted;
      require(from_server.push({.kind = FabricTask::Kind::Arrived, .slot = task->slot, .length = 1}));
    }
  }
  require(posted == slots.receive);
  drain();
  require(std::none_of(is_away.begin(), is_away.end(), [](bool away) { return away; }));
  return 0;
}
