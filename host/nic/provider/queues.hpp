#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "host/nic/provider/wire.hpp"

namespace stopbit::nic::provider {

class Domain;

/// A completion, or an error. `source` is the sender of what was received, for fi_cq_readfrom.
struct Completion {
  fi_cq_err_entry entry{};
  fi_addr_t source = FI_ADDR_NOTAVAIL;
};

/// A completion queue. An operation takes a slot when it is posted, and the program's read gives it back, so that the
/// queue cannot overflow: an operation without a slot is refused with FI_EAGAIN.
struct CompletionQueue : fid_cq {
  CompletionQueue(Domain& domain, const fi_cq_attr& attr, void* context);

  [[nodiscard]] bool reserve() noexcept {
    if (held == entries.size()) return false;
    ++held;
    return true;
  }
  void release() noexcept { --held; }
  /// In a slot that was taken.
  void push(const Completion& completion) noexcept { entries[(first + count++) % entries.size()] = completion; }
  [[nodiscard]] ssize_t read(void* buffer, std::size_t most, fi_addr_t* sources);
  [[nodiscard]] ssize_t read_error(fi_cq_err_entry* into);

  Domain& domain;
  fi_cq_format format;
  std::vector<Completion> entries;
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t held = 0;   ///< Slots of entries, and of operations under way.
  unsigned users = 0;     ///< Endpoints that are bound to it.
  bool is_woken = false;  ///< fi_cq_signal.
};

struct Counter : fid_cntr {
  Counter(Domain& domain, void* context);

  Domain& domain;
  std::uint64_t value = 0;
  std::uint64_t errors = 0;
  unsigned users = 0;
};

/// An event queue. Addresses are inserted at once, so it has only what the program writes to it.
struct EventQueue : fid_eq {
  explicit EventQueue(void* context);

  struct Event {
    std::uint32_t event = 0;
    std::vector<std::byte> bytes;
  };
  static constexpr std::size_t kMost = 256;
  std::mutex mutex;
  std::vector<Event> events;
};

[[nodiscard]] int open_completion_queue(fid_domain* domain, fi_cq_attr* attr, fid_cq** cq, void* context);
[[nodiscard]] int open_counter(fid_domain* domain, fi_cntr_attr* attr, fid_cntr** counter, void* context);
[[nodiscard]] int open_event_queue(fid_fabric* fabric, fi_eq_attr* attr, fid_eq** eq, void* context);

}  // namespace stopbit::nic::provider
