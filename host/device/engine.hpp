#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/record/reader.hpp"
#include "host/device/firmware/device.hpp"
#include "host/device/kernel.hpp"
#include "host/device/network.hpp"
#include "host/device/ring.hpp"
#include "microcode/program.hpp"

namespace stopbit::device {

/// Counters of a device for an engine, since the engine was made.
struct Figures {
  Counters kernel;  ///< Datagrams, records and instructions; what the front end counts is 0.
  RingCounters ring;
  std::uint32_t engines = 0;         ///< Decode cores.
  std::uint32_t errors = 0;          ///< registers::kErrors... bits.
  std::uint64_t firmware_words = 0;  ///< Loaded; the device's CRC of them was compared.
};

/// Why the device cannot do what an engine with these options does, one reason a line; empty if it can.
/// `program` has passed verify::check.
[[nodiscard]] std::vector<std::string> obstacles(const Program& program, const EngineOptions& options,
                                                 std::uint32_t capabilities);

/// The most channels, up to `options.channels`, that the device has room for; 0 if not even one.
[[nodiscard]] std::uint16_t channels_with_room(const Program& program, const EngineOptions& options);

/// A device as an engine: datagrams go to its network, records come back through a ring, and nothing in a record says
/// that no software made it.
///
/// One datagram at a time is on its way: decode returns when the device has decoded it. What the device cannot know of
/// a datagram (sequence number, sender's epoch, number in the capture) is filled in here. Outcome::fields counts stored
/// values.
///
/// A device that fails makes decode give `dropped` for every datagram, and problem() says why. Decoding takes system
/// calls and time; it is no data path, that is the ring itself.
class DeviceEngine final : public Engine {
 public:
  /// A simulated device is slow.
  static constexpr std::chrono::milliseconds kPatience{60'000};

  /// Loads the program, begins a ring, and lets the device receive. Device, network and program must outlive the
  /// engine; there are no obstacles. A device that executes nothing for `patience`, while a datagram is on its way, has
  /// failed.
  [[nodiscard]] static Result<std::unique_ptr<DeviceEngine>> make(Device& device, Network& network,
                                                                  const Program& program, const EngineOptions& options,
                                                                  std::chrono::milliseconds patience = kPatience);
  /// The device receives no more, and its ring ends.
  ~DeviceEngine() override;
  DeviceEngine(const DeviceEngine&) = delete;
  DeviceEngine& operator=(const DeviceEngine&) = delete;

  /// Longer datagrams than kMaxDatagramBytes are cut by the device: X1 there.
  Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                 record::RecordSink& sink) noexcept override;
  void reset(std::uint16_t channel) noexcept override;
  /// Sends a datagram that ends before its data begins, an error to the device, and drops its event record. As slow as
  /// decode.
  void invalidate(std::uint16_t channel) noexcept override;

  /// Whether the device decodes no more. Any thread.
  [[nodiscard]] bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Why; empty while it does. The thread that decodes; any, once it has failed.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  [[nodiscard]] Result<Figures> figures();

 private:
  DeviceEngine(Kernel kernel, Network& network, const Program& program, const record::Schema& schema,
               const EngineOptions& options, std::chrono::milliseconds patience);

  [[nodiscard]] Status set_up(Device& device);
  [[nodiscard]] Status load(std::span<const firmware::Word> words);
  [[nodiscard]] Status send(std::span<const std::byte> datagram, const PacketInfo& info);
  /// Both write nothing if `sink` is null.
  [[nodiscard]] Status collect(std::span<const std::byte> datagram, const PacketInfo& info, record::RecordSink* sink,
                               Outcome& outcome);
  [[nodiscard]] Status take_record(const PacketInfo& info, record::RecordSink* sink, Outcome& outcome);
  [[nodiscard]] Status give_up(std::string what);
  void fail(std::string problem);

  Kernel kernel_;
  Network& network_;
  const Program& program_;
  const EngineOptions options_;
  const std::chrono::milliseconds patience_;
  record::Reader reader_;
  std::unique_ptr<DeviceRing> ring_;
  Counters before_;  ///< The device's counters when the engine was made.
  std::uint64_t sent_ = 0;
  std::uint64_t firmware_words_ = 0;
  std::uint32_t errors_ = 0;
  /// The description of its input last sent to the device: source, time quality, preamble.
  std::optional<std::uint64_t> described_;
  std::vector<firmware::Word> channel_words_;
  std::string problem_;  ///< Does not change once failed_ is set.
  std::atomic<bool> failed_ = false;
};

}  // namespace stopbit::device
