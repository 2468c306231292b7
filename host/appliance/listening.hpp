#pragma once

#include <string>

namespace stopbit::appliance {

/// What a carrier would find now where it is to listen.
struct Listening {
  bool is_here = false;  ///< An interface of this host has the address.
  bool is_free = false;  ///< No socket has the port.
  std::string why;       ///< Of what is not so, as the system says it.
};
/// Opens sockets at `listen`, HOST:PORT, and closes them again.
[[nodiscard]] Listening look_at(const std::string& listen);

}  // namespace stopbit::appliance
