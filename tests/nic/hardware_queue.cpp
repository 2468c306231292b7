#include "tests/nic/hardware_queue.hpp"

#include <Vrtl_queue.h>

#include "queue_driver.hpp"

namespace stopbit::nic {
namespace {

using namespace sim::queue;

constexpr std::uint64_t kPort = 5;
constexpr std::uint64_t kPatience = 200;  // cycles for a command to leave

class HardwareCommands final : public CommandUnit {
 public:
  explicit HardwareCommands(Transactions& transactions) : transactions_(transactions), unit_(1) {
    unit_.transfers_are_shut = true;
  }
  void set_state(PortState state) override {
    unit_.set_port(kPort,
                   state == PortState::Enabled    ? State::Enabled
                   : state == PortState::Disabled ? State::Disabled
                                                  : State::Closed,
                   1);
  }
  /// A write for each, until one is refused.
  [[nodiscard]] Issue insert(std::span<const Command> commands) override {
    Issue issue;
    for (const Command& command : commands) {
      const nic::Reply reply = static_cast<nic::Reply>(unit_.ask(request_line(kPort, to_line(command))).code);
      ++transactions_.messages;
      if (reply != nic::Reply::NoError) {
        issue.reply = reply == nic::Reply::Full && issue.accepted > 0 ? nic::Reply::Partial : reply;
        return issue;
      }
      ++issue.accepted;
    }
    return issue;
  }
  [[nodiscard]] bool take(Command& command) override {
    unit_.transfers.clear();
    unit_.transfers_are_shut = false;
    for (std::uint64_t i = 0; i < kPatience && unit_.transfers.empty(); ++i) unit_.cycle();
    unit_.transfers_are_shut = true;
    if (unit_.transfers.empty()) return false;
    command = unit_.transfers.front().command();
    ++transactions_.messages;
    return true;
  }

 private:
  Transactions& transactions_;
  Driver<Vrtl_queue> unit_;
};

}  // namespace

std::unique_ptr<CommandUnit> hardware_commands(Transactions& transactions) {
  return std::make_unique<HardwareCommands>(transactions);
}

}  // namespace stopbit::nic
