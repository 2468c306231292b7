#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "host/nic/netvm/paged_memory.hpp"
#include "host/nic/transport/model/network.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::nic::netvm_test {

// The table.

TEST(PageTable, finds_a_page_again_that_lost_its_place_in_a_full_row) {
  PageTable table(64);
  const PageTableLayout layout{64};
  std::vector<std::uint64_t> pages;
  for (std::uint64_t page = 0; pages.size() < PageTableLayout::kDepth + 1; ++page) {
    if (layout.row_of(page) == 3) pages.push_back(page);
  }
  for (const std::uint64_t page : pages) table.map(*table.take_frame(page));
  EXPECT_EQ(table.crowded(), 1U);
  std::uint64_t restarts = 0;
  std::size_t missing = 0;
  for (const std::uint64_t page : pages) {
    const auto frame = table.lock(page, restarts);
    if (frame) {
      table.unlock(*frame);
      continue;
    }
    ++missing;
    table.map(*table.frame_of(page));
    EXPECT_TRUE(table.lock(page, restarts));
  }
  EXPECT_GE(missing, 1U);
  EXPECT_GE(table.restored(), 1U);
  EXPECT_EQ(restarts, 0U);
}

// The memory.

class TemporaryFile {
 public:
  explicit TemporaryFile(std::uint64_t bytes) {
    std::string name = ::testing::TempDir() + "stopbit_netvm_XXXXXX";
    fd_ = ::mkstemp(name.data());
    path_ = name;
    EXPECT_EQ(::ftruncate(fd_, static_cast<off_t>(bytes)), 0);
  }
  ~TemporaryFile() {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] os::Descriptor open(int flags = O_RDWR) const {
    return os::Descriptor(::open(path_.c_str(), flags | O_CLOEXEC));
  }
  void cut(std::uint64_t bytes) const { ASSERT_EQ(::ftruncate(fd_, static_cast<off_t>(bytes)), 0); }
  void write(std::uint64_t at, std::uint64_t word) const {
    ASSERT_EQ(::pwrite(fd_, &word, sizeof(word), static_cast<off_t>(at)), static_cast<ssize_t>(sizeof(word)));
  }
  [[nodiscard]] std::uint64_t word(std::uint64_t at) const {
    std::uint64_t word = 0;
    EXPECT_EQ(::pread(fd_, &word, sizeof(word), static_cast<off_t>(at)), static_cast<ssize_t>(sizeof(word)));
    return word;
  }

 private:
  int fd_ = -1;
  std::string path_;
};

PagedOptions options_of(std::size_t frames, Access access, bool has_view = false) {
  PagedOptions options;
  options.frames = frames;
  options.access = access;
  options.has_view = has_view;
  return options;
}

constexpr auto kPatience = std::chrono::seconds(60);

/// Holds the page, with patience.
HeldPage hold(PagedMemory& memory, std::uint64_t page) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  HeldPage held = memory.hold(page);
  while (held.state == HeldPage::State::Absent && std::chrono::steady_clock::now() < end) {
    ::usleep(20);  // to the pager, which may have no processor of its own here
    held = memory.hold(page);
  }
  return held;
}

/// Byte 16 of the page; ~0 if it cannot be had.
std::uint64_t read(PagedMemory& memory, std::uint64_t page) {
  const HeldPage held = hold(memory, page);
  if (held.state != HeldPage::State::Here) return ~std::uint64_t{0};
  std::uint64_t word = 0;
  std::memcpy(&word, held.memory + 16, sizeof(word));
  memory.release(held, false);
  return word;
}

bool write(PagedMemory& memory, std::uint64_t page, std::uint64_t word) {
  const HeldPage held = hold(memory, page);
  if (held.state != HeldPage::State::Here) return false;
  std::memcpy(held.memory + 16, &word, sizeof(word));
  memory.release(held, true);
  return true;
}

TEST(PagedMemory, gives_what_the_file_has_and_keeps_what_was_written_whatever_is_evicted) {
  constexpr std::uint64_t kPages = 1000;
  const TemporaryFile file(kPages * kPageBytes);
  for (std::uint64_t page = 0; page < kPages; ++page) file.write(page * kPageBytes + 16, page);
  auto opened = PagedMemory::open(file.open(), 0, options_of(16, Access::ReadWrite));
  ASSERT_TRUE(opened.ok()) << opened.message();
  PagedMemory& memory = *opened.value();
  EXPECT_EQ(memory.pages(), kPages);
  std::vector<std::uint64_t> expected(kPages);
  for (std::uint64_t page = 0; page < kPages; ++page) expected[page] = page;
  std::mt19937_64 random(1);
  for (int i = 0; i < 2'000; ++i) {
    const std::uint64_t page = random() % kPages;
    if (random() % 2 == 0) {
      expected[page] = random();
      ASSERT_TRUE(write(memory, page, expected[page]));
    } else {
      ASSERT_EQ(read(memory, page), expected[page]);
    }
  }
  const PagedCounters counters = memory.counters();
  EXPECT_GT(counters.evicted, 500U);
  EXPECT_GT(counters.written, 200U);
  EXPECT_EQ(counters.faults, 0U) << "the interface never touches what is not here";
  EXPECT_EQ(memory.flush(), "");
  for (std::uint64_t page = 0; page < kPages; ++page) ASSERT_EQ(file.word(page * kPageBytes + 16), expected[page]);
}

TEST(PagedMemory, writes_nothing_behind_the_end_of_the_file) {
  const TemporaryFile file(2 * kPageBytes + 100);
  auto opened = PagedMemory::open(file.open(), 0, options_of(16, Access::ReadWrite));
  ASSERT_TRUE(opened.ok()) << opened.message();
  EXPECT_EQ(opened.value()->pages(), 3U);
  EXPECT_TRUE(write(*opened.value(), 2, 77));
  EXPECT_EQ(opened.value()->hold(3).state, HeldPage::State::Failed);
  EXPECT_EQ(opened.value()->flush(), "");
  EXPECT_EQ(file.word(2 * kPageBytes + 16), 77U);
  const os::Descriptor again = file.open();
  EXPECT_EQ(::lseek(again.get(), 0, SEEK_END), static_cast<off_t>(2 * kPageBytes + 100));
}

TEST(PagedMemory, of_a_file_that_is_cut_off_fails_and_comes_back_with_it) {
  const TemporaryFile file(64 * kPageBytes);
  auto opened = PagedMemory::open(file.open(O_RDONLY), 0, options_of(16, Access::Read, true));
  ASSERT_TRUE(opened.ok()) << opened.message();
  PagedMemory& memory = *opened.value();
  file.cut(kPageBytes);
  EXPECT_EQ(read(memory, 0), 0U);
  EXPECT_EQ(read(memory, 40), ~std::uint64_t{0});
  EXPECT_EQ(memory.view()[41 * kPageBytes], std::byte{0}) << "a thread sees zeros, and no signal";
  EXPECT_EQ(read(memory, 41), ~std::uint64_t{0}) << "which the interface does not give away";
  file.cut(64 * kPageBytes);
  file.write(40 * kPageBytes + 16, 9);
  file.write(41 * kPageBytes + 16, 8);
  EXPECT_EQ(read(memory, 40), 9U);
  EXPECT_EQ(read(memory, 41), 8U);
  EXPECT_EQ(memory.view()[41 * kPageBytes + 16], std::byte{8});
  EXPECT_GE(memory.counters().read_failures, 2U);
}

TEST(PagedMemory, refuses_what_it_cannot_be_made_of) {
  const TemporaryFile file(kPageBytes);
  EXPECT_FALSE(PagedMemory::open(os::Descriptor(), 0, options_of(16, Access::Read)).ok());
  EXPECT_FALSE(PagedMemory::open(os::Descriptor(::open("/dev/zero", O_RDWR)), 0, options_of(16, Access::Read)).ok());
  EXPECT_FALSE(PagedMemory::open(file.open(), kPageBytes + 1, options_of(16, Access::Read)).ok());
  EXPECT_FALSE(PagedMemory::open(file.open(), 0, options_of(15, Access::Read)).ok());
  EXPECT_FALSE(PagedMemory::open(file.open(), 0, options_of(std::size_t{1} << 40U, Access::Read)).ok());
  EXPECT_FALSE(PagedMemory::open(file.open(O_RDONLY), 0, options_of(16, Access::ReadWrite)).ok());
  const TemporaryFile empty(0);
  EXPECT_FALSE(PagedMemory::open(empty.open(), 0, options_of(16, Access::Read)).ok());
}

/// Each word belongs to one writer: the interface has the even pages, a thread with the view the odd ones.
TEST(PagedMemory, is_one_memory_for_the_interface_and_for_threads) {
  constexpr std::uint64_t kPages = 300;
  const TemporaryFile file(kPages * kPageBytes);
  auto opened = PagedMemory::open(file.open(), 0, options_of(32, Access::ReadWrite, true));
  ASSERT_TRUE(opened.ok()) << opened.message();
  PagedMemory& memory = *opened.value();
  const auto word = [&](std::uint64_t page) {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(&memory.view()[page * kPageBytes + 16]));
  };
  std::array<std::vector<std::uint64_t>, 2> expected = {std::vector<std::uint64_t>(kPages),
                                                        std::vector<std::uint64_t>(kPages)};
  std::uint64_t wrong = 0;
  std::thread thread([&] {
    std::mt19937_64 random(2);
    for (int i = 0; i < 3'000; ++i) {
      const std::uint64_t page = random() % (kPages / 2) * 2 + 1;
      if (word(page).load() != expected[1][page]) ++wrong;
      word(page).store(expected[1][page] = random());
    }
  });
  std::mt19937_64 random(3);
  for (int i = 0; i < 3'000; ++i) {
    const std::uint64_t page = random() % (kPages / 2) * 2;
    EXPECT_EQ(read(memory, page), expected[0][page]);
    EXPECT_TRUE(write(memory, page, expected[0][page] = random()));
    if (i % 500 == 0) {
      EXPECT_EQ(memory.flush(), "");
    }
    if (i % 100 == 0) memory.shrink(10);
  }
  thread.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(memory.counters().faults, 1'000U);
  for (std::uint64_t page = 0; page < kPages; ++page) {
    const std::uint64_t last = expected[page % 2][page];
    if (page % 2 == 0) {
      EXPECT_EQ(word(page).load(), last);
    } else {
      EXPECT_EQ(read(memory, page), last);
    }
  }
  EXPECT_EQ(memory.flush(), "");
  for (std::uint64_t page = 0; page < kPages; ++page) {
    ASSERT_EQ(file.word(page * kPageBytes + 16), expected[page % 2][page]) << page;
  }
}

/// Discarded pages come back as the file has them or as they were last; never as anything else.
TEST(PagedMemory, survives_threads_that_throw_away_move_and_unmap_parts_of_the_view) {
  constexpr std::uint64_t kPages = 256;
  const TemporaryFile file(kPages * kPageBytes);
  for (std::uint64_t page = 0; page < kPages; ++page) file.write(page * kPageBytes + 16, page << 32U);
  auto opened = PagedMemory::open(file.open(), 0, options_of(64, Access::ReadWrite, true));
  ASSERT_TRUE(opened.ok()) << opened.message();
  PagedMemory& memory = *opened.value();
  std::atomic<bool> is_over = false;
  std::thread vandal([&] {
    std::mt19937_64 random(4);
    std::byte* const view = memory.view().data();
    for (std::uint64_t round = 0; !is_over; ++round) {
      ::usleep(static_cast<useconds_t>(random() % 100));
      std::byte* const at = view + random() % (kPages / 2) * kPageBytes;
      switch (random() % 3) {
        case 0: (void)::madvise(at, 3 * kPageBytes, MADV_DONTNEED); break;
        case 1: (void)::madvise(at, 3 * kPageBytes, MADV_REMOVE); break;
        default: (void)*const_cast<volatile std::byte*>(at); break;
      }
      if (round == 200) (void)::munmap(view + (kPages - 4) * kPageBytes, 4 * kPageBytes);
      if (round == 300) {
        void* const to = ::mremap(view + (kPages - 20) * kPageBytes, 4 * kPageBytes, 4 * kPageBytes, MREMAP_MAYMOVE);
        if (to == MAP_FAILED) continue;
      }
      if (round == 400) {
        void* const to = ::mmap(nullptr, 8 * kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (to == MAP_FAILED) continue;
        void* const moved = ::mremap(view + (kPages - 40) * kPageBytes, 8 * kPageBytes, 8 * kPageBytes,
                                     MREMAP_MAYMOVE | MREMAP_FIXED, to);
        if (moved == MAP_FAILED) continue;
        // It goes on at its new place.
        auto* const bytes = static_cast<std::byte*>(moved);
        for (std::size_t page = 0; page < 8; ++page) {
          std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(bytes + page * kPageBytes + 24)).store(1234);
        }
      }
    }
  });
  std::vector<std::uint64_t> last(kPages);
  std::mt19937_64 random(5);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 1; i < 5'000; ++i) {
    const std::uint64_t page = random() % kPages;
    const std::uint64_t word = read(memory, page);
    const bool is_thrown_away = page < kPages / 2 + 3;
    // Its own canary in the high half; and the last count, where no page is discarded.
    if (word >> 32U != page || (!is_thrown_away && (word & 0xFFFF'FFFF) != last[page])) ++wrong;
    EXPECT_TRUE(write(memory, page, page << 32U | i));
    last[page] = i;
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (memory.counters().events < 100 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  is_over = true;
  vandal.join();
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(memory.counters().events, 100U);
  EXPECT_EQ(memory.flush(), "");
  for (std::uint64_t page = kPages / 2 + 3; page < kPages; ++page) {
    EXPECT_EQ(file.word(page * kPageBytes + 16), last[page] == 0 ? page << 32U : page << 32U | last[page]);
  }
}

// Remote access to it.

/// A port with a page of its own, and one of another node with unpinned memory, whose pager is this thread.
struct Remote {
  static constexpr std::uint64_t kPages = 200;

  Remote() {
    PagedOptions options = options_of(16, Access::ReadWrite);
    options.has_thread = false;
    auto opened = PagedMemory::open(file.open(), 0, options);
    EXPECT_TRUE(opened.ok()) << opened.message();
    memory = std::move(opened.value());
    port = &origin.open(1);
    target.open(2);
    mine = origin.add_memory(1, 2, Access::ReadWrite);
    nla = target.atu.register_paged(2, *memory, Access::ReadWrite).value_or(0);
    window = target.rma.open_window(2, nla, kPages * kPageBytes, Access::ReadWrite).value_or(WindowName{});
  }
  Command command(Operation operation, std::uint64_t offset, std::uint32_t length) const {
    Command command;
    command.operation = operation;
    command.target_node = 1;
    command.target_vpid = 2;
    command.window = window.id;
    command.capability = window.capability;
    command.address = mine->nla;
    command.offset = offset;
    command.length = length;
    return command;
  }
  void step(int times, bool with_pager) {
    for (int i = 0; i < times; ++i) {
      network.set_time(now += 1000);
      origin.step(now);
      target.step(now);
      if (with_pager) (void)memory->step();
    }
  }
  /// The notifications, without errors.
  std::size_t told() {
    std::size_t count = 0;
    for (Notification notification; port->notifications.take(notification); ++count) {
      EXPECT_EQ(notification.error, Error::None);
    }
    return count;
  }

  TemporaryFile file{kPages * kPageBytes};
  std::unique_ptr<PagedMemory> memory;
  ModelNetwork network{ModelOptions{}};
  Host origin{network.port(0)};
  Host target{network.port(1)};
  HostPort* port = nullptr;
  std::unique_ptr<Registered> mine;
  Nla nla = 0;
  WindowName window;
  std::uint64_t now = 0;
};

TEST(UnpinnedRma, holds_a_sender_back_whose_puts_wait_for_pages_and_loses_none) {
  Remote remote;
  constexpr std::uint64_t kPuts = 150;
  std::uint64_t started = 0;
  const auto issue = [&] {
    for (; started < kPuts; ++started) {
      Command put = remote.command(Operation::Put, started * kPageBytes + 16, 8);
      put.address += started * 16;
      const std::uint64_t word = started + 1;
      std::memcpy(remote.mine->bytes().data() + started * 16, &word, sizeof(word));
      put.modifiers = kAcknowledge;
      if (remote.port->queue.insert({&put, 1}).reply != Reply::NoError) return;
    }
  };
  issue();
  remote.step(5'000, false);
  EXPECT_EQ(remote.target.rma.counters().bounced, Links::kWindow) << "as many as there is room for";
  EXPECT_EQ(remote.origin.links.room(1, VirtualChannel::Low), 0U);
  EXPECT_EQ(remote.told(), 0U);
  EXPECT_EQ(remote.memory->counters().fetched, 0U);
  std::size_t told = 0;
  for (int i = 0; i < 2'000 && told < kPuts; ++i) {
    remote.step(10, true);
    told += remote.told();
    issue();
  }
  EXPECT_EQ(told, kPuts);
  EXPECT_GT(remote.memory->counters().evicted, 100U);
  EXPECT_EQ(remote.memory->flush(), "");
  for (std::uint64_t i = 0; i < kPuts; ++i) EXPECT_EQ(remote.file.word(i * kPageBytes + 16), i + 1);
}

TEST(UnpinnedRma, gets_over_many_pages_and_adds_to_words_that_are_not_here) {
  Remote remote;
  for (std::uint64_t page = 0; page < Remote::kPages; ++page) remote.file.write(page * kPageBytes + 16, page + 7);
  Command add = remote.command(Operation::FetchAdd, 99 * kPageBytes + 16, 8);
  add.address = 5;
  add.modifiers = kNotifyCompleter;
  ASSERT_EQ(remote.port->queue.insert({&add, 1}).reply, Reply::NoError);
  for (std::uint64_t page = 90; page < 100; ++page) {
    Command get = remote.command(Operation::Get, page * kPageBytes, 2 * kPageBytes);
    if (page == 99) get = remote.command(Operation::Get, (page - 1) * kPageBytes, 2 * kPageBytes);
    get.modifiers = kNotifyCompleter;
    ASSERT_EQ(remote.port->queue.insert({&get, 1}).reply, Reply::NoError);
    remote.step(500, true);
    EXPECT_GE(remote.told(), 1U);
    const std::uint64_t first = page == 99 ? 98 : page;
    EXPECT_EQ(remote.mine->word(16), first + 7);
    EXPECT_EQ(remote.mine->word(kPageBytes + 16), first + 8 + (first + 1 == 99 ? 5 : 0));
  }
  EXPECT_GT(remote.target.rma.counters().held_up, 0U);
}

TEST(UnpinnedRma, refuses_pages_that_the_file_does_not_have_and_goes_on) {
  Remote remote;
  remote.file.cut(10 * kPageBytes);
  Command put = remote.command(Operation::Put, 50 * kPageBytes, 64);
  put.modifiers = kAcknowledge;
  ASSERT_EQ(remote.port->queue.insert({&put, 1}).reply, Reply::NoError);
  remote.step(500, true);
  Notification told;
  ASSERT_TRUE(remote.port->notifications.take(told));
  EXPECT_EQ(told.error, Error::TargetTranslation);
  put.offset = 0;
  ASSERT_EQ(remote.port->queue.insert({&put, 1}).reply, Reply::NoError);
  remote.step(500, true);
  EXPECT_EQ(remote.told(), 1U);
}

TEST(UnpinnedRma, belongs_to_its_port_alone_and_is_given_back_as_a_whole) {
  Remote remote;
  Atu& atu = remote.target.atu;
  EXPECT_FALSE(atu.translate(3, remote.nla, Access::Read).ok);
  EXPECT_TRUE(atu.translate(2, remote.nla + Remote::kPages * kPageBytes - 1, Access::ReadWrite).ok);
  EXPECT_FALSE(atu.translate(2, remote.nla + Remote::kPages * kPageBytes, Access::Read).ok);
  EXPECT_FALSE(remote.target.rma.open_window(2, remote.nla, Remote::kPages * kPageBytes + 1, Access::Read));
  EXPECT_FALSE(atu.revoke(3, remote.nla, Remote::kPages));
  EXPECT_FALSE(atu.revoke(2, remote.nla, Remote::kPages - 1));
  EXPECT_TRUE(remote.target.rma.revoke(2, remote.nla, Remote::kPages));
  EXPECT_FALSE(atu.revoke(2, remote.nla, Remote::kPages));
  EXPECT_FALSE(atu.translate(2, remote.nla, Access::Read).ok);
  EXPECT_FALSE(atu.is_flushed(remote.nla));
  remote.step(1, false);
  EXPECT_TRUE(atu.is_flushed(remote.nla));
  EXPECT_TRUE(atu.register_paged(3, *remote.memory, Access::Read));
}

}  // namespace stopbit::nic::netvm_test
