#include "tests/nic/budgets.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "host/nic/msg/mailbox.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "host/nic/rma/memory.hpp"
#include "host/nic/transport/model/network.hpp"
#include "tests/lib/nic/fixture.hpp"

namespace stopbit::nic {
namespace {

struct alignas(kPageBytes) MemoryPage {
  std::byte bytes[kPageBytes] = {};
};

/// A node with one port, a page of memory, and a window to it.
class End {
 public:
  explicit End(Transport& transport) : node(transport, {}) {
    const auto opened = node.open_port(pages_.page(), 0, {});
    const std::array<PageNumber, 1> numbers = {to_page_number(memory_->bytes)};
    const auto registered = opened ? node.atu().register_pages(*opened, numbers, Access::ReadWrite) : std::nullopt;
    const auto window =
        registered ? node.rma().open_window(*opened, *registered, kPageBytes, Access::ReadWrite) : std::nullopt;
    if (!window) throw std::runtime_error("no port with memory");
    vpid = *opened;
    address = *registered;
    name = *window;
  }

  void issue(const Command& command) {
    if (CommandQueue(pages_.page()).insert({&command, 1}).reply != Reply::NoError) throw std::runtime_error("no room");
  }
  /// Messages and notifications since the last call.
  std::size_t take() {
    std::size_t count = 0;
    Notification notification;
    while (notifications_.take(notification)) count += notification.error == Error::None ? 1 : 1000;
    while (mailbox_.poll(inbox_)) ++count;
    return count;
  }

  Node node;
  Vpid vpid = 0;
  Nla address = 0;
  WindowName name;

 private:
  PageMemory pages_;
  std::unique_ptr<MemoryPage> memory_ = std::make_unique<MemoryPage>();
  NotificationReader notifications_{pages_.page()};
  MailboxReader mailbox_{pages_.page(), Priority::Low};
  std::array<std::byte, kMaxMessageBytes> inbox_{};
};

/// The port that is notified of it, which shows that it has been done.
struct Transfer {
  std::string_view name;
  const StepCosts* costs;
  double source_ns;
  Operation operation;
  std::uint8_t modifiers;
  std::size_t told;  ///< Messages and notifications, at both ends.
};

const Transfer kTransfers[] = {
    {"VELO message", &kExtoll, 1300, Operation::FastSend, 0, 1},
    {"notification put", &kExtoll, 1400, Operation::NotificationPut, 0, 1},
    {"immediate put", &kExtoll, 1470, Operation::ImmediatePut, 0, 0},
    {"immediate put, notification", &kExtoll, 1670, Operation::ImmediatePut, kNotifyCompleter, 1},
    {"put", &kExtoll, 1990, Operation::Put, 0, 0},
    {"put, notification", &kExtoll, 2100, Operation::Put, kNotifyCompleter, 1},
    {"get", &kExtoll, 2820, Operation::Get, kNotifyCompleter, 1},
    {"lock (fetch, compare, add)", &kExtoll, 2700, Operation::FetchCompareAdd, kNotifyCompleter, 1},
    {"ULTRA message", &kUltra, 1198, Operation::FastSend, 0, 1},
};

Command command_for(const Transfer& transfer, const End& origin, const End& target) {
  Command command;
  command.operation = transfer.operation;
  command.modifiers = transfer.modifiers;
  command.target_node = target.node.id();
  command.target_vpid = target.vpid;
  if (transfer.operation == Operation::FastSend) {
    command.window = sizeof(std::uint64_t);
    return command;
  }
  command.window = target.name.id;
  command.capability = target.name.capability;
  if (transfer.operation == Operation::Put || transfer.operation == Operation::Get) {
    command.address = origin.address;
    command.length = sizeof(std::uint64_t);
  }
  return command;
}

}  // namespace

std::vector<Budget> run_budgets() {
  ModelNetwork network({});
  End origin(network.port(0));
  End target(network.port(1));
  std::uint64_t now_ns = 0;
  const auto carry_out = [&](const Transfer& transfer) {
    origin.issue(command_for(transfer, origin, target));
    for (int i = 0; i < 100; ++i, now_ns += 1000) {
      network.set_time(now_ns);
      (void)origin.node.step(now_ns);
      (void)target.node.step(now_ns);
    }
    const std::size_t told = origin.take() + target.take();
    if (told != transfer.told || !origin.node.is_idle()) {
      throw std::runtime_error(std::string(transfer.name) + ": did not happen");
    }
  };
  std::vector<Budget> budgets;
  for (const Transfer& transfer : kTransfers) {
    carry_out(transfer);  // the translations are in the cache then
    const StepCounts before = steps_of(origin.node) + steps_of(target.node);
    carry_out(transfer);
    const StepCounts counts = steps_of(origin.node) + steps_of(target.node) - before;
    budgets.push_back({transfer.name, transfer.costs, transfer.source_ns, counts});
  }
  return budgets;
}

}  // namespace stopbit::nic
