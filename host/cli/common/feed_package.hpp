#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/diagnostic.hpp"
#include "microcode/base/result.hpp"

/// Feed packages: files of settings to begin with, for the feeds of an exchange, with variables for what is different
/// at each connection. They are installed in share/stopbit/feeds; see host/feed/packages.
namespace stopbit::tools {

struct PackageVariable {
  enum class Kind : std::uint8_t {
    Text,  ///< Letters, digits and ./_-:
    Line,  ///< "224.0.31.1:10001", with "@10.1.2.3" for its source; "none": lines of text that have it are left out.
  };
  std::string name;
  Kind kind = Kind::Text;
  std::string meaning;
  std::string example;
};

struct FeedPackage {
  std::string name;
  std::string folder;
  std::string summary;
  std::vector<PackageVariable> variables;
};

/// Names of the installed packages, sorted.
[[nodiscard]] std::vector<std::string> installed_packages();
/// A ToolError if there is none of that name, or it is damaged.
[[nodiscard]] FeedPackage load_package(const std::string& name);
/// The description of a package in its package.toml. Nothing after an error.
[[nodiscard]] std::optional<FeedPackage> parse_package(const std::string& file, const std::string& text,
                                                       Diagnostics& diagnostics);

/// The text that replaces a variable in a file of the package; the failure says which values are legal.
[[nodiscard]] Result<std::string> value_text(const PackageVariable& variable, std::string_view value);
/// Puts values, which value_text has made, in the place of @NAME@. Lines whose variable has the value "none" are left
/// out. The failure names a variable without a value.
[[nodiscard]] Result<std::string> fill_in(std::string_view text, const std::map<std::string, std::string>& values);

}  // namespace stopbit::tools
