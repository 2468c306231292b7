#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "host/ports/packet_queue.hpp"
#include "host/ports/packet_source.hpp"

namespace stopbit::ingest {

/// Reads and decompresses a source on a separate thread, some MiB ahead, so that next() waits only if the file is the
/// slower side. The thread begins with the first call of next() and ends with the source.
class ReadAhead final : public PacketSource {
 public:
  /// `is_stopped` is asked while next() waits: true makes it return End, for the source may be a pipe through which
  /// nothing comes.
  explicit ReadAhead(std::unique_ptr<PacketSource> source, std::function<bool()> is_stopped = {});
  ~ReadAhead() override;

  [[nodiscard]] Next next(Packet& packet) noexcept override;
  [[nodiscard]] std::string_view name() const noexcept override { return source_->name(); }
  [[nodiscard]] const Fault& fault() const noexcept override { return source_->fault(); }
  [[nodiscard]] SourceProgress progress() const noexcept override;
  [[nodiscard]] record::TimeQuality time_quality() const noexcept override { return source_->time_quality(); }
  void cancel() noexcept override;

 private:
  void start() noexcept;
  void run() noexcept;
  void end() noexcept;

  std::unique_ptr<PacketSource> source_;
  std::function<bool()> is_stopped_;
  std::uint64_t bytes_total_;
  std::unique_ptr<PacketQueue> queue_;  ///< Null before the first packet and after the last.
  std::atomic<std::uint64_t> bytes_done_ = 0;
  bool is_reading_ = false;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace stopbit::ingest
