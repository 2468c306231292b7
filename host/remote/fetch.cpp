#include "host/remote/fetch.hpp"

#include <atomic>

namespace stopbit::remote {

std::uint64_t Fetch::next_tag() noexcept {
  static std::atomic<std::uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

bool Fetch::start(std::uint64_t offset, nic::Nla to, std::uint32_t bytes) noexcept {
  nic::Command get;
  get.operation = nic::Operation::Get;
  get.modifiers = nic::kNotifyCompleter;
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

bool Fetch::hear(const nic::Notification& notification) noexcept {
  const bool is_get = notification.operation == nic::Operation::Get && is_of_own_command(notification);
  if (!is_get || notification.tag != tag_) return false;
  ++done_;
  if (error_ == nic::Error::None) error_ = notification.error;
  return true;
}

}  // namespace stopbit::remote
