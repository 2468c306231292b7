#include "host/remote/admission.hpp"

#include <algorithm>

#include "microcode/base/time.hpp"

namespace stopbit::remote {
namespace {}  // namespace

bool RequestRates::take(const nic::HostAddress& address, std::uint64_t now_ns) noexcept {
  if (per_second_ == 0) return true;
  const nic::HostAddress customer = address.customer();
  auto found = std::find_if(customers_.begin(), customers_.end(),
                            [&](const Customer& one) { return one.is_used && one.address == customer; });
  if (found == customers_.end()) {
    found = std::min_element(customers_.begin(), customers_.end(), [](const Customer& a, const Customer& b) {
      return a.is_used != b.is_used ? !a.is_used : a.last_ns < b.last_ns;
    });
    *found = {customer, kNsPerSecond, now_ns, true};
  }
  found->credit_ns = std::min(found->credit_ns + (now_ns - found->last_ns), kNsPerSecond);
  found->last_ns = now_ns;
  const std::uint64_t price_ns = kNsPerSecond / per_second_;
  if (found->credit_ns < price_ns) return false;
  found->credit_ns -= price_ns;
  return true;
}

bool ByteRate::has_room(std::uint64_t now_ns) noexcept {
  if (per_second_ == 0) return true;
  constexpr std::uint64_t kAtOnceNs = kNsPerSecond / 10;
  const std::uint64_t passed_ns = std::min(now_ns - last_ns_, kAtOnceNs);
  last_ns_ = now_ns;
  credit_ = std::min(credit_ + static_cast<std::int64_t>(passed_ns * per_second_),
                     static_cast<std::int64_t>(kAtOnceNs * per_second_));
  return credit_ > 0;
}

}  // namespace stopbit::remote
