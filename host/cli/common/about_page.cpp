#include "host/cli/common/about_page.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <nlohmann/json.hpp>
#include <set>

#include "host/cli/common/command.hpp"

namespace stopbit::tools {
namespace {

nlohmann::json image_json(const std::string& feed, const std::string& name, const Program& program) {
  nlohmann::json item = {{"feed", feed},
                         {"image", name},
                         {"templates", program.templates.size()},
                         {"layout", fmt::format("{:016x}", layout_hash(program))},
                         {"files", nlohmann::json::array()}};
  for (const Source& source : program.sources) {
    if (item["files"].size() == AboutPage::kMostFiles) break;
    item["files"].push_back({{"name", program.name(source.name)}, {"hash", fmt::format("{:016x}", source.hash)}});
  }
  item["more_files"] = program.sources.size() - item["files"].size();
  return item;
}

}  // namespace

AboutPage::AboutPage() {
  utsname system{};
  if (::uname(&system) != 0) return;
  host_ = system.nodename;
  system_ = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
}

std::string AboutPage::to_json(const appliance::Appliance& appliance) const {
  std::string version = version_text(program_commit());
  while (version.ends_with('\n')) version.pop_back();
  nlohmann::json images = nlohmann::json::array();
  std::set<const Program*> seen;  // of outputs that share one
  for (std::uint32_t i = 0; i < appliance.outputs().size(); ++i) {
    const std::shared_ptr<const Program> program = appliance.program_of_output(i);
    if (program == nullptr || !seen.insert(program.get()).second) continue;
    images.push_back(image_json(appliance.feed_of_output(i), appliance.image_of(i), *program));
  }
  const nlohmann::json about = {
      {"host", host_}, {"system", system_}, {"version", version}, {"images", std::move(images)}};
  return about.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stopbit::tools
