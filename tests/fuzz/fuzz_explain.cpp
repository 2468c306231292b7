// Any datagrams against a few fixed template sets, explained: every byte is accounted for, whatever they hold; what the
// explanation says of the outcome is what a silent engine gives; and a guess at the framing comes to an end.

#include <memory>

#include "decoder/record/buffer_sink.hpp"
#include "host/analyse/explain/explain.hpp"
#include "host/analyse/guess/guess.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"
#include "tests/lib/frames.hpp"

namespace {

using namespace stopbit;

constexpr std::size_t kMaxDatagrams = 8;
constexpr const char* kFramings[] = {
    "none", "cme", "b3", "t7", "custom:skip=0,blocks=yes", "custom:skip=2,len=u16be@0"};

guess::Sample sample_of(const std::vector<std::vector<std::byte>>& datagrams) {
  guess::Sample sample;
  sample.name = "fuzz";
  for (const auto& datagram : datagrams) {
    if (sample.packets.size() == kMaxDatagrams || datagram.size() > 60'000) break;
    sample.packets.push_back({.frame = net::testing::ipv4(net::testing::udp(datagram)),
                              .original_bytes = 0,
                              .arrival_ns = 0,
                              .number = sample.packets.size() + 1,
                              .link = net::LinkType::RawIp});
  }
  return sample;
}

void check(const record::Schema& schema, const replay::Options& options, const guess::Sample& sample,
           std::uint64_t packet) {
  const auto found = explain::explain(schema, options, std::make_unique<guess::SampleSource>(sample), packet);
  fuzz::require(found.ok(), "a packet of the sample is explained");
  const explain::Explanation& explanation = found.value();
  fuzz::require(explain::accounted_bytes(explanation) == explanation.datagram.size(), "every byte is accounted for");
  const bool is_bad = explanation.outcome.error != ErrorCode::None || explanation.outcome.dropped;
  fuzz::require(explanation.has_fault() == is_bad, "a fault is told, and only a fault");
  fuzz::require(!explain::to_text(explanation, false).empty() && !explain::to_json(explanation).empty(),
                "it is printed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input({data, size});
  const Program& program = fuzz::fixed_program(input.byte());
  const EngineOptions engine = fuzz::engine_options(input.byte());
  replay::Options options;
  options.framing = net::parse_framing(kFramings[input.byte() % std::size(kFramings)]).value();
  options.framing.reset = engine.reset;
  options.strict = engine.strict;
  options.channels = 1;
  const guess::Sample sample = sample_of(fuzz::take_datagrams(input));
  if (sample.packets.empty()) return 0;
  const record::Schema schema = record::Schema::make(program).value();
  check(schema, options, sample, 1);
  check(schema, options, sample, sample.packets.size());
  return 0;
}
