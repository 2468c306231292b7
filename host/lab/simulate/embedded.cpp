#include "host/lab/simulate/embedded.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "b3_toml.hpp"
#include "b3_xml.hpp"
#include "cme_toml.hpp"
#include "cme_xml.hpp"
#include "host/lab/simulate/preset.hpp"
#include "moex_toml.hpp"
#include "moex_xml.hpp"
#include "t7_emdi_incremental_xml.hpp"
#include "t7_emdi_snapshot_xml.hpp"
#include "t7_emdi_toml.hpp"
#include "t7_mdi_toml.hpp"
#include "t7_mdi_xml.hpp"

namespace stopbit::simulate {
namespace {

struct File {
  std::string_view name;
  std::string_view text;
};

constexpr std::array kFiles = {
    File{"b3.toml", k_b3_toml},
    File{"b3.xml", k_b3_xml},
    File{"cme.toml", k_cme_toml},
    File{"cme.xml", k_cme_xml},
    File{"moex.toml", k_moex_toml},
    File{"moex.xml", k_moex_xml},
    File{"t7-emdi.toml", k_t7_emdi_toml},
    File{"t7_emdi_incremental.xml", k_t7_emdi_incremental_xml},
    File{"t7_emdi_snapshot.xml", k_t7_emdi_snapshot_xml},
    File{"t7-mdi.toml", k_t7_mdi_toml},
    File{"t7_mdi.xml", k_t7_mdi_xml},
};

}  // namespace

const std::string_view* find_embedded(std::string_view file_name) noexcept {
  const auto* const file =
      std::find_if(kFiles.begin(), kFiles.end(), [file_name](const File& one) { return one.name == file_name; });
  return file == kFiles.end() ? nullptr : &file->text;
}

std::vector<std::string_view> preset_names() {
  constexpr std::string_view kEnding = ".toml";
  std::vector<std::string_view> names;
  for (const File& file : kFiles) {
    if (file.name.ends_with(kEnding)) names.push_back(file.name.substr(0, file.name.size() - kEnding.size()));
  }
  return names;
}

}  // namespace stopbit::simulate
