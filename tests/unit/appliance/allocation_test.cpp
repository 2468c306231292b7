// A binary of its own: it counts every allocation of the process.

#include <gtest/gtest.h>

#include "tests/attack/allocations.hpp"
#include "tests/lib/appliance_fixture.hpp"

namespace stopbit::appliance::allocation_test {

/// Reads the feed again, with these channels besides the one that it has.
Appliance::ReadyChannels prepare(test::OneChannel& one, const std::string& more) {
  one.folder.write("feed.toml",
                   "name = \"test\"\n[[image]]\nname = \"ticks\"\ntemplates = [\"ticks.xml\"]\n"
                   "[[channel]]\nnumber = 7\nname = \"seven\"\nframing = \"cme\"\nring = \"" +
                       one.folder.path("ring") +
                       "\"\na = { group = \"224.0.0.1\", port = 1000 }\nb = { group = \"224.0.0.2\", port = 1000 }\n" +
                       more);
  Diagnostics diagnostics;
  const auto wanted = parse("appliance.toml",
                            "name = \"test\"\nstate = \"state\"\n[[agent]]\nname = \"md\"\n[[port]]\nname = \"left\"\n"
                            "[[port]]\nname = \"right\"\n[[feed]]\nfile = \"feed.toml\"\na = \"left\"\nb = \"right\"\n",
                            one.folder.path(), diagnostics);
  EXPECT_TRUE(wanted) << diagnostics.format();
  if (!wanted) return {};
  auto ready = one.made->prepare_channels(*wanted, one.made->compare_channels(*wanted), diagnostics);
  EXPECT_TRUE(ready) << ready.message();
  return ready ? std::move(ready).value() : nullptr;
}

TEST(AgentAllocations, are_none_when_channels_change) {
  test::OneChannel one;
  ASSERT_TRUE(one.made);
  one.give(0, test::tick(1, 1));
  one.now += 10'000'000;
  one.work();
  one.give(0, test::tick(3, 3));  // a window is open
  one.work();
  std::string many;
  for (int i = 0; i < 50; ++i) {
    const std::string name = std::to_string(100 + i);
    many += "[[channel]]\nnumber = " + name + "\nname = \"" + name + "\"\nframing = \"cme\"\nring = \"" +
            one.folder.path("other") + "\"\na = { group = \"224.1.1." + name + "\", port = 1000 }\n";
  }
  for (const std::string& channels : {many, std::string(), many.substr(0, many.find("[[channel]]", 1))}) {
    auto ready = prepare(one, channels);
    ASSERT_TRUE(ready);
    (void)one.made->change_channels(std::move(ready));
    const std::uint64_t before = attack::allocations();
    (void)one.agent().do_work();
    EXPECT_EQ(attack::allocations(), before);
    one.made->retire();
  }
  EXPECT_EQ(one.agent().channels().size(), 2U);
}

}  // namespace stopbit::appliance::allocation_test
