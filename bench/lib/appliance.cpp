#include "bench/lib/appliance.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "host/os/shm/name.hpp"

namespace stopbit::bench {
namespace {

std::string port_settings(const std::string& port) {
  if (port == "socket") return fmt::format("interface = \"{}\"", testing::Veth::kReceiver);
  return fmt::format("kind = \"dpdk\"\ndevice = \"net_af_packet0,iface={},blocksz=65536,framesz=2048,framecnt=32768\"",
                     testing::Veth::kReceiver);
}

std::string doors(const std::string& socket, int http) {
  if (http == 0) return {};
  return fmt::format("[control]\nsocket = \"{}\"\n[http]\nlisten = \"127.0.0.1:{}\"", socket, http);
}

}  // namespace

Appliance::Appliance(const testing::Veth& veth, const ApplianceOptions& options)
    : name_(fmt::format("{}-{}", options.name, ::getpid())) {
  scratch_.write("feed.toml", fmt::format(R"(name = "bench"
[[image]]
name = "sample"
templates = ["{}/templates.xml"]
[[channel]]
number = 1
name = "wire"
framing = "cme"
ring = "{}"
a = {{ group = "{}", port = 20001 }}
)",
                                          STOPBIT_SAMPLE_FOLDER, ring(), options.group));
  // DPDK's drivers have no place among the system calls of a confined process on every machine.
  const std::string settings =
      scratch_.write("appliance.toml", fmt::format(R"(name = "{}"
state = "state"
confined = {}
{}
[[agent]]
name = "md"
core = {}
idle = "{}"
[[port]]
name = "wire"
{}
[[feed]]
file = "feed.toml"
a = "wire"
)",
                                                   name_, options.port == "socket", doors(socket(), options.http),
                                                   options.processor, options.idle, port_settings(options.port)));
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "stopbit";
  veth.enter_receiver();  // namespaces are inherited
  child_ = ::fork();
  if (child_ == 0) {
    ::execl(program.c_str(), "stopbit", "run", settings.c_str(), "-q", nullptr);
    ::_exit(127);
  }
  veth.enter_sender();
  if (child_ < 0) throw std::runtime_error("fork failed");
}

Appliance::~Appliance() {
  if (runs()) {
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
  }
  std::error_code ignored;
  if (const auto path = os::path_of(name_ + ".counters")) {
    std::filesystem::remove(path.value(), ignored);
  }
}

bool Appliance::runs() {
  if (child_ > 0 && ::waitpid(child_, nullptr, WNOHANG) != 0) child_ = -1;
  return child_ > 0;
}

ring::Reader Appliance::reader() {
  using Steady = std::chrono::steady_clock;
  for (const auto until = Steady::now() + kPatience; runs() && Steady::now() < until;) {
    auto opened = ring::Reader::open(ring());
    if (opened) return std::move(opened).value();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw std::runtime_error("the appliance does not start");
}

}  // namespace stopbit::bench
