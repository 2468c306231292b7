#include "host/cli/common/feed_package.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "host/cli/common/command.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/os/config/toml.hpp"
#include "microcode/base/ascii.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxVariables = 64;
constexpr std::string_view kNone = "none";

fs::path packages_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : program.parent_path().parent_path() / "share/stopbit/feeds";
}

bool is_name_character(char c) {
  return is_letter_or_digit(c) || c == '_';
}

Result<std::string> line_text(std::string_view value) {
  if (value == kNone) return std::string(kNone);
  const std::size_t at = value.find('@');
  const Result<net::Endpoint> group = net::parse_endpoint(value.substr(0, at));
  if (!group) return Failure{group.message() + "; write ADDRESS:PORT, or ADDRESS:PORT@SOURCE"};
  std::string text =
      "{ group = \"" + net::address_text(group.value().address) + "\", port = " + std::to_string(group.value().port);
  if (at == std::string_view::npos) return text + " }";
  const std::string source(value.substr(at + 1));
  // A port makes an endpoint of an address.
  if (!net::parse_endpoint(source + ":1")) return Failure{"'" + source + "' is no address of a source"};
  return text + ", source = \"" + source + "\" }";
}

}  // namespace

std::vector<std::string> installed_packages() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(packages_folder(), error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (fs::is_regular_file(entry->path() / "package.toml", ignored)) {
      names.push_back(entry->path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<FeedPackage> parse_package(const std::string& file, const std::string& text, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.errors();
  const config::Document document = config::Document::parse(file, text, diagnostics);
  FeedPackage package;
  if (document.ok()) {
    config::Table root = document.root();
    package.summary = root.text("summary");
    for (config::Table& table : root.tables("variable", {.least = 0, .most = kMaxVariables})) {
      PackageVariable& variable = package.variables.emplace_back();
      variable.name = table.text("name");
      variable.kind = static_cast<PackageVariable::Kind>(table.choice("kind", {"text", "line"}));
      variable.meaning = table.text("meaning");
      variable.example = table.text("example");
      table.finish();
    }
    root.finish();
  }
  if (diagnostics.errors() != errors) return std::nullopt;
  return package;
}

FeedPackage load_package(const std::string& name) {
  const std::vector<std::string> names = installed_packages();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    std::string list;
    for (const std::string& one : names) list += (list.empty() ? "" : ", ") + one;
    throw ToolError(kExitRejected, "there is no feed package '" + name + "'" + did_you_mean(name, names) +
                                       (list.empty() ? "; none are installed" : "; there are: " + list));
  }
  const std::string folder = (packages_folder() / name).string();
  const std::string file = folder + "/package.toml";
  Diagnostics diagnostics;
  auto package = parse_package(file, read_file(file, config::kMaxFileBytes), diagnostics);
  write_stderr(diagnostics.format());
  if (!package) throw ToolError(kExitRejected, "");
  package->name = name;
  package->folder = folder;
  return std::move(*package);
}

Result<std::string> value_text(const PackageVariable& variable, std::string_view value) {
  if (variable.kind == PackageVariable::Kind::Line) return line_text(value);
  const bool is_plain = !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return is_letter_or_digit(c) || std::string_view("./_-:").find(c) != std::string_view::npos;
  });
  if (value == kNone) return Failure{"only a line can be 'none'"};
  if (!is_plain) return Failure{"'" + std::string(value) + "' must be letters, digits, '.', '/', ':', '_' and '-'"};
  return std::string(value);
}

Result<std::string> fill_in(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    std::string_view rest = text.substr(0, end);
    text.remove_prefix(end);
    std::string line;
    bool is_left_out = false;
    while (!rest.empty()) {
      const std::size_t at = std::min(rest.find('@'), rest.size());
      line += rest.substr(0, at);
      rest.remove_prefix(at);
      if (rest.empty()) break;
      const std::size_t close = rest.find('@', 1);
      const std::string_view name = close == std::string_view::npos ? std::string_view() : rest.substr(1, close - 1);
      if (name.empty() || !std::all_of(name.begin(), name.end(), is_name_character)) {
        line += '@';
        rest.remove_prefix(1);
        continue;
      }
      const auto value = values.find(std::string(name));
      if (value == values.end()) return Failure{"the variable '" + std::string(name) + "' has no value"};
      is_left_out = is_left_out || value->second == kNone;
      line += value->second;
      rest.remove_prefix(close + 1);
    }
    if (!is_left_out) out += line;
  }
  return out;
}

}  // namespace stopbit::tools
