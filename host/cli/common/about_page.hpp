#pragma once

#include <string>

#include "host/appliance/appliance.hpp"

namespace stopbit::tools {

/// What runs where, as JSON for the web page: host, system, version with commit, and the images with their hashes.
class AboutPage {
 public:
  /// Asks the system, which a confined process may not.
  AboutPage();

  /// {"host":...,"system":...,"version":"stopbit 1.2.3 (0123456789ab)","images":[{"feed","image","templates","layout",
  /// "files":[{"name","hash"}],"more_files"}]}. `layout` is that of a ring's readers, `hash` FNV-1a of a file's text;
  /// both are texts of 16 hexadecimal digits. From the thread that looks after the appliance.
  [[nodiscard]] std::string to_json(const appliance::Appliance& appliance) const;

  static constexpr std::size_t kMostFiles = 8;  ///< Of an image.

 private:
  std::string host_;
  std::string system_;
};

}  // namespace stopbit::tools
