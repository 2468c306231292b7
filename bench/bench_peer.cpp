// Our engines under the contract of ./dev bench peers (bench/peers.md), and the feeds as folders.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/schema.hpp"
#include "decoder/select/make_engine.hpp"
#include "tests/lib/workloads/workload.hpp"

namespace stopbit::bench {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int fail(const std::string& text) {
  std::fprintf(stderr, "bench_peer: %s\n", text.c_str());
  return kFailed;
}

void append_u32(std::string& out, std::size_t value) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(value >> shift & 0xFF);
}

/// The feeds that have a template file: those that other decoders can read, too.
std::vector<WorkloadSource> sources() {
  std::vector<WorkloadSource> all = workload_sources();
  std::erase_if(all, [](const WorkloadSource& source) { return source.template_file.empty(); });
  return all;
}

int list() {
  for (const WorkloadSource& source : sources()) std::puts(source.name.c_str());
  return 0;
}

int export_workload(const std::string& name, const std::filesystem::path& folder) {
  const std::vector<WorkloadSource> all = sources();
  const auto source = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  if (source == all.end()) return fail("there is no feed '" + name + "'");
  const auto work = source->make();
  if (!work) return fail(work.message());
  std::string bytes;
  for (std::size_t i = 0; i < work.value()->datagrams.size(); ++i) {
    const PacketInfo& info = work.value()->datagrams[i].info;
    const std::span<const std::byte> data = work.value()->datagram(i).subspan(info.data_offset);
    append_u32(bytes, info.channel);
    append_u32(bytes, data.size());
    bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
  }
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(source->template_file, folder / "templates.xml",
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "datagrams.bin", std::ios::binary) << bytes;
  std::ofstream reset(folder / "reset.txt");
  reset << reset_rule_name(work.value()->options.reset) << '\n';
  reset.close();
  return reset ? 0 : fail("the folder cannot be written");
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// What a peer is given.
struct Feed {
  struct Datagram {
    std::span<const std::byte> data;
    PacketInfo info;
  };
  Program program;
  EngineOptions options;
  std::string bytes;
  std::vector<Datagram> datagrams;
};

Result<std::unique_ptr<Feed>> read_feed(const std::filesystem::path& folder) {
  auto feed = std::make_unique<Feed>();
  auto program = compile_file((folder / "templates.xml").string());
  if (!program) return Failure{program.message()};
  feed->program = std::move(program).value();
  std::string rule = text_of(folder / "reset.txt");
  std::erase(rule, '\n');
  const auto reset = parse_reset_rule(rule);
  if (!reset) return Failure{"reset.txt has no rule"};
  feed->options.reset = *reset;
  feed->bytes = text_of(folder / "datagrams.bin");
  const auto* const begin = reinterpret_cast<const std::byte*>(feed->bytes.data());
  for (std::size_t at = 0; at < feed->bytes.size();) {
    std::uint32_t head[2] = {};
    if (feed->bytes.size() - at < sizeof(head)) return Failure{"datagrams.bin is cut"};
    std::memcpy(head, begin + at, sizeof(head));
    at += sizeof(head);
    if (feed->bytes.size() - at < head[1]) return Failure{"datagrams.bin is cut"};
    const auto channel = static_cast<std::uint16_t>(head[0]);
    feed->options.channels = std::max<std::uint16_t>(feed->options.channels, channel + 1);
    feed->datagrams.push_back({{begin + at, head[1]}, {.number = feed->datagrams.size() + 1, .channel = channel}});
    at += head[1];
  }
  return feed;
}

/// False if a datagram is not decoded whole.
bool decode_all(const Feed& feed, Engine& engine, record::RecordSink& sink) {
  for (std::uint16_t channel = 0; channel < feed.options.channels; ++channel) engine.reset(channel);
  bool is_good = true;
  for (const Feed::Datagram& datagram : feed.datagrams) {
    const Outcome outcome = engine.decode(datagram.data, datagram.info, sink);
    is_good = is_good && outcome.error == ErrorCode::None && !outcome.dropped;
  }
  return is_good;
}

int answers(const Feed& feed, Engine& engine) {
  const auto schema = record::Schema::make(feed.program);
  if (!schema) return fail(schema.message());
  record::JsonPrinter printer(schema.value());
  std::string text;
  bool is_readable = true;
  record::BufferSink sink(feed.program.max_record_slots, [&](std::span<const record::Slot> slots) {
    is_readable = printer.print(slots, text) == record::ReadError::None && is_readable;
  });
  if (!decode_all(feed, engine, sink) || !is_readable) return fail("a datagram is not decoded");
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return is_written ? 0 : fail("the answers cannot be written");
}

int time(const Feed& feed, Engine& engine) {
  constexpr std::size_t kRecords = 4;  // as a small ring
  record::BufferSink sink(
      feed.program.max_record_slots, [](std::span<const record::Slot>) {}, kRecords * feed.program.max_record_slots);
  std::uint64_t passes = 0;
  while (std::cin >> passes) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < passes; ++i) {
      if (!decode_all(feed, engine, sink)) return fail("a datagram is not decoded");
    }
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin);
    std::cout << ns.count() << std::endl;
  }
  return 0;
}

int run_engine(const std::string& name, const std::string& mode, const std::filesystem::path& folder) {
  const auto feed = read_feed(folder);
  if (!feed) return fail(feed.message());
  for (const EngineKind kind : {EngineKind::Native, EngineKind::Quick, EngineKind::Interp}) {
    if (engine_name(kind) != name) continue;
    const MadeEngine made = make_engine(feed.value()->program, feed.value()->options, kind);
    if (made.kind != kind) return fail(made.why_not_native);
    if (mode == "answers") return answers(*feed.value(), *made.engine);
    if (mode == "time") return time(*feed.value(), *made.engine);
  }
  return kUsage;
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const std::vector<std::string> words(argv + 1, argv + argc);
  int status = kUsage;
  if (words.size() == 1 && words[0] == "list") status = list();
  if (words.size() == 3 && words[0] == "export") status = export_workload(words[1], words[2]);
  if (words.size() == 3 && words[0] != "export") status = run_engine(words[0], words[1], words[2]);
  if (status == kUsage) {
    std::fputs("usage: bench_peer list | export FEED FOLDER | ENGINE answers FOLDER | ENGINE time FOLDER\n", stderr);
  }
  return status;
}
