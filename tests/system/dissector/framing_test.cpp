// Preambles, chunks, blocks, resets and losses: tshark must show what a replay gives.

#include <initializer_list>
#include <memory>
#include <string_view>

#include "tests/lib/byte_notation.hpp"
#include "tests/system/dissector/capture_writer.hpp"
#include "tests/system/dissector/fixture.hpp"

namespace stopbit::dissector {
namespace {

constexpr net::Endpoint kGroupA{0xEF01'0101, 7001};
constexpr net::Endpoint kGroupB{0xEF01'0102, 7001};

/// Count 1: increments from packet to packet. Clear 2: resets. Header 9: what T7 sends in front.
constexpr const char* kTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Count" id="1"><uInt32 name="N"><increment value="1"/></uInt32>
    <string name="S" presence="optional"><copy/></string></template>
  <template name="Clear" id="2" reset="yes"><uInt32 name="N"/></template>
  <template name="Header" id="9"><uInt32 name="SenderCompID"/><byteVector name="PacketSeqNum"/>
    <byteVector name="SendingTime"/></template>
</templates>
)";

std::vector<std::byte> bytes(const std::string& notation) {
  Diagnostics diagnostics;
  const auto steps = cases::parse_bytes(notation, diagnostics);
  EXPECT_TRUE(steps && steps->size() == 1) << notation << diagnostics.format();
  return steps ? steps->front().bytes : std::vector<std::byte>{};
}

class Framings : public DissectorTest {
 protected:
  void SetUp() override {
    DissectorTest::SetUp();
    if (HasFatalFailure()) return;
    program_ = compile_text(kTemplates);
    ASSERT_TRUE(program_);
    writer_ = std::make_unique<CaptureWriter>(run_.capture);
  }

  void send(const std::string& notation, net::Endpoint group = kGroupA) { writer_->add(group, bytes(notation)); }

  replay::Summary expect_same(const char* framing) {
    if (writer_) writer_->close();
    writer_.reset();
    replay::Options options;
    options.framing = net::parse_framing(framing).value();
    return expect_same_as_replay(*program_, options, {kGroupA.port});
  }

  std::optional<Program> program_;
  std::unique_ptr<CaptureWriter> writer_;
};

TEST_F(Framings, reset_by_template_carries_values_over_packets_and_waits_after_an_error) {
  send("pmap(1 1 1) u32(1) u32(5) ascii?(\"A\")");
  send("pmap(0)");
  send("pmap(0) pmap(0)", kGroupB);  // another dictionary: D5
  send("pmap(0)");
  send("pmap(1 0) u32(77)");  // D9
  send("pmap(0)");            // dropped
  send("pmap(1) u32(2) u32(1) pmap(1 0 1) u32(1) ascii?(null)");
  send("pmap(0)");
  send("pmap(0)", kGroupB);  // dropped
  run_.two_passes = true;
  const replay::Summary summary = expect_same("none");
  EXPECT_EQ(summary.messages, 6U);
  EXPECT_EQ(decode_errors(summary), 2U);
  EXPECT_EQ(summary.dropped, 2U);
}

TEST_F(Framings, a_packet_shown_alone_has_the_values_of_those_before_it) {
  send("pmap(1 1 1) u32(1) u32(5) ascii?(\"A\")");
  for (int i = 0; i < 40; ++i) send("pmap(0)");
  writer_->close();
  emit::DissectorOptions options = options_of({.reset = ResetRule::Never});
  options.ports = {kGroupA.port};
  add_script(*program_, options);
  run_.two_passes = true;
  // The second pass sees only the packets of the read filter.
  run_.read_filter = "ip.id in {12, 30..31}";
  Dissection dissection(run_);
  for (const char* count : {"16", "34", "35"}) {
    const std::optional<Event> event = dissection.next();
    ASSERT_TRUE(event) << count;
    ASSERT_EQ(event->rows.size(), 2U);
    EXPECT_EQ(event->rows[0].value, count);
    EXPECT_EQ(event->rows[1].value, "A");
  }
  EXPECT_FALSE(dissection.next());
  EXPECT_EQ(dissection.problems(), "");
}

TEST_F(Framings, never_reset) {
  send("pmap(1 1) u32(1) u32(5)");
  send("pmap(1) u32(2) u32(1) pmap(1) u32(1)");
  send("80 80 80");
  EXPECT_EQ(expect_same("custom:reset=never").messages, 6U);
}

TEST_F(Framings, cme_with_a_datagram_shorter_than_its_preamble) {
  send("00 00 00 07 00 pmap(1) u32(1)");
  send("00 00 00");
  send("00 00 00 08 00 pmap(0)");  // D5: each datagram stands for itself
  send("00 00 00 09 00");          // a preamble and no message
  const replay::Summary summary = expect_same("cme");
  EXPECT_EQ(summary.messages, 1U);
  EXPECT_EQ(decode_errors(summary), 2U);
}

TEST_F(Framings, custom_with_a_length_that_says_less_or_too_much) {
  send("02 00 aa ff ff ff ff ff ff ff ff pmap(1) u32(1) 99 99");
  send("09 00 aa 00 00 00 00 00 00 00 01 pmap(1) u32(1)");
  send("00 00 aa 00 00 00 00 00 00 00 01 pmap(1) u32(1)");
  const replay::Summary summary = expect_same("custom:len=u16le@0,seq=u64be@3,reset=packet");
  EXPECT_EQ(summary.messages, 1U);
  EXPECT_EQ(decode_errors(summary), 1U);
}

TEST_F(Framings, blocks) {
  send("82 pmap(1) u32(1) 00 83 pmap(0) pmap(1) u32(1)");
  send("82 pmap(1) u32(1) 80 82 pmap(1) u32(1)");  // D12
  send("82 pmap(1) u32(1) 84 pmap(0)");            // X1: longer than what is left
  send("82 pmap(1) u32(77) 82 pmap(1) u32(1)");    // D9, and the rest is dropped
  send("82 pmap(1) u32(1) 00");                    // X1 inside the size
  const replay::Summary summary = expect_same("custom:blocks=yes,reset=packet");
  EXPECT_EQ(summary.messages, 6U);
  EXPECT_EQ(decode_errors(summary), 4U);
}

TEST_F(Framings, blocks_with_reset_by_template_wait_after_a_bad_block) {
  send("82 pmap(1) u32(1) 80 82 pmap(1) u32(1)");
  send("82 pmap(1) u32(1)");
  send("83 pmap(1) u32(2) u32(5) 81 pmap(0)");
  send("81 pmap(0)");
  const replay::Summary summary = expect_same("custom:blocks=yes,reset=template");
  EXPECT_EQ(decode_errors(summary), 2U);
}

TEST_F(Framings, t7_with_and_without_partition) {
  send("c0 u32(9) u32(3) 84 00 00 01 02 88 16 00 00 00 00 00 00 05 pmap(1) u32(1) pmap(0)");
  send("c0 u32(9) u32(3) u32(4) 84 00 00 01 03 88 16 00 00 00 00 00 00 05 pmap(1) u32(1)");
  send("c0 u32(9) u32(3) 84 00 00 01");  // X9
  const replay::Summary summary = expect_same("t7");
  EXPECT_EQ(decode_errors(summary), 2U);  // the second has a field more than its template
}

TEST_F(Framings, b3_chunks_are_joined_and_losses_are_not) {
  const std::string first = "pmap(1 0 1) u32(1) 41 42";
  send("00 00 00 01 00 01 00 01 00 03 pmap(1) u32(1) 99");        // whole, its length ends before it does
  send("00 00 00 02 00 02 00 01 00 04 " + first);                 // 1 of 2
  send("00 00 00 03 00 01 00 01 00 02 pmap(1) u32(1)", kGroupB);  // another group does not disturb
  send("00 00 00 02 00 02 00 02 00 03 43 c4 pmap(0)");            // 2 of 2
  send("00 00 00 04 00 02 00 02 00 02 pmap(1) u32(1)");           // an orphan
  send("00 00 00 05 00 02 00 01 00 02 pmap(1) u32(1)");           // never completed
  send("00 00 00 06 00 01 00 01 00 02 pmap(1) u32(1)");           // whole
  send("00 00 00 07 00 01 00 02 00 02 pmap(1) u32(1)");           // X9: chunk 2 of 1
  send("00 00 00 08 00 01 00 01 00 0c pmap(1) u32(1)");           // the length counts the preamble
  send("00 00 00 09 00 03 00 01 00 01 pmap(1)");                  // 1 of 3
  send("00 00 00 09 00 03 00 02 00 01 u32(99)");                  // 2 of 3
  send("00 00 00 09 00 03 00 03 00 00");                          // 3 of 3: D9 in the joined message
  run_.two_passes = true;
  const replay::Summary summary = expect_same("b3");
  EXPECT_GE(summary.messages, 5U);
  EXPECT_GE(decode_errors(summary), 2U);
  EXPECT_EQ(summary.incomplete, 2U);
}

TEST_F(Framings, b3_message_longer_than_allowed_is_not_joined) {
  const std::string piece = " repeat(40000 41)";
  send("00 00 00 01 00 02 00 01 9c 40" + piece);
  send("00 00 00 01 00 02 00 02 9c 40" + piece);
  send("00 00 00 02 00 01 00 01 00 02 pmap(1) u32(1)");
  const replay::Summary summary = expect_same("b3");
  EXPECT_EQ(summary.oversized, 1U);
  EXPECT_EQ(summary.messages, 1U);
}

TEST_F(Framings, a_datagram_cut_by_the_capture_makes_its_group_wait) {
  const auto cut = bytes("pmap(1 1) u32(1) u32(5)");
  writer_->add_cut(kGroupB, cut, 2);  // of a group that was not seen before
  send("pmap(1 1) u32(1) u32(5)");
  send("pmap(1 1) u32(1) u32(5)", kGroupB);
  writer_->add_cut(kGroupA, cut, 2);
  send("pmap(0)");
  send("pmap(0)", kGroupB);
  send("pmap(1) u32(2) u32(1)");
  const replay::Summary summary = expect_same("none");
  EXPECT_EQ(summary.messages, 4U);
  EXPECT_EQ(summary.dropped, 1U);
}

TEST_F(Framings, ports_framing_reset_and_strictness_are_preferences) {
  send("00 00 00 07 00 pmap(1 1) u32(1) u32(5)");
  send("00 00 00 08 00 pmap(0)");
  send("00 00 00 09 00 pmap(0) 00 80");
  writer_->close();
  add_script(*program_, options_of({}));
  run_.preferences = {"feed.ports:7000-7002", "feed.framing:cme", "feed.reset:never", "feed.strict:TRUE"};
  Dissection dissection(run_);
  for (const char* title : {"Count (id 1)", "Count (id 1)", "Count (id 1)", "error R7 at 6"}) {
    const std::optional<Event> event = dissection.next();
    ASSERT_TRUE(event) << title;
    EXPECT_EQ(event->title, title);
  }
  EXPECT_FALSE(dissection.next());
  EXPECT_EQ(dissection.problems(), "");
}

}  // namespace
}  // namespace stopbit::dissector
