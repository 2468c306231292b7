#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/views.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/nic/msg/combine.hpp"
#include "host/nic/node/broker.hpp"
#include "host/nic/node/client.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/transport/model/network.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/lib/workloads/workload.hpp"

// Several decoders put their records into one ring of commands: a decoder that finds it full is refused and tries
// again, nothing is lost or doubled, and the records of each channel keep their order.

namespace stopbit::nic::decoders_test {

constexpr std::size_t kDecoders = 4;
constexpr std::size_t kDatagrams = 1'500;
constexpr std::uint64_t kPatienceNs = 60'000'000'000;

using Bytes = std::vector<std::byte>;

/// A port of a process, as a broker opens it; nothing takes its commands but the test.
class Port {
 public:
  Port() : network_(one_node()), node_(network_.port(0), {}) {
    BrokerOptions options;
    options.socket = (folder_.folder() / "broker").string();
    Entitlement mine;
    mine.user = ::geteuid();
    options.entitlements = {mine};
    auto broker = Broker::open(node_, options);
    EXPECT_TRUE(broker.ok()) << broker.message();
    broker_ = std::move(broker).value();
    std::atomic<bool> is_open = false;
    std::thread door([&] {
      while (!is_open) (void)broker_->step();
    });
    auto opened = Client::open(options.socket);
    is_open = true;
    door.join();
    EXPECT_TRUE(opened.ok()) << opened.message();
    client = std::move(opened).value();
  }

 private:
  static ModelOptions one_node() {
    ModelOptions options;
    options.nodes = 1;
    return options;
  }
  testing::Scratch folder_;
  ModelNetwork network_;
  Node node_;
  std::unique_ptr<Broker> broker_;

 public:
  std::unique_ptr<Client> client;
};

/// Decodes the first datagrams of a workload as those of `channel`.
template <class OnRecord>
void decode(const bench::Workload& workload, std::uint16_t channel, OnRecord on_record) {
  EngineOptions options = workload.options;
  options.channels = kDecoders;
  const MadeEngine made =
      make_engine(workload.program, options, channel % 2 == 0 ? EngineKind::Native : EngineKind::Interp);
  record::BufferSink sink(workload.program.max_record_slots, on_record);
  for (std::size_t i = 0; i < std::min(kDatagrams, workload.datagrams.size()); ++i) {
    PacketInfo info = workload.datagrams[i].info;
    info.channel = channel;
    (void)made.engine->decode(workload.datagram(i), info, sink);
  }
}

std::uint16_t channel_of(std::span<const std::byte> message) {
  record::Slot first;
  std::memcpy(&first, message.data(), sizeof(first));
  return record::HeaderView(first).channel();
}

TEST(SeveralDecoders, put_every_record_once_and_in_order_into_one_ring) {
  Result<std::unique_ptr<bench::Workload>> workload = bench::workload_sources().front().make();
  ASSERT_TRUE(workload.ok()) << workload.message();
  std::vector<std::vector<Bytes>> wanted(kDecoders);
  for (std::uint16_t channel = 0; channel < kDecoders; ++channel) {
    decode(*workload.value(), channel, [&](std::span<const record::Slot> record) {
      const auto bytes = std::as_bytes(record);
      wanted[channel].emplace_back(bytes.begin(), bytes.end());
    });
    ASSERT_FALSE(wanted[channel].empty());
    for (const Bytes& record : wanted[channel]) ASSERT_LE(record.size(), kMaxMessageBytes);
  }

  Port port;
  ASSERT_NE(port.client, nullptr);
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::size_t> running = kDecoders;
  std::atomic<bool> gives_up = false;
  std::vector<std::thread> decoders;
  for (std::uint16_t channel = 0; channel < kDecoders; ++channel) {
    decoders.emplace_back([&, channel] {
      decode(*workload.value(), channel, [&](std::span<const record::Slot> record) {
        Reply reply = Reply::Full;
        while (!gives_up && (reply = port.client->send(0, 0, std::as_bytes(record))) == Reply::Full) {
          refused.fetch_add(1, std::memory_order_relaxed);
          std::this_thread::yield();
        }
        if (reply != Reply::NoError) gives_up = true;
      });
      running.fetch_sub(1, std::memory_order_release);
    });
  }

  CommandSource source(port.client->page());
  WriteCombiner combiner(kPatienceNs);
  std::vector<std::size_t> next(kDecoders);
  Command command;
  for (bool is_over = false; !is_over && !gives_up;) {
    is_over = running.load(std::memory_order_acquire) == 0;
    while (!gives_up && source.take(command)) {
      is_over = false;
      const WriteCombiner::Outcome outcome = combiner.take(command, 0);
      if (outcome.error != Error::None) {
        ADD_FAILURE() << to_name(outcome.error);
        gives_up = true;
      }
      if (!outcome.message) continue;
      const std::span<const std::byte> message = outcome.message->payload;
      const std::uint16_t channel = channel_of(message);
      if (channel >= kDecoders || next[channel] == wanted[channel].size() ||
          !std::equal(message.begin(), message.end(), wanted[channel][next[channel]].begin(),
                      wanted[channel][next[channel]].end())) {
        ADD_FAILURE() << "channel " << channel << ", record " << next[channel % kDecoders];
        gives_up = true;
        continue;
      }
      ++next[channel];
    }
  }
  for (std::thread& decoder : decoders) decoder.join();
  for (std::size_t channel = 0; channel < kDecoders; ++channel) EXPECT_EQ(next[channel], wanted[channel].size());
  EXPECT_GT(refused, 0U) << "the ring was never full, so the test has not seen a refusal";
  EXPECT_EQ(combiner.given_up(), 0U);
}

}  // namespace stopbit::nic::decoders_test
