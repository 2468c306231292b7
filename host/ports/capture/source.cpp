#include <utility>

#include "host/os/config/keys.hpp"
#include "host/ports/capture/capture_port.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "host/ports/port_source.hpp"

namespace stopbit::ingest {
namespace {

/// A capture file, at its own speed or another.
class CaptureSource final : public PortSource {
 public:
  CaptureSource(config::Table& table, const PortPlace& place)
      : file_(config::in_folder(place.folder, table.text("file"))), speed_(table.real("speed")) {}

  [[nodiscard]] OpenedPort open(PortContext& context, std::vector<std::string>& /*notes*/) const override {
    Result<std::unique_ptr<PacketSource>> source = open_capture(file_);
    if (!source) return Failure{source.message()};
    return make_capture_port(std::move(source).value(), {.speed = speed_, .clock = context.clock});
  }
  [[nodiscard]] bool is_live() const noexcept override { return false; }

 private:
  std::string file_;
  double speed_;  ///< Multiple of the capture's own; 0 = as fast as it goes.
};

}  // namespace

std::vector<config::Key> capture_port_keys() {
  return {config::text_key("file", "A pcap or pcapng, plain, gzip or zstd.").required().such_as("\"day.pcap\""),
          config::real_key("speed", 1'000'000, "Multiple of the capture's own speed; 0: as fast as possible.")
              .otherwise(0)};
}

std::unique_ptr<PortSource> read_capture_port(config::Table& table, const PortPlace& place) {
  return std::make_unique<CaptureSource>(table, place);
}

}  // namespace stopbit::ingest
