#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/appliance/appliance.hpp"
#include "host/appliance/opener/client.hpp"

namespace stopbit::appliance {
namespace {

Result<int> socket_of_opener(opener::Client& opener, const std::string& interface, const ingest::Membership& membership,
                             std::vector<std::string>& notes) {
  const std::string group = "group " + net::to_text(membership.group) + ": ";
  const auto index = opener.socket_of(interface, membership);
  if (!index) return Failure{group + "it is not in the settings"};
  opener::Outcome opened = opener.ask({.kind = opener::RequestKind::Socket, .index = *index});
  if (opened.error == 0 && opened.file.ok()) {
    opener::add_lines(opened.notes, notes);
    return opened.file.release();
  }
  return Failure{opened.notes.empty() ? group + std::strerror(opened.error) : opened.notes};
}

}  // namespace

std::unique_ptr<StepDesk> make_step_desk(const Settings& settings, const Clocks& clocks, opener::Client* opener) {
  const auto has_sessions = [](const PortSettings& port) { return port.source->has_sessions(); };
  if (std::none_of(settings.ports.begin(), settings.ports.end(), has_sessions)) return nullptr;
  return std::make_unique<StepDesk>(clocks, [opener](net::Endpoint server) {
    opener::Request request{.kind = opener::RequestKind::Connect};
    if (opener == nullptr) return opener::perform(request, {.connections = {server}});
    const auto index = opener->connection_of(server);
    opener::Outcome not_granted;
    not_granted.error = EACCES;
    if (!index) return not_granted;
    request.index = *index;
    return opener->ask(request);
  });
}

OpenPort standard_ports(Clock clock, std::uint64_t dpdk_memory, opener::Client* opener, StepDesk* sessions) {
  const auto context = std::make_shared<ingest::PortContext>();
  context->clock = std::move(clock);
  context->dpdk_memory = dpdk_memory;
  if (opener != nullptr) {
    context->open_socket = [opener](const std::string& interface, const ingest::Membership& membership,
                                    std::vector<std::string>& notes) {
      return socket_of_opener(*opener, interface, membership, notes);
    };
  }
  if (sessions != nullptr) {
    context->open_session = [sessions](net::Endpoint server, const fix::StepOptions& options,
                                       const fix::StepLimits& limits) -> Result<std::shared_ptr<ingest::StepLink>> {
      return sessions->add(server, options, limits);
    };
  }
  return [context](const PortSettings& settings, std::vector<std::string>& notes) {
    return settings.source->open(*context, notes);
  };
}

}  // namespace stopbit::appliance
