#include "host/appliance/opener/opener.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "host/appliance/opener/client.hpp"
#include "host/appliance/opener/disk_calls.hpp"
#include "host/feed/packet/socket_address.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::opener::opener_test {

namespace fs = std::filesystem;

std::unique_ptr<Client> start(Grants grants, bool confined = true) {
  std::vector<std::string> notes;
  auto client = Client::start(std::move(grants), confined, notes);
  if (!client) {
    ADD_FAILURE() << client.message();
    return nullptr;
  }
  for (const std::string& note : notes) EXPECT_NE(note.find("no Landlock"), std::string::npos) << note;
  return std::move(client).value();
}

FileSet gaps(const std::string& folder) {
  return {.folder = folder, .prefix = "gaps-", .suffix = ".jsonl", .digits = 8, .can_append = true, .can_remove = true};
}
FileSet packets(const std::string& folder) {
  return {.folder = folder,
          .prefix = "x-a-",
          .suffix = ".pcapng",
          .kept = "frozen-",
          .can_create = true,
          .can_keep = true,
          .can_remove = true};
}

bool write(const OpenFile& file, std::string_view text) {
  return ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// A socket of the loopback that listens, and where.
struct Listener {
  OpenFile socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  net::Endpoint endpoint;

  Listener() {
    sockaddr_in address = net::socket_address({INADDR_LOOPBACK, 0});
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    endpoint = {INADDR_LOOPBACK, ntohs(address.sin_port)};
  }
};

TEST(Opener, opens_files_that_the_settings_name_to_read) {
  const testing::Scratch folder;
  const std::string path = folder.write("ticks.xml", "one");
  const auto client = start({.files = {path}});
  ASSERT_TRUE(client);
  ASSERT_EQ(client->file_of(path), 0U);
  EXPECT_FALSE(client->file_of(folder.path("other")));
  // Another file of the name, as a program that replaces one leaves it.
  fs::rename(folder.write("new", "two"), path);
  const Outcome opened = client->ask({.kind = RequestKind::Read, .index = 0});
  ASSERT_EQ(opened.error, 0);
  std::array<char, 8> text{};
  EXPECT_EQ(::read(opened.file.get(), text.data(), text.size()), 3);
  EXPECT_STREQ(text.data(), "two");
  EXPECT_EQ(::write(opened.file.get(), "x", 1), -1);
  fs::remove(path);
  EXPECT_EQ(client->ask({.kind = RequestKind::Read, .index = 0}).error, ENOENT);
}

TEST(Opener, appends_to_files_of_a_set_and_deletes_them) {
  const testing::Scratch folder;
  const std::string logs = folder.path("state");  // which it makes
  const auto client = start({.sets = {gaps(logs)}});
  ASSERT_TRUE(client);
  for (const std::uint64_t day : {20190404U, 20190405U, 20190405U}) {
    const Outcome opened = client->ask({.kind = RequestKind::Append, .index = 0, .number = day});
    ASSERT_EQ(opened.error, 0);
    EXPECT_TRUE(write(opened.file, "line\n"));
  }
  EXPECT_EQ(folder.read("state/gaps-20190405.jsonl"), "line\nline\n");
  EXPECT_EQ(client->ask({.kind = RequestKind::Remove, .index = 0, .number = 20190404}).error, 0);
  EXPECT_FALSE(fs::exists(folder.path("state/gaps-20190404.jsonl")));
  EXPECT_TRUE(fs::exists(folder.path("state/gaps-20190405.jsonl")));
}

TEST(Opener, changes_files_for_code_that_names_them_by_path) {
  const testing::Scratch folder;
  const auto client = start({.sets = {gaps(folder.path()), packets(folder.path())}});
  ASSERT_TRUE(client);
  DiskCalls calls(*client);
  const disk::ReplacedCalls replaced(calls);
  disk::File log;
  ASSERT_EQ(log.open(folder.path("gaps-20190404.jsonl"), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0644), 0);
  std::uint64_t written = 0;
  EXPECT_EQ(log.write(std::as_bytes(std::span("line", 4)), written), 0);
  EXPECT_EQ(folder.read("gaps-20190404.jsonl"), "line");
  disk::File packet;
  const std::string path = folder.path("x-a-000001.pcapng");
  ASSERT_EQ(packet.open(path, O_WRONLY | O_CREAT | O_EXCL, 0640), 0);
  disk::File again;
  EXPECT_EQ(again.open(path, O_WRONLY | O_CREAT | O_EXCL, 0640), EEXIST);
  EXPECT_EQ(disk::rename(path, folder.path("frozen-x-a-000001.pcapng")), 0);
  EXPECT_TRUE(fs::exists(folder.path("frozen-x-a-000001.pcapng")));
  EXPECT_EQ(disk::remove(folder.path("gaps-20190404.jsonl")), 0);
  EXPECT_FALSE(fs::exists(folder.path("gaps-20190404.jsonl")));
  // Without the opener each is an error, and none of them waits.
  ASSERT_EQ(::kill(client->pid(), SIGKILL), 0);
  EXPECT_EQ(log.open(folder.path("gaps-20190405.jsonl"), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW, 0644), EPIPE);
  EXPECT_EQ(packet.open(folder.path("x-a-000002.pcapng"), O_WRONLY | O_CREAT | O_EXCL, 0640), EPIPE);
}

TEST(Opener, makes_keeps_and_removes_files_of_a_set) {
  const testing::Scratch folder;
  const auto client = start({.sets = {packets(folder.path())}});
  ASSERT_TRUE(client);
  for (const std::uint64_t number : {1U, 2U}) {
    EXPECT_EQ(client->ask({.kind = RequestKind::Create, .index = 0, .number = number}).error, 0);
  }
  EXPECT_EQ(client->ask({.kind = RequestKind::Create, .index = 0, .number = 1}).error, EEXIST);
  EXPECT_EQ(client->ask({.kind = RequestKind::Keep, .index = 0, .number = 1}).error, 0);
  EXPECT_EQ(client->ask({.kind = RequestKind::Remove, .index = 0, .number = 2}).error, 0);
  EXPECT_TRUE(fs::exists(folder.path("frozen-x-a-000001.pcapng")));
  EXPECT_FALSE(fs::exists(folder.path("x-a-000002.pcapng")));
  EXPECT_EQ(client->ask({.kind = RequestKind::Remove, .index = 0, .number = 2}).error, ENOENT);
}

TEST(Opener, does_not_follow_links_or_wait_for_what_is_no_file) {
  const testing::Scratch folder;
  folder.write("secret", "x");
  fs::create_symlink("secret", folder.path("gaps-00000001.jsonl"));
  ASSERT_EQ(::mkfifo(folder.path("gaps-00000002.jsonl").c_str(), 0600), 0);
  const auto client =
      start({.files = {folder.path(), folder.path("gaps-00000002.jsonl")}, .sets = {gaps(folder.path())}});
  ASSERT_TRUE(client);
  EXPECT_EQ(client->ask({.kind = RequestKind::Append, .index = 0, .number = 1}).error, ELOOP);
  EXPECT_EQ(client->ask({.kind = RequestKind::Append, .index = 0, .number = 2}).error, EINVAL);
  EXPECT_EQ(client->ask({.kind = RequestKind::Read, .index = 0}).error, EISDIR);
  EXPECT_EQ(client->ask({.kind = RequestKind::Read, .index = 1}).error, EINVAL);
}

TEST(Opener, opens_sockets_of_the_settings_joined) {
  const ingest::Membership group{.group = {0xEF00'0001, 20'017}, .source = std::nullopt};
  const auto client = start({.sockets = {{.options = {.interface = "lo"}, .membership = group}}});
  ASSERT_TRUE(client);
  ASSERT_EQ(client->socket_of("lo", group), 0U);
  EXPECT_FALSE(client->socket_of("lo", {.group = {0xEF00'0002, 20'017}, .source = std::nullopt}));
  EXPECT_FALSE(client->socket_of("", group));
  // Again and again: this is what a port that is opened anew needs.
  for (int i = 0; i < 2; ++i) {
    const Outcome opened = client->ask({.kind = RequestKind::Socket, .index = 0});
    ASSERT_EQ(opened.error, 0) << opened.notes;
    sockaddr_in address{};
    socklen_t size = sizeof(address);
    ASSERT_EQ(::getsockname(opened.file.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(ntohs(address.sin_port), group.group.port);
    int type = 0;
    size = sizeof(type);
    ASSERT_EQ(::getsockopt(opened.file.get(), SOL_SOCKET, SO_TYPE, &type, &size), 0);
    EXPECT_EQ(type, SOCK_DGRAM);
    const std::string all = testing::file_text("/proc/net/igmp");
    EXPECT_NE(all.find("010000EF"), std::string::npos) << "the group is not joined";
  }
}

TEST(Opener, says_why_a_socket_cannot_be_had) {
  const ingest::Membership group{.group = {0xEF00'0001, 20'018}, .source = std::nullopt};
  const auto client = start({.sockets = {{.options = {.interface = "no-such-card"}, .membership = group}}});
  ASSERT_TRUE(client);
  const Outcome opened = client->ask({.kind = RequestKind::Socket, .index = 0});
  EXPECT_NE(opened.error, 0);
  EXPECT_NE(opened.notes.find("no-such-card"), std::string::npos) << opened.notes;
}

TEST(Opener, connects_to_addresses_of_the_settings_and_to_no_others) {
  const Listener listener;
  const Listener other;
  const auto client = start({.connections = {listener.endpoint}});
  ASSERT_TRUE(client);
  const Outcome opened = client->ask({.kind = RequestKind::Connect, .index = 0});
  ASSERT_EQ(opened.error, 0);
  const OpenFile accepted(::accept(listener.socket.get(), nullptr, nullptr));
  ASSERT_TRUE(accepted.ok());
  EXPECT_TRUE(write(opened.file, "hello"));
  std::array<char, 8> text{};
  EXPECT_EQ(::read(accepted.get(), text.data(), text.size()), 5);
  EXPECT_EQ(client->ask({.kind = RequestKind::Connect, .index = 1}).error, EACCES);
}

TEST(Opener, refuses_what_the_settings_do_not_name) {
  const testing::Scratch folder;
  const auto client = start({.files = {folder.write("a", "x")}, .sets = {gaps(folder.path()), packets(folder.path())}});
  ASSERT_TRUE(client);
  for (const Request& request :
       {Request{.kind = RequestKind::Socket}, Request{.kind = RequestKind::Read, .index = 1},
        Request{.kind = RequestKind::Append, .index = 1}, Request{.kind = RequestKind::Create, .index = 0},
        Request{.kind = RequestKind::Remove, .index = 2}, Request{.kind = RequestKind::Keep, .index = 0},
        Request{.kind = RequestKind::Connect}}) {
    EXPECT_EQ(client->ask(request).error, EACCES) << to_text(request.kind);
  }
  EXPECT_EQ(client->ask({.kind = RequestKind::Read, .index = 0, .number = 1}).error, EBADMSG);
  EXPECT_EQ(client->ask({.kind = static_cast<RequestKind>(99)}).error, EBADMSG);
  EXPECT_EQ(client->ask({.kind = RequestKind::Read, .index = 0}).error, 0) << "it goes on";
}

TEST(Opener, reads_the_settings_again_and_opens_what_is_new_in_them) {
  const testing::Scratch folder;
  const std::string one = folder.write("one", "1");
  const std::string two = folder.write("two", "2");
  const std::string list = folder.write("list", one);
  std::vector<std::string> notes;
  // In place of settings: a file with the name of one that may be read.
  const ReadGrants again = [list]() -> Result<Grants> {
    std::ifstream file(list);
    std::string name;
    if (!std::getline(file, name) || name == "wrong") return Failure{"line 1: wrong"};
    return Grants{.files = {name}};
  };
  auto started = Client::start({.files = {one}}, true, notes, again);
  ASSERT_TRUE(started) << started.message();
  Client& client = *started.value();
  EXPECT_FALSE(client.file_of(two));
  EXPECT_EQ(client.ask({.kind = RequestKind::Read, .index = 1}).error, EACCES);
  folder.write("list", two);
  EXPECT_EQ(client.ask({.kind = RequestKind::Read, .index = 1}).error, EACCES) << "it does not know of it";
  ASSERT_TRUE(client.renew()) << client.renew().message();
  ASSERT_EQ(client.file_of(two), 1U);
  EXPECT_EQ(client.file_of(one), 0U) << "what runs may need it";
  EXPECT_TRUE(client.ask({.kind = RequestKind::Read, .index = 1}).file.ok());
  folder.write("list", "wrong");
  const Status renewed = client.renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.message(), "line 1: wrong");
  EXPECT_EQ(client.file_of(two), 1U);
  // Beyond its folders nothing can be opened, whatever the settings say.
  folder.write("list", "/etc/passwd");
  ASSERT_TRUE(client.renew());
  const auto outside = client.file_of("/etc/passwd");
  ASSERT_TRUE(outside);
  if (notes.empty()) {
    EXPECT_EQ(client.ask({.kind = RequestKind::Read, .index = *outside}).error, EACCES);
  }
}

TEST(Opener, opens_files_of_sets_that_are_new_in_the_settings_but_in_no_other_folder) {
  const testing::Scratch folder;
  const FileSet known = gaps(folder.path("logs"));
  const FileSet added = packets(folder.path("logs"));
  const FileSet outside = packets(folder.path());
  std::vector<std::string> notes;
  const ReadGrants again = [&]() -> Result<Grants> { return Grants{.sets = {outside, added}}; };
  auto started = Client::start({.sets = {known}}, true, notes, again);
  ASSERT_TRUE(started) << started.message();
  Client& client = *started.value();
  DiskCalls calls(client);
  const disk::ReplacedCalls replaced(calls);
  const std::string path = folder.path("logs/x-a-000001.pcapng");
  EXPECT_FALSE(client.name_of(path));
  EXPECT_EQ(client.ask({.kind = RequestKind::Create, .index = 1, .number = 1}).error, EACCES)
      << "it does not know of it";
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client.renew());
  disk::File packet;
  ASSERT_EQ(packet.open(path, O_WRONLY | O_CREAT | O_EXCL, 0640), 0);
  EXPECT_EQ(disk::rename(path, folder.path("logs/frozen-x-a-000001.pcapng")), 0);
  EXPECT_TRUE(fs::exists(folder.path("logs/frozen-x-a-000001.pcapng")));
  EXPECT_EQ(client.ask({.kind = RequestKind::Append, .index = 1, .number = 1}).error, EACCES) << "its rights are kept";
  EXPECT_FALSE(client.name_of(folder.path("x-a-000001.pcapng")));
  EXPECT_EQ(client.ask({.kind = RequestKind::Create, .index = 2, .number = 1}).error, EACCES) << "added twice";
}

TEST(Opener, takes_a_set_in_words_only_in_a_folder_that_is_known) {
  const std::vector<FileSet> sets = {gaps("/log"), packets("/packets")};
  for (const FileSet& set : sets) {
    const auto again = parse_set(to_text(set, sets), sets);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->folder, set.folder);
    EXPECT_EQ(again->name(12), set.name(12));
    EXPECT_EQ(again->kept, set.kept);
    EXPECT_EQ(again->can_append, set.can_append);
    EXPECT_EQ(again->can_keep, set.can_keep);
  }
  for (const char* text : {"", "2 6 416 2\na-\n.x\n", "0 13 416 2\na-\n.x\n", "0 6 416 16\na-\n.x\n", "0 6 416\na-"}) {
    EXPECT_FALSE(parse_set(text, sets)) << text;
  }
}

TEST(Opener, without_a_way_to_read_settings_says_so) {
  const testing::Scratch folder;
  const auto client = start({.files = {folder.write("a", "x")}});
  ASSERT_TRUE(client);
  EXPECT_FALSE(client->renew());
}

TEST(Opener, answers_garbage_and_takes_no_descriptors) {
  const testing::Scratch folder;
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Grants grants{.files = {folder.write("a", "x")}};
  std::thread opener([&] {
    serve(ends[1], grants);
    ::close(ends[1]);
  });
  const auto error_of = [&](std::span<const std::byte> bytes) {
    EXPECT_EQ(::send(ends[0], bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    ReplyHead head;
    EXPECT_EQ(::recv(ends[0], &head, sizeof(head), 0), static_cast<ssize_t>(sizeof(head)));
    return head.error;
  };
  const std::vector<std::byte> garbage(4'096, std::byte{0xA5});
  for (const std::size_t bytes : {1UL, kRequestBytes - 1, kRequestBytes, kRequestBytes + 1, garbage.size()}) {
    EXPECT_EQ(error_of(std::span(garbage).first(bytes)), EBADMSG) << bytes;
  }
  EXPECT_EQ(error_of(encode({.kind = RequestKind::Read})), 0);
  ::close(ends[0]);
  opener.join();  // it ends with its client
}

std::string status_line(pid_t pid, const std::string& key) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) return line.substr(key.size() + 1);
  }
  return {};
}

TEST(Opener, keeps_only_the_privileges_that_its_grants_take) {
  constexpr std::uint64_t kNetAdmin = 1U << 12;
  constexpr std::uint64_t kBindService = 1U << 10;
  const auto capabilities = [](Grants grants) {
    const auto client = start(std::move(grants));
    EXPECT_EQ(status_line(client->pid(), "NoNewPrivs:"), "1");
    EXPECT_EQ(status_line(client->pid(), "Seccomp:"), "2");
    return std::stoull(status_line(client->pid(), "CapPrm:"), nullptr, 16);
  };
  const std::uint64_t own = std::stoull(status_line(::getpid(), "CapPrm:"), nullptr, 16);
  const SocketGrant high{.options = {}, .membership = {.group = {0xEF00'0001, 20'019}, .source = std::nullopt}};
  const SocketGrant low{.options = {}, .membership = {.group = {0xEF00'0001, 19}, .source = std::nullopt}};
  EXPECT_EQ(capabilities({}), 0U);
  EXPECT_EQ(capabilities({.sockets = {high}}), own & kNetAdmin);
  EXPECT_EQ(capabilities({.sockets = {high, low}}), own & (kNetAdmin | kBindService));
}

TEST(Opener, that_has_died_is_an_error_of_each_request) {
  const testing::Scratch folder;
  const auto client = start({.files = {folder.write("a", "x")}});
  ASSERT_TRUE(client);
  EXPECT_FALSE(client->has_ended());
  ASSERT_EQ(::kill(client->pid(), SIGKILL), 0);
  ASSERT_EQ(::waitpid(client->pid(), nullptr, 0), client->pid());
  EXPECT_TRUE(client->has_ended());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client->ask({.kind = RequestKind::Read, .index = 0}).error, EPIPE);
}

TEST(Opener, is_not_ended_by_what_a_terminal_or_systemd_sends_to_both) {
  const testing::Scratch folder;
  const auto client = start({.files = {folder.write("a", "x")}});
  ASSERT_TRUE(client);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ASSERT_EQ(::kill(client->pid(), signal), 0);
  EXPECT_EQ(client->ask({.kind = RequestKind::Read, .index = 0}).error, 0);
}

TEST(Opener, ends_with_the_process_that_started_it) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto client = start({});
    const pid_t opener = client->pid();
    (void)!::write(pipe[1], &opener, sizeof(opener));
    ::kill(::getpid(), SIGKILL);
  }
  ::close(pipe[1]);
  pid_t opener = 0;
  ASSERT_EQ(::read(pipe[0], &opener, sizeof(opener)), static_cast<ssize_t>(sizeof(opener)));
  ::close(pipe[0]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  // Its state is Z if no process of this machine collects it.
  const auto is_running = [&] {
    const std::string state = status_line(opener, "State:");
    return !state.empty() && state.find('Z') == std::string::npos;
  };
  for (int i = 0; i < 6'000 && is_running(); ++i) ::usleep(10'000);
  EXPECT_FALSE(is_running());
}

}  // namespace stopbit::opener::opener_test
