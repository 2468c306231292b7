#include "host/nic/remote/fetch.hpp"

#include <atomic>

namespace stopbit::nic::remote {

std::uint64_t Fetch::next_tag() noexcept {
  static std::atomic<std::uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

bool Fetch::start(std::uint64_t offset, Nla to, std::uint32_t bytes) noexcept {
  Command get;
  get.operation = Operation::Get;
  get.modifiers = kNotifyCompleter;
  get.target_node = from_.node;
  get.target_vpid = from_.vpid;
  get.window = from_.window.id;
  get.capability = from_.window.capability;
  get.tag = tag_;
  get.address = to;
  get.offset = offset;
  get.length = bytes;
  if (port_.transfers().insert({&get, 1}).accepted == 0) return false;
  ++started_;
  return true;
}

bool Fetch::hear(const Notification& notification) noexcept {
  const bool is_get = notification.operation == Operation::Get && is_of_own_command(notification);
  if (!is_get || notification.tag != tag_) return false;
  ++done_;
  if (error_ == Error::None) error_ = notification.error;
  return true;
}

}  // namespace stopbit::nic::remote
