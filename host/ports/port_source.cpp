#include "host/ports/port_source.hpp"

#include "host/os/config/toml.hpp"

namespace stopbit::ingest {

#define STOPBIT_PORT_KIND(name) std::unique_ptr<PortSource> read_##name##_port(config::Table&, const PortPlace&);
#include "host/ports/port_kinds.def"
#undef STOPBIT_PORT_KIND

std::unique_ptr<PortSource> read_port(config::Table& table, const PortPlace& place) {
  static constexpr std::unique_ptr<PortSource> (*kRead[])(config::Table&, const PortPlace&) = {
#define STOPBIT_PORT_KIND(name) read_##name##_port,
#include "host/ports/port_kinds.def"
#undef STOPBIT_PORT_KIND
  };
  const std::size_t kind = table.choice("kind",
                                        {
#define STOPBIT_PORT_KIND(name) #name,
#include "host/ports/port_kinds.def"
#undef STOPBIT_PORT_KIND
                                        },
                                        0);
  return kRead[kind](table, place);
}

}  // namespace stopbit::ingest
