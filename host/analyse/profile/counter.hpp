#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/engine/trace.hpp"
#include "host/analyse/profile/profile.hpp"

namespace stopbit::profile {

/// An engine that counts what it decodes. Memory is bounded: the program's segments times kMaxMaps.
class Counter final : public Engine, private trace::Observer {
 public:
  /// Distinct maps of a segment that are kept apart; further ones are counted together.
  static constexpr std::size_t kMaxMaps = 65'536;

  /// Counts the datagrams with these numbers, which PacketInfo::number gives; decodes all. The program must be verified
  /// and outlive the counter.
  Counter(const Program& program, const EngineOptions& options, std::uint64_t first, std::uint64_t last);

  Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                 record::RecordSink& sink) noexcept override;
  void reset(std::uint16_t channel) noexcept override { engine_->reset(channel); }
  void invalidate(std::uint16_t channel) noexcept override { engine_->invalidate(channel); }

  [[nodiscard]] Profile take();

 private:
  struct Histogram {
    std::uint64_t counts[kLongest + 1] = {};
  };
  struct Maps {
    std::map<std::uint64_t, std::uint64_t> counts;  ///< No hashes: a capture can be made of maps that have the same.
    std::uint64_t other = 0;
  };
  static constexpr std::uint32_t kNoSegment = 0xFFFFFFFF;
  static constexpr std::uint64_t kTooLong = 1;  ///< No map of at most ProfileEntry::kMaxBits.

  void step(std::uint16_t address, std::uint32_t offset) noexcept override;
  void map_begins(trace::Extent bytes) noexcept override;
  void template_begins(std::uint16_t template_index, bool is_reference) noexcept override;
  void value(trace::Source source, std::uint64_t value) noexcept override;
  void text(trace::Source source, std::string_view value) noexcept override;

  void count(std::uint32_t segment, std::uint64_t map);
  [[nodiscard]] std::uint64_t map_of(trace::Extent bytes) const noexcept;

  const Program& program_;
  const std::uint64_t first_;
  const std::uint64_t last_;
  Names names_;
  std::vector<std::uint32_t> segment_at_;  ///< By address of a PMAP.
  std::unique_ptr<Engine> engine_;
  std::span<const std::byte> datagram_;
  bool counts_ = false;
  std::uint16_t address_ = 0;
  std::uint64_t message_map_ = 0;
  std::unordered_map<std::uint32_t, Maps> maps_;          ///< By segment.
  std::unordered_map<std::uint16_t, Histogram> lengths_;  ///< By address, of sequences and strings.
  Profile profile_;
};

}  // namespace stopbit::profile
