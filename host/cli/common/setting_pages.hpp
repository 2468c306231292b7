#pragma once

#include <span>
#include <string>
#include <string_view>

#include "host/os/config/keys.hpp"

/// What is made of the rows of a file of settings: a manual page, a JSON schema, a text with the defaults.
namespace stopbit::tools {

/// A kind of file.
struct SettingsFile {
  std::string_view name;     ///< "appliance"
  std::string_view summary;  ///< One line, without a full stop.
  std::string_view purpose;  ///< Sentences.
  const config::TableKeys& keys;
};
[[nodiscard]] std::span<const SettingsFile> settings_files();

/// stopbit-NAME.toml(5), in roff.
[[nodiscard]] std::string settings_man_page(const SettingsFile& file);
/// JSON Schema, draft 2020-12.
[[nodiscard]] std::string settings_schema(const SettingsFile& file);
/// A file that says what holds without it: what has to be given has an example, and what may be left out with another
/// effect is a comment. `all`: only the keys of
/// another kind are comments.
[[nodiscard]] std::string settings_defaults(const SettingsFile& file, bool all = false);

}  // namespace stopbit::tools
