#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include "host/feed/framing/framing.hpp"
#include "host/ports/socket/socket_port.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/lib/veth.hpp"

namespace stopbit::simulate::network_test {

using testing::Veth;

TEST(SimulateCommand, sends_a_feed_to_whoever_has_joined_its_groups) {
  std::string why;
  const auto veth = Veth::make(why);
  if (veth == nullptr) GTEST_SKIP() << why;
  const testing::Scratch scratch;
  scratch.write("sim.toml", R"(
preset = "t7-emdi"
duration = "500ms"
rate = 400
instruments = 5
snapshot_every = "100ms"
[line_a]
group = "239.1.1.1:30001"
source = "10.9.0.1:20000"
backup_source = "10.9.0.3:20000"
interface = "tx0"
[line_b]
group = "239.1.2.1:31001"
source = "10.9.0.1:20001"
interface = "tx0"
[[failover]]
at = "250ms"
)");
  veth->enter_receiver();
  ingest::SocketPortOptions options;
  options.interface = Veth::kReceiver;
  auto opened = ingest::open_socket_port(options);
  ASSERT_TRUE(opened.ok()) << opened.message();
  const auto port = std::move(opened).value();
  const std::vector<std::string> groups = {"239.1.1.1:30001", "239.1.1.2:30002", "239.1.2.1:31001", "239.1.2.2:31002"};
  for (const std::string& group : groups) {
    ASSERT_TRUE(port->join({net::parse_endpoint(group).value(), std::nullopt}).ok());
  }
  std::atomic<bool> finished = false;
  int status = -1;
  std::thread sender([&] {
    veth->enter_sender();
    status = std::system(
        (std::string(STOPBIT_BINARY) + " simulate " + scratch.path("sim.toml") + " 2> " + scratch.path("report"))
            .c_str());
    finished = true;
  });
  std::map<std::string, std::vector<std::string>> received;
  std::map<std::string, std::vector<std::uint32_t>> sources;
  std::vector<ingest::Arrival> batch(64);
  auto last = std::chrono::steady_clock::now();
  while (!finished || std::chrono::steady_clock::now() - last < std::chrono::milliseconds(100)) {
    const std::size_t count = port->poll(batch);
    if (count != 0 || !finished) last = std::chrono::steady_clock::now();
    for (const ingest::Arrival& arrival : std::span(batch).first(count)) {
      const std::string group = net::to_text(arrival.destination);
      received[group].emplace_back(reinterpret_cast<const char*>(arrival.payload.data()), arrival.payload.size());
      if (sources[group].empty() || sources[group].back() != arrival.source.address) {
        sources[group].push_back(arrival.source.address);
      }
    }
  }
  sender.join();
  const std::string text = scratch.read("report");
  EXPECT_EQ(status, 0) << text;
  EXPECT_EQ(received["239.1.1.1:30001"], received["239.1.2.1:31001"]);
  EXPECT_EQ(received["239.1.1.2:30002"], received["239.1.2.2:31002"]);
  EXPECT_NEAR(static_cast<double>(received["239.1.1.1:30001"].size()), 200, 50);
  EXPECT_NE(text.find(" " + std::to_string(received["239.1.1.1:30001"].size()) + " "), std::string::npos) << text;
  EXPECT_EQ(sources["239.1.1.1:30001"], (std::vector<std::uint32_t>{0x0A090001, 0x0A090003})) << "the backup took over";
  EXPECT_EQ(sources["239.1.2.1:31001"], (std::vector<std::uint32_t>{0x0A090001}));
}

}  // namespace stopbit::simulate::network_test
