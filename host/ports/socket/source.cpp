#include "host/ports/socket/source.hpp"

#include "host/os/config/keys.hpp"

namespace stopbit::ingest {

std::vector<config::Key> socket_port_keys() {
  const SocketSource usual;
  return {
      config::text_key("interface", "A network interface.").unless("the kernel's choice").such_as("\"eth1\""),
      config::bytes_key("receive_buffer", {4'096, 1U << 30}, "Buffer of each socket.").otherwise(usual.receive_buffer),
      config::integer_key("max_payload", {64, 65'507}, "Bytes; a longer datagram counts as cut.")
          .otherwise(usual.max_payload),
      config::integer_key("busy_poll_us", {0, 1'000'000}, "Microseconds for which a receive call may poll the card.")
          .otherwise(usual.busy_poll_us)};
}

std::unique_ptr<PortSource> read_socket_port(config::Table& table, const PortPlace& /*place*/) {
  auto port = std::make_unique<SocketSource>();
  port->interface = table.text("interface");
  port->receive_buffer = table.bytes("receive_buffer");
  port->max_payload = table.integer("max_payload");
  port->busy_poll_us = table.integer("busy_poll_us");
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
