// Messages of captures, cut and with turned bits: tshark must show the values and errors of the engine.

#include <cstdlib>

#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/form.hpp"
#include "tests/system/dissector/fixture.hpp"

namespace stopbit::dissector {
namespace {

class Damage : public FeedsTest {
 protected:
  /// Every `step`th datagram of a capture, its preamble removed, `count` of them. Each is decoded for itself.
  void add_datagrams(const std::filesystem::path& folder, const char* file, const char* framing_name, std::size_t step,
                     std::size_t count) {
    auto program = compile(folder / "templates.xml");
    ASSERT_TRUE(program);
    const std::size_t feed = add_feed({folder.filename().string(), {}, *std::move(program)});
    const net::Framing framing = net::parse_framing(framing_name).value();
    const auto source = std::move(ingest::open_capture((folder / file).string())).value();
    ingest::Packet packet;
    for (std::size_t number = 1; count != 0 && source->next(packet) == ingest::Next::Packet; ++number) {
      net::Datagram datagram;
      if (number % step != 0 ||
          net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted) {
        continue;
      }
      const net::Preamble preamble = net::read_preamble(framing, datagram.payload);
      ASSERT_EQ(preamble.error, ErrorCode::None);
      const auto data = datagram.payload.subspan(preamble.data_begin);
      if (data.size() > kMaxBytes) continue;
      add_damaged({feed, 0, true, {data.begin(), data.end()}, "packet " + std::to_string(number)}, 0, datagrams_);
      --count;
    }
    EXPECT_EQ(count, 0U) << "the capture has fewer packets than wanted";
  }

  static constexpr std::size_t kMaxBytes = 120;  ///< Longer ones take their time.
  std::vector<Datagram> datagrams_;
};

using SampleDamage = Damage;
using CorpusDamage = Damage;

TEST_F(SampleDamage, is_shown_as_the_engine_finds_it) {
  add_datagrams(STOPBIT_SAMPLE_FOLDER, "capture.pcap.gz", "cme", 127, by_form<std::size_t>(15, 60));
  expect_same(datagrams_);
}

TEST_F(CorpusDamage, is_shown_as_the_engine_finds_it) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr) GTEST_SKIP() << "STOPBIT_CORPUS is not set";
  const std::filesystem::path folder(corpus);
  add_datagrams(folder / "cme-mdp-2012", "capture.pcap", "cme", 61, by_form<std::size_t>(8, 60));
  add_datagrams(folder / "moex-asts-trades-2019", "capture.pcap", "moex", 61, by_form<std::size_t>(4, 30));
  add_datagrams(folder / "complex30000", "capture.pcap", "none", 97, by_form<std::size_t>(4, 30));
  expect_same(datagrams_);
}

}  // namespace
}  // namespace stopbit::dissector
