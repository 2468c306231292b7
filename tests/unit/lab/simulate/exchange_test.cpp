#include "host/lab/simulate/exchange.hpp"

#include <gtest/gtest.h>

#include <map>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/reader.hpp"
#include "templates/compiler.hpp"

namespace stopbit::simulate::exchange_test {

constexpr std::string_view kLines =
    "[line_a]\ngroup = '239.1.1.1:30001'\nsource = '10.0.0.1:20000'\nbackup_source = '10.0.0.9:20000'\n"
    "[line_b]\ngroup = '239.1.2.1:31001'\n";

Settings settings_of(const std::string& text) {
  Diagnostics diagnostics;
  const auto document = config::Document::parse("sim.toml", text + std::string(kLines), diagnostics);
  const auto settings = read_settings(document, diagnostics);
  EXPECT_TRUE(settings.has_value()) << diagnostics.format();
  return settings.value_or(Settings{});
}

std::string common(const std::string& preset) {
  return "preset = '" + preset +
         "'\nduration = '2s'\nrate = 500\ninstruments = 7\nproducts = 2\nsnapshot_every = '200ms'\n"
         "heartbeat_every = '50ms'\n";
}

struct Datagram {
  std::uint64_t time_ns;
  std::size_t line;
  net::Endpoint source;
  net::Endpoint group;
  std::vector<std::byte> payload;
};

struct Broadcast {
  std::optional<Preset> preset;
  std::vector<Datagram> sent;
  std::vector<StreamReport> report;
  std::string problems;
};

Broadcast run(const Settings& settings) {
  Broadcast result;
  Diagnostics diagnostics;
  result.preset = load_preset(settings.preset, diagnostics);
  std::unique_ptr<Exchange> exchange;
  if (result.preset) exchange = Exchange::make(settings, *result.preset, diagnostics);
  result.problems = diagnostics.format();
  if (exchange == nullptr) return result;
  for (Sent sent; exchange->next(sent);) {
    result.sent.push_back(
        {sent.time_ns, sent.line, sent.source, sent.group, {sent.payload.begin(), sent.payload.end()}});
  }
  EXPECT_EQ(exchange->fault(), "");
  result.report = exchange->report();
  return result;
}

/// Decodes all that went to a group; every datagram must be good. @returns the sequence numbers, a datagram each.
std::vector<std::uint64_t> decode(const Broadcast& result, net::Endpoint group, const StreamModel& model,
                                  std::map<std::string, std::uint64_t>& templates) {
  Diagnostics diagnostics;
  const std::optional<Program> program = templates::compile({model.templates}, {}, diagnostics);
  EXPECT_TRUE(program.has_value()) << diagnostics.format();
  const record::Schema schema = record::Schema::make(*program).value();
  EngineOptions options;
  options.reset = model.framing.reset;
  options.strict = true;
  const auto engine = make_interpreter(*program, options);
  record::BufferSink sink(program->max_record_slots, [&](std::span<const record::Slot> slots) {
    const auto index = record::HeaderView(slots[0]).template_index();
    const Template* const found = schema.find(index);
    ++templates[found == nullptr ? "event" : std::string(program->name(found->name))];
  });
  net::ChunkAssembler chunks(1);
  std::vector<std::uint64_t> sequences;
  for (const Datagram& datagram : result.sent) {
    if (datagram.group != group) continue;
    const net::Preamble preamble = net::read_preamble(model.framing, datagram.payload);
    EXPECT_EQ(preamble.error, ErrorCode::None);
    std::span<const std::byte> whole = datagram.payload;
    if (model.framing.kind == net::FramingKind::B3) {
      const auto answer = chunks.add(0, datagram.payload, preamble);
      EXPECT_FALSE(answer.gave_up);
      if (answer.state == net::ChunkAssembler::State::Waiting) continue;
      EXPECT_EQ(answer.state, net::ChunkAssembler::State::Complete);
      whole = answer.whole;
    }
    sequences.push_back(preamble.sequence);
    PacketInfo info;
    info.data_offset = preamble.data_begin;
    const Outcome outcome = engine->decode(whole, info, sink);
    EXPECT_EQ(outcome.error, ErrorCode::None) << "byte " << outcome.offset_bytes;
  }
  return sequences;
}

class EveryPreset : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPreset, sends_what_its_templates_decode_on_both_lines_alike) {
  const Broadcast result = run(settings_of(common(GetParam())));
  ASSERT_EQ(result.problems, "");
  ASSERT_FALSE(result.sent.empty());
  for (std::size_t i = 1; i < result.sent.size(); ++i) {
    ASSERT_LE(result.sent[i - 1].time_ns, result.sent[i].time_ns) << "time goes on";
  }
  ASSERT_EQ(result.report.size(), result.preset->streams.size());
  for (std::size_t i = 0; i < result.report.size(); ++i) {
    const StreamReport& report = result.report[i];
    const StreamModel& model = result.preset->streams[i];
    std::map<std::string, std::uint64_t> templates;
    std::map<std::string, std::uint64_t> again;
    const auto line_a = decode(result, report.groups[0], model, templates);
    const auto line_b = decode(result, report.groups[1], model, again);
    EXPECT_EQ(line_a, line_b);
    EXPECT_EQ(templates, again);
    EXPECT_EQ(templates.count("event"), 0U);
    EXPECT_EQ(line_a.size(), report.packets);
    std::uint64_t messages = 0;
    for (const auto& [name, count] : templates) messages += count;
    EXPECT_EQ(messages, report.messages);
    EXPECT_EQ(line_a.back(), report.last_sequence);
    for (std::size_t at = 1; at < line_a.size(); ++at) {
      if (model.role == Role::Carousel && line_a[at] == 1) continue;
      ASSERT_EQ(line_a[at], line_a[at - 1] + 1);
    }
    if (!model.snapshot.empty()) {
      EXPECT_GE(report.cycles, 9U);
    }
  }
}

TEST_P(EveryPreset, sends_the_same_bytes_from_the_same_seed) {
  const auto bytes_of = [](const Broadcast& result) {
    std::vector<std::byte> bytes;
    for (const Datagram& datagram : result.sent) {
      bytes.insert(bytes.end(), datagram.payload.begin(), datagram.payload.end());
    }
    return bytes;
  };
  Settings settings = settings_of(common(GetParam()));
  const auto first = bytes_of(run(settings));
  EXPECT_EQ(first, bytes_of(run(settings)));
  settings.seed = 2;
  EXPECT_NE(first, bytes_of(run(settings)));
}

INSTANTIATE_TEST_SUITE_P(Presets, EveryPreset, ::testing::Values("b3", "cme", "moex", "t7-emdi", "t7-mdi"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Exchange, begins_the_numbers_of_a_carousel_with_each_cycle) {
  const Broadcast result = run(settings_of(common("moex")));
  std::map<std::string, std::uint64_t> templates;
  const auto sequences = decode(result, result.report[1].groups[0], result.preset->streams[1], templates);
  const auto cycles = static_cast<std::uint64_t>(std::count(sequences.begin(), sequences.end(), 1U));
  EXPECT_EQ(cycles, result.report[1].cycles);
  EXPECT_EQ(*std::max_element(sequences.begin(), sequences.end()), 7U * 2) << "instruments, in two fragments each";
}

TEST(Exchange, sends_long_messages_of_b3_in_chunks) {
  const Broadcast result = run(settings_of(common("b3")));
  EXPECT_GT(result.report[1].datagrams, result.report[1].packets);
  for (const Datagram& datagram : result.sent) EXPECT_LE(datagram.payload.size(), 256U);
}

TEST(Exchange, resets_its_numbers) {
  const Broadcast result = run(settings_of(common("cme") + "[[reset]]\nat = '1s'\n"));
  std::map<std::string, std::uint64_t> templates;
  const auto sequences = decode(result, result.report[0].groups[0], result.preset->streams[0], templates);
  EXPECT_EQ(std::count(sequences.begin(), sequences.end(), 1U), 2);
  EXPECT_EQ(templates["SequenceReset"], 1U);
  EXPECT_EQ(result.report[0].resets, 1U);
}

TEST(Exchange, fails_over_to_another_sender) {
  const Broadcast result = run(settings_of(common("t7-emdi") + "[[failover]]\nat = '1s'\n"));
  const net::Framing& framing = result.preset->streams[0].framing;
  std::map<std::uint64_t, std::vector<std::uint64_t>> by_sender;
  std::map<std::uint64_t, std::uint32_t> sources;
  for (const Datagram& datagram : result.sent) {
    if (datagram.group != result.report[0].groups[0]) continue;
    const net::Preamble preamble = net::read_preamble(framing, datagram.payload);
    by_sender[preamble.sender].push_back(preamble.sequence);
    sources[preamble.sender] = datagram.source.address;
  }
  ASSERT_EQ(by_sender.size(), 2U);
  for (const auto& [sender, sequences] : by_sender) EXPECT_EQ(sequences.front(), 1U) << sender;
  EXPECT_EQ(sources[1], 0x0A000001U);
  EXPECT_EQ(sources[2], 0x0A000009U);
}

TEST(Exchange, what_a_network_holds_back_over_a_fail_over_is_of_the_sender_before) {
  const std::string text =
      "preset = 't7-emdi'\nduration = '2s'\nrate = 500\n[[failover]]\nat = '500ms'\n[[failover]]\nat = '1s'\n"
      "[line_a]\ngroup = '239.1.1.1:30001'\nsource = '10.0.0.1:20000'\nbackup_source = '10.0.0.9:20000'\n"
      "impair = {reorder = 0.5, reorder_depth = 50}\n";
  Diagnostics diagnostics;
  const auto settings = read_settings(config::Document::parse("sim.toml", text, diagnostics), diagnostics);
  ASSERT_TRUE(settings.has_value()) << diagnostics.format();
  const Broadcast result = run(*settings);
  const net::Framing& framing = result.preset->streams[0].framing;
  std::uint64_t newest = 1;
  std::size_t late = 0;
  for (const Datagram& datagram : result.sent) {
    if (datagram.group != result.report[0].groups[0]) continue;
    const std::uint64_t sender = net::read_preamble(framing, datagram.payload).sender;
    late += sender < newest ? 1 : 0;
    newest = std::max(newest, sender);
    ASSERT_EQ(datagram.source.address, sender % 2 == 1 ? 0x0A000001U : 0x0A000009U) << sender;
  }
  EXPECT_EQ(newest, 3U);
  EXPECT_GT(late, 10U) << "or nothing was tried";
}

TEST(Exchange, sends_through_a_bad_network_and_tells_what_it_did) {
  const std::string text =
      "preset = 'b3'\nduration = '2s'\nrate = 1000\nsnapshot_every = '500ms'\n[impair_both]\nloss = 0.01\n"
      "[line_a]\ngroup = '239.1.1.1:30001'\nimpair = {loss = 0.05, duplicate = 0.02, reorder = 0.1, "
      "reorder_depth = 8, corrupt = 0.01}\n[line_b]\ngroup = '239.1.2.1:31001'\n";
  Diagnostics diagnostics;
  const auto settings = read_settings(config::Document::parse("sim.toml", text, diagnostics), diagnostics);
  ASSERT_TRUE(settings.has_value()) << diagnostics.format();
  const Broadcast result = run(*settings);
  std::map<net::Endpoint, std::uint64_t, bool (*)(const net::Endpoint&, const net::Endpoint&)> sent(
      [](const net::Endpoint& a, const net::Endpoint& b) { return a.address < b.address; });
  for (std::size_t i = 0; i < result.sent.size(); ++i) {
    ++sent[result.sent[i].group];
    if (i != 0) {
      ASSERT_LE(result.sent[i - 1].time_ns, result.sent[i].time_ns) << "time goes on";
    }
  }
  for (const StreamReport& report : result.report) {
    const ImpairReport& impaired = report.impaired;
    for (std::size_t line = 0; line < 2; ++line) {
      EXPECT_EQ(sent[report.groups[line]], report.datagrams - impaired.lost[line] + impaired.doubled[line]);
    }
    EXPECT_GT(impaired.lost[0], impaired.lost[1]);
    EXPECT_GT(impaired.lost[1], 0U) << "on both";
    EXPECT_GT(impaired.damaged[0], 0U);
    EXPECT_GT(impaired.held_back[0], 0U);
    EXPECT_EQ(impaired.damaged[1] + impaired.held_back[1] + impaired.doubled[1], 0U);
  }
}

TEST(Exchange, keeps_the_rate_and_adds_bursts) {
  const std::string quiet = "preset = 'cme'\nduration = '10s'\nrate = 1000\n";
  const std::uint64_t packets = run(settings_of(quiet)).report[0].packets;
  EXPECT_NEAR(static_cast<double>(packets), 10'000.0, 300.0);
  const Broadcast bursts = run(settings_of(quiet + "[burst]\nevery = '1s'\npackets = 50\ngap = '3us'\n"));
  EXPECT_NEAR(static_cast<double>(bursts.report[0].packets), 10'000.0 + 9 * 50, 300.0);
}

TEST(Exchange, puts_line_b_behind_line_a) {
  const Broadcast result = run(settings_of(common("cme") + "skew = '35us'\n"));
  std::map<std::vector<std::byte>, std::uint64_t> line_a;
  for (const Datagram& datagram : result.sent) {
    if (datagram.line == 0)
      line_a[datagram.payload] = datagram.time_ns;
    else
      EXPECT_EQ(datagram.time_ns, line_a.at(datagram.payload) + 35'000);
  }
}

TEST(Exchange, gives_each_stream_of_each_channel_its_own_group) {
  const Broadcast result = run(settings_of("preset = 'cme'\nduration = '50ms'\nchannels = 3\n"));
  std::map<std::string, int> groups;
  for (const StreamReport& report : result.report) {
    for (const net::Endpoint& group : report.groups) ++groups[net::to_text(group)];
  }
  EXPECT_EQ(groups.size(), 12U);
  EXPECT_EQ(groups.count("239.1.1.6:30006"), 1U);
}

TEST(Exchange, says_what_is_wrong_with_its_settings) {
  const auto errors_of = [](const std::string& text) {
    Diagnostics diagnostics;
    const auto document = config::Document::parse("sim.toml", text, diagnostics);
    EXPECT_FALSE(read_settings(document, diagnostics).has_value());
    return diagnostics.format();
  };
  const std::string lines(kLines);
  EXPECT_NE(errors_of("preset = 'cme'\n" + lines).find("duration"), std::string::npos);
  EXPECT_NE(errors_of("preset = 'cme'\nduration = '1s'\n").find("[line_a] is missing"), std::string::npos);
  EXPECT_NE(errors_of("preset = 'cme'\nduration = '1s'\nratee = 5\n" + lines).find("rate"), std::string::npos);
  EXPECT_NE(errors_of("preset = 'cme'\nduration = '1s'\n[line_a]\ngroup = '10.0.0.1:5'\n").find("multicast"),
            std::string::npos);
  EXPECT_NE(errors_of("preset = 'cme'\nduration = '1s'\n[[reset]]\nat = '2s'\n" + lines).find("at"), std::string::npos);
}

TEST(Exchange, says_what_does_not_go_with_its_preset) {
  EXPECT_NE(run(settings_of("preset = 'nyse'\nduration = '1s'\n")).problems.find("unknown preset 'nyse'"),
            std::string::npos);
  EXPECT_NE(run(settings_of(common("t7-mdi") + "[[reset]]\nat = '1s'\n")).problems.find("never reset"),
            std::string::npos);
}

TEST(Pattern, writes_its_variables) {
  Facts facts;
  facts.sequence = 0x12AB;
  facts.time_ns = 1'700'000'000'123'456'789;
  facts.price = 1205;
  facts.symbol = "ABC";
  std::string text;
  Pattern::parse("$seq|$seq_hex|$time_ms|$time_us|$date|$price|'$symbol'.").value().write(facts, text);
  EXPECT_EQ(text, "4779|000012ab|20231114221320123|231114221320123456|20231114|12.05|'ABC'.");
}

TEST(Pattern, refuses_variables_that_do_not_exist) {
  EXPECT_EQ(Pattern::parse("$sequence").message().find("unknown variable '$sequence' ($seq, "), 0U);
  EXPECT_FALSE(Pattern::parse("a $ b").ok());
}

}  // namespace stopbit::simulate::exchange_test
