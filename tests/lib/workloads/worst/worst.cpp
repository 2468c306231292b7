#include "tests/lib/workloads/worst/worst.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include "tests/lib/random.hpp"
#include "tests/lib/workloads/feed_writer.hpp"
#include "tests/lib/workloads/json_line.hpp"

namespace stopbit::bench {
namespace {

constexpr std::uint64_t kSeed = 20'261'122;
constexpr std::size_t kMessages = 2'000;

std::string field_name(std::size_t index) {
  return "F" + std::to_string(index);
}

Result<Program> compile_body(const std::string& name, const std::string& body) {
  return compile_text(name + ".xml",
                      R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="T" id="1">)" +
                          body + "</template></templates>");
}

/// `line` writes the fields of message i.
template <class Line>
Result<std::unique_ptr<Workload>> make(const std::string& name, const std::string& body, Line line) {
  FeedWriter feed(name, compile_body(name, body));
  JsonLine text;
  for (std::size_t i = 0; i < kMessages; ++i) {
    text.begin("T", 1);
    line(text);
    feed.add(text.end());
    feed.arrive(feed.take(), {});
  }
  return feed.finish();
}

// ------------------------------------------------------------------------------------------------------ presence maps

constexpr std::size_t kMapFields = 240;  ///< A block has at most 250 words.

Result<std::unique_ptr<Workload>> make_presence_map() {
  std::string body;
  for (std::size_t i = 0; i < kMapFields; ++i) {
    body += "<uInt32 name=\"" + field_name(i) + "\" presence=\"optional\"><default value=\"1\"/></uInt32>";
  }
  cases::Random random(kSeed);
  return make("worst-pmap", body, [&](JsonLine& line) {
    for (std::size_t i = 0; i < kMapFields; ++i) {
      if (random.chance(50)) {
        line.unsigned_number(field_name(i), 1);
      } else if (random.chance(50)) {
        line.unsigned_number(field_name(i), random.below(1U << 14));
      }
    }
  });
}

// ------------------------------------------------------------------------------------------------------------ nesting

constexpr std::size_t kDepth = 8;  ///< What an engine allows at most.
constexpr std::size_t kElements = 2;

void nested_line(JsonLine& line, std::size_t depth, cases::Random& random) {
  line.unsigned_number(field_name(depth), random.below(4));
  if (depth == kDepth) return;
  line.begin_sequence("S" + std::to_string(depth));
  for (std::size_t i = 0; i < kElements; ++i) {
    line.begin_element();
    nested_line(line, depth + 1, random);
    line.end_element();
  }
  line.end_sequence();
}

Result<std::unique_ptr<Workload>> make_nesting() {
  std::string body;
  for (std::size_t depth = kDepth + 1; depth-- > 0;) {
    const std::string field = "<uInt32 name=\"" + field_name(depth) + "\"><copy/></uInt32>";
    body =
        depth == kDepth ? field : field + "<sequence name=\"S" + std::to_string(depth) + "\">" + body + "</sequence>";
  }
  cases::Random random(kSeed);
  return make("worst-nesting", body, [&](JsonLine& line) { nested_line(line, 0, random); });
}

// -------------------------------------------------------------------------------------------------- absent and present

constexpr std::size_t kKinds = 5;
constexpr std::size_t kNullable = 200;  ///< A decimal takes two words.

std::string nullable_body() {
  constexpr const char* kTypes[kKinds] = {"uInt32", "int64", "uInt64", "string", "decimal"};
  std::string body;
  for (std::size_t i = 0; i < kNullable; ++i) {
    body += std::string("<") + kTypes[i % kKinds] + " name=\"" + field_name(i) + "\" presence=\"optional\"/>";
  }
  return body;
}

Result<std::unique_ptr<Workload>> make_absent() {
  return make("worst-absent", nullable_body(), [](JsonLine&) {});
}

/// Every value as long as its type allows; strings as long as a word holds.
Result<std::unique_ptr<Workload>> make_present() {
  return make("worst-present", nullable_body(), [](JsonLine& line) {
    for (std::size_t i = 0; i < kNullable; ++i) {
      const std::string name = field_name(i);
      switch (i % kKinds) {
        case 0: line.unsigned_number(name, std::numeric_limits<std::uint32_t>::max()); break;
        case 1: line.number(name, std::numeric_limits<std::int64_t>::min()); break;
        case 2: line.unsigned_number(name, std::numeric_limits<std::uint64_t>::max()); break;
        case 3: line.text(name, "ABCDEFGH"); break;
        default: line.decimal(name, std::numeric_limits<std::int64_t>::min(), -63); break;
      }
    }
  });
}

// ------------------------------------------------------------------------------------------------------------ strings

constexpr std::size_t kLongest = 240;  ///< A dictionary entry holds 256 bytes.
constexpr std::size_t kKept = 120;     ///< Of the string before, by delta and tail.
constexpr std::size_t kStrings = 6;

Result<std::unique_ptr<Workload>> make_strings() {
  constexpr const char* kOperators[kStrings] = {"", "<copy/>", "<delta/>", "<tail/>", "<delta/>", "<tail/>"};
  std::string body = "<sequence name=\"Texts\">";
  for (std::size_t i = 0; i < kStrings; ++i) {
    body += "<string name=\"" + field_name(i) + "\"" + (i >= 4 ? " charset=\"unicode\">" : ">") + kOperators[i] +
            "</string>";
  }
  body += "</sequence>";
  cases::Random random(kSeed);
  std::string texts[kStrings];
  return make("worst-strings", body, [&](JsonLine& line) {
    constexpr std::size_t kEntries = 3;
    line.begin_sequence("Texts");
    for (std::size_t entry = 0; entry < kEntries; ++entry) {
      line.begin_element();
      for (std::size_t i = 0; i < kStrings; ++i) {
        std::string& text = texts[i];
        text.resize(kLongest, 'x');
        for (std::size_t at = entry == 0 ? 0 : kKept; at < kLongest; ++at) {
          text[at] = static_cast<char>('a' + random.below(26));
        }
        line.text(field_name(i), text);
      }
      line.end_element();
    }
    line.end_sequence();
  });
}

}  // namespace

std::vector<WorkloadSource> worst_sources() {
  return {{"worst-pmap", make_presence_map},
          {"worst-nesting", make_nesting},
          {"worst-absent", make_absent},
          {"worst-present", make_present},
          {"worst-strings", make_strings}};
}

}  // namespace stopbit::bench
