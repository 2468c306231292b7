#include "host/cli/common/setting_pages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "host/appliance/calendar.hpp"
#include "host/appliance/settings.hpp"
#include "host/cli/common/roff.hpp"
#include "host/cli/common/text.hpp"
#include "host/feed/description/description.hpp"
#include "host/lab/network/plan/plan.hpp"
#include "host/market/map/source.hpp"
#include "host/os/config/units.hpp"

namespace stopbit::tools {
namespace {

using config::Key;
using config::KeyType;
using config::TableKeys;

bool is_array_of_tables(const Key& key) {
  return key.type == KeyType::Tables;
}
/// Whether the key is a table of its own in the text, rather than a value.
bool is_section(const Key& key) {
  return (key.type == KeyType::Table || key.type == KeyType::Tables) && key.table != nullptr && key.example.empty();
}
bool has_rows(const Key& key) {
  return key.table != nullptr;
}

/// The value that holds without the key, as TOML; empty: none does.
std::string default_of(const Key& key) {
  if (!key.without.empty()) return {};
  if (key.text) return config::toml_text(*key.text);
  return key.number ? config::toml_of(key, *key.number) : std::string();
}

std::string example_of(const Key& key) {
  if (!key.example.empty()) return key.example;
  if (const std::string value = default_of(key); !value.empty()) return value;
  switch (key.type) {
    case KeyType::Text: return "\"\"";
    case KeyType::Real: return "0";
    case KeyType::Texts:
    case KeyType::Integers:
    case KeyType::Scalars:
    case KeyType::Tables:
    case KeyType::TableOrTables: return "[]";
    case KeyType::Table:
    case KeyType::TextOrTable: return "{}";
    default: return config::toml_of(key, key.range.least);
  }
}

std::string words_of(const Key& key) {
  std::string out;
  for (const std::string& word : key.words) out += (out.empty() ? "" : ", ") + config::toml_text(word);
  return out;
}

std::string entries_of(const Key& key) {
  if (key.count.least == 0) return fmt::format("at most {} entries", key.count.most);
  return fmt::format("{} to {} entries", key.count.least, key.count.most);
}

/// Kind and range of a value, for people.
std::string type_of(const Key& key) {
  const auto range = [&](auto units) {
    return fmt::format("{} to {}", config::in_units(key.range.least, units), config::in_units(key.range.most, units));
  };
  switch (key.type) {
    case KeyType::Text: return "a text";
    case KeyType::Integer: return fmt::format("a number, {} to {}", key.range.least, key.range.most);
    case KeyType::Real: return fmt::format("a number, 0 to {}", key.most_real);
    case KeyType::Flag: return "true or false";
    case KeyType::Duration: return "a time, " + range(std::span<const config::Unit>(config::kTimeUnits));
    case KeyType::Bytes: return "a size, " + range(std::span<const config::Unit>(config::kByteUnits));
    case KeyType::Choice: return "one of " + words_of(key);
    case KeyType::Texts: return "a list of texts, " + entries_of(key);
    case KeyType::Integers:
      return fmt::format("a list of numbers, each {} to {}, {}", key.range.least, key.range.most, entries_of(key));
    case KeyType::Scalars: return "a text or a number, or a list of them, " + entries_of(key);
    case KeyType::Table: return "a table";
    case KeyType::Tables: return "tables, " + entries_of(key);
    case KeyType::TextOrTable:
      return key.words.empty() ? "a text or a table" : "one of " + words_of(key) + ", or a table";
    case KeyType::TableOrTables: return "a table, or a list of tables";
  }
  return {};
}

/// "Default: 7." and the like.
std::string default_text(const Key& key) {
  std::string out;
  if (key.is_required) out = "Required.";
  if (const std::string value = default_of(key); !value.empty()) out = "Default: " + value + '.';
  if (!key.without.empty()) out = "Default: " + key.without + '.';
  if (key.is_live) out += std::string(out.empty() ? "" : " ") + "A reload takes a change.";
  if (!key.when.empty()) out += (out.empty() ? "" : " ") + ("Only with " + key.when + '.');
  return out;
}

// ---------------------------------------------------------------------------------------------------------------------
// Manual page

class ManPage {
 public:
  explicit ManPage(const SettingsFile& file) : file_(file) {}

  std::string text() {
    const std::string name = fmt::format("stopbit-{}.toml", file_.name);
    out_ = roff_head(name, 5, file_.summary) + ".SH DESCRIPTION\n" + roff_paragraphs(file_.purpose) +
           roff_paragraphs(
               "\nThe file is TOML. A time is a text with a unit, ns, us, ms, s, min or h: \"250us\". A size has B, "
               "KiB, MiB or GiB: \"64MiB\". A key that is not listed here is an error, as is a value out of its range; "
               "every error is reported with file, line and column.\n") +
           ".SH KEYS\n";
    add(file_.keys, "");
    out_ += ".SH EXAMPLE\nWhat `stopbit config print --defaults " + std::string(file_.name) + "` prints:\n" +
            roff_literal(settings_defaults(file_)) + ".SH SEE ALSO\nstopbit\\-config(1), stopbit(1)\n";
    return std::move(out_);
  }

 private:
  void add(const TableKeys& keys, const std::string& path) {
    for (const Key& key : keys.keys) {
      if (!is_section(key)) add_key(key, key.name, path);
    }
    if (keys.any != nullptr) add_key(*keys.any, "NAME", path);
    for (const Key& key : keys.keys) {
      if (!is_section(key)) continue;
      const std::string inner = path.empty() ? key.name : path + '.' + key.name;
      const std::string title = is_array_of_tables(key) ? "[[" + inner + "]]" : '[' + inner + ']';
      out_ += fmt::format(".SS \"{}\"\n{}\n", roff(title), roff(key.meaning + ' ' + sentence_of(key)));
      add(*key.table, inner);
    }
  }

  static std::string sentence_of(const Key& key) {
    std::string out = is_array_of_tables(key) ? entries_of(key) + '.' : "";
    if (!out.empty()) out.front() = static_cast<char>(out.front() == 'a' ? 'A' : out.front());
    const std::string usual = default_text(key);
    return out + (out.empty() || usual.empty() ? "" : " ") + usual;
  }

  void add_key(const Key& key, const std::string& name, const std::string& path) {
    out_ += fmt::format(".TP\n\\fB{}\\fR = {}\n{}\n", roff(name), roff(type_of(key)), roff(key.meaning));
    if (const std::string usual = default_text(key); !usual.empty()) out_ += roff(usual) + '\n';
    if (!key.example.empty()) out_ += roff(fmt::format("For example: {} = {}", name, key.example)) + '\n';
    if (!has_rows(key)) return;
    // The keys of a table that is written as a value.
    out_ += ".RS\n";
    add(*key.table, path.empty() ? name : path + '.' + name);
    out_ += ".RE\n";
  }

  const SettingsFile& file_;
  std::string out_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Schema

class Schema {
 public:
  std::string text(const SettingsFile& file) {
    out_ = "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":" +
           json(fmt::format("{}.toml of Stopbit", file.name)) + ",\"description\":" + json(file.purpose) + ',';
    add_object(file.keys);
    return std::move(out_) + "}\n";
  }

 private:
  void add_object(const TableKeys& keys) {
    out_ += "\"type\":\"object\",\"properties\":{";
    std::string required;
    for (std::size_t i = 0; i < keys.keys.size(); ++i) {
      const Key& key = keys.keys[i];
      if (i != 0) out_ += ',';
      out_ += json(key.name) + ":{";
      add_key(key);
      out_ += '}';
      if (key.is_required && key.when.empty()) required += (required.empty() ? "" : ",") + json(key.name);
    }
    out_ += "},\"additionalProperties\":";
    if (keys.any == nullptr) {
      out_ += "false";
    } else {
      out_ += '{';
      add_key(*keys.any);
      out_ += '}';
    }
    if (!required.empty()) out_ += ",\"required\":[" + required + ']';
  }

  void add_key(const Key& key) {
    const std::string usual = default_text(key);
    out_ += "\"description\":" + json(usual.empty() ? key.meaning : key.meaning + ' ' + usual) + ',';
    if (const std::string value = default_of(key); !value.empty()) out_ += "\"default\":" + value + ',';
    // As JSON has it, too.
    if (!key.example.empty() && key.example.front() != '{') out_ += "\"examples\":[" + key.example + "],";
    add_type(key);
  }

  void add_type(const Key& key) {
    switch (key.type) {
      case KeyType::Text: out_ += text_type(); return;
      case KeyType::Integer: out_ += number_type(key); return;
      case KeyType::Real: out_ += fmt::format(R"("type":"number","minimum":0,"maximum":{})", key.most_real); return;
      case KeyType::Flag: out_ += R"("type":"boolean")"; return;
      case KeyType::Duration: out_ += R"("type":"string","pattern":"^[0-9]+ ?(ns|us|ms|s|min|h)$")"; return;
      case KeyType::Bytes: out_ += R"("type":"string","pattern":"^[0-9]+ ?(B|KiB|MiB|GiB)$")"; return;
      case KeyType::Choice: out_ += "\"enum\":[" + words_of(key) + ']'; return;
      case KeyType::Texts: out_ += list_of(key, text_type()); return;
      case KeyType::Integers: out_ += list_of(key, number_type(key)); return;
      case KeyType::Scalars: {
        const std::string scalar = R"("type":["string","integer"],"minimum":0)";
        out_ += fmt::format(R"("anyOf":[{{{}}},{{{}}}])", scalar, list_of(key, scalar));
        return;
      }
      case KeyType::Table: return add_table(key);
      case KeyType::Tables:
        out_ += list_head(key);
        add_table(key);
        out_ += '}';
        return;
      case KeyType::TextOrTable:
        out_ += "\"anyOf\":[{" + (key.words.empty() ? text_type() : "\"enum\":[" + words_of(key) + ']') + "},{";
        add_table(key);
        out_ += "}]";
        return;
      case KeyType::TableOrTables:
        out_ += "\"anyOf\":[{";
        add_table(key);
        out_ += "},{" + list_head(key);
        add_table(key);
        out_ += "}}]";
        return;
    }
  }

  void add_table(const Key& key) {
    if (has_rows(key)) return add_object(*key.table);
    out_ += "\"type\":\"object\"";
  }

  static std::string text_type() {
    return fmt::format(R"("type":"string","maxLength":{})", config::Table::kMaxTextBytes);
  }
  static std::string number_type(const Key& key) {
    return fmt::format(R"("type":"integer","minimum":{},"maximum":{})", key.range.least, key.range.most);
  }
  /// Without its last brace.
  static std::string list_head(const Key& key) {
    return fmt::format(R"("type":"array","minItems":{},"maxItems":{},"items":{{)", key.count.least, key.count.most);
  }
  static std::string list_of(const Key& key, const std::string& item) { return list_head(key) + item + '}'; }

  std::string out_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Defaults

class Defaults {
 public:
  explicit Defaults(bool all) : all_(all) {}

  std::string text(const SettingsFile& file) {
    out_ = fmt::format("# {}.\n# stopbit-{}.toml(5) explains every key. A line that begins with # has no effect.\n\n",
                       file.summary, file.name);
    add(file.keys, "", "");
    return std::move(out_);
  }

 private:
  static constexpr std::size_t kColumns = 100;

  void add(const TableKeys& keys, const std::string& path, const std::string& mark) {
    for (const Key& key : keys.keys) {
      if (!is_section(key)) add_key(key, key.name, mark, belongs_elsewhere(key, keys));
    }
    // An example of a name.
    if (keys.any != nullptr && !is_section(*keys.any)) add_key(*keys.any, "NAME", mark, false);
    for (const Key& key : keys.keys) {
      if (is_section(key)) add_section(key, key.name, path, belongs_elsewhere(key, keys) ? "#" : mark);
    }
    if (keys.any != nullptr && is_section(*keys.any)) add_section(*keys.any, "NAME", path, mark);
  }

  /// Whether another value of the table than its default is needed for the key.
  static bool belongs_elsewhere(const Key& key, const TableKeys& keys) {
    const auto says = [&](const Key& other) { return other.name + " = " + default_of(other) == key.when; };
    return !key.when.empty() && std::none_of(keys.keys.begin(), keys.keys.end(), says);
  }

  void add_section(const Key& key, const std::string& name, const std::string& path, const std::string& mark) {
    const bool is_left_out = !key.is_required && (!key.without.empty() || is_array_of_tables(key));
    const std::string inner_mark = is_left_out && !all_ ? "#" : mark;
    const std::string inner = path.empty() ? name : path + '.' + name;
    out_ += '\n';
    add_comment(key.meaning + (key.is_required ? " Required." : "") +
                (key.when.empty() ? "" : " Only with " + key.when + '.'));
    out_ += inner_mark + (is_array_of_tables(key) ? "[[" + inner + "]]\n" : '[' + inner + "]\n");
    add(*key.table, inner, inner_mark);
  }

  void add_key(const Key& key, const std::string& name, const std::string& mark, bool is_elsewhere) {
    const std::string usual = default_text(key);
    add_comment(key.meaning + " Value: " + type_of(key) + "." + (usual.empty() ? "" : ' ' + usual));
    const bool holds = !default_of(key).empty() || key.is_required || key.is_shown;
    // An example must not hold as if it were the default.
    const std::string value = key.is_required || default_of(key).empty() ? example_of(key) : default_of(key);
    out_ += ((holds || all_) && !is_elsewhere ? mark : "#") + name + " = " + value + '\n';
  }

  void add_comment(const std::string& text) {
    std::string line = "#";
    for (const std::string_view word : split(text, ' ')) {
      if (line.size() + 1 + word.size() > kColumns) {
        out_ += line + '\n';
        line = '#';
      }
      line += ' ';
      line += word;
    }
    out_ += line + '\n';
  }

  bool all_;
  std::string out_;
};

}  // namespace

std::span<const SettingsFile> settings_files() {
  static const std::array<SettingsFile, 5> files = {
      {{.name = "appliance",
        .summary = "Settings of the appliance that `stopbit run` starts",
        .purpose = "`stopbit run FILE` reads it, and everything that it names; `stopbit run --check FILE` only reports "
                   "what is wrong. Paths are relative to the folder of the file.",
        .keys = appliance::settings_keys()},
       {.name = "feed",
        .summary = "Description of a feed: its channels, their lines, framing and images",
        .purpose = "`stopbit run` reads it for live reception, and every command with --feed for captures. Paths are "
                   "relative to the folder of the file. `stopbit channels` writes such a file from what exchanges "
                   "publish.",
        .keys = feed::description_keys()},
       {.name = "map",
        .summary = "Feed map: what the messages of a feed mean for instruments and books",
        .purpose =
            "A map is compiled with the templates of the feed; `stopbit map check` says whether it fits. A field "
            "is named as in the templates. A condition is a table of tests, which all must hold: FIELD = VALUE, "
            "FIELD = [VALUE, ...], or FIELD = { is, absent, any_of, none_of, above }.",
        .keys = market::map_keys()},
       {.name = "calendar",
        .summary = "Calendar of a feed: when it speaks",
        .purpose =
            "`calendar` of a [[feed]] in appliance.toml names it. Outside of its sessions channels are `closed`: "
            "`stopbit ready` is content, and a silent line is no fault. So is a line that has said nothing yet, "
            "for the time of `silence` after a session begins. Paths are relative to the folder of the file.",
        .keys = appliance::calendar_keys()},
       {.name = "network",
        .summary = "Simulated network of switches, for `stopbit network`",
        .purpose =
            "`stopbit network FILE` simulates it; `stopbit network --check FILE` only says whether its routes can "
            "deadlock. Paths are relative to the folder of the file.",
        .keys = network::plan_keys()}}};
  return files;
}

std::string settings_man_page(const SettingsFile& file) {
  return ManPage(file).text();
}
std::string settings_schema(const SettingsFile& file) {
  return Schema().text(file);
}
std::string settings_defaults(const SettingsFile& file, bool all) {
  return Defaults(all).text(file);
}

}  // namespace stopbit::tools
