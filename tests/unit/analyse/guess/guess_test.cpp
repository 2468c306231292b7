#include "host/analyse/guess/guess.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>

#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/frames.hpp"
#include "tests/unit/replay/fixture.hpp"

namespace stopbit::guess::guess_test {

using net::testing::be16;
using net::testing::be32;
using net::testing::bytes;
using net::testing::ByteVector;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ByteVector join(std::initializer_list<ByteVector> parts) {
  ByteVector all;
  for (const ByteVector& part : parts) {
    for (const std::byte byte : part) all.push_back(byte);
  }
  return all;
}

Sample sample_of(const std::vector<ByteVector>& datagrams) {
  Sample sample;
  sample.name = "test.pcap";
  for (const ByteVector& datagram : datagrams) {
    sample.packets.push_back({.frame = net::testing::ethernet(net::testing::ipv4(net::testing::udp(datagram))),
                              .original_bytes = 0,
                              .arrival_ns = 0,
                              .number = sample.packets.size() + 1,
                              .link = net::LinkType::Ethernet});
  }
  return sample;
}

Sample sample_from(const std::string& capture, std::size_t packets) {
  const auto source = ingest::open_capture(capture);
  EXPECT_TRUE(source.ok());
  return take_sample(*source.value(), {packets, std::size_t{8} << 20});
}

/// The FAST data of the bundled sample, with another preamble before each datagram.
class Variants : public ::testing::Test {
 protected:
  static constexpr std::size_t kCmePreamble = 5;

  Guess guess_with(const std::function<ByteVector(std::size_t, const ByteVector&)>& rewrite) {
    const Sample original = sample_from(folder_ + "/capture.pcap.gz", 400);
    std::vector<ByteVector> datagrams;
    for (const StoredPacket& packet : original.packets) {
      net::Datagram datagram;
      if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted)
        continue;
      const auto data = datagram.payload.subspan(kCmePreamble);
      datagrams.push_back(rewrite(datagrams.size(), ByteVector(data.begin(), data.end())));
    }
    return guess(program_, sample_of(datagrams));
  }
  std::string framing_with(const std::function<ByteVector(std::size_t, const ByteVector&)>& rewrite) {
    const Guess found = guess_with(rewrite);
    EXPECT_TRUE(found.fits) << found.verdict;
    return found.ranked.empty() ? "" : found.ranked.front().trial.framing.name;
  }

  const std::string folder_ = STOPBIT_SAMPLE_FOLDER;
  const Program program_ = replay::testing::compile(stopbit::testing::file_text(folder_ + "/templates.xml"));
};

ByteVector le32(std::size_t value) {
  ByteVector big = be32(value);
  return {big.rbegin(), big.rend()};
}

TEST_F(Variants, as_it_is) {
  const Guess found = guess(program_, sample_from(folder_ + "/capture.pcap.gz", 2'000));
  ASSERT_TRUE(found.fits);
  EXPECT_EQ(found.ranked.front().trial.framing.name, "cme");
  EXPECT_EQ(found.ranked.front().trial.clean, found.ranked.front().trial.datagrams);
  EXPECT_EQ(found.ranked.front().sequence.agreeing, found.ranked.front().sequence.messages);
}

TEST_F(Variants, little_endian_sequence_is_moex) {
  EXPECT_EQ(framing_with([](std::size_t i, const ByteVector& data) { return join({le32(90'000 + i), data}); }), "moex");
}

TEST_F(Variants, big_endian_sequence_of_four_bytes_is_custom) {
  EXPECT_EQ(framing_with([](std::size_t i, const ByteVector& data) {
              return join({be32(90'000 + i), data});
            }),
            "custom:skip=4,seq=u32be@0,reset=packet");
}

TEST_F(Variants, one_chunk_each_is_b3) {
  EXPECT_EQ(framing_with([](std::size_t i, const ByteVector& data) {
              return join({be32(70 + i), be16(1), be16(1), be16(data.size()), data});
            }),
            "b3");
}

TEST_F(Variants, sequence_behind_other_fields_is_found) {
  EXPECT_EQ(framing_with([](std::size_t i, const ByteVector& data) {
              return join({be16(0x1234), be32(0x00ABCDEF + i), bytes({9, 9, 9}), data});
            }),
            "custom:skip=9,seq=u32be@2,reset=packet");
}

TEST_F(Variants, sequence_of_eight_bytes_is_found_by_its_low_half) {
  EXPECT_EQ(framing_with([](std::size_t i, const ByteVector& data) {
              return join({be32(0), be32(5'000 + i), data});
            }),
            "custom:skip=8,seq=u32be@4,reset=packet");
}

TEST_F(Variants, no_preamble_and_no_sequence) {
  const Guess found = guess_with([](std::size_t, const ByteVector& data) { return data; });
  EXPECT_TRUE(found.fits);
  EXPECT_EQ(found.ranked.front().trial.framing.skip, 0U);
  EXPECT_EQ(found.ranked.front().trial.framing.reset, ResetRule::Packet) << found.ranked.front().remark;
}

TEST_F(Variants, blocks_are_found) {
  EXPECT_EQ(
      framing_with([](std::size_t i, const ByteVector& data) {
        ByteVector size = bytes({static_cast<int>(data.size() >> 7), static_cast<int>(0x80 | (data.size() & 0x7F))});
        return join({be32(70 + i), size, data});
      }),
      "custom:skip=4,seq=u32be@0,blocks=yes,reset=packet");
}

TEST_F(Variants, encrypted_data_fits_nothing_and_says_why) {
  std::uint32_t random = 1;
  const Guess found = guess_with([&](std::size_t, const ByteVector& data) {
    ByteVector noise = data;
    for (std::byte& byte : noise) byte = static_cast<std::byte>((random = random * 1'664'525 + 1'013'904'223) >> 24);
    return noise;
  });
  EXPECT_FALSE(found.fits);
  EXPECT_FALSE(found.verdict.empty());
}

TEST_F(Variants, one_datagram_is_named_after_the_preset_it_fits) {
  EXPECT_EQ(guess(program_, sample_from(folder_ + "/capture.pcap.gz", 1)).ranked.front().trial.framing.name, "cme");
}

TEST_F(Variants, identifiers_that_the_templates_lack_are_told) {
  std::string xml = stopbit::testing::file_text(folder_ + "/templates.xml");
  for (std::size_t at = 0; (at = xml.find("<template ", at)) != std::string::npos; ++at) {
    const std::size_t id = xml.find(" id=\"", at);
    xml.insert(id + 5, "77");
  }
  const Guess found = guess(replay::testing::compile(xml), sample_from(folder_ + "/capture.pcap.gz", 300));
  EXPECT_FALSE(found.fits);
  EXPECT_THAT(found.verdict, HasSubstr("a preamble of 5 bytes"));
  EXPECT_THAT(found.verdict, HasSubstr("template identifiers that the templates lack: "));
}

TEST_F(Variants, templates_of_another_feed_fit_nothing_and_the_ids_are_told) {
  const Program other = replay::testing::compile(R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
    <template name="A" id="10"><uInt32 name="N"/></template></templates>)");
  const Guess found = guess(other, sample_from(folder_ + "/capture.pcap.gz", 300));
  EXPECT_FALSE(found.fits);
  const std::string text = to_text(found, "day.pcap", "--templates t.xml", 5);
  EXPECT_THAT(text, HasSubstr("Nothing fits: "));
}

TEST(Guess, of_packets_made_to_be_costly_ends_early) {
  std::string fields;
  for (int i = 0; i < 200; ++i) fields += "<uInt32 name='F" + std::to_string(i) + "'><default value='1'/></uInt32>";
  const Program program = replay::testing::compile(
      "<templates xmlns='http://www.fixprotocol.org/ns/fast/td/1.1'><template name='A' id='1'>"
      "<sequence name='S'>" +
      fields + "</sequence></template></templates>");
  // 140 elements of 200 fields that take no byte but one for the presence map, and many such messages.
  const ByteVector message = join({bytes({0xC0, 0x81, 0x01, 0x8C}), ByteVector(140, std::byte{0x80})});
  ByteVector bomb;
  for (int i = 0; i < 28; ++i) bomb = join({bomb, message});
  const Guess found = guess(program, sample_of(std::vector<ByteVector>(100, bomb)));
  ASSERT_FALSE(found.ranked.empty());
  EXPECT_LT(found.ranked.front().trial.datagrams, 50U);
  EXPECT_TRUE(found.fits) << found.verdict;
}

TEST(Guess, of_nothing_says_so) {
  const Program program = replay::testing::compile(R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
    <template name="A" id="10"><uInt32 name="N"/></template></templates>)");
  EXPECT_EQ(guess(program, Sample{}).verdict, "the capture has no packets");
  Sample arp;
  arp.packets.push_back({.frame = ByteVector(60), .number = 1});
  EXPECT_EQ(guess(program, arp).verdict, "the capture has no UDP datagrams over IPv4");
}

/// Two messages of one field that is copied; the first names the template, the second may leave out what has not
/// changed.
class ResetRules : public ::testing::Test {
 protected:
  Guess guess_of(const std::vector<ByteVector>& datagrams, const std::string& attributes = "") {
    const Program program = replay::testing::compile(R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
      <template name="Q" id="1"><uInt32 name="Px"><copy )" +
                                                     attributes + R"(/></uInt32><uInt32 name="S"/></template>
      <template name="R" id="2" reset="yes"><uInt32 name="S"/></template></templates>)");
    return guess(program, sample_of(datagrams));
  }
};

TEST_F(ResetRules, values_carried_from_packet_to_packet) {
  std::vector<ByteVector> datagrams = {bytes({0xE0, 0x81, 0x85, 0x81})};
  for (int i = 0; i < 20; ++i) datagrams.push_back(bytes({0x80, 0x82 + i}));
  const Guess found = guess_of(datagrams);
  ASSERT_TRUE(found.fits);
  EXPECT_EQ(found.ranked.front().trial.framing.name, "none");
  EXPECT_THAT(found.ranked.front().remark, HasSubstr("carried from packet to packet"));
}

TEST_F(ResetRules, templates_that_reset) {
  std::vector<ByteVector> datagrams;
  for (int i = 0; i < 20; ++i) {
    datagrams.push_back(bytes({0xC0, 0x82, 0x81 + i}));
    datagrams.push_back(bytes({0xE0, 0x81, 0x85, 0x81}));
    datagrams.push_back(bytes({0x80, 0x82 + i}));
  }
  const Guess found = guess_of(datagrams);
  ASSERT_TRUE(found.fits);
  EXPECT_EQ(found.ranked.front().trial.framing.name, "none");
  EXPECT_THAT(found.ranked.front().remark, HasSubstr("templates with the reset attribute occur"));
}

TEST_F(ResetRules, a_sender_that_repeats_itself_resets_per_packet) {
  std::vector<ByteVector> datagrams;
  for (int i = 0; i < 20; ++i)
    datagrams.push_back(i % 3 == 0 ? bytes({0xC0, 0x81, 0x81}) : bytes({0xE0, 0x81, 0x85, 0x82}));
  const Guess found = guess_of(datagrams, R"(value="7")");
  ASSERT_TRUE(found.fits);
  EXPECT_EQ(found.ranked.front().trial.framing.name, "custom:skip=0,reset=packet");
  EXPECT_THAT(found.ranked.front().remark, HasSubstr("does not remember"));
}

TEST_F(ResetRules, a_sender_that_never_repeats_itself_keeps_its_dictionary) {
  std::vector<ByteVector> datagrams;
  for (int i = 0; i < 60; ++i) {
    datagrams.push_back(i % 3 == 0 ? bytes({0xE0, 0x81, 0x85 + i, 0x82}) : bytes({0xC0, 0x81, 0x81}));
  }
  const Guess found = guess_of(datagrams, R"(value="7")");
  ASSERT_TRUE(found.fits);
  EXPECT_EQ(found.ranked.front().trial.framing.name, "none");
  EXPECT_THAT(found.ranked.front().remark, HasSubstr("the sender remembers them"));
}

TEST_F(ResetRules, are_told_in_text_and_json) {
  std::vector<ByteVector> datagrams = {bytes({0xE0, 0x81, 0x85, 0x81})};
  for (int i = 0; i < 20; ++i) datagrams.push_back(bytes({0x80, 0x82 + i}));
  const Guess found = guess_of(datagrams);
  const std::string text = to_text(found, "day.pcap", "--templates t.xml", 5);
  EXPECT_THAT(text, StartsWith("day.pcap: 21 packets read, 21 UDP datagrams\n"));
  EXPECT_THAT(text, HasSubstr("It is framing none, dictionary reset: template.\n  21 of 21 datagrams decode"));
  EXPECT_THAT(text, HasSubstr("\n  stopbit replay day.pcap --templates t.xml --framing none\n"));
  const auto json = nlohmann::json::parse(to_json(found, "day.pcap"));
  EXPECT_EQ(json["framing"], "none");
  EXPECT_EQ(json["fits"], true);
  EXPECT_EQ(json["candidates"][0]["decoded"], 21);
}

struct CorpusCase {
  const char* folder;
  const char* framing;
};

class Corpus : public ::testing::TestWithParam<CorpusCase> {};

TEST_P(Corpus, framing_is_found) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  const std::string folder = std::string(corpus) + "/" + GetParam().folder;
  const Program program = replay::testing::compile(stopbit::testing::file_text(folder + "/templates.xml"));
  for (const std::size_t packets : {2'000U, 100U, 10U}) {
    const Guess found = guess(program, sample_from(folder + "/capture.pcap", packets));
    ASSERT_TRUE(found.fits) << found.verdict;
    EXPECT_EQ(found.ranked.front().trial.framing.name, GetParam().framing) << packets << " packets";
  }
}

INSTANTIATE_TEST_SUITE_P(Exchanges, Corpus,
                         ::testing::Values(CorpusCase{"cme-mdp-2012", "cme"}, CorpusCase{"complex30000", "none"},
                                           CorpusCase{"eurex-rdi-2016", "t7"},
                                           CorpusCase{"moex-asts-trades-2019", "moex"}),
                         [](const auto& found) {
                           std::string name = found.param.folder;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace stopbit::guess::guess_test
