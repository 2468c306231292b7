#include "host/cli/common/start_check.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "host/appliance/clocks.hpp"
#include "host/appliance/listening.hpp"
#include "host/device/intake.hpp"
#include "host/device/vfio/vfio_device.hpp"
#include "host/os/readable.hpp"
#include "host/os/shm/folder.hpp"
#include "host/replay/summary.hpp"
#include "host/ring/layout.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostChannels = 32;

/// Bytes that this user may still write there; the folder need not exist yet. Nothing if that is not known.
std::optional<std::uint64_t> free_bytes(fs::path folder) {
  std::error_code error;
  folder = fs::absolute(folder, error);
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  struct statvfs room {};
  if (::statvfs(folder.c_str(), &room) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize;
}

std::string free_text(const std::string& folder) {
  const auto bytes = free_bytes(folder);
  return bytes ? replay::byte_text(*bytes) + " free" : "free space not known";
}

/// "up", "down", ... of an interface, as the kernel says it.
std::string link_state(const std::string& interface) {
  std::ifstream file("/sys/class/net/" + interface + "/operstate");
  std::string state;
  return file >> state ? state : "state not known";
}

std::string line_text(const std::optional<feed::Line>& line) {
  if (!line) return "none";
  return net::to_text(line->group) + (line->source ? " from " + net::address_text(*line->source) : "");
}

}  // namespace

StartCheck::StartCheck(const appliance::Settings& settings) {
  add("appliance", printable(settings.name));
  look_at_agents(settings);
  look_at_ports(settings);
  look_at_feeds(settings);
  look_at_card(settings);
  look_at_carriers(settings);
  look_at_multicasts(settings);
  look_at_memory(settings);
  look_at_folders(settings);
  look_at_clock();
}

/// By the settings, and what the kernel says of a PCI function: the card itself is not opened, and the program may have
/// other obstacles.
void StartCheck::look_at_card(const appliance::Settings& settings) {
  if (!settings.card) return;
  const std::string card = "card " + settings.card->label();
  if (!settings.card->device.empty() && settings.card->device != "sim") {
    const Status found = device::check_vfio(
        {.address = settings.card->device, .bar = settings.card->bar, .offset = settings.card->offset},
        *device::vfio::system_calls());
    add(card, found ? fmt::format("VFIO, bar {}", settings.card->bar) : "NOT USABLE");
    if (!found) missing_.push_back("[card] " + found.message());
  }
  if (settings.card->ingress == appliance::CardIngress::Host) return add(card, "decodes what the ports receive");
  for (const appliance::FeedSettings& feed : settings.feeds) {
    std::map<std::pair<std::string, std::size_t>, std::vector<feed::Channel>> rings;
    for (const feed::Channel& channel : feed.description.channels) {
      rings[{channel.ring, channel.image}].push_back(channel);
    }
    for (const auto& [ring, channels] : rings) {
      const std::string name = "ring '" + printable(ring.first) + "'";
      const std::vector<std::string> obstacles = device::intake_obstacles(channels);
      if (obstacles.empty()) {
        return add(card, fmt::format("receives {} from its own port, {} channels", name, channels.size()));
      }
      for (const std::string& obstacle : obstacles) add(card, "not " + name + ": " + printable(obstacle));
    }
  }
  if (!settings.card->fallback) missing_.push_back(card + ": it can receive no ring from its own port");
}

void StartCheck::look_at_agents(const appliance::Settings& settings) {
  const std::uint32_t cores = std::thread::hardware_concurrency();
  const auto look = [&](const std::string& what, const appliance::AgentSettings& agent) {
    std::error_code error;
    const bool is_there = !agent.core || fs::exists(fmt::format("/sys/devices/system/cpu/cpu{}", *agent.core), error);
    if (!is_there) missing_.push_back(fmt::format("{}: this machine has no core {}", what, *agent.core));
    add(what, agent.core ? fmt::format("core {}, {}", *agent.core, is_there ? "there" : "NOT THERE")
                         : fmt::format("not pinned; {} cores", cores));
  };
  for (const appliance::AgentSettings& agent : settings.agents) look("agent " + agent.name, agent);
  if (settings.nic) look("thread nic", settings.nic->thread);
}

void StartCheck::look_at_ports(const appliance::Settings& settings) {
  for (const appliance::PortSettings& port : settings.ports) {
    const ingest::Attachment attachment = port.source->attachment();
    const std::string what = "port " + port.name;
    if (!attachment.interface.empty()) {
      const bool is_there = ::if_nametoindex(attachment.interface.c_str()) != 0;
      if (!is_there) {
        missing_.push_back(what + ": there is no interface '" + printable(attachment.interface) + "'");
      }
      add(what, fmt::format("interface {}, {}", printable(attachment.interface),
                            is_there ? link_state(attachment.interface) : "NOT THERE"));
    } else if (attachment.pci_address.find(':') != std::string::npos) {
      std::error_code error;
      const bool is_there = fs::exists("/sys/bus/pci/devices/" + attachment.pci_address, error);
      if (!is_there) missing_.push_back(what + ": there is no device '" + printable(attachment.pci_address) + "'");
      add(what, fmt::format("device {}, {}", printable(attachment.pci_address), is_there ? "there" : "NOT THERE"));
    } else if (port.source->has_sessions()) {
      add(what, "connects to the servers of its lines");
    } else {
      add(what, port.source->is_live() ? "any interface" : "a capture");
    }
  }
}

void StartCheck::look_at_feeds(const appliance::Settings& settings) {
  std::size_t shown = 0;
  std::size_t all = 0;
  for (const appliance::FeedSettings& feed : settings.feeds) {
    for (const feed::Channel& channel : feed.description.channels) {
      if (++all > kMostChannels) continue;
      ++shown;
      add(fmt::format("channel {}", channel.number),
          fmt::format("{}: A {}, B {}", printable(channel.name), line_text(channel.lines[0]),
                      line_text(channel.lines[1])));
    }
  }
  if (all > shown) add("channels", fmt::format("{} more", all - shown));
}

/// A port in use is no mistake: the appliance that runs has it.
void StartCheck::look_at_listener(const std::string& what, const std::string& listen, const std::string& how) {
  const appliance::Listening found = appliance::look_at(listen);
  if (!found.is_here) missing_.push_back(what + ": " + found.why);
  add(what, listen + ", " + how + (!found.is_here ? ", ADDRESS NOT THERE" : found.is_free ? "" : ", PORT IN USE"));
}

void StartCheck::look_at_carriers(const appliance::Settings& settings) {
  if (!settings.nic) return;
  const appliance::NicSettings& nic = *settings.nic;
  if (!nic.listen.empty()) look_at_listener("carrier fabric", nic.listen, "not encrypted");
  if (!nic.udp) return;
  look_at_listener("carrier udp", nic.udp->listen,
                   !nic.udp->is_encrypted        ? "NOT ENCRYPTED: any host that reaches it joins, reads and forges"
                   : nic.udp->token_file.empty() ? "not encrypted, for this host only"
                                                 : "encrypted, token in " + printable(nic.udp->token_file));
}

void StartCheck::look_at_multicasts(const appliance::Settings& settings) {
  for (const appliance::MulticastSettings& multicast : settings.multicasts) {
    const std::string what = "multicast " + printable(multicast.name);
    std::string found;
    for (std::size_t i = 0; i < multicast.lines.size(); ++i) {
      const auto& line = multicast.lines[i];
      if (!line) continue;
      found += fmt::format("{}{} {}", found.empty() ? "" : "; ", "AB"[i], net::to_text(line->group));
      if (line->interface.empty()) continue;
      const bool is_there = ::if_nametoindex(line->interface.c_str()) != 0;
      if (!is_there) missing_.push_back(what + ": there is no interface '" + printable(line->interface) + "'");
      found += fmt::format(" through {}, {}", printable(line->interface),
                           is_there ? link_state(line->interface) : "NOT THERE");
    }
    add(what, found + ", not encrypted");
    if (multicast.refill)
      look_at_listener("refill of " + what, net::to_text(multicast.refill->listen), "not encrypted");
  }
}

void StartCheck::look_at_memory(const appliance::Settings& settings) {
  std::set<std::string> rings;
  for (const appliance::FeedSettings& feed : settings.feeds) {
    for (const feed::Channel& channel : feed.description.channels) {
      for (const std::string& ring : {channel.ring, channel.events}) {
        if (!ring.empty()) rings.insert(ring);
      }
    }
  }
  std::uint64_t bytes = 0;
  for (const std::string& ring : rings) bytes += settings.slots_of(ring) * record::kSlotBytes;
  const std::string folder = os::own_folder();
  add("rings", fmt::format("{}, {} in {}, {}", rings.size(), replay::byte_text(bytes), folder, free_text(folder)));
  const auto room = free_bytes(folder);
  if (room && *room < bytes) missing_.push_back("memory for the rings: " + folder + " has less than they need");
}

void StartCheck::look_at_folders(const appliance::Settings& settings) {
  add("state", printable(settings.state_folder) + ", " + free_text(settings.state_folder));
  if (settings.books.save_ns != 0) {
    add("books", "saved every " + os::duration_text(settings.books.save_ns) + " in the state folder");
  }
  if (settings.recorder) {
    add("recorder", printable(settings.recorder->folder) + ", " + free_text(settings.recorder->folder));
  }
}

void StartCheck::look_at_clock() {
  switch (appliance::clock_status()) {
    case appliance::ClockStatus::Synchronised: return add("clock", "synchronised");
    case appliance::ClockStatus::Unsynchronised: return add("clock", "NOT SYNCHRONISED: times are this machine's own");
    case appliance::ClockStatus::LeapSecond: return add("clock", "synchronised; a leap second ends this day");
  }
}

void StartCheck::add_image(const std::string& feed, const std::string& image, const Program& program) {
  add("image " + printable(image), fmt::format("feed {}: {} templates, layout {:016x}", printable(feed),
                                               program.templates.size(), layout_hash(program)));
}

std::string StartCheck::text() const {
  std::size_t width = 0;
  for (const Line& line : lines_) width = std::max(width, line.what.size());
  std::string out;
  for (const Line& line : lines_) out += fmt::format("{:<{}}  {}\n", line.what, width, line.found);
  return out;
}

}  // namespace stopbit::tools
