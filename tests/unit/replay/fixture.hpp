#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json.hpp"
#include "host/ports/packet_source.hpp"
#include "host/replay/replay.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/file_text.hpp"

/// What tests of the replay share.
namespace stopbit::replay::testing {

inline Program compile(std::string text) {
  Diagnostics diagnostics;
  auto program =
      templates::compile({std::make_shared<SourceBuffer>("templates.xml", std::move(text))}, {}, diagnostics);
  EXPECT_TRUE(program.has_value()) << diagnostics.format();
  return program.value_or(Program{});
}

inline net::Framing framing(std::string_view text) {
  auto result = net::parse_framing(text);
  EXPECT_TRUE(result.ok()) << text;
  return result.value();
}

/// Packets from memory, and a fault after them if there is a message.
class MemorySource final : public ingest::PacketSource {
 public:
  struct Item {
    std::vector<std::byte> frame;
    std::uint64_t arrival_ns = 0;
    std::size_t missing_bytes = 0;
  };

  explicit MemorySource(std::vector<Item> items, std::string fault = "", std::string name = "test.pcap")
      : items_(std::move(items)), name_(std::move(name)) {
    fault_.message = std::move(fault);
  }

  ingest::Next next(ingest::Packet& packet) noexcept override {
    if (at_ == items_.size()) {
      if (fault_.message.empty() || std::exchange(fault_told_, true)) return ingest::Next::End;
      return ingest::Next::Fault;
    }
    const Item& item = items_[at_++];
    packet.frame = item.frame;
    packet.original_bytes = item.frame.size() + item.missing_bytes;
    packet.arrival_ns = item.arrival_ns;
    packet.number = at_;
    packet.link = net::LinkType::Ethernet;
    return ingest::Next::Packet;
  }
  std::string_view name() const noexcept override { return name_; }
  const ingest::Fault& fault() const noexcept override { return fault_; }
  ingest::SourceProgress progress() const noexcept override { return {at_, items_.size()}; }
  record::TimeQuality time_quality() const noexcept override { return record::TimeQuality::Hardware; }

 private:
  std::vector<Item> items_;
  std::string name_;
  std::size_t at_ = 0;
  bool fault_told_ = false;
  ingest::Fault fault_;
};

/// A replay of sources with everything around it.
class Bench {
 public:
  Bench(const Program& program, Options options)
      : schema_(record::Schema::make(program).value()),
        printer_(schema_),
        sink_(program.max_record_slots, Print{this}),
        engine_(make_interpreter(program, engine_options(options))),
        replay_(program, *engine_, sink_, std::move(options)) {}
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Summary run(std::vector<std::unique_ptr<ingest::PacketSource>> sources) { return replay_.run(sources); }
  Summary run(std::unique_ptr<ingest::PacketSource> source) {
    std::vector<std::unique_ptr<ingest::PacketSource>> sources;
    sources.push_back(std::move(source));
    return run(std::move(sources));
  }
  Summary run(std::vector<MemorySource::Item> items, std::string fault = "") {
    return run(std::make_unique<MemorySource>(std::move(items), std::move(fault)));
  }

  Replay& replay() { return replay_; }
  [[nodiscard]] const std::string& lines() const { return lines_; }
  [[nodiscard]] const std::vector<std::vector<record::Slot>>& records() const { return records_; }
  [[nodiscard]] record::HeaderView header(std::size_t record) const {
    return record::HeaderView(records_.at(record)[0]);
  }

 private:
  struct Print {
    Bench* bench;
    void operator()(std::span<const record::Slot> record) const {
      bench->records_.emplace_back(record.begin(), record.end());
      EXPECT_EQ(bench->printer_.print(record, bench->lines_), record::ReadError::None);
    }
  };

  record::Schema schema_;
  record::JsonPrinter printer_;
  std::string lines_;
  std::vector<std::vector<record::Slot>> records_;
  record::BufferSink<Print> sink_;
  std::unique_ptr<Engine> engine_;
  Replay replay_;
};

/// Nothing is lost without being counted.
inline void expect_accounted(const Summary& summary) {
  std::uint64_t verdicts = 0;
  for (const std::uint64_t count : summary.verdicts) verdicts += count;
  EXPECT_EQ(summary.packets, summary.filtered + verdicts);
  EXPECT_EQ(summary.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)],
            summary.ungrouped + summary.chunks + summary.datagrams - summary.joined);
  std::uint64_t messages = 0;
  for (const std::uint64_t count : summary.templates) messages += count;
  EXPECT_EQ(summary.messages, messages);
}

}  // namespace stopbit::replay::testing
