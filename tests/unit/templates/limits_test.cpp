// What a template file may ask of the compiler: every limit is met and exceeded by one; hostile files are refused with
// their line and cost little memory.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <functional>
#include <memory>
#include <string>

#include "tests/lib/form.hpp"
#include "tests/unit/templates/compile_text.hpp"

namespace stopbit::templates::limits_test {

std::string repeat(const std::string& text, std::size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// Constants take neither words nor instructions, so that nothing but the limit stops them.
std::string constants(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    out += "<uInt32 name='f" + std::to_string(i) + "'><constant value='1'/></uInt32>";
  }
  return out;
}

std::string many_templates(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    out += "<template name='t" + number + "' id='" + number + "'/>";
  }
  return "<templates>" + out + "</templates>";
}

/// "T1@3" for each error, by its line.
std::string errors(const Compiled& compiled) {
  std::string out;
  for (const Diagnostic& item : compiled.diagnostics.all()) {
    if (item.severity != Severity::Error) continue;
    out += (out.empty() ? "" : " ") + std::string(code_text(item.code));
    if (item.range.source) out += '@' + std::to_string(item.range.source->position(item.range.offset).line);
  }
  return out;
}

std::string errors_of(const std::string& text, const std::function<void(FileLimits&)>& change = {}) {
  CompileOptions options;
  options.supply_fast_reset = false;
  if (change) change(options.limits);
  return errors(compile_text(text, options));
}

TEST(TemplateFileLimits, bytes_of_a_file) {
  const std::string text = one_template("<uInt32 name='a'/>");
  const auto size = static_cast<std::uint32_t>(text.size());
  EXPECT_EQ(errors_of(text, [&](FileLimits& limits) { limits.file_bytes = size; }), "");
  EXPECT_EQ(errors_of(text, [&](FileLimits& limits) { limits.file_bytes = size - 1; }), "T1@1");
}

TEST(TemplateFileLimits, four_mebibytes_by_default) {
  const std::string text = one_template("<uInt32 name='a'/>");
  EXPECT_EQ(errors_of(text + std::string((4U << 20) - text.size(), '\n')), "");
  EXPECT_EQ(errors_of(text + std::string((4U << 20) - text.size() + 1, '\n')), "T1@1");
}

TEST(TemplateFileLimits, nested_elements) {
  const auto nested = [](std::size_t groups) {  // two elements more: the template and the field
    return one_template(repeat("<group name='g'>", groups) + "<uInt32 name='a'/>" + repeat("</group>", groups));
  };
  EXPECT_EQ(errors_of(nested(30)), "");
  EXPECT_EQ(errors_of(nested(31)), "T1@1");
  EXPECT_EQ(errors_of(nested(3), [](FileLimits& limits) { limits.nesting = 5; }), "");
  EXPECT_EQ(errors_of(nested(4), [](FileLimits& limits) { limits.nesting = 5; }), "T1@1");
  EXPECT_EQ(errors_of(nested(60), [](FileLimits& limits) { limits.nesting = 64; }), "");
}

TEST(TemplateFileLimits, groups_nested_by_definitions) {
  const auto nested = [](int definitions) {
    std::string text = "<templates><define name='d0'><group><uInt32 name='a'/></group></define>";
    for (int i = 1; i < definitions; ++i) {
      text += "<define name='d" + std::to_string(i) + "'><group><field name='g'><type name='d" + std::to_string(i - 1) +
              "'/></field></group></define>";
    }
    return text + "\n<template name='T' id='1'><field name='g'><type name='d" + std::to_string(definitions - 1) +
           "'/></field></template></templates>";
  };
  EXPECT_EQ(errors_of(nested(10), [](FileLimits& limits) { limits.nesting = 11; }), "");
  EXPECT_EQ(errors_of(nested(10), [](FileLimits& limits) { limits.nesting = 9; }), "T1@1");
  EXPECT_NE(errors_of(nested(100)), "");
}

TEST(TemplateFileLimits, references_inside_each_other) {
  const auto chain = [](int templates) {
    std::string text = "<templates><template name='t0'><uInt32 name='a'/></template>\n";
    for (int i = 1; i < templates; ++i) {
      text += "<template name='t" + std::to_string(i) + "'><templateRef name='t" + std::to_string(i - 1) +
              "'/></template>\n";
    }
    return text + "<template name='T' id='1'><templateRef name='t" + std::to_string(templates - 1) +
           "'/></template></templates>";
  };
  EXPECT_EQ(errors_of(chain(31)), "");
  EXPECT_EQ(errors_of(chain(32)), "T1@2");
}

TEST(TemplateFileLimits, templates_of_all_files) {
  EXPECT_EQ(errors_of(many_templates(4096)), "");
  EXPECT_EQ(errors_of(many_templates(4097)), "T1@1");
  EXPECT_EQ(errors_of(many_templates(7), [](FileLimits& limits) { limits.templates = 7; }), "");
  EXPECT_EQ(errors_of(many_templates(8), [](FileLimits& limits) { limits.templates = 7; }), "T1@1");
}

TEST(TemplateFileLimits, fields_of_a_template) {
  EXPECT_EQ(errors_of(one_template(constants(1024))), "");
  EXPECT_EQ(errors_of(one_template(constants(1024) + "\n<uInt32 name='one_more'/>")), "T1@2");
  const auto two = [](FileLimits& limits) { limits.fields = 2; };
  EXPECT_EQ(errors_of(one_template("<group name='g'><uInt32 name='a'/></group>"), two), "");
  EXPECT_EQ(errors_of(one_template("<group name='g'><uInt32 name='a'/>\n<uInt32 name='b'/></group>"), two), "T1@2");
}

TEST(TemplateFileLimits, what_all_templates_expand_to) {
  const auto text = [](std::size_t fields) {
    return "<templates><template name='A' id='1'>" + constants(4) + "</template>\n<template name='B' id='2'>" +
           constants(fields) + "</template></templates>";
  };
  EXPECT_EQ(errors_of(text(3), [](FileLimits& limits) { limits.instructions = 7; }), "");
  EXPECT_EQ(errors_of(text(4), [](FileLimits& limits) { limits.instructions = 7; }), "T1@2");
}

TEST(TemplateFileLimits, no_setting_exceeds_its_hard_cap) {
  const std::string text = one_template("<uInt32 name='a'/>");
  EXPECT_EQ(errors_of(text, [](FileLimits& limits) { limits = kHardFileLimits; }), "");
  EXPECT_EQ(errors_of(text, [](FileLimits& limits) { limits.file_bytes = kHardFileLimits.file_bytes + 1; }), "T1");
  EXPECT_EQ(errors_of(text, [](FileLimits& limits) { limits.nesting = kHardFileLimits.nesting + 1; }), "T1");
  EXPECT_EQ(errors_of(text, [](FileLimits& limits) { limits.templates = kHardFileLimits.templates + 1; }), "T1");
  EXPECT_EQ(errors_of(text, [](FileLimits& limits) { limits.fields = kHardFileLimits.fields + 1; }), "T1");
  EXPECT_EQ(errors_of(text, [](FileLimits& limits) { limits.instructions = kHardFileLimits.instructions + 1; }), "T1");
}

// --- Hostile files. Each is compiled in a process of its own, whose memory is then known.

struct Hostile {
  const char* name;
  const char* first_error;
  std::function<std::string()> text;
  long most_kib = 64 << 10;
};

void PrintTo(const Hostile& hostile, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's
  *out << hostile.name;
}

std::string doubling_definitions() {
  std::string text = "<templates><define name='d0'><group><uInt32 name='a'/></group></define>\n";
  for (int i = 1; i < 30; ++i) {
    const std::string inner = "<type name='d" + std::to_string(i - 1) + "'/>";
    text += "<define name='d" + std::to_string(i) + "'><group><field name='a'>" + inner + "</field><field name='b'>" +
            inner + "</field></group></define>\n";
  }
  return text + "<template name='T' id='1'><field name='g'><type name='d29'/></field></template></templates>";
}

std::string doubling_references() {
  std::string text = "<templates><template name='t0'/>\n";
  for (int i = 1; i < 30; ++i) {
    const std::string inner = "<templateRef name='t" + std::to_string(i - 1) + "'/>";
    text += "<template name='t" + std::to_string(i) + "'>" + inner + inner + "</template>\n";
  }
  return text + "<template name='T' id='1'><templateRef name='t29'/></template></templates>";
}

std::string chained_definitions() {
  std::string text = "<templates>\n";
  for (int i = 0; i < 20'000; ++i) {
    text += "<define name='d" + std::to_string(i) + "'><type name='d" + std::to_string(i + 1) + "'/></define>\n";
  }
  return text + "<define name='d20000'><uInt32/></define></templates>";
}

/// 60 templates that use the definition `G` 500 times each.
std::string uses(const std::string& definition) {
  std::string text = "<templates><define name='G'>" + definition + "</define>\n";
  for (int i = 1; i <= 60; ++i) {
    text += "<template name='t" + std::to_string(i) + "' id='" + std::to_string(i) + "'>" +
            repeat("<field name='f'><type name='G'/></field>", 500) + "</template>";
  }
  return text + "</templates>";
}

/// Without limits on what a definition costs where it is used, each of these takes an hour or all memory.
constexpr std::size_t kMany = 100'000;

const Hostile kHostile[] = {
    {"billion_laughs", "T3@2",
     [] {
       std::string text = "<?xml version='1.0'?>\n<!DOCTYPE t [<!ENTITY a 'ha'>";
       for (char c = 'b'; c < 'l'; ++c) {
         text +=
             std::string("<!ENTITY ") + c + " '" + repeat(std::string("&") + static_cast<char>(c - 1) + ";", 10) + "'>";
       }
       return text + "]>\n<templates>&k;</templates>";
     }},
    {"quadratic_blow_up", "T3@1",
     [] {
       return "<!DOCTYPE t [<!ENTITY a '" + std::string(1U << 20, 'a') + "'>]><templates>" + repeat("&a;", 100'000) +
              "</templates>";
     }},
    {"external_entity", "T3@2",
     [] {
       return std::string(
           "<?xml version='1.0'?>\n<!DOCTYPE t [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>\n"
           "<templates>&a;</templates>");
     }},
    {"undeclared_entity", "S1@2", [] { return std::string("<templates>\n<template name='&a;' id='1'/></templates>"); }},
    {"a_million_elements_deep", "T1@1", [] { return repeat("<a>", 1'000'000); }},
    {"a_million_lines_deep", "T1@33", [] { return repeat("<a>\n", 1'000'000); }},
    {"cyclic_references", "T2@2",
     [] {
       return std::string(
           "<templates><template name='a' id='1'><templateRef name='b'/></template>\n"
           "<template name='b' id='2'><templateRef name='a'/></template></templates>");
     }},
    {"duplicate_identifiers", "T4@2",
     [] {
       return "<templates><template name='a' id='1'/>\n" + repeat("<template name='b' id='1'/>", 4'000) +
              "</templates>";
     }},
    {"cyclic_definitions", "S1@2",
     [] {
       return std::string(
           "<templates><define name='a'><group><field name='x'><type name='b'/></field></group></define>\n"
           "<define name='b'><sequence><field name='x'><type name='a'/></field></sequence></define>"
           "</templates>");
     }},
    {"doubling_definitions", "T1@1", doubling_definitions},
    {"doubling_references", "T1@2", doubling_references},
    {"chained_definitions", "S1@33", chained_definitions},
    {"attributes", "T1@1", [] { return "<templates " + repeat("a='' ", 800'000) + "/>"; }},
    {"references_in_a_definition", "T1@1",
     [] { return uses("<group>" + repeat("<templateRef/>", kMany) + "</group>"); }, 256 << 10},
    {"strangers_in_a_definition", "S1@1", [] { return uses("<group>" + repeat("<x/>", kMany) + "</group>"); },
     256 << 10},
    {"foreigners_in_a_definition", "T1@1",
     [] { return uses("<group>" + repeat("<f:x xmlns:f='f'/>", kMany / 2) + "</group>"); }, 256 << 10},
    {"unknown_types_in_a_definition", "S1@1", [] { return uses("<group>" + repeat("<type/>", kMany) + "</group>"); },
     256 << 10},
    {"long_value_in_a_definition", "T1@1",
     [] { return uses("<string><constant value='" + std::string(3U << 20, 'a') + "'/></string>"); }, 256 << 10},
    {"long_name_around_everything", "T1@1",
     [] {
       return "<templates dictionary='" + std::string(3U << 20, 'a') + "'>" +
              one_template(repeat("<uInt32 name='f'/>", 1'000)) + "</templates>";
     }},
    {"siblings", "T1@1", [] { return "<templates>" + repeat("<a/>", 1'000'000) + "</templates>"; }},
};

class HostileTemplates : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileTemplates, are_refused_with_their_line_and_little_memory) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string found = errors_of(GetParam().text());
    const std::string first = found.substr(0, found.find(' '));
    if (first != GetParam().first_error) {
      std::fprintf(stderr, "expected %s, got %s\n", GetParam().first_error, first.c_str());
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  ASSERT_EQ(wait4(child, &status, 0, &usage), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  if (!kSanitized) {
    EXPECT_LT(usage.ru_maxrss, GetParam().most_kib) << "KiB";
  }
}

INSTANTIATE_TEST_SUITE_P(Files, HostileTemplates, ::testing::ValuesIn(kHostile),
                         [](const auto& file) { return std::string(file.param.name); });

/// A search to the end of the list for each of its lines took more than a minute for four mebibytes.
TEST(FieldLists, are_read_in_time_that_grows_with_their_length_alone) {
  constexpr std::size_t kLines = 1U << 22;
  constexpr std::clock_t kFarMoreThanItTakes = 20 * CLOCKS_PER_SEC;  // of the processor, however busy the machine is
  const std::clock_t begin = std::clock();
  CompileOptions options;
  options.fields = std::make_shared<SourceBuffer>("fields", repeat("\n", kLines) + "f1");
  EXPECT_EQ(errors(compile_text(one_template(constants(3)), options)), "");
  EXPECT_LT(std::clock() - begin, kFarMoreThanItTakes);
  options.fields = std::make_shared<SourceBuffer>("fields", repeat("f1\n", kLines));
  EXPECT_EQ(errors(compile_text(one_template(constants(3)), options)), "T1@4097") << "no more is read";
  EXPECT_LT(std::clock() - begin, kFarMoreThanItTakes);
}

}  // namespace stopbit::templates::limits_test
