#include "host/ports/port_source.hpp"

#include "host/os/config/keys.hpp"

namespace stopbit::ingest {

#define STOPBIT_PORT_KIND(name)                                                     \
  std::unique_ptr<PortSource> read_##name##_port(config::Table&, const PortPlace&); \
  std::vector<config::Key> name##_port_keys();
#include "host/ports/port_kinds.def"
#undef STOPBIT_PORT_KIND

std::vector<config::Key> port_keys() {
  std::vector<config::Key> keys = {config::choice_key("kind",
                                                      {
#define STOPBIT_PORT_KIND(name) #name,
#include "host/ports/port_kinds.def"
#undef STOPBIT_PORT_KIND
                                                      },
                                                      "Where its datagrams come from; the keys below are of one kind.")
                                       .otherwise(0)};
  const auto add = [&](const std::string& kind, std::vector<config::Key> its_keys) {
    for (config::Key& key : its_keys) {
      key.when = "kind = \"" + kind + '"';
      keys.push_back(std::move(key));
    }
  };
#define STOPBIT_PORT_KIND(name) add(#name, name##_port_keys());
#include "host/ports/port_kinds.def"
#undef STOPBIT_PORT_KIND
  return keys;
}

std::unique_ptr<PortSource> read_port(config::Table& table, const PortPlace& place) {
  static constexpr std::unique_ptr<PortSource> (*kRead[])(config::Table&, const PortPlace&) = {
#define STOPBIT_PORT_KIND(name) read_##name##_port,
#include "host/ports/port_kinds.def"
#undef STOPBIT_PORT_KIND
  };
  return kRead[table.choice("kind")](table, place);
}

}  // namespace stopbit::ingest
