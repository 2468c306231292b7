/// Packets of a capture from a port to a record: what DPDK's burst costs alone, what our port adds to it, and the whole
/// line with decoding. DPDK's net_pcap plays the capture for ever, so this is our code and not a card's.

#include <benchmark/benchmark.h>

#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/flow_table.hpp"
#include "host/ports/capture/capture_port.hpp"
#include "host/ports/out/pcap/pcap_writer.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/scratch.hpp"

#ifdef STOPBIT_DPDK
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "host/ports/dpdk/dpdk_port.hpp"
#include "tests/lib/file_text.hpp"
#endif

namespace stopbit::bench {
namespace {

constexpr std::size_t kPackets = 2'048;  ///< Of the sample; few enough to stay in the cache, as frames from a card do.
constexpr std::size_t kRingSlots = 1U << 16;
const std::string kCapture = STOPBIT_SAMPLE_FOLDER "/capture.pcap.gz";
const std::string kTemplates = STOPBIT_SAMPLE_FOLDER "/templates.xml";

template <class T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.message());
  return std::move(result).value();
}

Program compile_sample() {
  Diagnostics diagnostics;
  auto program =
      templates::compile({std::make_shared<SourceBuffer>(kTemplates, testing::file_text(kTemplates))}, {}, diagnostics);
  if (!program) throw std::runtime_error(diagnostics.format());
  return std::move(*program);
}

/// From a datagram to its records: group, preamble, engine, a buffer as large as a ring.
class Line {
 public:
  Line() : engine_(make_engine(program_, {.channels = 16}, EngineKind::Native).engine) {}

  void take(const ingest::Arrival& arrival) {
    const auto channel = flows_.channel(arrival.destination);
    if (!channel) return;
    const net::Preamble preamble = net::read_preamble(framing_, arrival.payload);
    if (preamble.error != ErrorCode::None) return;
    PacketInfo info;
    info.arrival_ns = arrival.arrival_ns;
    info.sequence = static_cast<std::uint32_t>(preamble.sequence);
    info.data_offset = preamble.data_begin;
    info.channel = *channel;
    messages_ += engine_->decode(arrival.payload.first(preamble.data_end), info, sink_).messages;
  }
  [[nodiscard]] std::uint64_t messages() const { return messages_; }

 private:
  struct Ignore {
    void operator()(std::span<const record::Slot> slots) const { benchmark::DoNotOptimize(slots.data()); }
  };
  const Program program_ = compile_sample();
  const net::Framing framing_ = need(net::parse_framing("cme"));
  net::FlowTable flows_{16};
  std::unique_ptr<Engine> engine_;
  record::BufferSink<Ignore> sink_{program_.max_record_slots, Ignore{}, kRingSlots};
  std::uint64_t messages_ = 0;
};

void report(benchmark::State& state, std::uint64_t packets) {
  state.counters["ns_per_packet"] =
      benchmark::Counter(static_cast<double>(packets) / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// The same datagrams out of memory: what decoding alone costs.
void decode(benchmark::State& state) {
  const auto source = need(ingest::open_capture(kCapture));
  std::vector<std::vector<std::byte>> payloads;
  std::vector<ingest::Arrival> arrivals;
  ingest::Packet packet;
  for (std::size_t i = 0; i < kPackets && source->next(packet) == ingest::Next::Packet; ++i) {
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted)
      continue;
    payloads.emplace_back(datagram.payload.begin(), datagram.payload.end());
    arrivals.push_back({.payload = {},
                        .source = datagram.source,
                        .destination = datagram.destination,
                        .arrival_ns = packet.arrival_ns,
                        .t_ns = packet.arrival_ns});
  }
  for (std::size_t i = 0; i < arrivals.size(); ++i) arrivals[i].payload = payloads[i];
  Line line;
  std::uint64_t packets = 0;
  for (auto _ : state) {
    for (const ingest::Arrival& arrival : arrivals) line.take(arrival);
    packets += arrivals.size();
  }
  report(state, packets);
}
BENCHMARK(decode)->Name("ingest/decode-from-memory");

#ifdef STOPBIT_DPDK

constexpr std::size_t kBurst = 32;

/// A plain capture that net_pcap reads; vanishes at the end.
class PlainCapture {
 public:
  PlainCapture() {
    std::ofstream file(name_, std::ios::binary);
    egress::PcapWriter writer = need(egress::PcapWriter::open([&file](std::string_view bytes) { file << bytes; }));
    const auto source = need(ingest::open_capture(kCapture));
    ingest::Packet packet;
    for (std::size_t i = 0; i < kPackets && source->next(packet) == ingest::Next::Packet; ++i) {
      writer.write(packet.frame, packet.arrival_ns);
    }
  }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  const testing::Scratch scratch_;
  const std::string name_ = scratch_.path("capture.pcap");
};

bool has_huge_pages() {
  std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  std::uint64_t pages = 0;
  return static_cast<bool>(file >> pages) && pages >= 128;
}

/// A port that plays the capture for ever, one for all benchmarks.
ingest::Port& endless_port() {
  static const PlainCapture capture;
  static const bool started = [] {
    ingest::DpdkOptions options;
    options.huge_pages = has_huge_pages();
    (void)need(ingest::start_dpdk(options));
    return true;
  }();
  static const std::vector<std::unique_ptr<ingest::Port>> ports = [] {
    ingest::DpdkPortOptions options;
    options.device = "net_pcap0,rx_pcap=" + capture.name() + ",infinite_rx=1";
    options.burst = kBurst;
    options.buffers = 8'191;
    return need(ingest::open_dpdk_ports(options));
  }();
  benchmark::DoNotOptimize(started);
  return *ports.front();
}

void burst(benchmark::State& state) {
  (void)endless_port();
  std::uint16_t number = 0;
  if (rte_eth_dev_get_port_by_name("net_pcap0", &number) != 0) throw std::runtime_error("net_pcap0 is not there");
  std::array<rte_mbuf*, kBurst> buffers{};
  std::uint64_t packets = 0;
  for (auto _ : state) {
    const std::uint16_t count = rte_eth_rx_burst(number, 0, buffers.data(), kBurst);
    rte_pktmbuf_free_bulk(buffers.data(), count);
    packets += count;
  }
  report(state, packets);
}
BENCHMARK(burst)->Name("ingest/rte_eth_rx_burst");

void poll(benchmark::State& state) {
  ingest::Port& port = endless_port();
  std::array<ingest::Arrival, kBurst> batch;
  const std::uint64_t before = port.counters().frames.value();
  for (auto _ : state) benchmark::DoNotOptimize(port.poll(batch));
  report(state, port.counters().frames.value() - before);
}
BENCHMARK(poll)->Name("ingest/poll");

void whole_line(benchmark::State& state) {
  ingest::Port& port = endless_port();
  Line line;
  std::array<ingest::Arrival, kBurst> batch;
  const std::uint64_t before = port.counters().frames.value();
  for (auto _ : state) {
    const std::size_t count = port.poll(batch);
    for (const ingest::Arrival& arrival : std::span(batch).first(count)) line.take(arrival);
  }
  if (line.messages() == 0) throw std::runtime_error("nothing was decoded");
  report(state, port.counters().frames.value() - before);
}
BENCHMARK(whole_line)->Name("ingest/poll-to-record");

#endif

}  // namespace
}  // namespace stopbit::bench

BENCHMARK_MAIN();
