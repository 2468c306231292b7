#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "host/monitor/counters/reader.hpp"
#include "host/monitor/counters/writer.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::counters::counters_test {

using ::testing::HasSubstr;

struct Made {
  Schema schema;
  Schema::Id packets = schema.add(Kind::Counter, "packets", {{"line", "A"}}, "Packets", Unit::Number);
  Schema::Id other = schema.add(Kind::Counter, "packets", {{"line", "B"}}, "Packets", Unit::Number);
  Schema::Id age = schema.add(Kind::Gauge, "age", {}, "Age", Unit::Nanoseconds);
  Schema::Id latency = schema.add(Kind::Histogram, "latency", {}, "Latency", Unit::Nanoseconds);
  Schema::Id image = schema.add(Kind::Text, "image", {}, "Image");
  Schema::Id errors = schema.add(Kind::Errors, "errors", {}, "Errors", Unit::Number, 2);
};

TEST(Counters, are_found_by_name_and_labels) {
  Made made;
  Result<Segment> segment = Segment::create_private(made.schema);
  ASSERT_TRUE(segment) << segment.message();
  segment.value().counter(made.packets).add(3);
  segment.value().counter(made.other).add();
  segment.value().counter(made.age).set(77);
  const Result<Reader> reader = Reader::over(segment.value().bytes());
  ASSERT_TRUE(reader) << reader.message();
  EXPECT_EQ(reader.value().metrics().size(), 6U);
  EXPECT_EQ(reader.value().value("packets", {{"line", "A"}}), 3U);
  EXPECT_EQ(reader.value().sum("packets"), 4U);
  EXPECT_EQ(reader.value().value("age"), 77U);
  EXPECT_EQ(reader.value().find("packets", {{"line", "C"}}), nullptr);
  EXPECT_EQ(reader.value().find("age")->unit, Unit::Nanoseconds);
  EXPECT_EQ(reader.value().find("age")->help, "Age");
}

TEST(Counters, are_added_while_others_read) {
  Made made;
  made.schema.keep_room({.entries = 3, .names_bytes = 200, .value_bytes = 8'192});
  Result<Segment> segment = Segment::create_private(made.schema);
  ASSERT_TRUE(segment) << segment.message();
  Result<Reader> reader = Reader::over(segment.value().bytes());
  ASSERT_TRUE(reader) << reader.message();
  segment.value().counter(made.packets).add(3);
  Schema more;
  const auto known = more.add(Kind::Counter, "packets", {{"line", "A"}}, "Packets", Unit::Number);
  const auto fresh = more.add(Kind::Counter, "packets", {{"line", "C"}}, "Packets of C", Unit::Number);
  const Result<std::vector<Schema::Id>> ids = segment.value().add(more);
  ASSERT_TRUE(ids) << ids.message();
  EXPECT_EQ(ids.value()[known], made.packets) << "it keeps its value";
  segment.value().counter(ids.value()[fresh]).set(5);
  EXPECT_EQ(reader.value().find("packets", {{"line", "C"}}), nullptr);
  ASSERT_TRUE(reader.value().refresh());
  EXPECT_EQ(reader.value().value("packets", {{"line", "C"}}), 5U);
  EXPECT_EQ(reader.value().find("packets", {{"line", "C"}})->help, "Packets of C");
  EXPECT_EQ(reader.value().value("packets", {{"line", "A"}}), 3U);
  EXPECT_EQ(Reader::over(segment.value().bytes()).value().metrics().size(), 7U);
  // All or none: the first of these would fit.
  Schema many;
  many.add(Kind::Gauge, "one", {}, "");
  for (int i = 0; i < 3; ++i) many.add(Kind::Gauge, "g" + std::to_string(i), {}, "");
  EXPECT_FALSE(segment.value().add(many));
  ASSERT_TRUE(reader.value().refresh());
  EXPECT_EQ(reader.value().find("one"), nullptr);
  Schema other_kind;
  other_kind.add(Kind::Text, "age", {}, "");
  EXPECT_FALSE(segment.value().add(other_kind));
}

TEST(Counters, of_two_writers_share_no_cache_line) {
  Schema schema;
  const auto first = schema.add(Kind::Counter, "a", {}, "");
  schema.writer();
  const auto second = schema.add(Kind::Counter, "b", {}, "");
  Result<Segment> segment = Segment::create_private(schema);
  ASSERT_TRUE(segment);
  segment.value().counter(first).set(1);
  segment.value().counter(second).set(2);
  const Result<Reader> reader = Reader::over(segment.value().bytes());
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader.value().metrics()[0].offset % kLinePair, 0U);
  EXPECT_EQ(reader.value().metrics()[1].offset - reader.value().metrics()[0].offset, kLinePair);
}

TEST(Counters, keep_distinct_errors_and_count_the_rest) {
  Made made;
  Result<Segment> segment = Segment::create_private(made.schema);
  ASSERT_TRUE(segment);
  const Errors errors = segment.value().errors(made.errors);
  const std::array<std::byte, 30> bytes{std::byte{0xc0}, std::byte{0x01}};
  errors.add({.time_ns = 5,
              .channel = 7,
              .template_index = 1,
              .code = 9,
              .sequence = 11,
              .offset = 40,
              .sample_begin = 34,
              .sample = bytes});
  errors.add({.time_ns = 6, .channel = 7, .template_index = 1, .code = 9, .sequence = 12});
  errors.add({.time_ns = 7, .channel = 8, .template_index = 1, .code = 9});
  errors.add({.time_ns = 8, .channel = 9});
  const Result<Reader> reader = Reader::over(segment.value().bytes());
  ASSERT_TRUE(reader);
  const Metric& metric = *reader.value().find("errors");
  const std::vector<SeenError> seen = reader.value().errors(metric);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].count, 2U);
  EXPECT_EQ(seen[0].first_ns, 5U);
  EXPECT_EQ(seen[0].last_ns, 6U);
  EXPECT_EQ(seen[0].channel, 7U);
  EXPECT_EQ(seen[0].sequence, 11U);
  EXPECT_EQ(seen[0].offset, 40U);
  EXPECT_EQ(seen[0].sample_begin, 34U);
  EXPECT_EQ(seen[0].sample_bytes, kSampleBytes);
  EXPECT_EQ(seen[0].sample[0], std::byte{0xc0});
  EXPECT_EQ(reader.value().errors_beyond(metric), 1U);
}

TEST(Counters, cut_long_texts_and_hide_control_characters) {
  Made made;
  Result<Segment> segment = Segment::create_private(made.schema);
  ASSERT_TRUE(segment);
  const Result<Reader> reader = Reader::over(segment.value().bytes());
  ASSERT_TRUE(reader);
  const Metric& metric = *reader.value().find("image");
  EXPECT_EQ(reader.value().text(metric), "");
  segment.value().text(made.image).set("a\x1b[2Jb");
  EXPECT_EQ(reader.value().text(metric), "a\\x1b[2Jb");
  segment.value().text(made.image).set(std::string(500, 'x'));
  EXPECT_EQ(reader.value().text(metric), std::string(kTextBytes, 'x'));
}

TEST(Counters, texts_are_read_whole_while_they_change) {
  Made made;
  Result<Segment> segment = Segment::create_private(made.schema);
  ASSERT_TRUE(segment);
  const Text text = segment.value().text(made.image);
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop.load(); ++i)
      text.set(std::string(static_cast<std::size_t>(i % 100 + 1), static_cast<char>('a' + i % 26)));
  });
  const Result<Reader> reader = Reader::over(segment.value().bytes());
  const Metric& metric = *reader.value().find("image");
  for (int i = 0; i < 20'000; ++i) {
    const std::string seen = reader.value().text(metric);
    EXPECT_EQ(seen.find_first_not_of(seen.empty() ? 'x' : seen[0]), std::string::npos) << seen;
  }
  stop = true;
  writer.join();
}

TEST(Counters, refuse_names_that_are_no_names_or_come_twice) {
  Schema twice;
  twice.add(Kind::Counter, "a", {{"x", "1"}}, "");
  twice.add(Kind::Gauge, "a", {{"x", "1"}}, "");
  EXPECT_THAT(Segment::create_private(twice).message(), HasSubstr("two counters have the name 'a{x=\"1\"}'"));
  Schema bad;
  bad.add(Kind::Counter, "a b", {}, "");
  EXPECT_THAT(Segment::create_private(bad).message(), HasSubstr("is not a valid name of a counter"));
}

TEST(CounterNames, are_read_as_they_are_written) {
  const std::string text = write_name("a_1", {{"x", "1\\2\"3"}, {"y", "\xc3\xa4,}"}});
  const auto name = parse_name(text);
  ASSERT_TRUE(name) << text;
  EXPECT_EQ(name->family, "a_1");
  EXPECT_EQ(name->label("x"), "1\\2\"3");
  EXPECT_EQ(name->label("y"), "\xc3\xa4,}");
  for (const char* wrong :
       {"", "1a", "a{", "a{}", "a{x}", "a{x=1}", "a{x=\"1\"", "a{x=\"1\",}", "a{x=\"\\n\"}", "a ", "a{x=\"\xff\"}"}) {
    EXPECT_FALSE(parse_name(wrong)) << wrong;
  }
}

TEST(Histogram, buckets_follow_each_other_without_holes) {
  EXPECT_EQ(bucket_begin(0), 0U);
  for (std::size_t i = 0; i < kBuckets; ++i) {
    EXPECT_EQ(bucket_of(bucket_begin(i)), i);
    EXPECT_EQ(bucket_of(bucket_last(i)), i);
    if (i >= kSubBuckets && i + 1 < kBuckets) {
      EXPECT_LE((bucket_last(i) - bucket_begin(i)) * kSubBuckets, bucket_begin(i));
    }
  }
  EXPECT_EQ(bucket_of(~std::uint64_t{0}), kBuckets - 1);
}

TEST(Histogram, quantiles_are_true_to_one_part_in_eight) {
  Schema schema;
  const auto id = schema.add(Kind::Histogram, "h", {}, "");
  Result<Segment> segment = Segment::create_private(schema);
  ASSERT_TRUE(segment);
  const Histogram histogram = segment.value().histogram(id);
  for (std::uint64_t i = 1; i <= 100'000; ++i) histogram.add(i);
  const Result<Reader> reader = Reader::over(segment.value().bytes());
  const Distribution seen = reader.value().distribution(reader.value().metrics()[0]);
  EXPECT_EQ(seen.count, 100'000U);
  EXPECT_EQ(seen.largest, 100'000U);
  EXPECT_EQ(seen.sum, 5'000'050'000U);
  for (const double part : {0.01, 0.5, 0.9, 0.999}) {
    const double truth = part * 100'000;
    EXPECT_GE(static_cast<double>(seen.quantile(part)), truth * 0.999);
    EXPECT_LE(static_cast<double>(seen.quantile(part)), truth * 1.126);
  }
  EXPECT_EQ(seen.quantile(1), 100'000U);
  EXPECT_EQ(Distribution().quantile(0.5), 0U);
}

TEST(CounterSegment, tells_a_running_a_finished_and_a_dead_writer) {
  const testing::Scratch scratch;
  const std::string name = scratch.path("life");
  int up[2];
  ASSERT_EQ(::pipe(up), 0);
  Made made;
  const pid_t child = ::fork();
  if (child == 0) {
    Result<Segment> segment = Segment::create(name, made.schema);
    if (segment) segment.value().counter(made.packets).add(5);
    (void)!::write(up[1], segment ? "y" : "n", 1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(up[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  Result<Reader> reader = Reader::open(name);
  ASSERT_TRUE(reader) << reader.message();
  EXPECT_EQ(reader.value().writer(), Reader::Writer::Running);
  EXPECT_EQ(reader.value().writer_pid(), static_cast<std::uint32_t>(child));
  EXPECT_THAT(Segment::create(name, made.schema).message(), HasSubstr("has a live writer"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(reader.value().writer(), Reader::Writer::Dead);
  EXPECT_EQ(reader.value().value("packets", {{"line", "A"}}), 5U);
  {
    Result<Segment> next = Segment::create(name, made.schema);
    ASSERT_TRUE(next) << next.message();
    next.value().beat(99);
    EXPECT_EQ(Reader::open(name).value().value("packets", {{"line", "A"}}), 0U);
    EXPECT_EQ(Reader::open(name).value().heartbeat_ns(), 99U);
  }
  EXPECT_EQ(Reader::open(name).value().writer(), Reader::Writer::Finished);
  ::close(up[0]);
  ::close(up[1]);
}

TEST(CounterSegment, takes_its_name_away_but_not_that_of_its_successor) {
  const testing::Scratch scratch;
  const std::string name = scratch.path("counters");
  const std::string successor = scratch.path("successor");
  const Made made;
  Result<Segment> first = Segment::create(name, made.schema);
  ASSERT_TRUE(first) << first.message();
  Result<Segment> second = Segment::create(successor, made.schema);
  ASSERT_TRUE(second) << second.message();
  std::filesystem::rename(second.value().path(), first.value().path());
  first.value().unlink();
  EXPECT_TRUE(std::filesystem::exists(first.value().path()));
  std::filesystem::rename(first.value().path(), second.value().path());
  second.value().unlink();
  EXPECT_FALSE(std::filesystem::exists(second.value().path()));
}

TEST(CounterSegment, leaves_files_alone_that_are_something_else) {
  const testing::Scratch scratch;
  const std::string name = scratch.path("other");
  const Made made;
  EXPECT_THAT(Reader::open(name).message(), HasSubstr("No such file"));
  std::filesystem::create_directory(name + ".counters");
  EXPECT_THAT(Reader::open(name).message(), HasSubstr("is not a segment of counters"));
}

TEST(CounterSegment, with_any_byte_changed_is_refused_or_read_inside_its_bounds) {
  Made made;
  Result<Segment> segment = Segment::create_private(made.schema);
  ASSERT_TRUE(segment);
  const auto whole = segment.value().bytes();
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> memory(whole.size() / 8);
  for (int round = 0; round < 3'000; ++round) {
    std::memcpy(memory.data(), whole.data(), whole.size());
    auto* bytes = reinterpret_cast<unsigned char*>(memory.data());
    for (int i = 0; i < 3; ++i) bytes[random() % 800] = static_cast<unsigned char>(random());
    const auto view =
        std::as_bytes(std::span(memory)).first(random() % 4 == 0 ? random() % whole.size() : whole.size());
    const Result<Reader> reader = Reader::over(view);
    if (!reader) continue;
    for (const Metric& metric : reader.value().metrics()) {
      (void)reader.value().value(metric);
      (void)reader.value().text(metric);
      (void)reader.value().distribution(metric).quantile(0.5);
      (void)reader.value().errors(metric);
    }
  }
}

}  // namespace stopbit::counters::counters_test
