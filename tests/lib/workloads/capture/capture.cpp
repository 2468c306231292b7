// Captures in memory: frames, headers and framing are taken off before any clock starts.

#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/flow_table.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {
namespace {

constexpr std::uint16_t kMaxChannels = 64;

std::optional<std::string> read_gzip(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return std::nullopt;
  std::string text;
  char buffer[1U << 16];
  int count = 0;
  while ((count = gzread(file, buffer, sizeof(buffer))) > 0) text.append(buffer, static_cast<std::size_t>(count));
  const bool whole = count == 0 && gzclose(file) == Z_OK;
  return whole ? std::optional(std::move(text)) : std::nullopt;
}

Result<Program> compile(const std::string& name, std::string text, const std::string& fields) {
  templates::CompileOptions options;
  if (!fields.empty()) options.fields = std::make_shared<const SourceBuffer>("fields", fields);
  Diagnostics diagnostics;
  auto program =
      templates::compile({std::make_shared<const SourceBuffer>(name, std::move(text))}, options, diagnostics);
  if (!program) return Failure{diagnostics.format()};
  return *std::move(program);
}

}  // namespace

Result<Program> compile_text(const std::string& name, std::string text) {
  return compile(name, std::move(text), {});
}

Result<Program> compile_file(const std::string& path, const std::string& fields) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Failure{path + " cannot be opened"};
  return compile(path, {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()}, fields);
}

Result<std::unique_ptr<Workload>> load_workload(const std::string& name, const std::string& folder,
                                                const std::string& framing_name, const std::string& fields) {
  auto work = std::make_unique<Workload>();
  work->name = name;
  auto program = compile_file(folder + "/templates.xml", fields);
  if (!program) return Failure{program.message()};
  work->program = std::move(program).value();
  const auto framing = net::parse_framing(framing_name);
  if (!framing) return Failure{framing.message()};
  work->options.reset = framing.value().reset;
  work->options.channels = kMaxChannels;
  if (fields.empty()) work->expected_json = read_gzip(folder + "/expected.jsonl.gz");

  const std::string plain = folder + "/capture.pcap";
  auto source = ingest::open_capture(std::filesystem::exists(plain) ? plain : plain + ".gz");
  if (!source) return Failure{source.message()};
  net::FlowTable flows(kMaxChannels);
  ingest::Packet packet;
  for (;;) {
    const ingest::Next next = source.value()->next(packet);
    if (next == ingest::Next::Fault) return Failure{source.value()->fault().message};
    if (next == ingest::Next::End) break;
    net::Datagram datagram;
    const net::Verdict verdict = net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram);
    if (verdict != net::Verdict::Accepted) continue;
    const net::Preamble preamble = net::read_preamble(framing.value(), datagram.payload);
    if (preamble.error != ErrorCode::None)
      return Failure{folder + ": a packet does not have the framing " + framing_name};
    const auto channel = flows.channel(datagram.destination);
    if (!channel) return Failure{folder + ": too many groups"};
    work->datagrams.push_back({work->bytes.size(),
                               datagram.payload.size(),
                               {.arrival_ns = packet.arrival_ns,
                                .number = packet.number,
                                .sequence = static_cast<std::uint32_t>(preamble.sequence),
                                .data_offset = preamble.data_begin,
                                .channel = *channel}});
    work->bytes.insert(work->bytes.end(), datagram.payload.begin(), datagram.payload.end());
    work->data_bytes += preamble.data_end - preamble.data_begin;
  }
  return work;
}

}  // namespace stopbit::bench
