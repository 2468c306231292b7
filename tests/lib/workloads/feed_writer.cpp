#include "tests/lib/workloads/feed_writer.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace stopbit::bench {
namespace {

[[noreturn]] void stop(const std::string& name, std::string_view what, std::string_view line = {}) {
  std::fprintf(stderr, "bench: workload %s: %.*s\n%.*s\n", name.c_str(), static_cast<int>(what.size()), what.data(),
               static_cast<int>(line.size()), line.data());
  std::exit(EXIT_FAILURE);
}

std::unique_ptr<Workload> begin(const std::string& name, Result<Program> program) {
  auto work = std::make_unique<Workload>();
  work->name = name;
  if (!program) stop(name, program.message());
  work->program = std::move(program).value();
  work->options.reset = ResetRule::Packet;
  work->expected_json.emplace();
  return work;
}

}  // namespace

FeedWriter::FeedWriter(const std::string& name, Result<Program> program)
    : work_(begin(name, std::move(program))),
      schema_(record::Schema::make(work_->program).value()),
      reader_(schema_),
      encoder_(work_->program, {.reset = ResetRule::Packet}),
      sink_(work_->program.max_record_slots,
            [this](std::span<const record::Slot> slots) { record_.assign(slots.begin(), slots.end()); }) {}

void FeedWriter::add(std::string_view line) {
  if (open_.bytes.empty()) encoder_.begin_datagram();
  if (reader_.read(line, sink_) != record::JsonReader::Line::Message) {
    stop(work_->name, reader_.problem().message, line);
  }
  const encode::Outcome outcome = encoder_.encode(record_);
  if (!outcome.ok()) stop(work_->name, encode::error_text(schema_, outcome), line);
  open_.bytes.insert(open_.bytes.end(), outcome.bytes.begin(), outcome.bytes.end());
  open_.lines += line;
  open_.lines += '\n';
}

FeedWriter::Datagram FeedWriter::take() {
  return std::exchange(open_, {});
}

void FeedWriter::arrive(const Datagram& datagram, const PacketInfo& info) {
  Workload& work = *work_;
  work.datagrams.push_back({work.bytes.size(), datagram.bytes.size(), info});
  work.datagrams.back().info.number = work.datagrams.size();
  if (info.channel >= work.options.channels) work.options.channels = static_cast<std::uint16_t>(info.channel + 1);
  work.bytes.insert(work.bytes.end(), datagram.bytes.begin(), datagram.bytes.end());
  work.data_bytes += datagram.bytes.size() - info.data_offset;
  *work.expected_json += datagram.lines;
}

}  // namespace stopbit::bench
