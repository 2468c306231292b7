#include "host/device/sim/sim_card.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "host/device/vfio/module.hpp"
#include "host/device/vfio/vfio_device.hpp"
#include "host/device/xrt/module.hpp"

namespace stopbit::device {
namespace {

namespace fs = std::filesystem;

std::string error_text() {
  return std::generic_category().message(errno);
}

fs::path sim_card_folder() {
  const char* const said = std::getenv("STOPBIT_SIM_CARD");
  if (said != nullptr && *said != '\0') return said;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "lib" / "stopbit" / "sim_card";
}

}  // namespace

Result<std::unique_ptr<FeedNetwork>> FeedNetwork::connect(const std::string& path) {
  Result<sim::Feed> feed = sim::Feed::connect(path);
  if (!feed) return Failure{feed.message()};
  return std::unique_ptr<FeedNetwork>(new FeedNetwork(std::move(feed).value()));
}

Status FeedNetwork::send(std::span<const std::byte> datagram, std::uint16_t channel, std::uint64_t arrival_ns) {
  if (feed_.send(datagram, channel, arrival_ns)) return Done{};
  return Failure{"cannot send a datagram of " + std::to_string(datagram.size()) +
                 " bytes to the simulated card: " + error_text()};
}

Result<std::unique_ptr<SimCard>> SimCard::prepare(Leaf leaf, const std::string& feed) {
  const fs::path card = sim_card_folder();
  std::vector<fs::path> parts = {card / "lib" / "libxrt_hwemu.so.2", card / "stopbit_decoder.xclbin"};
  if (leaf == Leaf::Vfio) parts = {card / kSimVfioModule};
  std::error_code error;
  for (const fs::path& part : parts) {
    if (fs::exists(part, error)) continue;
    return Failure{
        "the simulated card is missing: '" + part.string() + "' does not exist. It is built if CMake finds Verilator" +
        (leaf == Leaf::Xrt ? " and XRT 2.13" : "") + "; set STOPBIT_SIM_CARD if it is not next to the program"};
  }
  std::unique_ptr<SimCard> made(new SimCard);
  if (feed.empty()) {
    std::string folder = (fs::temp_directory_path(error) / "stopbit_sim_XXXXXX").string();
    if (error || ::mkdtemp(folder.data()) == nullptr) {
      return Failure{"cannot create a folder '" + folder +
                     "' for the simulated card's socket: " + (error ? error.message() : error_text())};
    }
    made->folder_ = std::move(folder);
  }
  made->leaf_ = leaf;
  made->feed_ = feed.empty() ? made->folder_ + "/feed" : feed;
  made->file_ = parts.back().string();
  std::vector<std::pair<const char*, const char*>> variables = {{"STOPBIT_SIM_FEED", made->feed_.c_str()}};
  if (leaf == Leaf::Xrt) {
    variables.emplace_back("XILINX_XRT", card.c_str());
    variables.emplace_back("XCL_EMULATION_MODE", "hw_emu");
  }
  for (const auto& [name, value] : variables) {
    if (::setenv(name, value, 1) != 0) return Failure{std::string("cannot set ") + name + ": " + error_text()};
  }
  return made;
}

OpenDevice SimCard::opener(std::uint32_t index) const {
  if (leaf_ == Leaf::Xrt) {
    return [options = XrtOptions{.card = index, .xclbin = file_, .kernel = 0, .memory = 0}] {
      return open_xrt_module(options);
    };
  }
  return [file = file_]() -> Result<std::unique_ptr<Device>> {
    auto calls = simulated_calls(file);
    if (!calls) return Failure{calls.message()};
    return open_vfio({.address = kSimulatedFunction}, std::move(calls).value());
  };
}

SimCard::~SimCard() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

}  // namespace stopbit::device
