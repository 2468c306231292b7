// Pages are revoked at each moment of a transfer that uses them, and used otherwise as soon as that is allowed.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/nic/transport/model/network.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::nic::revocation_test {

constexpr Vpid kOrigin = 1;
constexpr Vpid kTarget = 2;
constexpr Vpid kSuccessor = 3;
constexpr std::size_t kPages = 10;
constexpr std::byte kOld{0x11};
constexpr std::byte kSecret{0xEE};

struct Moment {
  Operation operation = Operation::Put;
  bool is_at_origin = true;   ///< Whose pages are revoked.
  bool is_same_port = false;  ///< The next owner, at the same addresses.
  std::uint64_t seed = 0;     ///< 0: nothing goes wrong on the way.
  unsigned step = 0;
};

ModelOptions network_of(std::uint64_t seed) {
  ModelOptions options;
  options.frame_bytes = 512;  // 101 packets
  options.seed = seed;
  if (seed != 0) {
    options.line.loss = {0.05, 1};
    options.line.duplicate = 0.05;
    options.line.reorder = 0.2;
  }
  return options;
}

struct Outcome {
  bool was_under_way = false;  ///< When the pages were revoked.
  std::string failure;
};

class Transfer {
 public:
  explicit Transfer(const Moment& moment)
      : moment_(moment), network_(network_of(moment.seed)), near_(network_.port(0)), far_(network_.port(1)) {}

  Outcome run() {
    Outcome outcome;
    HostPort& port = near_.open(kOrigin);
    (void)far_.open(kTarget);
    (void)victim_host().open(kSuccessor, 1);
    const auto origin = near_.add_memory(kOrigin, kPages, Access::ReadWrite);
    const auto target = far_.add_memory(kTarget, kPages, Access::ReadWrite);
    const auto window = far_.rma.open_window(kTarget, target->nla, kPages * kPageBytes, Access::ReadWrite);
    // No address is free but those that will be.
    const std::vector<PageNumber> rest(Host::kPages - kPages, to_page_number(nothing_.bytes().data()));
    EXPECT_TRUE(victim_host().atu.register_pages(kSuccessor, rest, Access::Read));
    const bool is_put = moment_.operation == Operation::Put;
    std::ranges::fill((is_put ? origin : target)->bytes(), kOld);

    Command command;
    command.operation = moment_.operation;
    command.modifiers = kAcknowledge;
    command.target_node = 1;
    command.target_vpid = kTarget;
    command.window = window->id;
    command.capability = window->capability;
    command.address = origin->nla;
    command.length = kPages * kPageBytes;
    EXPECT_EQ(port.queue.insert({&command, 1}).accepted, 1U);
    for (unsigned i = 0; i < moment_.step; ++i) step();
    outcome.was_under_way = !near_.is_idle();

    Registered& victim = moment_.is_at_origin ? *origin : *target;
    const Vpid owner = moment_.is_at_origin ? kOrigin : kTarget;
    if (!victim_host().rma.revoke(owner, victim.nla, kPages)) return {false, "an owner cannot revoke its pages"};
    bool is_free = false;
    for (unsigned quiet = 0, steps = 0; quiet < 3; ++steps) {
      if (!is_free && is_told(victim.nla)) {
        is_free = true;
        use_otherwise(victim, owner);
      }
      step();
      quiet = is_free && near_.is_idle() && far_.is_idle() ? quiet + 1 : 0;
      if (steps == 20'000) return {outcome.was_under_way, "it does not end"};
    }
    // Nothing was written into the pages since they were free, and nothing of them was read.
    const auto has = [](std::span<const std::byte> bytes, std::byte what) {
      return std::ranges::find(bytes, what) != bytes.end();
    };
    if (std::ranges::count(victim.bytes(), kSecret) != static_cast<std::ptrdiff_t>(victim.bytes().size())) {
      outcome.failure = "pages were written to after they were free";
    }
    const bool is_read_from = is_put == moment_.is_at_origin;
    if (is_read_from && has((is_put ? target : origin)->bytes(), kSecret)) {
      outcome.failure = "pages were read after they were free";
    }
    Notification told;
    unsigned count = 0;
    while (port.notifications.take(told)) ++count;
    if (count != 1) outcome.failure = "the origin was told " + std::to_string(count) + " times";
    if (outcome.was_under_way && told.error == Error::None && !moment_.is_at_origin && !is_put && !is_whole(*origin)) {
      outcome.failure = "a get ended well without its data";
    }
    return outcome;
  }

 private:
  [[nodiscard]] Host& victim_host() { return moment_.is_at_origin ? near_ : far_; }
  [[nodiscard]] static bool is_whole(Registered& memory) {
    return std::ranges::all_of(memory.bytes(), [](std::byte byte) { return byte == kOld; });
  }
  void step() {
    network_.set_time(now_ += 5'000);
    near_.step(now_);
    far_.step(now_);
  }
  [[nodiscard]] bool is_told(Nla nla) {
    for (std::size_t page = 0; page < kPages; ++page) {
      if (!victim_host().atu.is_flushed(nla + page * kPageBytes)) return false;
    }
    return true;
  }
  void use_otherwise(Registered& victim, Vpid owner) {
    std::ranges::fill(victim.bytes(), kSecret);
    std::vector<PageNumber> numbers(kPages);
    for (std::size_t i = 0; i < kPages; ++i) numbers[i] = to_page_number(victim.bytes().data() + i * kPageBytes);
    const auto nla =
        victim_host().atu.register_pages(moment_.is_same_port ? owner : kSuccessor, numbers, Access::ReadWrite);
    EXPECT_EQ(nla, victim.nla);
  }

  Moment moment_;
  Registered nothing_{1};
  ModelNetwork network_;
  Host near_;
  Host far_;
  std::uint64_t now_ = 0;
};

/// Every moment up to the end of the transfer. How many there were.
unsigned at_every_moment(Moment moment) {
  for (;; ++moment.step) {
    const Outcome outcome = Transfer(moment).run();
    EXPECT_EQ(outcome.failure, "") << "step " << moment.step << ", seed " << moment.seed << ", origin "
                                   << moment.is_at_origin << ", same port " << moment.is_same_port;
    if (!outcome.was_under_way && moment.step != 0) return moment.step;
    if (testing::Test::HasFailure()) return moment.step;
  }
}

void try_all(Operation operation, bool is_at_origin) {
  unsigned moments = 0;
  for (const bool is_same_port : {false, true}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      moments += at_every_moment({operation, is_at_origin, is_same_port, seed, 0});
    }
  }
  std::printf("%u moments\n", moments);
  EXPECT_GT(moments, 60U);
}

TEST(Revocation, of_the_origin_of_a_put) {
  try_all(Operation::Put, true);
}
TEST(Revocation, of_the_target_of_a_put) {
  try_all(Operation::Put, false);
}
TEST(Revocation, of_the_origin_of_a_get) {
  try_all(Operation::Get, true);
}
TEST(Revocation, of_the_target_of_a_get) {
  try_all(Operation::Get, false);
}

}  // namespace stopbit::nic::revocation_test
