#include "tests/fuzz/checks.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "assembler/assembler.hpp"
#include "decoder/record/json.hpp"
#include "microcode/image/image.hpp"
#include "microcode/verify/verify.hpp"
#include "tests/lib/engines.hpp"
#include "tests/lib/guarded_memory.hpp"

namespace stopbit::fuzz {

void require(bool holds, std::string_view promise, std::string_view detail) {
  if (holds) return;
  const std::string text = "broken promise: " + std::string(promise) + '\n' + std::string(detail) + '\n';
  std::fputs(text.c_str(), stderr);
  std::abort();
}

void check_round_trips(const Program& program) {
  const std::vector<std::byte> bytes = image::write(program);
  const Result<Program> read = image::read(bytes);
  require(read.ok(), "our own image is read", read.ok() ? "" : read.message());
  require(image::write(read.value()) == bytes, "writing an image again gives the same bytes");

  const std::string listing = assembler::disassemble(program);
  Diagnostics diagnostics;
  const auto assembled = assembler::assemble(std::make_shared<SourceBuffer>("listing", listing), diagnostics);
  require(assembled.has_value(), "our own listing is assembled", diagnostics.format() + listing);
  require(image::write(*assembled) == bytes, "a listing gives the program again", listing);
}

std::uint8_t Input::byte() {
  const std::span<const std::byte> taken = take(1);
  return taken.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(taken[0]);
}

std::uint16_t Input::half() {
  const unsigned low = byte();
  return static_cast<std::uint16_t>(low | static_cast<unsigned>(byte()) << 8);
}

std::uint64_t Input::word() {
  std::uint64_t value = 0;
  const std::span<const std::byte> taken = take(sizeof value);
  if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
  return value;
}

std::span<const std::byte> Input::take(std::size_t count) {
  const std::size_t size = std::min(count, bytes_.size());
  const std::span<const std::byte> taken = std::as_bytes(bytes_.first(size));
  bytes_ = bytes_.subspan(size);
  return taken;
}

EngineOptions engine_options(std::uint8_t bits) {
  EngineOptions options;
  options.strict = (bits & 1) != 0;
  options.reset = static_cast<ResetRule>((bits >> 1) % 3);
  return options;
}

std::vector<std::vector<std::byte>> take_datagrams(Input& input) {
  constexpr std::uint8_t kRest = 255;
  std::vector<std::vector<std::byte>> datagrams;
  while (!input.empty()) {
    const std::uint8_t length = input.byte();
    const std::span<const std::byte> bytes = length == kRest ? input.rest() : input.take(length);
    datagrams.emplace_back(bytes.begin(), bytes.end());
  }
  return datagrams;
}

Run run_datagrams(const Program& program, const EngineOptions& options,
                  const std::vector<std::vector<std::byte>>& datagrams) {
  const Result<record::Schema> schema = record::Schema::make(program);
  require(schema.ok(), "a verified program has a schema", schema.ok() ? "" : schema.message());
  record::JsonPrinter printer(schema.value());
  const std::vector<cases::TestedEngine> engines = cases::make_engines(program, options);
  std::vector<cases::RecordingSink> sinks;
  for (std::size_t i = 0; i < engines.size(); ++i) sinks.emplace_back(program);
  cases::RecordingSink& sink = sinks.front();
  std::size_t longest = 0;
  for (const std::vector<std::byte>& datagram : datagrams) longest = std::max(longest, datagram.size());
  const cases::GuardedMemory guarded(longest);

  const std::vector<verify::TemplateCost> costs = verify::check(program).costs;
  Run run;
  std::uint64_t number = 0;
  for (const std::vector<std::byte>& datagram : datagrams) {
    // Memory of exactly this size, so that the sanitizer sees a read past its end.
    const auto copy = std::make_unique<std::byte[]>(datagram.size());
    std::copy(datagram.begin(), datagram.end(), copy.get());
    PacketInfo info;
    info.number = ++number;
    const std::size_t records_before = sink.records().size();
    const Outcome outcome = engines[0].engine->decode({copy.get(), datagram.size()}, info, sink);
    run.outcomes.push_back(outcome);
    for (std::size_t i = 1; i < engines.size(); ++i) {
      const Outcome other = engines[i].engine->decode(guarded.place(datagram), info, sinks[i]);
      const std::string text = cases::difference(outcome, other);
      require(text.empty(), "every engine says the same of a datagram", std::string(engines[i].name) + ": " + text);
    }

    const std::size_t records = sink.records().size() - records_before;
    const bool is_whole = outcome.error == ErrorCode::None && !outcome.dropped;
    require(outcome.offset_bytes <= datagram.size(), "the offset is inside the datagram");
    require(outcome.instructions <= verify::instruction_bound(costs, static_cast<std::uint32_t>(datagram.size())),
            "no more instructions than the verifier's bound");
    require(!is_whole || outcome.offset_bytes == datagram.size(),
            "without an error the datagram is decoded to its end");
    require(records == outcome.messages + (is_whole ? 0U : 1U), "one record per message, and one event per error");
  }
  for (const cases::RecordingSink& engine_sink : sinks) {
    for (const std::string& problem : engine_sink.problems()) require(false, "records are sound", problem);
    const std::string text = cases::difference(sink.records(), engine_sink.records());
    require(text.empty(), "every engine writes the same records", text);
  }
  for (const cases::Record& record : sink.records()) {
    std::string line;
    const record::ReadError error = printer.print(record, line);
    require(error == record::ReadError::None, "every record can be read", record::error_text(error));
    require(!line.empty() && line.back() == '\n' && line.find('\n') == line.size() - 1, "a record is one line", line);
  }
  run.records = sink.records();
  return run;
}

}  // namespace stopbit::fuzz
