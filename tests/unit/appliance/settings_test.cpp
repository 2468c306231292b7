#include "host/appliance/settings.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "host/ports/dpdk/source.hpp"
#include "host/ports/socket/source.hpp"
#include "tests/lib/appliance_fixture.hpp"

namespace stopbit::appliance::settings_test {

using ::testing::HasSubstr;

struct Parsed {
  explicit Parsed(const std::string& text) {
    folder.write("feed.toml",
                 "name = \"test\"\n[[image]]\nname = \"x\"\ntemplates = [\"x.xml\"]\n[[channel]]\nnumber = 1\n"
                 "framing = \"cme\"\nring = \"r\"\na = { group = \"224.0.0.1\", port = 1000 }\n");
    settings = parse("appliance.toml", text, folder.path(), diagnostics);
  }
  testing::Scratch folder;
  Diagnostics diagnostics;
  std::optional<Settings> settings;
  [[nodiscard]] std::string errors() const { return diagnostics.format(); }
};

constexpr const char* kGood =
    "name = \"demo\"\nstate = \"state\"\n[[agent]]\nname = \"md\"\ncore = 3\nidle = \"spin\"\n"
    "[[port]]\nname = \"p\"\ninterface = \"eth1\"\n[[feed]]\nfile = \"feed.toml\"\na = \"p\"\n";

TEST(ApplianceSettings, are_read_with_their_feeds) {
  const Parsed parsed(
      std::string("[rings]\nslots = 1024\nspecial = { r = 2048 }\n").insert(0, "name = \"demo\"\nstate = \"state\"\n") +
      std::string(kGood).substr(std::string("name = \"demo\"\nstate = \"state\"\n").size()));
  ASSERT_TRUE(parsed.settings) << parsed.errors();
  EXPECT_EQ(parsed.settings->name, "demo");
  EXPECT_EQ(parsed.settings->state_folder, parsed.folder.path("state"));
  EXPECT_EQ(parsed.settings->agents[0].core, 3U);
  EXPECT_EQ(parsed.settings->agents[0].idle, Idle::Spin);
  EXPECT_EQ(std::dynamic_pointer_cast<ingest::SocketSource>(parsed.settings->ports[0].source)->interface, "eth1");
  EXPECT_EQ(parsed.settings->slots_of("r"), 2048U);
  EXPECT_EQ(parsed.settings->slots_of("other"), 1024U);
  ASSERT_EQ(parsed.settings->feeds[0].description.channels.size(), 1U);
}

TEST(ApplianceSettings, say_where_and_how_much_is_recorded) {
  const Parsed parsed(kGood + std::string("[recorder]\nfolder = \"packets\"\nline = \"2GiB\"\nbefore = \"5s\"\n"));
  ASSERT_TRUE(parsed.settings) << parsed.errors();
  ASSERT_TRUE(parsed.settings->recorder);
  EXPECT_EQ(parsed.settings->recorder->folder, parsed.folder.path("packets"));
  EXPECT_EQ(parsed.settings->recorder->line_bytes, 2ULL << 30);
  EXPECT_EQ(parsed.settings->recorder->before_ns, 5'000'000'000U);
  EXPECT_EQ(parsed.settings->recorder->after_ns, 30'000'000'000U);
  EXPECT_FALSE(Parsed(kGood).settings->recorder);
  const Parsed small(kGood + std::string("[recorder]\nfolder = \"packets\"\nline = \"100MiB\"\nfrozne = \"1GiB\"\n"));
  EXPECT_FALSE(small.settings);
  EXPECT_THAT(small.errors(), HasSubstr("must be at least twice the size of a file"));
  EXPECT_THAT(small.errors(), HasSubstr("frozne"));
}

TEST(ApplianceSettings, say_which_card_decodes) {
  const Parsed parsed("engine = \"xrt\"\n" + std::string(kGood) + "[card]\nxclbin = \"a.xclbin\"\nindex = 2\n");
  ASSERT_TRUE(parsed.settings) << parsed.errors();
  ASSERT_TRUE(parsed.settings->card);
  EXPECT_EQ(parsed.settings->card->xclbin, parsed.folder.path("a.xclbin"));
  EXPECT_EQ(parsed.settings->card->index, 2U);
  EXPECT_TRUE(parsed.settings->card->fallback);
  EXPECT_EQ(Parsed("engine = \"xrt\"\n" + std::string(kGood) + "[card]\nxclbin = \"sim\"\nfallback = false\n")
                .settings->card->xclbin,
            "sim");
  EXPECT_THAT(Parsed("engine = \"xrt\"\n" + std::string(kGood)).errors(), HasSubstr("needs a table [card]"));
  EXPECT_THAT(Parsed(kGood + std::string("[card]\nxclbin = \"sim\"\n")).errors(),
              HasSubstr("[card] needs engine = \"card\""));
  EXPECT_THAT(Parsed("engine = \"xrt\"\n" + std::string(kGood) + "[card]\nindex = 65536\n").errors(),
              HasSubstr("xclbin"));
}

TEST(ApplianceSettings, say_that_a_card_receives_from_its_own_port) {
  const std::string card = "engine = \"xrt\"\n" + std::string(kGood) + "[card]\nxclbin = \"a.xclbin\"\n";
  const Parsed usual(card);
  ASSERT_TRUE(usual.settings) << usual.errors();
  EXPECT_EQ(usual.settings->card->ingress, CardIngress::Host);
  const Parsed port(card + "ingress = \"port\"\nclock = \"mac\"\nfcs = true\n");
  ASSERT_TRUE(port.settings) << port.errors();
  EXPECT_EQ(port.settings->card->ingress, CardIngress::Port);
  EXPECT_EQ(port.settings->card->clock, CardClock::Mac);
  EXPECT_TRUE(port.settings->card->fcs);
  EXPECT_EQ(Parsed(card + "ingress = \"port\"\n").settings->card->clock, CardClock::Card);
  EXPECT_THAT(Parsed(card + "fcs = true\n").errors(), HasSubstr("[card] has 'fcs' only with ingress = \"port\""));
  EXPECT_THAT(Parsed(card + "ingress = \"wire\"\n").errors(), HasSubstr("ingress"));
  EXPECT_FALSE(port.settings->card->mac);
  const Parsed joins(card + "ingress = \"port\"\nmac = \"02:1b:00:00:00:07\"\naddress = \"10.1.2.3\"\n");
  ASSERT_TRUE(joins.settings) << joins.errors();
  EXPECT_EQ(joins.settings->card->mac, (ingest::MacAddress{2, 0x1B, 0, 0, 0, 7}));
  EXPECT_EQ(joins.settings->card->address, 0x0A010203U);
  const std::string in_port = card + "ingress = \"port\"\n";
  EXPECT_THAT(Parsed(card + "mac = \"02:1b:00:00:00:07\"\n").errors(), HasSubstr("[card] has 'mac' only with"));
  EXPECT_THAT(Parsed(in_port + "mac = \"01:00:5e:00:00:07\"\n").errors(), HasSubstr("is not the Ethernet address"));
  EXPECT_THAT(Parsed(in_port + "address = \"10.1.2.3\"\n").errors(), HasSubstr("only with a 'mac'"));
  EXPECT_THAT(Parsed(in_port + "mac = \"02:1b:00:00:00:07\"\naddress = \"x\"\n").errors(),
              HasSubstr("'x' is not an IPv4 address"));
}

TEST(ApplianceSettings, open_a_card_by_xrt_or_by_vfio) {
  const std::string card = "engine = \"card\"\n" + std::string(kGood) + "[card]\n";
  const Parsed vfio(card + "device = \"0000:81:00.0\"\nbar = 2\noffset = \"64KiB\"\n");
  ASSERT_TRUE(vfio.settings) << vfio.errors();
  EXPECT_EQ(vfio.settings->card->device, "0000:81:00.0");
  EXPECT_EQ(vfio.settings->card->bar, 2U);
  EXPECT_EQ(vfio.settings->card->offset, 65'536U);
  EXPECT_EQ(vfio.settings->card->xclbin, "");
  EXPECT_EQ(vfio.settings->card->label(), "0000:81:00.0");
  const Parsed simulated(card + "device = \"sim\"\n");
  ASSERT_TRUE(simulated.settings) << simulated.errors();
  EXPECT_EQ(simulated.settings->card->bar, 0U);
  EXPECT_EQ(Parsed(card + "xclbin = \"sim\"\nindex = 3\n").settings->card->label(), "3");
  const std::string device = card + "device = \"0000:81:00.0\"\n";
  const std::pair<std::string, const char*> wrong[] = {
      {card, "a card has either an 'xclbin', for XRT, or a 'device', for VFIO"},
      {device + "xclbin = \"sim\"\n", "a card has either an 'xclbin'"},
      {device + "index = 1\n", "only a card with an 'xclbin' has an index"},
      {device + "bar = 6\n", "bar"},
      {device + "offset = \"100B\"\n", "offset"},
      {device + "offset = \"5KiB\"\n", "not a multiple of 4096"},
      {card + "xclbin = \"sim\"\nbar = 1\n", "[card] has 'bar' only with a 'device'"},
      {card + "xclbin = \"sim\"\noffset = \"4KiB\"\n", "[card] has 'offset' only with a 'device'"},
      {card + "device = \"81:00.0\"\n", "'81:00.0' is not the address of a PCI function, such as 0000:81:00.0"},
  };
  for (const auto& [text, what] : wrong) EXPECT_THAT(Parsed(text).errors(), HasSubstr(what)) << text;
}

/// So that a reload can name the files.
TEST(ApplianceSettings, know_what_maps_and_holidays_say) {
  const testing::Scratch folder;
  const std::string map = folder.write("m.toml", "one");
  const std::string holidays = folder.write("holidays.txt", "2026-01-01\n");
  folder.write("calendar.toml",
               "holidays = \"holidays.txt\"\n[[session]]\ndays = [\"mon\"]\nfrom = \"09:00\"\nto = \"17:00\"\n");
  folder.write("feed.toml",
               "name = \"test\"\n[[image]]\nname = \"x\"\ntemplates = [\"x.xml\"]\n[[channel]]\nnumber = 1\n"
               "framing = \"cme\"\nring = \"r\"\na = { group = \"224.0.0.1\", port = 1000 }\nmap = \"" +
                   map + "\"\n");
  const auto said = [&] {
    Diagnostics diagnostics;
    const auto settings =
        parse("appliance.toml", kGood + std::string("calendar = \"calendar.toml\"\n"), folder.path(), diagnostics);
    EXPECT_TRUE(settings) << diagnostics.format();
    return settings ? settings->said : std::map<std::string, std::string>();
  };
  const auto then = said();
  folder.write("m.toml", "another");
  folder.write("holidays.txt", "2026-01-02\n");
  const auto now = said();
  ASSERT_TRUE(then.contains(map) && then.contains(holidays));
  EXPECT_EQ(then.at(map), "one");
  EXPECT_EQ(now.at(map), "another");
  EXPECT_EQ(now.at(holidays), "2026-01-02\n");
  EXPECT_TRUE(then.contains(folder.path("calendar.toml") + ": holidays"));
  EXPECT_EQ(then.size(), now.size());
}

TEST(ApplianceSettings, tell_everything_that_is_wrong_with_its_place) {
  const Parsed parsed(
      "name = \"a/b\"\n[[agent]]\nname = \"md\"\nidel = \"spin\"\n[[port]]\nname = \"p\"\nkind = \"sokcet\"\n"
      "[[feed]]\nfile = \"feed.toml\"\na = \"q\"\n[rings]\nslots = 1000\n");
  EXPECT_FALSE(parsed.settings);
  EXPECT_THAT(parsed.errors(), HasSubstr("appliance.toml:1:8: error: 'a/b' is not a valid name"));
  EXPECT_THAT(parsed.errors(), HasSubstr("the key 'state' is missing"));
  EXPECT_THAT(parsed.errors(), HasSubstr("appliance.toml:4:1: error: unknown key 'idel'; did you mean 'idle'?"));
  EXPECT_THAT(parsed.errors(), HasSubstr("'kind' must be one of: socket, "));
  EXPECT_THAT(parsed.errors(), HasSubstr("unknown port 'q'; did you mean 'p'?"));
  EXPECT_THAT(parsed.errors(), HasSubstr("must be a power of two"));
}

TEST(ApplianceSettings, say_how_books_are_kept_right) {
  const Parsed usual{std::string(kGood)};
  ASSERT_TRUE(usual.settings) << usual.errors();
  EXPECT_EQ(usual.settings->books.policy, market::Policy::Optimistic);
  EXPECT_TRUE(usual.settings->books.refresh);
  EXPECT_EQ(usual.settings->books.queue, 65'536U);
  const Parsed careful(std::string(kGood) + "[books]\npolicy = \"pessimistic\"\nrefresh = false\nqueue = 1_024\n");
  ASSERT_TRUE(careful.settings) << careful.errors();
  EXPECT_EQ(careful.settings->books.policy, market::Policy::Pessimistic);
  EXPECT_FALSE(careful.settings->books.refresh);
  EXPECT_EQ(careful.settings->books.queue, 1'024U);
  const Parsed wrong("[books]\npolicy = \"pessimist\"\nqueue = 1023\nqeue = 1\n");
  EXPECT_THAT(wrong.errors(), HasSubstr("appliance.toml:2:10: error: 'policy' must be one of: optimistic, pessimistic; "
                                        "did you mean 'pessimistic'?"));
  EXPECT_THAT(wrong.errors(), HasSubstr("appliance.toml:3:9: error: 'queue' must be from 1024 to 16777216"));
  EXPECT_THAT(wrong.errors(), HasSubstr("appliance.toml:4:1: error: unknown key 'qeue'; did you mean 'queue'?"));
}

TEST(ApplianceSettings, want_both_ports_of_a_feed_on_one_agent) {
  const Parsed parsed(
      "name = \"demo\"\nstate = \"s\"\n[[agent]]\nname = \"x\"\n[[agent]]\nname = \"y\"\n[[port]]\nname = \"p\"\nagent "
      "= \"x\"\n"
      "[[port]]\nname = \"q\"\nagent = \"y\"\n[[feed]]\nfile = \"feed.toml\"\na = \"p\"\nb = \"q\"\n");
  EXPECT_THAT(parsed.errors(), HasSubstr("both ports of a feed must belong to one agent"));
}

TEST(ApplianceSettings, refuse_one_feed_twice) {
  const Parsed parsed(std::string(kGood) + "[[feed]]\nfile = \"feed.toml\"\na = \"p\"\n");
  EXPECT_THAT(parsed.errors(), HasSubstr("another feed has a channel with the name 'channel 1'"));
  EXPECT_THAT(parsed.errors(), HasSubstr("another feed has a ring with the name 'r'"));
}

TEST(ApplianceSettings, open_no_door_to_the_world_without_a_token) {
  const std::string begin = "name = \"demo\"\nstate = \"state\"\n";
  const std::string rest = std::string(kGood).substr(begin.size());
  const Parsed open(begin + "[http]\nlisten = \"0.0.0.0:9464\"\n" + rest);
  EXPECT_THAT(open.errors(), HasSubstr("needs a token_file"));
  const Parsed closed(begin + "[http]\nlisten = \"127.0.0.1:9464\"\n[control]\nsocket = \"c\"\nusers = [1000]\n" +
                      rest);
  ASSERT_TRUE(closed.settings) << closed.errors();
  EXPECT_EQ(closed.settings->control.users, std::vector<std::uint32_t>{1000});
  EXPECT_EQ(closed.settings->control.socket, closed.folder.path("c"));
}

TEST(ApplianceSettings, name_the_hosts_that_http_answers_to) {
  const std::string begin = "name = \"demo\"\nstate = \"state\"\n";
  const std::string rest = std::string(kGood).substr(begin.size());
  const std::string http = "[http]\nlisten = \"127.0.0.1:9464\"\n";
  const Parsed good(begin + http + "allowed_hosts = [\"md1\", \"10.0.0.1\", \"[fd00::1]\"]\n" + rest);
  ASSERT_TRUE(good.settings) << good.errors();
  EXPECT_EQ(good.settings->control.allowed_hosts, (std::vector<std::string>{"md1", "10.0.0.1", "[fd00::1]"}));
  for (const char* host : {"", "md1:80", "http://md1", "*", "a b", "[md1]", "[::1", "[]"}) {
    const Parsed bad(begin + http + "allowed_hosts = [\"" + host + "\"]\n" + rest);
    EXPECT_THAT(bad.errors(), HasSubstr("is not a host name or address")) << host;
  }
}

TEST(ApplianceSettings, open_to_the_world_with_a_certificate_and_its_key) {
  const std::string begin = "name = \"demo\"\nstate = \"state\"\n";
  const std::string rest = std::string(kGood).substr(begin.size());
  const std::string world = "[http]\nlisten = \"0.0.0.0:9464\"\n";
  const Parsed open(begin + world + "certificate = \"c.pem\"\nkey = \"/k.pem\"\nclient_ca = \"ca.pem\"\n" + rest);
  ASSERT_TRUE(open.settings) << open.errors();
  EXPECT_EQ(open.settings->control.certificate, open.folder.path("c.pem"));
  EXPECT_EQ(open.settings->control.key, "/k.pem");
  EXPECT_EQ(open.settings->control.client_ca, open.folder.path("ca.pem"));
  const Parsed half(begin + world + "key = \"k.pem\"\n" + rest);
  EXPECT_THAT(half.errors(), HasSubstr("5:7: error: TLS needs both a certificate and its key"));
  const Parsed plain(begin + "[http]\nlisten = \"127.0.0.1:1\"\nclient_ca = \"ca.pem\"\n" + rest);
  EXPECT_THAT(plain.errors(), HasSubstr("need TLS: set certificate and key"));
}

TEST(ApplianceSettings, keep_their_state_in_the_home_folder_of_the_user) {
  const std::string begin = "name = \"demo\"\nstate = \"state\"\n";
  const auto with = [&](const char* state) {
    return Parsed(std::string("name = \"demo\"\nstate = \"") + state + "\"\n" +
                  std::string(kGood).substr(begin.size()));
  };
  const char* const home = std::getenv("HOME");
  const std::string before = home != nullptr ? home : "";
  ::setenv("HOME", "/home/one", 1);
  EXPECT_EQ(with("~/state/x").settings->state_folder, "/home/one/state/x");
  EXPECT_EQ(with("/a/~/x").settings->state_folder, "/a/~/x");
  EXPECT_THAT(with("~other/x").settings->state_folder, ::testing::EndsWith("/~other/x"));
  ::setenv("HOME", "", 1);
  EXPECT_THAT(with("~/state/x").errors(), HasSubstr("'~' needs the variable HOME"));
  if (home != nullptr) {
    ::setenv("HOME", before.c_str(), 1);
  } else {
    ::unsetenv("HOME");
  }
}

TEST(ApplianceSettings, have_a_node_with_a_broker) {
  const std::string begin = "name = \"demo\"\nstate = \"state\"\n";
  const std::string rest = std::string(kGood).substr(begin.size());
  const Parsed parsed(begin + rest + "[nic]\n");
  ASSERT_TRUE(parsed.settings) << parsed.errors();
  EXPECT_EQ(parsed.settings->nic->network, "demo");
  EXPECT_TRUE(parsed.settings->nic->broker.empty());
  EXPECT_EQ(parsed.settings->nic->ring_names(), std::vector<std::string>{"r"});
  const testing::Scratch other;
  const std::string entitled = other.write("e.toml", "[[entitlement]]\nfeeds = [\"r\"]\n");
  const Parsed full(begin + rest +
                    "[nic]\nnetwork = \"floor\"\nbroker = \"b\"\nclients = 5\nidle = \"spin\"\nentitlements = \"" +
                    entitled + "\"\n");
  ASSERT_TRUE(full.settings) << full.errors();
  EXPECT_EQ(full.settings->nic->network, "floor");
  EXPECT_EQ(full.settings->nic->broker, full.folder.path("b"));
  EXPECT_EQ(full.settings->nic->clients, 5U);
  EXPECT_EQ(full.settings->nic->thread.idle, Idle::Spin);
  EXPECT_EQ(full.settings->nic->entitlements.size(), 1U);

  EXPECT_THAT(Parsed(begin + rest + "[nic]\nbroker = \"b\"\n").errors(),
              HasSubstr("14:10: error: 'broker' and 'entitlements' need each other"));
  EXPECT_THAT(Parsed(begin + rest + "[nic]\nnetwork = \"a/b\"\n").errors(), HasSubstr("is not a valid name"));
  const std::string wrong = other.write("w.toml", "[[entitlement]]\nfeeds = [\"R\"]\n");
  EXPECT_THAT(Parsed(begin + rest + "[nic]\nbroker = \"b\"\nentitlements = \"" + wrong + "\"\n").errors(),
              HasSubstr("w.toml:2:9: error: unknown feed 'R'; did you mean 'r'?"));
}

TEST(ApplianceSettings, publish_rings_over_udp) {
  const std::string begin = "name = \"demo\"\nstate = \"state\"\n";
  const std::string rest = std::string(kGood).substr(begin.size());
  const auto errors = [&](const std::string& text) { return Parsed(begin + rest + text).errors(); };
  const Parsed usual(begin + rest +
                     "[nic.udp]\nlisten = \"10.1.2.3:7701\"\ntoken_file = \"t\"\n[[publish]]\nring = \"r\"\n");
  ASSERT_TRUE(usual.settings) << usual.errors();
  EXPECT_TRUE(usual.settings->nic->publish[0].to_udp && !usual.settings->nic->publish[0].to_fabric);
  UdpSettings expected;
  expected.listen = "10.1.2.3:7701";
  expected.token_file = usual.folder.path("t");
  EXPECT_EQ(*usual.settings->nic->udp, expected);
  const Parsed all(begin + rest +
                   "[nic.udp]\nlisten = \"[fd00::1]:7701\"\nencryption = \"off\"\nframe = 8900\n"
                   "bytes_per_second = \"1MiB\"\n[[publish]]\nring = \"r\"\nto = [\"udp\"]\nallow = [\"fd00::/8\"]\n");
  ASSERT_TRUE(all.settings) << all.errors();
  EXPECT_EQ(*all.settings->nic->udp, (UdpSettings{"[fd00::1]:7701", "", false, 8900, 1U << 20}));
  EXPECT_FALSE(all.settings->nic->publish[0].to_shm);
  EXPECT_EQ(errors("[nic.udp]\nlisten = \"127.0.0.1:7701\"\n"), "") << "plain text that does not leave the host";
  EXPECT_EQ(errors("[nic.udp]\nlisten = \"[::1]:7701\"\n"), "");
  EXPECT_THAT(errors("[nic.udp]\nlisten = \"[::2]:7701\"\n"), HasSubstr("other hosts reach this address"));
  EXPECT_THAT(errors("[nic.udp]\nlisten = \"10.1.2.3:7701\"\n"), HasSubstr("other hosts reach this address"));
}

TEST(ApplianceSettings, publish_rings) {
  const std::string begin = "name = \"demo\"\nstate = \"state\"\n";
  const std::string rest = std::string(kGood).substr(begin.size());
  const Parsed parsed(
      begin + rest +
      "[nic]\nlisten = \"10.1.2.3:7700\"\nsubscribers = 3\n[[publish]]\nring = \"r\"\n[[publish]]\nring = \"r\"\n"
      "as = \"few\"\nto = [\"fabric\"]\ntoken_file = \"t\"\n");
  ASSERT_TRUE(parsed.settings) << parsed.errors();
  EXPECT_EQ(parsed.settings->nic->subscribers, 3U);
  const auto& published = parsed.settings->nic->publish;
  ASSERT_EQ(published.size(), 2U);
  EXPECT_EQ(published[0].name, "r");
  EXPECT_TRUE(published[0].to_shm && published[0].to_fabric);
  EXPECT_EQ(published[1].name, "few");
  EXPECT_EQ(published[1].ring, "r");
  EXPECT_FALSE(published[1].to_shm);
  EXPECT_TRUE(published[1].to_fabric);
  EXPECT_EQ(published[1].token_file, parsed.folder.path("t"));

  const auto errors = [&](const std::string& text) { return Parsed(begin + rest + text).errors(); };
  EXPECT_THAT(errors("[[publish]]\nring = \"r\"\n"), HasSubstr("13:1: error: publishing needs a table [nic]"));
  EXPECT_THAT(errors("[nic]\n[[publish]]\nring = \"q\"\n"), HasSubstr("15:8: error: no feed has a ring 'q'"));
  EXPECT_THAT(errors("[nic]\n[[publish]]\nring = \"r\"\nto = [\"fabric\"]\n"), HasSubstr("'fabric' needs an address"));
  EXPECT_THAT(errors("[nic]\n[[publish]]\nring = \"r\"\nto = [\"mail\"]\n"),
              HasSubstr("one or more of: shm, fabric, udp"));
  EXPECT_THAT(errors("[nic]\n[[publish]]\nring = \"r\"\nto = [\"udp\"]\n"), HasSubstr("'udp' needs an address"));
  EXPECT_THAT(errors("[nic]\nlisten = \"host\"\n"), HasSubstr("14:10: error"));
  EXPECT_THAT(errors("[nic]\nlisten = \"0.0.0.0:7700\"\n"), HasSubstr("not at 0.0.0.0"));
  EXPECT_EQ(errors("[nic]\nlisten = \"[fd00::1]:7700\"\n"), "");
  EXPECT_EQ(errors("[nic]\nlisten = \"[::1]:1\"\n"), "");
  EXPECT_THAT(errors("[nic]\nlisten = \"[::]:7700\"\n"), HasSubstr("not at ::"));
  for (const char* wrong :
       {"[", "[]", "[]:1", "[fd00::1]", "[fd00::1]:", "[fd00::1]:0", "[fd00::1]:65536", "[fd00::1", "[fd00::1]7700",
        "[fd00::1]x:1", "[fd00::1/64]:1", "[10.1.2.3]:1", "[::ffff:10.1.2.3]:1", "[[::1]]:1", "[fe80::1%lo]:1"}) {
    EXPECT_THAT(errors("[nic]\nlisten = \"" + std::string(wrong) + "\"\n"), HasSubstr("is not an IPv6 address"))
        << wrong;
  }
  EXPECT_THAT(errors("[nic]\nlisten = \"fd00::1:7700\"\n"), HasSubstr("like [fd00::1]:7700"));
  EXPECT_THAT(errors("[nic]\n[[publish]]\nring = \"r\"\n[[publish]]\nring = \"r\"\n"),
              HasSubstr("two rings are published as 'r'"));
}

TEST(ApplianceSettings, say_who_may_subscribe_and_how_much) {
  const std::string begin = "name = \"demo\"\nstate = \"state\"\n";
  const std::string rest = std::string(kGood).substr(begin.size());
  const std::string nic = "[nic]\nlisten = \"10.1.2.3:7700\"\n";
  const Parsed plain(begin + rest + nic + "[[publish]]\nring = \"r\"\n");
  ASSERT_TRUE(plain.settings) << plain.errors();
  EXPECT_EQ(plain.settings->nic->subscribers_per_address, 0U);
  EXPECT_EQ(plain.settings->nic->requests_per_second, 100U);
  EXPECT_TRUE(plain.settings->nic->publish[0].allow.empty());
  EXPECT_FALSE(plain.settings->nic->publish[0].lossless);
  EXPECT_EQ(plain.settings->nic->publish[0].detach_after_ns, 0U);
  EXPECT_EQ(plain.settings->nic->publish[0].bytes_per_second, 0U);
  EXPECT_FALSE(plain.settings->nic->patience_ns("r"));

  const Parsed parsed(begin + rest + nic +
                      "subscribers_per_address = 2\nrequests_per_second = 7\n[[publish]]\nring = \"r\"\n"
                      "allow = [\"10.1.0.0/16\", \"fd00::1\"]\ndetach_after = \"2s\"\nbytes_per_second = \"1MiB\"\n");
  ASSERT_TRUE(parsed.settings) << parsed.errors();
  EXPECT_EQ(parsed.settings->nic->subscribers_per_address, 2U);
  EXPECT_EQ(parsed.settings->nic->requests_per_second, 7U);
  const PublishSettings& published = parsed.settings->nic->publish[0];
  ASSERT_EQ(published.allow.size(), 2U);
  EXPECT_EQ(nic::to_text(published.allow[0].address), "10.1.0.0");
  EXPECT_EQ(published.allow[0].bits, 112U);
  EXPECT_EQ(nic::to_text(published.allow[1].address), "fd00::1");
  EXPECT_EQ(published.detach_after_ns, 2'000'000'000U);
  EXPECT_EQ(published.bytes_per_second, 1U << 20U);

  const auto errors = [&](const std::string& text) { return Parsed(begin + rest + text).errors(); };
  const std::string publish = nic + "[[publish]]\nring = \"r\"\n";
  EXPECT_THAT(errors(publish + "allow = [\"md1\"]\n"), HasSubstr("17:9: error: 'md1' is not an address or a prefix"));
  EXPECT_THAT(errors(publish + "allow = [\"10.1.2.3/16\"]\n"), HasSubstr("which begins at 10.1.0.0"));
  EXPECT_THAT(errors(publish + "to = [\"shm\"]\nallow = [\"10.1.2.3\"]\n"),
              HasSubstr("18:9: error: 'allow' restricts subscribers by 'fabric'"));
  EXPECT_THAT(errors(nic + "provider = \"shm\"\n[[publish]]\nring = \"r\"\nallow = [\"10.1.2.3\"]\n"),
              HasSubstr("the provider 'shm' has no addresses"));
  EXPECT_THAT(errors(publish + "detach_after = \"1ms\"\n"), HasSubstr("17:16: error"));
  EXPECT_THAT(errors(publish + "bytes_per_second = \"1KiB\"\n"), HasSubstr("17:20: error"));
  EXPECT_THAT(errors(nic + "subscribers_per_address = 257\n"), HasSubstr("15:27: error"));
  EXPECT_THAT(errors(nic + "requests_per_second = 1000001\n"), HasSubstr("15:23: error"));
  EXPECT_THAT(errors(publish + "lossless = true\n"), HasSubstr("17:12: error: its agent also reads port"));
  EXPECT_THAT(errors(publish + "allow = []\n"), HasSubstr("17:9: error"));
  EXPECT_THAT(errors(publish + "alow = []\n"), HasSubstr("did you mean 'allow'?"));
}

TEST(ApplianceSettings, let_agents_of_captures_wait_for_subscribers) {
  std::string text(kGood);
  const std::string interface = "interface = \"eth1\"";
  text.replace(text.find(interface), interface.size(), "kind = \"capture\"\nfile = \"c\"");
  const Parsed parsed(text +
                      "[nic]\n[[publish]]\nring = \"r\"\nlossless = true\n[[publish]]\nring = \"r\"\nas = \"s\"\n");
  ASSERT_TRUE(parsed.settings) << parsed.errors();
  EXPECT_TRUE(parsed.settings->nic->publish[0].lossless);
  EXPECT_FALSE(parsed.settings->nic->publish[1].lossless);
  EXPECT_EQ(parsed.settings->nic->patience_ns("r"), kPatienceNs);
  const Parsed slow(text + "[nic]\n[[publish]]\nring = \"r\"\nlossless = true\ndetach_after = \"2min\"\n");
  EXPECT_THAT(slow.errors(), HasSubstr("must be at most 1min"));
}

TEST(ApplianceSettings, take_ports_of_one_device_for_its_queues) {
  const std::string begin =
      "name = \"demo\"\nstate = \"s\"\n[dpdk]\nmemory = \"1GiB\"\n[[agent]]\nname = \"x\"\n[[agent]]\nname = \"y\"\n";
  const std::string feed = "[[feed]]\nfile = \"feed.toml\"\na = \"p\"\n";
  const auto port = [](const std::string& name, const std::string& agent, const std::string& more) {
    return "[[port]]\nname = \"" + name + "\"\nagent = \"" + agent + "\"\nkind = \"dpdk\"\n" + more;
  };
  const Parsed good(begin + port("p", "x", "device = \"0000:03:00.0\"\ndescriptors = 4096\naddress = \"10.0.0.1\"\n") +
                    port("q", "x", "device = \"0000:03:00.1\"\n") + port("r", "y", "device = \"0000:03:00.0\"\n") +
                    feed);
  ASSERT_TRUE(good.settings) << good.errors();
  EXPECT_EQ(good.settings->dpdk_memory, 1U << 30);
  const std::vector<PortSettings>& ports = good.settings->ports;
  const auto source = [&](std::size_t p) { return std::dynamic_pointer_cast<ingest::QueueSource>(ports[p].source); };
  const auto queue_of = [&](std::size_t p) { return std::pair(source(p)->queue, source(p)->queues); };
  EXPECT_EQ(queue_of(0), (std::pair<std::uint16_t, std::uint16_t>(0, 2)));
  EXPECT_EQ(queue_of(1), (std::pair<std::uint16_t, std::uint16_t>(0, 1)));
  EXPECT_EQ(queue_of(2), (std::pair<std::uint16_t, std::uint16_t>(1, 2)));
  EXPECT_EQ(source(0)->descriptors, 4'096);
  EXPECT_EQ(source(1)->descriptors, 2'048);
  EXPECT_EQ(source(0)->address, 0x0A00'0001U);

  const Parsed bad(begin + port("p", "x", "device = \"net_pcap0,rx_pcap=a\"\naddress = \"here\"\n") +
                   port("r", "y", "device = \"net_pcap0,rx_pcap=b\"\ndescriptors = 64\n") + feed);
  EXPECT_FALSE(bad.settings);
  EXPECT_THAT(bad.errors(), HasSubstr("'here' is not an IPv4 address"));
  EXPECT_THAT(bad.errors(), HasSubstr("port 'p' is also a queue of this device, with other arguments"));
  EXPECT_THAT(bad.errors(), HasSubstr("belongs to the whole device: set it at its first queue, port 'p'"));
}

TEST(ApplianceSettings, divide_the_channels_of_a_file_between_agents) {
  testing::Scratch folder;
  std::string feed = "name = \"test\"\n[[image]]\nname = \"x\"\ntemplates = [\"x.xml\"]\n";
  for (const std::string number : {"1", "2", "3"}) {
    feed += "[[channel]]\nnumber = " + number + "\nname = \"c" + number + "\"\nframing = \"cme\"\nring = \"r" + number +
            "\"\na = { group = \"224.0.0." + number + "\", port = 1000 }\n";
  }
  folder.write("feed.toml", feed);
  const std::string begin =
      "name = \"demo\"\nstate = \"s\"\n[[agent]]\nname = \"x\"\n[[agent]]\nname = \"y\"\n[[port]]\nname = \"p\"\n"
      "agent = \"x\"\n[[port]]\nname = \"q\"\nagent = \"y\"\n";
  const auto parse_with = [&](const std::string& left, const std::string& right, Diagnostics& diagnostics) {
    return parse("appliance.toml",
                 begin + "[[feed]]\nfile = \"feed.toml\"\na = \"p\"\nchannels = [" + left +
                     "]\n[[feed]]\nfile = \"feed.toml\"\na = \"q\"\nchannels = [" + right + "]\n",
                 folder.path(), diagnostics);
  };
  Diagnostics diagnostics;
  const auto settings = parse_with("\"c3\", \"c1\"", "\"c2\"", diagnostics);
  ASSERT_TRUE(settings) << diagnostics.format();
  ASSERT_EQ(settings->feeds[0].description.channels.size(), 2U);
  EXPECT_EQ(settings->feeds[0].description.channels[0].name, "c1");
  EXPECT_EQ(settings->feeds[0].description.channels[1].name, "c3");
  ASSERT_EQ(settings->feeds[1].description.channels.size(), 1U);
  EXPECT_EQ(settings->feeds[1].description.channels[0].number, 2);

  Diagnostics unknown;
  EXPECT_FALSE(parse_with("\"c1\"", "\"c4\"", unknown));
  EXPECT_THAT(unknown.format(), HasSubstr("the feed has no channel 'c4'; did you mean 'c1'?"));
  Diagnostics twice;
  EXPECT_FALSE(parse_with("\"c1\"", "\"c1\", \"c2\"", twice));
  EXPECT_THAT(twice.format(), HasSubstr("another feed has a channel with the name 'c1'"));
}

TEST(ApplianceSettings, tell_errors_of_feed_files) {
  const Parsed parsed(
      "name = \"demo\"\nstate = \"s\"\n[[agent]]\nname = \"x\"\n[[port]]\nname = \"p\"\n[[feed]]\nfile = "
      "\"none.toml\"\na = \"p\"\n");
  EXPECT_THAT(parsed.errors(), HasSubstr("none.toml: No such file"));
}

TEST(ApplianceSettings, say_which_replay_services_may_be_asked_and_how_often) {
  const auto parsed_with = [](const std::string& replay, const char* channel = "replay = \"OLR\"\n") {
    auto folder = std::make_unique<testing::Scratch>();
    folder->write("feed.toml",
                  std::string("name = \"fx\"\n[[image]]\nname = \"x\"\ntemplates = [\"x.xml\"]\n[[channel]]\n"
                              "number = 1\nframing = \"moex\"\nring = \"r\"\n") +
                      channel + "a = { group = \"224.0.0.1\", port = 1000 }\n");
    Diagnostics diagnostics;
    auto settings = parse("appliance.toml", kGood + replay, folder->path(), diagnostics);
    return std::pair(std::move(settings), diagnostics.format());
  };
  const std::string least =
      "[[replay]]\nname = \"history\"\naddress = \"10.1.2.3:9001\"\nsender = \"us\"\nconnections = 100\n";
  const auto [good, none] = parsed_with(least + "day = \"21h\"\nmessages = 500\n");
  ASSERT_TRUE(good) << none;
  ASSERT_EQ(good->replays.size(), 1U);
  EXPECT_EQ(good->replays[0].address, (net::Endpoint{0x0A01'0203, 9'001}));
  EXPECT_EQ(good->replays[0].target, "MOEX");
  EXPECT_EQ(good->replays[0].limits.connections_a_day, 100U);
  EXPECT_EQ(good->replays[0].limits.requests_a_connection, 1U);
  EXPECT_EQ(good->replays[0].limits.messages_a_request, 500U);
  EXPECT_EQ(good->replays[0].limits.day_begins_s, 21 * 3'600);
  EXPECT_EQ(good->replays[0].limits.answer_bytes, good->limits.datagram_bytes);
  const auto [cme, no_error] = parsed_with(least + "dialect = \"cme\"\n");
  ASSERT_TRUE(cme) << no_error;
  EXPECT_EQ(cme->replays[0].dialect, refill::DialectKind::Cme);
  EXPECT_EQ(cme->replays[0].target, "CME");
  const auto [b3, no_problem] = parsed_with(least + "dialect = \"b3\"\ntarget = \"them\"\nrequests = 100\n");
  ASSERT_TRUE(b3) << no_problem;
  EXPECT_EQ(b3->replays[0].dialect, refill::DialectKind::B3);
  EXPECT_EQ(b3->replays[0].target, "them");
  const auto errors = [&](const std::string& text, const char* channel = "replay = \"OLR\"\n") {
    const auto [settings, problems] = parsed_with(text, channel);
    EXPECT_FALSE(settings);
    return problems;
  };
  EXPECT_THAT(errors("[[replay]]\nname = \"h\"\n"), HasSubstr("address"));
  EXPECT_THAT(errors("[[replay]]\nname = \"h\"\n"), HasSubstr("connections"));
  EXPECT_THAT(errors(least + "feed = \"fz\"\n"), HasSubstr("did you mean 'fx'?"));
  EXPECT_THAT(errors(least + "dialect = \"b4\"\n"), HasSubstr("dialect"));
  EXPECT_THAT(errors(least + "dialect = \"b3\"\n"), HasSubstr("needs a 'target'"));
  EXPECT_THAT(errors(least + "dialect = \"cme\"\nrequests = 2\n"), HasSubstr("allows 1 a connection"));
  EXPECT_THAT(errors(least + least), HasSubstr("two replay services have the name"));
  EXPECT_THAT(errors(least + least), HasSubstr("would not share its quota"));
  EXPECT_THAT(errors(least, ""), HasSubstr("no channel of the feed 'fx' has a 'replay'"));
}

TEST(ApplianceSettings, have_ports_with_sessions) {
  struct Channel {
    std::string framing = "custom:seq=u64be@0";
    std::string line = "a = { group = \"10.1.2.3\", port = 9129 }\n";
    std::string more{};
  };
  const auto parsed_with = [](const std::string& keys, const Channel& channel = Channel()) {
    const testing::Scratch folder;
    folder.write("feed.toml",
                 "[[image]]\nname = \"x\"\ntemplates = [\"x.xml\"]\n[[channel]]\nring = \"r\"\nframing = \"" +
                     channel.framing + "\"\n" + channel.line + channel.more);
    Diagnostics diagnostics;
    std::string text = kGood;
    const std::string interface = "interface = \"eth1\"";
    text.replace(text.find(interface), interface.size(), "kind = \"step\"\n" + keys);
    auto settings = parse("appliance.toml", text, folder.path(), diagnostics);
    return std::pair(std::move(settings), diagnostics.format());
  };
  const auto [good, none] = parsed_with("sender = \"FIRM\"\nheartbeat = \"30s\"\npassword_file = \"p\"\n");
  ASSERT_TRUE(good) << none;
  EXPECT_TRUE(good->ports[0].source->has_sessions());
  EXPECT_EQ(servers_of(*good), (std::vector<net::Endpoint>{{0x0A01'0203, 9'129}}));
  const auto errors = [&](const std::string& keys, const Channel& channel = Channel()) {
    const auto [settings, text] = parsed_with(keys, channel);
    EXPECT_FALSE(settings);
    return text;
  };
  EXPECT_THAT(errors("heartbeat = \"1500ms\""), HasSubstr("must be whole seconds"));
  EXPECT_THAT(errors("heartbeat = \"2h\""), HasSubstr("heartbeat"));
  EXPECT_THAT(errors("sender = \"a\\nb\""), HasSubstr("printable"));
  EXPECT_THAT(errors("interface = \"eth1\""), HasSubstr("interface"));
  for (const char* framing : {"cme", "none", "custom:seq=u64le@0", "custom:seq=u64be@0,reset=template"}) {
    EXPECT_THAT(errors("", {.framing = framing}), HasSubstr("needs framing = \"custom:seq=u64be@0\"")) << framing;
  }
  EXPECT_THAT(errors("", {.more = "b = { group = \"10.1.2.4\", port = 9129 }\n"}), HasSubstr("has no line 'b'"));
  EXPECT_THAT(errors("", {.more = "replay = \"x\"\n"}), HasSubstr("no replay service knows them"));
  EXPECT_THAT(errors("", {.line = "a = { group = \"224.0.0.1\", port = 1 }\n"}), HasSubstr("address of its server"));
}

}  // namespace stopbit::appliance::settings_test
