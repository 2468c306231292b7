// What one field costs: field/<type>/<operator>/<engine>, ns per field, and field/.../hostile where its lengths and
// presence bits cannot be predicted; field/.../hostile/hints: the same with a profile's hints. A message is 64 fields
// of a kind.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/contest.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/pace.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/ticks.hpp"
#include "bench/lib/workload_profile.hpp"
#include "microcode/profile/add.hpp"
#include "tests/lib/random.hpp"
#include "tests/lib/workloads/feed_writer.hpp"
#include "tests/lib/workloads/json_line.hpp"

namespace stopbit::bench {
namespace {

constexpr std::uint64_t kSeed = 20'261'124;
constexpr std::size_t kFields = 64;
constexpr std::size_t kMessages = 4'000;
constexpr std::size_t kRegular = 4;  ///< Different messages, if they are to be predictable.

struct Kind {
  const char* type;
  const char* name;  ///< Of the operator.
  const char* xml;   ///< The operator's element.
  bool is_optional;
};

constexpr Kind kKinds[] = {
    {"uInt32", "none", "", false},
    {"uInt32", "none-optional", "", true},
    {"uInt32", "default", "<default value=\"7\"/>", false},
    {"uInt32", "default-optional", "<default value=\"7\"/>", true},
    {"uInt32", "copy", "<copy/>", false},
    {"uInt32", "increment", "<increment/>", false},
    {"uInt32", "delta", "<delta/>", false},
    {"int64", "none", "", false},
    {"int64", "delta", "<delta/>", false},
    {"decimal", "none", "", false},
    {"decimal", "none-optional", "", true},
    {"decimal", "delta", "<delta/>", false},
    {"decimal", "default-delta", "<exponent><default value=\"-2\"/></exponent><mantissa><delta/></mantissa>", false},
    {"string", "none", "", false},
    {"string", "none-optional", "", true},
    {"string", "copy", "<copy/>", false},
    {"string", "default-optional", "<default value=\"AB\"/>", true},
    {"string", "delta", "<delta/>", false},
    {"string", "tail", "<tail/>", false},
};

/// A sequence: every element has the same field, so that operators have a previous value.
Result<Program> compile_kind(const Kind& kind) {
  std::string field = std::string("<") + kind.type + " name=\"V\"";
  if (kind.is_optional) field += " presence=\"optional\"";
  field += std::string(">") + kind.xml + "</" + kind.type + ">";
  return compile_text(kind.name,
                      R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1"><template name="T" id="1">)"
                      "<sequence name=\"S\">" +
                          field + "</sequence></template></templates>");
}

/// Values of one field after the other.
class Values {
 public:
  Values(const Kind& kind, bool is_hostile)
      : type_(kind.type), name_(kind.name), is_optional_(kind.is_optional), is_hostile_(is_hostile), random_(kSeed) {}

  void begin_message() {
    number_ = 0;
    text_ = "AAAA";
  }

  void write(JsonLine& line) {
    const bool changes = random_.chance(50);
    if (is_optional_ && random_.chance(30)) return;
    if (type_ == "string") {
      if (changes) change_text();
      line.text("V", is_default() && !changes ? "AB" : text_);
      return;
    }
    if (name_ == "increment") {
      number_ = changes ? draw() : number_ + 1;
    } else if (changes) {
      number_ = draw();
    }
    const std::uint64_t value = is_default() && !changes ? 7 : number_;
    if (type_ == "decimal") {
      line.decimal("V", static_cast<std::int64_t>(value), is_hostile_ && changes ? -4 : -2);
    } else {
      line.unsigned_number("V", value);
    }
  }

 private:
  [[nodiscard]] bool is_default() const { return name_ == "default" || name_ == "default-optional"; }
  /// Of one or two bytes on the wire; hostile: one to four.
  std::uint64_t draw() { return random_.below(std::uint64_t{1} << 7 * (1 + random_.below(is_hostile_ ? 4 : 2))); }
  /// Never shorter than before: a tail cannot take away.
  void change_text() {
    const std::size_t length = is_hostile_ ? 2 + random_.below(10) : 4;
    if (name_ != "tail" || length > text_.size()) text_.resize(length, 'A');
    for (std::size_t at = name_ == "tail" || name_ == "delta" ? text_.size() / 2 : 0; at < text_.size(); ++at) {
      text_[at] = static_cast<char>('A' + random_.below(26));
    }
  }

  const std::string type_;
  const std::string name_;
  const bool is_optional_;
  const bool is_hostile_;
  cases::Random random_;
  std::uint64_t number_ = 0;
  std::string text_;
};

std::unique_ptr<Workload> make(const Kind& kind, const std::string& name, bool is_hostile) {
  FeedWriter feed(name, compile_kind(kind));
  Values values(kind, is_hostile);
  JsonLine line;
  std::vector<FeedWriter::Datagram> datagrams;
  for (std::size_t i = 0; i < (is_hostile ? kMessages : kRegular); ++i) {
    values.begin_message();
    line.begin("T", 1);
    line.begin_sequence("S");
    for (std::size_t field = 0; field < kFields; ++field) {
      line.begin_element();
      values.write(line);
      line.end_element();
    }
    line.end_sequence();
    feed.add(line.end());
    datagrams.push_back(feed.take());
  }
  for (std::size_t i = 0; i < kMessages; ++i) feed.arrive(datagrams[i % datagrams.size()], {});
  return feed.finish();
}

/// Marks the bits that a profile of the workload finds to be unpredictable. Whether there are any.
bool add_hints(Workload& work) {
  const profile::Profile profile = profile_of(work);
  (void)profile::add_profiles(work.program, profile::resolve(profile, work.program).counts, {.maps = 0});
  const auto& code = work.program.code;
  return std::any_of(code.begin(), code.end(), [](const isa::Instruction& in) { return in.predicate; });
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(argc, argv, "What one field costs, by type and operator.");
  Report report;
  const TickClock clock;
  if (const auto processors = two_processors()) pin(processors->second);
  Pace pace(clock, arguments.pace_ns);
  for (const Kind& kind : kKinds) {
    for (const bool is_hostile : {false, true}) {
      const std::string name = std::string("field/") + kind.type + '/' + kind.name + (is_hostile ? "/hostile" : "");
      if (!arguments.wants(name)) continue;
      const std::unique_ptr<Workload> work = make(kind, name, is_hostile);
      run_engines(clock, pace, name, *work, Per::Field, arguments.quick, report);
      if (!is_hostile || !add_hints(*work)) continue;
      run_engines(clock, pace, work->name = name + "/hints", *work, Per::Field, arguments.quick, report);
    }
  }
  report.add("fields", clock, pace);
  return report.finish(arguments.json);
}
