#include "host/ports/socket/source.hpp"

#include "host/os/config/toml.hpp"

namespace stopbit::ingest {

std::unique_ptr<PortSource> read_socket_port(config::Table& table, const PortPlace& /*place*/) {
  auto port = std::make_unique<SocketSource>();
  port->interface = table.text("interface", "");
  port->receive_buffer = table.bytes("receive_buffer", {4'096, 1U << 30}, port->receive_buffer);
  port->max_payload = table.integer("max_payload", {64, 65'507}, port->max_payload);
  port->busy_poll_us = table.integer("busy_poll_us", {0, 1'000'000}, port->busy_poll_us);
  return port;
}

std::optional<SocketPortOptions> SocketSource::sockets() const {
  return SocketPortOptions{.interface = interface,
                           .max_payload_bytes = max_payload,
                           .receive_buffer = receive_buffer,
                           .busy_poll_us = static_cast<std::uint32_t>(busy_poll_us)};
}

OpenedPort SocketSource::open(PortContext& context, std::vector<std::string>& /*notes*/) const {
  SocketPortOptions options = *sockets();
  if (context.open_socket) {
    options.open_socket = [open = context.open_socket, interface = interface](const Membership& membership,
                                                                              std::vector<std::string>& notes) {
      return open(interface, membership, notes);
    };
  }
  return open_socket_port(options);
}

}  // namespace stopbit::ingest
