#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/encode/encoder.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "decoder/record/schema.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {

/// Makes a workload of messages given as JSON lines, with the encoder. What the decoder must find are the lines
/// themselves, so a mistake in either shows. Reset rule: packet.
///
/// A line that cannot be encoded ends the program: the generators are ours.
class FeedWriter {
 public:
  FeedWriter(const std::string& name, Result<Program> program);
  FeedWriter(const FeedWriter&) = delete;
  FeedWriter& operator=(const FeedWriter&) = delete;

  /// A message of the datagram that is being made.
  void add(std::string_view line);

  /// The datagram: its bytes and the lines it stands for.
  struct Datagram {
    std::vector<std::byte> bytes;
    std::string lines;
  };
  [[nodiscard]] Datagram take();

  /// Puts a datagram into the workload. Called once per arrival: a datagram may arrive twice, or never.
  void arrive(const Datagram& datagram, const PacketInfo& info);

  [[nodiscard]] std::unique_ptr<Workload> finish() { return std::move(work_); }

 private:
  std::unique_ptr<Workload> work_;
  record::Schema schema_;
  record::JsonReader reader_;
  encode::Encoder encoder_;
  std::vector<record::Slot> record_;
  record::BufferSink<std::function<void(std::span<const record::Slot>)>> sink_;
  Datagram open_;
};

}  // namespace stopbit::bench
