// In the place of stopbit-fabric: answers as it should, and then gives each slot back at once, with a frame of rubbish,
// for as long as a peer listens.

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdint>

#include "host/nic/node/shared_memory.hpp"
#include "host/nic/transport/fabric/isolated/memory.hpp"
#include "host/nic/transport/fabric/isolated/server.hpp"
#include "host/nic/transport/fabric/isolated/supervisor.hpp"

int main() {
  using namespace stopbit;
  constexpr std::uint64_t kLookEvery = 1 << 16;
  struct stat status {};
  char word = 0;
  nic::SharedMemory memory;
  if (::fstat(nic::kServerMemory, &status) != 0 || ::recv(nic::kServerSocket, &word, 1, 0) != 1 ||
      !memory.map(os::Descriptor(nic::kServerMemory), static_cast<std::size_t>(status.st_size),
                  nic::SharedMemory::Use::Write)) {
    return 1;
  }
  const nic::IsolatedMemory shared(memory.span(), nic::FabricServer::wanted(memory.span()));
  shared.answer().own_bytes = 16;
  nic::TaskQueue to_server = shared.to_server();
  nic::TaskQueue from_server = shared.from_server();
  shared.state().store(static_cast<std::uint32_t>(nic::IsolatedMemory::State::Serves));
  for (std::uint64_t turn = 1;; ++turn) {
    shared.beat().store(turn, std::memory_order_relaxed);
    if (const auto task = to_server.pop(); task && task->kind == nic::FabricTask::Kind::Post) {
      (void)from_server.push({.kind = nic::FabricTask::Kind::Arrived, .slot = task->slot, .length = 100});
    }
    pollfd parent{nic::kServerSocket, POLLIN, 0};
    if (turn % kLookEvery == 0 && ::poll(&parent, 1, 0) != 0) return 0;
  }
}
