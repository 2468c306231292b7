#pragma once

#include <string>
#include <vector>

#include "host/cli/common/command.hpp"
#include "host/multicast/receiver.hpp"

/// Rings on multicast lines, as requested on the command line. Failures are ToolErrors.
namespace stopbit::tools {

struct MulticastArguments {
  std::string refill;
  bool state = false;
  std::string interface_a;
  std::string interface_b;
};
[[nodiscard]] std::vector<Option> multicast_options(MulticastArguments& arguments);
/// Whether one of them was given.
[[nodiscard]] bool has_multicast_options(const MulticastArguments& arguments);
[[nodiscard]] multicast::ReceiverOptions receiver_options(const std::string& address,
                                                          const MulticastArguments& arguments);

}  // namespace stopbit::tools
