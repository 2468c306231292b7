#include "tests/system/dissector/tshark.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <pugixml.hpp>
#include <set>
#include <stdexcept>
#include <string_view>

namespace stopbit::dissector {
namespace {

/// Rows of the protocol itself.
const std::set<std::string_view> kOwnRows = {"sequence", "chunk",       "chunks",   "sender",   "sending_time",
                                             "pmap",     "template_id", "template", "undecoded"};
constexpr std::string_view kIncomplete = ", incomplete";

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string_view attribute(const pugi::xml_node& node, const char* name) {
  return node.attribute(name).value();
}

/// Reads the rows of one protocol in one packet.
class ProtocolRows {
 public:
  ProtocolRows(std::string_view protocol, std::vector<Event>& events)
      : prefix_(std::string(protocol) + "."), events_(events) {}

  void read(const pugi::xml_node& protocol) {
    for (const pugi::xml_node& row : protocol.children("field")) {
      const std::string_view name = attribute(row, "name");
      if (name == "_ws.expert") {
        for (const char* mark : {"dropped", "not_shown"}) {
          if (row.find_child_by_attribute("name", (prefix_ + mark).c_str())) events_.push_back({mark, {}});
        }
      } else if (name == prefix_ + "error") {
        error(row);
      } else if (name.starts_with(prefix_) && !kOwnRows.contains(name.substr(prefix_.size()))) {
        const std::string_view title = attribute(row, "showname");
        if (title.ends_with(kIncomplete)) continue;
        events_.push_back({std::string(title), {}});
        rows(row, 1);
      }
    }
  }

 private:
  void error(const pugi::xml_node& row) {
    const auto part = [&](const char* name) {
      return row.find_child_by_attribute("name", (prefix_ + "error." + name).c_str()).attribute("show").value();
    };
    std::string title = "error " + std::string(attribute(row, "show")) + " at " + part("offset");
    if (const std::string name = part("template"); !name.empty()) title += " in " + name;
    if (const std::string name = part("field"); !name.empty()) title += " field " + name;
    events_.push_back({title, {}});
  }

  void rows(const pugi::xml_node& parent, int depth) {
    for (const pugi::xml_node& row : parent.children("field")) {
      const std::string_view name = attribute(row, "name");
      if (name.starts_with(prefix_)) {
        const std::string_view filter = name.substr(prefix_.size());
        if (kOwnRows.contains(filter)) continue;
        add(row, depth, filter);
      } else {
        add(row, depth, name == "_ws.lua.text" ? std::string_view{} : name);
      }
    }
  }

  void add(const pugi::xml_node& row, int depth, std::string_view filter) {
    const pugi::xml_attribute label = row.attribute("showname");
    events_.back().rows.push_back({depth, std::string(filter),
                                   label ? label.value() : std::string(attribute(row, "show")),
                                   label ? std::string(attribute(row, "show")) : "", row.attribute("pos").as_int(),
                                   row.attribute("size").as_int()});
    rows(row, depth + 1);
  }

  std::string prefix_;
  std::vector<Event>& events_;
};

}  // namespace

bool has_tshark() {
  return std::system("command -v tshark >/dev/null 2>&1") == 0;
}

std::string tshark_command(const TsharkRun& run, const std::string& arguments) {
  const std::filesystem::path home = run.folder / "home";
  std::filesystem::create_directories(home);
  // Nothing of the user's configuration, and no complaint that a test runs as root.
  std::string command = "HOME=" + shell_quoted(home) + " XDG_CONFIG_HOME=" + shell_quoted(home) +
                        " WIRESHARK_CONFIG_DIR=" + shell_quoted(home) + " LC_ALL=C.UTF-8 tshark -n -r " +
                        shell_quoted(run.capture);
  if (run.packets != 0) command += " -c " + std::to_string(run.packets);
  for (const auto& script : run.scripts) command += " -X " + shell_quoted("lua_script:" + script.string());
  for (const std::string& preference : run.preferences) command += " -o " + shell_quoted(preference);
  if (run.two_passes) command += " -2";
  if (!run.read_filter.empty()) command += " -R " + shell_quoted(run.read_filter);
  return command + " " + arguments;
}

Dissection::Dissection(const TsharkRun& run) : complaints_(run.folder / "tshark.err") {
  for (const auto& script : run.scripts) protocols_.push_back(script.stem());
  std::sort(protocols_.begin(), protocols_.end());
  std::string shown = "_ws.lua.error";
  for (const std::string& protocol : protocols_) shown += " " + protocol;
  pipe_ = ::popen(
      (tshark_command(run, "-T pdml -J " + shell_quoted(shown)) + " 2>" + shell_quoted(complaints_)).c_str(), "r");
  if (pipe_ == nullptr) throw std::runtime_error("popen");
}

Dissection::~Dissection() {
  if (pipe_ != nullptr) ::pclose(pipe_);
  std::free(line_);
}

std::optional<Event> Dissection::next() {
  while (events_.empty()) {
    if (!read_packet()) return std::nullopt;
  }
  Event event = std::move(events_.back().second);
  packet_ = events_.back().first;
  events_.pop_back();
  return event;
}

bool Dissection::read_packet() {
  std::string text;
  for (bool inside = false;;) {
    const ssize_t length = ::getline(&line_, &line_bytes_, pipe_);
    if (length < 0) return false;
    const std::string_view line(line_, static_cast<std::size_t>(length));
    inside = inside || line.starts_with("<packet>");
    if (inside) text += line;
    if (line.starts_with("</packet>")) break;
  }
  ++packets_;
  pugi::xml_document document;
  std::vector<Event> events;
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_wconv_attribute);
  if (!result) events.push_back({std::string("not XML: ") + result.description() + "\n" + text, {}});
  for (const pugi::xml_node& protocol : document.child("packet").children("proto")) {
    const std::string_view name = attribute(protocol, "name");
    if (std::binary_search(protocols_.begin(), protocols_.end(), name)) {
      ProtocolRows(name, events).read(protocol);
    } else if (name == "fake-field-wrapper" || name == "_ws.malformed" || name == "_ws.short") {
      const pugi::xml_node field = protocol.child("field");
      if (attribute(field, "name") == "_ws.lua.fake") continue;
      events.push_back({"Lua error: " + std::string(attribute(field, "show")) + " " + std::string(name), {}});
    }
  }
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    events_.emplace_back(packets_, std::move(*event));
  }
  return true;
}

std::string Dissection::problems() {
  std::string out;
  if (pipe_ != nullptr) {
    const int status = ::pclose(pipe_);
    pipe_ = nullptr;
    if (status != 0) out = "tshark ended with status " + std::to_string(WEXITSTATUS(status)) + "\n";
  }
  std::ifstream complaints(complaints_);
  for (std::string line; std::getline(complaints, line);) {
    if (line.empty() || line.starts_with("Running as user \"root\"")) continue;
    out += line + "\n";
  }
  return out;
}

}  // namespace stopbit::dissector
