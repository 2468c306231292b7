#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/ports/packet_source.hpp"

/// Some packets of a capture in memory, to be decoded again and again.
namespace stopbit::guess {

struct StoredPacket {
  std::vector<std::byte> frame;
  std::size_t original_bytes = 0;
  std::uint64_t arrival_ns = 0;
  std::uint64_t number = 0;
  net::LinkType link = net::LinkType::Ethernet;
};

struct Sample {
  std::string name;
  std::vector<StoredPacket> packets;
  std::size_t bytes = 0;
  std::string fault;  ///< Why the source broke off; empty: it did not.

  void add(const ingest::Packet& packet);
  /// Different destinations of datagrams; at least 1 and at most 256.
  [[nodiscard]] std::uint16_t groups() const;
};

/// Bounds of a sample.
struct SampleLimits {
  std::size_t packets = 2'000;
  std::size_t bytes = std::size_t{8} << 20;
};

/// The first packets of a source. A source that breaks off gives what it has, and its fault.
[[nodiscard]] Sample take_sample(ingest::PacketSource& source, SampleLimits limits);

/// The packets of a sample.
class SampleSource final : public ingest::PacketSource {
 public:
  /// `sample` must outlive it.
  explicit SampleSource(const Sample& sample) : sample_(sample) {}
  explicit SampleSource(Sample&& sample) : owned_(std::move(sample)), sample_(owned_) {}

  [[nodiscard]] ingest::Next next(ingest::Packet& packet) noexcept override;
  [[nodiscard]] std::string_view name() const noexcept override { return sample_.name; }
  [[nodiscard]] const ingest::Fault& fault() const noexcept override { return fault_; }
  [[nodiscard]] ingest::SourceProgress progress() const noexcept override { return {}; }
  [[nodiscard]] record::TimeQuality time_quality() const noexcept override { return record::TimeQuality::Synthetic; }

 private:
  const Sample owned_;
  const Sample& sample_;
  std::size_t at_ = 0;
  ingest::Fault fault_;
};

}  // namespace stopbit::guess
