#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "host/device/sim/sim_card.hpp"
#include "tests/lib/appliance_fixture.hpp"
#include "tests/lib/card_leaf.hpp"

// An appliance whose datagrams a card decodes: what runs there, what does not, and what becomes of a card that fails.

namespace stopbit::test {
namespace {

using ::testing::HasSubstr;

/// The way to the simulated card, until the cable is pulled.
class Cable final : public device::Network {
 public:
  explicit Cable(device::Network& to) : to_(to) {}
  Status send(std::span<const std::byte> datagram, std::uint16_t channel, std::uint64_t arrival_ns) override {
    if (is_out) return Failure{"the cable is out"};
    ++sent;
    return to_.send(datagram, channel, arrival_ns);
  }
  bool is_out = false;
  int sent = 0;

 private:
  device::Network& to_;
};

class OneCard final : public device::Card {
 public:
  OneCard(device::Device& device, device::Network& network) : device_(device), network_(network) {}
  Result<std::vector<std::string>> obstacles(const Program& program, const EngineOptions& options) override {
    const auto kernel = device::Kernel::open(device_);
    if (!kernel) return Failure{kernel.message()};
    return device::obstacles(program, options, kernel.value().capabilities());
  }
  Result<std::unique_ptr<device::DeviceEngine>> run(const Program& program, const EngineOptions& options) override {
    return device::DeviceEngine::make(device_, network_, program, options);
  }
  Result<device::FarRing> far_ring(const device::FarRingOptions& options) override {
    return device::FarRing::start(device_, options);
  }
  Status reopen() override { return Failure{"it is opened once for all tests"}; }
  Result<device::Kernel> kernel() override { return device::Kernel::open(device_); }
  Result<std::unique_ptr<device::LiveCard>> receive(const Program&, const EngineOptions&,
                                                    std::span<const feed::Channel>,
                                                    const device::LiveOptions&) override {
    return Failure{"its datagrams come from the host"};
  }

 private:
  device::Device& device_;
  device::Network& network_;
};

/// The simulated card, opened once for all tests.
constexpr std::uint64_t kPublished = 2'000'000;  // counters are at most a millisecond old

class ApplianceOnCard : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto sim = device::SimCard::prepare(testing::leaf_of_run());
    ASSERT_TRUE(sim.ok()) << sim.message();
    auto opened = sim.value()->opener()();
    ASSERT_TRUE(opened.ok()) << opened.message();
    device_ = std::move(opened).value();
    auto network = device::FeedNetwork::connect(sim.value()->feed());
    ASSERT_TRUE(network.ok()) << network.message();
    network_ = std::move(network).value();
  }
  static void TearDownTestSuite() {
    network_.reset();
    device_.reset();
  }
  void SetUp() override {
    ASSERT_NE(network_, nullptr);
    cable_.emplace(*network_);
  }
  std::unique_ptr<OneChannel> make(const std::function<void(appliance::Settings&)>& change = {}) {
    return std::make_unique<OneChannel>("mode = \"fast\"\n", "engine = \"xrt\"\n[card]\nxclbin = \"sim\"\n", change,
                                        appliance::Topology(),
                                        [this](const device::CardOptions&) -> Result<std::unique_ptr<device::Card>> {
                                          return std::unique_ptr<device::Card>(new OneCard(*device_, *cable_));
                                        });
  }

  static std::unique_ptr<device::Device> device_;
  static std::unique_ptr<device::FeedNetwork> network_;
  std::optional<Cable> cable_;
};
std::unique_ptr<device::Device> ApplianceOnCard::device_;
std::unique_ptr<device::FeedNetwork> ApplianceOnCard::network_;

TEST_F(ApplianceOnCard, decodes_there_and_puts_gaps_and_errors_in_their_place) {
  const auto one = make();
  ASSERT_TRUE(one->made) << one->problem;
  EXPECT_EQ(one->made->on_card(), one->folder.path("ring"));
  one->give(0, tick(1, 1000));
  one->give(1, tick(1, 1000));
  one->give(0, tick(4, 70));
  one->give(0,
            {std::byte{0}, std::byte{0}, std::byte{0}, std::byte{5}, std::byte{0}, std::byte{0xC0}, std::byte{0x82}});
  one->give(1, tick(6, 3));
  one->work();
  const auto seen = one->seen();
  ASSERT_EQ(seen.size(), 5U);
  EXPECT_EQ(seen[0].sequence, 1U);
  EXPECT_EQ(seen[0].value, 1000U);
  EXPECT_EQ(seen[0].channel, 7U);
  EXPECT_EQ(seen[1].kind, record::EventKind::Gap);
  EXPECT_EQ(seen[1].first, 2U);
  EXPECT_EQ(seen[1].count, 2U);
  EXPECT_EQ(seen[2].value, 70U);
  EXPECT_TRUE(seen[3].is_event) << "no template 2";
  EXPECT_EQ(seen[4].value, 3U);
  EXPECT_EQ(one->counts().value("unknown_template", {{"channel", "seven"}}), 1U);
  EXPECT_EQ(cable_->sent, 4);
  one->expect_balanced();
  EXPECT_EQ(one->made->take_card_failure(), "");
}

TEST_F(ApplianceOnCard, leaves_what_the_card_cannot_have_to_software_and_says_why) {
  const auto one = make([](appliance::Settings& settings) { settings.limits.datagram_bytes = 1'000; });
  ASSERT_TRUE(one->made) << one->problem;
  EXPECT_THAT(one->made->notes(), ::testing::Contains(HasSubstr("longest datagram: 1000 bytes requested")));
  EXPECT_EQ(one->made->on_card(), "");
  one->give(0, tick(1, 5));
  one->work();
  EXPECT_EQ(one->seen().size(), 1U);
  EXPECT_EQ(cable_->sent, 0);
}

TEST_F(ApplianceOnCard, does_not_start_without_the_card_if_software_may_not_help) {
  const auto one = make([](appliance::Settings& settings) {
    settings.limits.datagram_bytes = 1'000;
    settings.card->fallback = false;
  });
  EXPECT_FALSE(one->made);
  EXPECT_THAT(one->problem, HasSubstr("the card does not decode"));
  EXPECT_THAT(one->problem, HasSubstr("longest datagram"));
}

TEST_F(ApplianceOnCard, goes_on_in_software_with_another_image) {
  const auto one = make();
  ASSERT_TRUE(one->made) << one->problem;
  one->give(0, tick(1, 1));
  one->work();
  Diagnostics diagnostics;
  const auto answer = one->made->reload("ticks", diagnostics);
  ASSERT_TRUE(answer) << answer.message();
  EXPECT_THAT(answer.value(), HasSubstr("it runs in software until the appliance is restarted"));
  one->give(0, tick(2, 2));
  one->work();
  one->made->retire();
  auto next = ring::Reader::open(one->folder.path("ring"));
  ASSERT_TRUE(next) << next.message();
  one->give(0, tick(3, 3));
  one->work();
  EXPECT_EQ(one->seen().size(), 3U) << "two records, and the change";
  one->reader.emplace(std::move(next).value());
  ASSERT_EQ(one->seen().size(), 1U);
  EXPECT_EQ(cable_->sent, 2);
  EXPECT_EQ(one->made->take_card_failure(), "");
}

TEST_F(ApplianceOnCard, goes_on_in_software_when_the_card_fails) {
  const auto one = make();
  ASSERT_TRUE(one->made) << one->problem;
  one->give(0, tick(1, 1));
  one->work();
  cable_->is_out = true;
  one->give(0, tick(2, 2));
  one->work();
  one->now += kPublished;
  one->work();
  EXPECT_EQ(one->counts().value("waiting_for_reset", {{"channel", "seven"}}), 1U) << "it was in the card's hands";
  EXPECT_THAT(one->made->take_card_failure(), HasSubstr("the cable is out; software takes over"));
  EXPECT_EQ(one->made->take_card_failure(), "") << "told once";
  one->give(0, tick(3, 3));
  one->work();
  auto next = ring::Reader::open(one->folder.path("ring"));
  ASSERT_TRUE(next) << next.message();
  one->made->retire();
  one->give(0, tick(4, 4));
  one->work();
  one->reader.emplace(std::move(next).value());
  const auto seen = one->seen();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().sequence, 4U);
  one->expect_balanced();
}

TEST_F(ApplianceOnCard, drops_what_a_failed_card_should_decode_if_software_may_not_help) {
  const auto one = make([](appliance::Settings& settings) { settings.card->fallback = false; });
  ASSERT_TRUE(one->made) << one->problem;
  cable_->is_out = true;
  one->give(0, tick(1, 1));
  one->work();
  EXPECT_THAT(one->made->take_card_failure(), HasSubstr("its channels are dropped"));
  cable_->is_out = false;
  one->give(0, tick(2, 2));
  one->work();
  EXPECT_TRUE(one->seen().empty());
  one->now += kPublished;
  one->work();
  EXPECT_EQ(one->counts().value("waiting_for_reset", {{"channel", "seven"}}), 2U);
}

}  // namespace
}  // namespace stopbit::test
