#include "tests/data/sample/generator/sample.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "host/ports/byte_stream.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/unit/replay/fixture.hpp"

namespace stopbit::replay::sample_test {

const std::string kFolder = STOPBIT_SAMPLE_FOLDER;
const std::string kCapture = kFolder + "/capture.pcap.gz";

/// Made once: it takes a moment.
const sample::Sample& generated() {
  static const sample::Sample sample = sample::make_sample(sample::kSeed);
  return sample;
}

TEST(Sample, is_what_its_generator_makes) {
  auto stream = std::move(ingest::ByteStream::open(kCapture)).value();
  std::string kept(generated().pcap.size() + 1, '\0');
  kept.resize(stream->read(reinterpret_cast<std::byte*>(kept.data()), kept.size()));
  EXPECT_EQ(stream->fault(), "");
  EXPECT_TRUE(kept == generated().pcap) << "run stopbit_make_sample, see README.md";
}

TEST(Sample, is_small_and_holds_what_its_page_promises) {
  EXPECT_LT(std::filesystem::file_size(kCapture), 1U << 20);
  EXPECT_GE(generated().packets, 20'000U);
  EXPECT_GT(generated().lost_on_both, 0U);
  for (const sample::LineCounts& line : generated().lines) {
    EXPECT_GT(line.lost, 0U);
    EXPECT_GT(line.duplicated, 0U);
    EXPECT_GT(line.late, 0U);
  }
}

TEST(Sample, decodes_to_what_its_generator_encoded) {
  const Program program = testing::compile(stopbit::testing::file_text(kFolder + "/templates.xml"));
  Options options;
  options.framing = testing::framing("cme");
  options.strict = true;
  testing::Bench bench(program, options);
  const Summary summary = bench.run(std::move(ingest::open_capture(kCapture)).value());

  EXPECT_EQ(summary.error_count(), 0U);
  testing::expect_accounted(summary);
  EXPECT_EQ(summary.packets, generated().packets);
  EXPECT_EQ(summary.datagrams, generated().packets - generated().other_packets);
  EXPECT_EQ(summary.groups.at(0).datagrams, generated().lines[0].sent);
  EXPECT_EQ(summary.groups.at(1).datagrams, generated().lines[1].sent);
  std::uint64_t messages = 0;
  for (std::size_t i = 0; i < program.templates.size(); ++i) {
    const auto found = generated().messages.find(std::string(program.name(program.templates[i].name)));
    EXPECT_EQ(summary.templates[i], found == generated().messages.end() ? 0 : found->second);
    messages += summary.templates[i];
  }
  EXPECT_EQ(summary.messages, messages);

  // Line by line, so that a difference shows as one.
  std::istringstream decoded(bench.lines());
  std::istringstream encoded(generated().json_lines);
  std::string decoded_line;
  std::string encoded_line;
  std::size_t number = 0;
  while (std::getline(encoded, encoded_line)) {
    ++number;
    ASSERT_TRUE(std::getline(decoded, decoded_line)) << number;
    ASSERT_EQ(decoded_line, encoded_line) << number;
  }
  EXPECT_FALSE(std::getline(decoded, decoded_line));
  EXPECT_EQ(number, messages);
  EXPECT_EQ(to_text(summary, program, {.timing = false}),
            stopbit::testing::file_text(kFolder + "/expected-summary.txt"));
}

}  // namespace stopbit::replay::sample_test
