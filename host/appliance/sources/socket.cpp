#include "host/appliance/sources/socket.hpp"

#include <cstring>

#include "host/appliance/opener/client.hpp"
#include "host/config/toml.hpp"

namespace stopbit::appliance {

std::unique_ptr<PortSource> read_socket_port(config::Table& table, const PortPlace& /*place*/) {
  auto port = std::make_unique<SocketSource>();
  port->interface = table.text("interface", "");
  port->receive_buffer = table.bytes("receive_buffer", {4'096, 1U << 30}, port->receive_buffer);
  port->max_payload = table.integer("max_payload", {64, 65'507}, port->max_payload);
  port->busy_poll_us = table.integer("busy_poll_us", {0, 1'000'000}, port->busy_poll_us);
  return port;
}

std::optional<std::uint32_t> SocketSource::node(const Topology& topology) const {
  return topology.node_of_interface(interface);
}

std::optional<ingest::SocketPortOptions> SocketSource::sockets() const {
  return ingest::SocketPortOptions{.interface = interface,
                                   .max_payload_bytes = max_payload,
                                   .receive_buffer = receive_buffer,
                                   .busy_poll_us = static_cast<std::uint32_t>(busy_poll_us)};
}

OpenedPort SocketSource::open(PortContext& context, std::vector<std::string>& /*notes*/) const {
  ingest::SocketPortOptions options = *sockets();
  if (opener::Client* const opener = context.opener; opener != nullptr) {
    options.open_socket = [opener, interface = interface](const ingest::Membership& membership,
                                                          std::vector<std::string>& notes) -> Result<int> {
      const std::string group = "group " + net::to_text(membership.group) + ": ";
      const auto index = opener->socket_of(interface, membership);
      if (!index) return Failure{group + "it is not in the settings"};
      opener::Outcome opened = opener->ask({.kind = opener::Kind::Socket, .index = *index});
      if (opened.error == 0 && opened.file.ok()) {
        opener::add_lines(opened.notes, notes);
        return opened.file.release();
      }
      return Failure{opened.notes.empty() ? group + std::strerror(opened.error) : opened.notes};
    };
  }
  return ingest::open_socket_port(options);
}

}  // namespace stopbit::appliance
