// Any text as a file of entitlements, and among the lines of a good appliance.toml: errors that lie inside their file,
// or settings within the bounds that are documented, of which the node of the interface and its broker can be made.

#include <algorithm>
#include <string>

#include "host/appliance/entitlements.hpp"
#include "host/appliance/settings.hpp"
#include "host/os/shm/name.hpp"
#include "host/remote/protocol.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/lib/scratch.hpp"

namespace {

using namespace stopbit;

constexpr const char* kBegin = "name = \"demo\"\nstate = \"state\"\n";
constexpr const char* kEnd =
    "\n[[agent]]\nname = \"md\"\n[[port]]\nname = \"p\"\ninterface = \"eth1\"\n[[feed]]\nfile = \"feed.toml\"\na = "
    "\"p\"\n";

/// The files beside it.
struct Folder {
  Folder() {
    files.write("feed.toml",
                "name = \"test\"\n[[image]]\nname = \"x\"\ntemplates = [\"x.xml\"]\n[[channel]]\nnumber = 1\n"
                "framing = \"cme\"\nring = \"r\"\na = { group = \"224.0.0.1\", port = 1000 }\n");
    files.write("entitlements.toml", "[[entitlement]]\nfeeds = [\"r\"]\n");
  }
  testing::Scratch files;
};

void check_errors(const Diagnostics& diagnostics) {
  for (const Diagnostic& item : diagnostics.all()) {
    if (item.range.source == nullptr) continue;  // of a file that is named, and not there
    fuzz::require(item.range.offset <= item.range.source->text().size(), "an error lies inside its file", item.message);
  }
  (void)diagnostics.format();
}

void check(const std::vector<nic::Entitlement>& entitlements, const std::vector<std::string>& feeds) {
  fuzz::require(entitlements.size() <= appliance::kMaxEntitlements, "few entitlements");
  for (const nic::Entitlement& one : entitlements) {
    fuzz::require(one.domain > appliance::kPublishDomain, "publishers have their domain to themselves");
    fuzz::require(one.user != static_cast<uid_t>(-1) && one.group != static_cast<gid_t>(-1), "nobody is everybody");
    fuzz::require(one.ports <= 256 && one.windows <= 1024 && one.memory_bytes <= 1ULL << 34, "within bounds");
    for (const std::string& feed : one.feeds) {
      fuzz::require(std::find(feeds.begin(), feeds.end(), feed) != feeds.end(), "a feed that there is", feed);
    }
  }
}

void check(const appliance::NicSettings& nic) {
  fuzz::require(os::path_of(nic.network + ".0").ok(), "the network is a name", nic.network);
  fuzz::require(nic.clients >= 1 && nic.clients <= 1024, "clients");
  fuzz::require(nic.subscribers >= 1 && nic.subscribers <= 256, "subscribers");
  fuzz::require(nic.broker.empty() == nic.entitlements_file.empty(), "a broker has entitlements");
  check(nic.entitlements, nic.ring_names());
  for (const appliance::PublishSettings& one : nic.publish) {
    fuzz::require(!one.name.empty() && one.name.size() <= remote::kMaxNameBytes, "a name for the protocol", one.name);
    fuzz::require(one.to_shm || one.to_fabric, "a way to somebody");
    fuzz::require(!one.to_fabric || !nic.listen.empty(), "who publishes to others listens");
    fuzz::require(std::any_of(nic.rings.begin(), nic.rings.end(), [&](const auto& r) { return r.ring == one.ring; }),
                  "a ring that there is", one.ring);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4'096) return 0;
  static const Folder folder;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> feeds{"cme", "r"};
  Diagnostics of_entitlements;
  const auto entitlements = appliance::parse_entitlements("entitlements.toml", text, feeds, of_entitlements);
  fuzz::require(entitlements || of_entitlements.has_errors(), "a refused file has an error");
  check_errors(of_entitlements);
  if (entitlements) check(*entitlements, feeds);

  Diagnostics of_settings;
  const auto settings = appliance::parse("appliance.toml", kBegin + text + kEnd, folder.files.path(), of_settings);
  fuzz::require(settings || of_settings.has_errors(), "refused settings have an error");
  check_errors(of_settings);
  if (settings && settings->nic) check(*settings->nic);
  return 0;
}
