#include "host/appliance/entitlements.hpp"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include "host/os/config/nearest.hpp"
#include "host/os/config/toml.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::uint64_t kMaxPorts = 256;
constexpr std::uint64_t kMaxMemory = 1ULL << 34;
constexpr std::uint64_t kMaxWindows = 1'024;
constexpr std::uint64_t kMaxUnpinned = 1ULL << 38;
constexpr std::uint64_t kUsualResident = 16U << 20;
constexpr std::uint64_t kMaxHoldNs = 1'000'000'000;
constexpr std::uint64_t kMicrosecondNs = 1'000;
constexpr std::size_t kMaxFeedNames = 1'024;
constexpr std::size_t kMaxRecordBytes = 1U << 20;  // of the user and group databases

/// A number, or a name that `find` (getpwnam_r, getgrnam_r) knows.
template <class Record, class Find>
std::optional<std::uint32_t> number_of(const std::string& text, std::uint32_t Record::*member, Find find) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) {
    // The last one is how system calls say "none".
    return number != std::numeric_limits<std::uint32_t>::max() ? std::optional(number) : std::nullopt;
  }
  Record record{};
  Record* found = nullptr;
  std::vector<char> memory(1'024);
  while (find(text.c_str(), &record, memory.data(), memory.size(), &found) == ERANGE &&
         memory.size() < kMaxRecordBytes) {
    memory.resize(2 * memory.size());
  }
  return found != nullptr ? std::optional<std::uint32_t>(record.*member) : std::nullopt;
}

nic::Entitlement read_entitlement(config::Table& table, const std::vector<std::string>& feeds) {
  nic::Entitlement entitlement;
  if (const std::string user = table.text("user", ""); !user.empty()) {
    entitlement.user = number_of(user, &passwd::pw_uid, ::getpwnam_r);
    if (!entitlement.user) table.error("user", "this machine has no user '" + user + "'");
  }
  if (const std::string group = table.text("group", ""); !group.empty()) {
    entitlement.group = number_of(group, &::group::gr_gid, ::getgrnam_r);
    if (!entitlement.group) table.error("group", "this machine has no group '" + group + "'");
  }
  entitlement.domain =
      static_cast<nic::Pdid>(table.integer("domain", {kPublishDomain + 1, std::numeric_limits<nic::Pdid>::max()}, 1));
  entitlement.feeds = table.texts("feeds", {.least = 0, .most = kMaxFeedNames});
  for (const std::string& feed : entitlement.feeds) {
    if (std::find(feeds.begin(), feeds.end(), feed) != feeds.end()) continue;
    const std::string near = config::nearest(feed, feeds);
    table.error("feeds", "unknown feed '" + feed + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  entitlement.ports = table.integer("ports", {0, kMaxPorts}, entitlement.ports);
  entitlement.memory_bytes = table.bytes("memory", {0, kMaxMemory}, entitlement.memory_bytes);
  entitlement.windows = table.integer("windows", {0, kMaxWindows}, entitlement.windows);
  entitlement.hold_us = static_cast<std::uint32_t>(table.duration_ns("hold", {0, kMaxHoldNs}, 0) / kMicrosecondNs);
  entitlement.unpinned_bytes = table.bytes("unpinned", {0, kMaxUnpinned}, 0);
  const std::uint64_t resident =
      table.bytes("resident", {0, kMaxMemory}, entitlement.unpinned_bytes == 0 ? 0 : kUsualResident);
  entitlement.resident_bytes = resident / nic::kPageBytes * nic::kPageBytes;
  if (table.has("resident") && entitlement.unpinned_bytes == 0) {
    table.error("resident", "limits the files that a port shares, but 'unpinned' allows none");
  } else if (entitlement.unpinned_bytes != 0 &&
             entitlement.resident_bytes < nic::PagedOptions::kMinFrames * nic::kPageBytes) {
    table.error("resident", "must be at least 64KiB: unpinned memory needs that much resident");
  }
  table.finish();
  return entitlement;
}

std::optional<std::vector<nic::Entitlement>> read(const config::Document& document,
                                                  const std::vector<std::string>& feeds, Diagnostics& diagnostics) {
  if (!document.ok()) return std::nullopt;
  std::vector<nic::Entitlement> entitlements;
  config::Table root = document.root();
  for (config::Table& table : root.tables("entitlement", {.least = 0, .most = kMaxEntitlements})) {
    entitlements.push_back(read_entitlement(table, feeds));
  }
  root.finish();
  if (diagnostics.has_errors()) return std::nullopt;
  return entitlements;
}

}  // namespace

std::optional<std::vector<nic::Entitlement>> load_entitlements(const std::string& path,
                                                               const std::vector<std::string>& feeds,
                                                               Diagnostics& diagnostics) {
  return read(config::Document::load(path, diagnostics), feeds, diagnostics);
}

std::optional<std::vector<nic::Entitlement>> parse_entitlements(std::string file, std::string text,
                                                                const std::vector<std::string>& feeds,
                                                                Diagnostics& diagnostics) {
  return read(config::Document::parse(std::move(file), std::move(text), diagnostics), feeds, diagnostics);
}

}  // namespace stopbit::appliance
