#include "host/cli/common/multicast_arguments.hpp"

#include <utility>

namespace stopbit::tools {

std::vector<Option> multicast_options(MulticastArguments& arguments) {
  return {
      {.names = "--refill",
       .value = "HOST:PORT",
       .help = "For multicast://: IPv4 address and TCP port of the publisher's refill service, for packets that both "
               "lines lack, for --from-start, and for the layout of records, which the lines do not carry.",
       .target = &arguments.refill},
      {.names = "--interface-a",
       .value = "NAME",
       .help = "For multicast://: the interface that line A comes by. Default: the kernel's choice.",
       .target = &arguments.interface_a},
      {.names = "--interface-b",
       .value = "NAME",
       .help = "For multicast://: the interface of line B. Default: that of line A.",
       .target = &arguments.interface_b}};
}

bool has_multicast_options(const MulticastArguments& arguments) {
  return !arguments.refill.empty() || arguments.state || !arguments.interface_a.empty() ||
         !arguments.interface_b.empty();
}

multicast::ReceiverOptions receiver_options(const std::string& address, const MulticastArguments& arguments) {
  Result<std::vector<net::Endpoint>> groups = multicast::parse_multicast_address(address);
  if (!groups) throw ToolError(kExitUsage, groups.message());
  multicast::ReceiverOptions options;
  options.groups = std::move(groups).value();
  options.interfaces = {arguments.interface_a,
                        arguments.interface_b.empty() ? arguments.interface_a : arguments.interface_b};
  if (!arguments.refill.empty()) {
    const Result<net::Endpoint> refill = net::parse_endpoint(arguments.refill);
    if (!refill) throw ToolError(kExitUsage, "--refill: " + refill.message());
    options.refill = refill.value();
  }
  if (arguments.state && !options.refill)
    throw ToolError(kExitUsage, "--state needs --refill: the books come from there");
  options.from_state = arguments.state;
  return options;
}

}  // namespace stopbit::tools
