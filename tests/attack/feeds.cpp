#include "tests/attack/feeds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "tests/fuzz/fixed_templates.hpp"
#include "tests/lib/case_file.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/property/random_case.hpp"

namespace stopbit::attack {
namespace {

struct TypeRow {
  std::string_view name;
  std::string_view open;     ///< Without its `<`, attributes follow.
  std::string_view inside;   ///< In front of the operator.
  std::string_view element;  ///< Closes it.
  std::string_view value;
  enum class Kind { Integer, Decimal, Text, Choice } kind;
};

constexpr std::string_view kElements = R"(<element name="a"/><element name="b"/><element name="c"/>)";

constexpr std::array<TypeRow, 16> kTypes = {{
    {"int8", "int8", "", "int8", "-128", TypeRow::Kind::Integer},
    {"uInt8", "uInt8", "", "uInt8", "255", TypeRow::Kind::Integer},
    {"int16", "int16", "", "int16", "32767", TypeRow::Kind::Integer},
    {"uInt16", "uInt16", "", "uInt16", "65534", TypeRow::Kind::Integer},
    {"int32", "int32", "", "int32", "-3", TypeRow::Kind::Integer},
    {"uInt32", "uInt32", "", "uInt32", "4294967290", TypeRow::Kind::Integer},
    {"int64", "int64", "", "int64", "9223372036854775800", TypeRow::Kind::Integer},
    {"uInt64", "uInt64", "", "uInt64", "18446744073709551610", TypeRow::Kind::Integer},
    {"decimal", "decimal", "", "decimal", "12000", TypeRow::Kind::Decimal},
    {"ascii", "string", "", "string", "GEH6", TypeRow::Kind::Text},
    {"unicode", "string charset=\"unicode\"", "", "string", "Z", TypeRow::Kind::Text},
    {"byteVector", "byteVector", "", "byteVector", "0102", TypeRow::Kind::Text},
    {"enum", "enum", kElements, "enum", "b", TypeRow::Kind::Choice},
    {"set", "set", kElements, "set", "5", TypeRow::Kind::Choice},
    {"boolean", "boolean", "", "boolean", "1", TypeRow::Kind::Choice},
    {"timestamp", "timestamp unit=\"nanosecond\"", "", "timestamp", "7", TypeRow::Kind::Integer},
}};

constexpr std::array<std::string_view, 7> kOperators = {"",          "constant", "default", "copy",
                                                        "increment", "delta",    "tail"};

std::string one_template(std::string_view body) {
  return fmt::format(
      "<templates xmlns=\"http://www.fixprotocol.org/ns/fast/td/1.2\">\n<template name=\"T\" id=\"1\">\n{}\n"
      "<uInt32 name=\"Behind\"/>\n</template>\n</templates>\n",
      body);
}

std::string operator_text(std::string_view op, std::string_view value) {
  if (op.empty()) return {};
  return value.empty() ? fmt::format("<{}/>", op) : fmt::format("<{} value=\"{}\"/>", op, value);
}

/// Calls `make(operator, presence, value)` for the combinations that a type has.
template <class Make>
void for_each_cell(const TypeRow& type, Make make) {
  for (const std::string_view op : kOperators) {
    if (op == "increment" && type.kind != TypeRow::Kind::Integer) continue;
    if (op == "delta" && type.kind == TypeRow::Kind::Choice) continue;
    if (op == "tail" && type.kind != TypeRow::Kind::Text) continue;
    for (const std::string_view presence : {"mandatory", "optional"}) {
      for (const std::string_view value : {type.value, std::string_view()}) {
        const bool needs_value = op == "constant" || (op == "default" && presence == "mandatory");
        if ((op.empty() && !value.empty()) || (needs_value && value.empty())) continue;
        make(op, presence, value);
      }
    }
  }
}

void add(Feeds& feeds, std::string name, std::string text) {
  templates::CompileOptions options;
  options.supply_fast_reset = false;
  options.string_capacity = 24;  // small limits are met more often
  options.max_record_slots = 200;
  feeds.push_back(make_feed(std::move(name), std::move(text), options));
}

}  // namespace

std::unique_ptr<Feed> make_feed(std::string name, std::string template_text, const templates::CompileOptions& options) {
  Diagnostics diagnostics;
  auto feed = try_feed(std::move(name), std::move(template_text), options, diagnostics);
  require(feed != nullptr, "our templates are good", diagnostics.format());
  return feed;
}

std::unique_ptr<Feed> try_feed(std::string name, std::string template_text, const templates::CompileOptions& options,
                               Diagnostics& diagnostics) {
  auto feed = std::make_unique<Feed>();
  feed->name = std::move(name);
  feed->template_text = std::move(template_text);
  feed->options = options;
  auto program =
      templates::compile({std::make_shared<SourceBuffer>(feed->name, feed->template_text)}, options, diagnostics);
  if (!program) return nullptr;
  feed->program = *std::move(program);
  return feed;
}

Feeds fixed_feeds() {
  constexpr std::array kNames = {"book", "reference-data", "every-operator", "references", "packed"};
  const std::vector<std::string>& texts = fuzz::fixed_template_texts();
  Feeds feeds;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    feeds.push_back(
        make_feed(i < kNames.size() ? kNames[i] : fmt::format("fixed-{}", i), texts[i], fuzz::fixed_compile_options()));
  }
  return feeds;
}

Feeds cell_feeds() {
  Feeds feeds;
  for (const TypeRow& type : kTypes) {
    for_each_cell(type, [&](std::string_view op, std::string_view presence, std::string_view value) {
      add(feeds,
          fmt::format("{}-{}-{}{}", type.name, op.empty() ? "none" : op, presence, value.empty() ? "" : "-value"),
          one_template(fmt::format("<{} name=\"F\" presence=\"{}\">{}{}</{}>", type.open, presence, type.inside,
                                   operator_text(op, value), type.element)));
    });
  }
  // Exponents and mantissas with operators of their own; lengths of sequences.
  constexpr TypeRow kInteger = {"", "", "", "", "2", TypeRow::Kind::Integer};
  for_each_cell(kInteger, [&](std::string_view op, std::string_view presence, std::string_view value) {
    const std::string_view with = value.empty() ? "" : "-value";
    const std::string_view shown = op.empty() ? "none" : op;
    for (const std::string_view inner : {"", "copy", "increment", "delta"}) {
      add(feeds, fmt::format("decimal-{}-{}{}-{}", shown, presence, with, inner.empty() ? "none" : inner),
          one_template(fmt::format("<decimal name=\"F\" presence=\"{}\"><exponent>{}</exponent><mantissa>{}</mantissa>"
                                   "</decimal>",
                                   presence, operator_text(op, value), operator_text(inner, ""))));
    }
    for (const std::string_view inner : {"", "<copy/>"}) {
      add(feeds, fmt::format("sequence-{}-{}{}-{}", shown, presence, with, inner.empty() ? "plain" : "map"),
          one_template(fmt::format("<sequence name=\"S\" presence=\"{}\"><length>{}</length><uInt32 name=\"E\">{}"
                                   "</uInt32></sequence>",
                                   presence, operator_text(op, value), inner)));
    }
  });
  for (const std::string_view op :
       {"", "<copy/>", "<copy value=\"5\"/>", "<default value=\"5\"/>", "<increment/>", "<increment value=\"5\"/>",
        "<delta/>", "<delta value=\"5\"/>", "<constant value=\"5\"/>"}) {
    for (const std::string_view presence : {"mandatory", "optional"}) {
      add(feeds, fmt::format("bits-{}-{}", op, presence),
          one_template(
              fmt::format(R"(<bitGroup name="G" presence="{}"><boolean name="B"/><int3 name="I" presence="optional"/>)"
                          R"(<enum name="E">{}</enum>{}</bitGroup>)",
                          presence, kElements, op)));
    }
  }
  for (const std::string_view type : {"int32", "uInt32", "int64", "uInt64"}) {
    for (const std::string_view presence : {"mandatory", "optional"}) {
      add(feeds, fmt::format("vector-{}-{}", type, presence),
          one_template(fmt::format(R"(<{}Vector name="V" presence="{}"/>)", type, presence)));
    }
  }
  add(feeds, "group-optional",
      one_template(R"(<group name="G" presence="optional"><int32 name="A" presence="optional"/></group>)"));
  add(feeds, "group-optional-map",
      one_template(R"(<group name="G" presence="optional"><int32 name="A"><copy value="1"/></int32></group>)"));
  add(feeds, "group-mandatory-map",
      one_template(R"(<group name="G"><int32 name="A"><copy value="1"/></int32></group>)"));
  add(feeds, "reference-dynamic", one_template(R"(<group name="G" presence="optional"><templateRef/></group>)"));
  return feeds;
}

Feeds random_feeds(std::uint64_t first_seed, std::size_t count) {
  Feeds feeds;
  for (std::uint64_t seed = first_seed; seed < first_seed + count; ++seed) {
    feeds.push_back(make_feed(fmt::format("random-{}", seed), cases::random_case(seed).template_text));
  }
  return feeds;
}

std::unique_ptr<Feed> sample_feed() {
  const auto text = stopbit::testing::file_text_if_any(sample_folder() / "templates.xml");
  require(text.has_value(), "the sample's templates can be read");
  return make_feed("sample", *text);
}

Feeds corpus_feeds() {
  Feeds feeds;
  const auto folder = corpus_folder();
  if (!folder) return feeds;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
    if (entry.path().extension() == ".xml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::filesystem::path& path : paths) {
    const auto text = stopbit::testing::file_text_if_any(path);
    require(text.has_value(), "the corpus can be read", path.string());
    templates::CompileOptions options;
    options.template_id = 1;  // for the files whose only template has none
    const bool has_capture = path.filename() == "templates.xml";
    feeds.push_back(make_feed((has_capture ? path.parent_path() : path).stem().string(), *text, options));
  }
  return feeds;
}

EngineLimits some_limits(cases::Random& random) {
  const auto some = [&] { return static_cast<std::uint32_t>(random.below(random.chance(50) ? 4 : 40)); };
  EngineLimits limits;
  if (random.chance(50)) limits.datagram_bytes = some();
  if (random.chance(50)) limits.elements = some();
  if (random.chance(20)) limits.empty_elements = some();
  if (random.chance(50)) limits.nesting = some();
  if (random.chance(50)) limits.string_bytes = some();
  return limits;
}

std::filesystem::path sample_folder() {
  return STOPBIT_SAMPLE_FOLDER;
}

std::optional<std::filesystem::path> corpus_folder() {
  const char* folder = std::getenv("STOPBIT_CORPUS");
  if (folder == nullptr || *folder == '\0') return std::nullopt;
  return folder;
}

}  // namespace stopbit::attack
