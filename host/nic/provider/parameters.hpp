#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stopbit::nic::provider {

/// What the user chooses with FI_STOPBIT_* in the environment.
struct Parameters {
  std::string network = "libfabric";  ///< Processes meet in the network of the same name.
  bool copies_once = true;            ///< Long messages by process_vm_readv, where the kernel allows it.
  bool has_thread = false;            ///< A thread makes progress, also for programs that have not asked for it.
  std::string counters;               ///< File to which a domain appends its counters when it is closed.

  /// HOST:PORT at which processes meet to speak over the network. Empty: shared memory.
  std::string rendezvous;
  std::string listen;        ///< Own HOST or HOST:PORT. Empty: the address from which `rendezvous` is reached.
  std::string token_file;    ///< The secret of the network. Empty: none.
  bool is_encrypted = true;  ///< Else any host that reaches the ports may join, read and forge.
  std::size_t frame_bytes = 1400;
  std::size_t silence_s = 60;   ///< A peer that owes an answer and is silent for this time is lost.
  std::size_t patience_s = 30;  ///< Time after which joining fails.

  [[nodiscard]] bool is_remote() const noexcept { return !rendezvous.empty(); }
};

}  // namespace stopbit::nic::provider
