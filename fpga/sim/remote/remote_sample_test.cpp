// The records of the bundled sample.

#include "host/ports/pcap/pcap_source.hpp"
#include "remote_beside.hpp"
#include "remote_card.hpp"
#include "tests/unit/replay/fixture.hpp"

namespace stopbit::sim::remote {
namespace {

using Beside = BasicBeside<Hardware>;

TEST(RemoteCard, sends_the_records_of_the_sample_as_the_software_does) {
  const std::string folder = std::string(STOPBIT_SOURCE_DIR) + "/tests/data/sample";
  const Program program = replay::testing::compile(stopbit::testing::file_text(folder + "/templates.xml"));
  replay::Options options;
  options.framing = replay::testing::framing("cme");
  replay::testing::Bench bench(program, options);
  auto source = ingest::open_capture(folder + "/capture.pcap.gz");
  ASSERT_TRUE(source.ok());
  (void)bench.run(std::move(source).value());
  const std::vector<Slots>& records = bench.records();
  ASSERT_GT(records.size(), 20'000U);

  const auto by_template = [&](std::string_view name, std::uint32_t id) {
    Wanted wanted;
    far::Filter::Pattern pattern;
    pattern.mask = {0, ~std::uint32_t{0}, 0};
    pattern.wanted.template_id = id;
    wanted.filter.patterns.push_back(pattern);
    device::Filter filter;
    for (std::size_t i = 0; i < program.templates.size(); ++i) {
      if (program.name(program.templates[i].name) == name) filter.template_index = static_cast<std::uint16_t>(i);
    }
    wanted.on_card = {filter};
    return wanted;
  };
  const std::size_t step = by_form<std::size_t>(61, 1);
  // The size of a trade that is among those sent.
  const device::Filter trades = by_template("Trade", 22).on_card[0];
  Wanted of_size = by_template("Trade", 22);
  for (std::size_t i = 0; i < records.size() && of_size.filter.field.empty(); i += step) {
    if (record::HeaderView(records[i][0]).template_index() != trades.template_index) continue;
    const auto filter = device::filter_by_integer(program, "Trade", "LastSize", 0);
    ASSERT_TRUE(filter.ok()) << filter.message();
    const std::size_t place = record::kHeaderWords + filter.value().word;
    of_size.on_card = {filter.value()};
    of_size.on_card[0].value = records[i][place / record::kValueWords].words[place % record::kValueWords];
    of_size.filter.field = "LastSize";
    of_size.filter.patterns[0].mask.value = ~std::uint64_t{0};
    of_size.filter.patterns[0].wanted.value = of_size.on_card[0].value;
  }
  Wanted of_channel;
  far::Filter::Pattern pattern;
  pattern.mask = {~std::uint32_t{0}, 0, 0};
  pattern.wanted.channel = 1;
  of_channel.filter.patterns.push_back(pattern);
  of_channel.on_card = {device::Filter{.channel = 1}};
  // Room for the longest record of this program at the end of the ring.
  std::uint64_t slots = 4096;
  while (slots < 8ULL * program.max_record_slots) slots *= 2;
  Beside both(program, slots, {everything(), by_template("Trade", 22), of_size, of_channel}, seed());
  std::size_t count = 0;
  for (std::size_t i = 0; i < records.size(); i += step) {
    if (records[i].size() > kDepth) continue;
    both.publish(records[i]);
    if (++count % 12 == 0) both.compare();
    if (HasFailure()) return;
  }
  const std::vector<std::size_t> sizes = both.finish();
  EXPECT_EQ(sizes[0], count);
  EXPECT_GT(sizes[1], 10U);
  EXPECT_GT(sizes[2], 0U);
  EXPECT_LT(sizes[2], sizes[1]);
  EXPECT_GT(sizes[3], 100U);
  EXPECT_LT(sizes[3], count);
}

}  // namespace
}  // namespace stopbit::sim::remote
