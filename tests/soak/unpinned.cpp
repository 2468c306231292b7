#include "tests/soak/unpinned.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "host/nic/netvm/paged_memory.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/node/shared_memory.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/rma/memory.hpp"
#include "host/nic/transport/model/network.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::nic {
namespace {

using Random = std::mt19937_64;
using Count = unsigned long long;

constexpr std::uint64_t kFilePages = std::uint64_t{1} << 24U;  // 64 GiB
constexpr std::uint64_t kPlaces = std::uint64_t{1} << 17U;     // places that are used: two pages each, far from others
constexpr std::uint64_t kStride = kFilePages / kPlaces;
constexpr std::size_t kFrames = 4096;
constexpr std::size_t kUnderWay = 32;
constexpr std::size_t kRecords = 4;
constexpr std::uint64_t kRecordBytes = 64;
constexpr std::uint64_t kSumAt = 3072;    // a word that is added to from afar
constexpr std::uint64_t kLocalAt = 3080;  // a word that a thread of the owner adds to
constexpr std::uint64_t kHot = 1024;      // places that most transfers go to; they move on
constexpr std::uint64_t kSilence = 60;    // seconds in which nothing ends

/// Where a record lies. The first one lies in two pages.
constexpr std::uint64_t offset_of(std::uint64_t place, std::size_t record) {
  const std::uint64_t page = (place * kStride + 1) * kPageBytes;
  return record == 0 ? page - kRecordBytes / 2 : page + record * 512;
}
constexpr std::uint64_t word_of(std::uint64_t place, std::uint64_t at) {
  return (place * kStride + 1) * kPageBytes + at;
}

using Record = std::array<std::uint64_t, kRecordBytes / sizeof(std::uint64_t)>;

/// Every word follows from place, record and version; version 0 was never written.
Record record_of(std::uint64_t place, std::size_t record, std::uint32_t version) {
  Record words{};
  if (version == 0) return words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = (place << 34U | std::uint64_t{version} << 4U | record) * 0x9E37'79B9'7F4A'7C15U + i;
  }
  return words;
}

struct Place {
  std::array<std::uint32_t, kRecords> versions{};
  std::uint32_t sum = 0;
};

struct Transfer {
  bool is_busy = false;
  Operation operation = {};
  std::uint64_t place = 0;
  std::size_t record = 0;
};

/// A port with pinned memory, and a node under it.
struct End {
  explicit End(Transport& transport) : node(transport, NodeOptions{}) {
    (void)pages.create("port", PageLayout::kBytes);
    vpid = node.open_port(pages.page(), 0, {}).value_or(0);
  }
  Node node;
  SharedMemory pages;
  Vpid vpid = 0;
};

}  // namespace

int unpinned(std::uint64_t wanted, std::uint64_t seed) {
  testing::Scratch scratch;
  os::Descriptor file(::open(scratch.path("day").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  os::Descriptor witness(::open(scratch.path("day").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok() || ::ftruncate(file.get(), static_cast<off_t>(kFilePages * kPageBytes)) != 0) {
    std::fputs("cannot make the file\n", stderr);
    return 3;
  }
  PagedOptions options;
  options.frames = kFrames;
  options.access = Access::ReadWrite;
  options.has_view = true;
  auto opened = PagedMemory::open(std::move(file), 0, options);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.message().c_str());
    return 3;
  }
  PagedMemory& memory = *opened.value();
  ModelOptions network_options;
  network_options.seed = seed;
  network_options.line.loss = {0.001, 1};
  network_options.line.reorder = 0.01;
  network_options.line.reorder_depth = 8;
  ModelNetwork network(network_options);
  End origin(network.port(0));
  End target(network.port(1));
  SharedMemory buffer;
  (void)buffer.create("buffer", kPageBytes);
  const PageNumber number = to_page_number(buffer.span().data());
  const auto buffer_nla = origin.node.atu().register_pages(origin.vpid, {&number, 1}, Access::ReadWrite);
  const auto nla = target.node.atu().register_paged(target.vpid, memory, Access::ReadWrite);
  const auto window =
      nla ? target.node.rma().open_window(target.vpid, *nla, kFilePages * kPageBytes, Access::ReadWrite) : std::nullopt;
  if (!buffer_nla || !window) return 1;
  const CommandQueue queue(origin.pages.page(), CommandRing::Transfer);
  NotificationReader notifications(origin.pages.page());

  // A thread of the owner adds to words of its own through the view; another one asks for room now and then.
  std::atomic<bool> is_over = false;
  std::uint64_t local_additions = 0;
  std::uint64_t local_wrong = 0;
  std::vector<std::uint32_t> local_sums(kPlaces);
  std::thread local([&] {
    Random random(seed + 1);
    for (; !is_over; ++local_additions) {
      const std::uint64_t place = random() % kPlaces;
      const std::atomic_ref<std::uint64_t> word(
          *reinterpret_cast<std::uint64_t*>(memory.view().data() + word_of(place, kLocalAt)));
      if (word.fetch_add(1) != local_sums[place]++) ++local_wrong;
      if (random() % 64 == 0) memory.shrink(random() % 256);
      ::usleep(1000);
    }
  });

  std::vector<Place> places(kPlaces);
  std::array<Transfer, kUnderWay> under_way;
  Random random(seed);
  std::array<std::uint64_t, 3> done{};  // puts, gets, additions
  std::uint64_t started = 0;
  std::uint64_t ended = 0;
  std::uint64_t wrong = 0;
  std::uint64_t refused = 0;
  std::uint64_t now = 0;
  const auto begin = std::chrono::steady_clock::now();
  auto last_end = begin;
  const auto buffer_of = [&](std::size_t i) { return buffer.span().subspan(i * kRecordBytes, kRecordBytes); };
  bool is_stuck = false;
  std::uint64_t quiet = 0;  // steps in which nothing ended
  while (ended < wanted && !is_stuck) {
    for (std::size_t i = 0; i < kUnderWay && started < wanted; ++i) {
      Transfer& transfer = under_way[i];
      if (transfer.is_busy) continue;
      // As with a day of records: most of it near one place, which moves on, and some anywhere.
      const std::uint64_t hot = started / 1024;
      const std::uint64_t place = random() % 16 != 0 ? (hot + random() % kHot) % kPlaces : random() % kPlaces;
      const bool is_taken = std::any_of(under_way.begin(), under_way.end(),
                                        [&](const Transfer& other) { return other.is_busy && other.place == place; });
      if (is_taken) continue;
      const std::uint64_t choice = random() % 16;
      transfer = {true,
                  choice < 6    ? Operation::Put
                  : choice < 14 ? Operation::Get
                                : Operation::FetchAdd,
                  place, random() % kRecords};
      Command command;
      command.operation = transfer.operation;
      command.modifiers = transfer.operation == Operation::Put ? kAcknowledge : kNotifyCompleter;
      command.target_node = 1;
      command.target_vpid = target.vpid;
      command.window = window->id;
      command.capability = window->capability;
      command.tag = i;
      command.offset = offset_of(place, transfer.record);
      command.address = *buffer_nla + i * kRecordBytes;
      command.length = kRecordBytes;
      if (transfer.operation == Operation::Put) {
        const Record record = record_of(place, transfer.record, ++places[place].versions[transfer.record]);
        std::memcpy(buffer_of(i).data(), record.data(), kRecordBytes);
      } else if (transfer.operation == Operation::FetchAdd) {
        command.offset = word_of(place, kSumAt);
        command.address = 1;
      } else {
        std::fill(buffer_of(i).begin(), buffer_of(i).end(), std::byte{0xEE});
      }
      if (queue.insert({&command, 1}).reply != Reply::NoError) return 1;
      ++started;
    }
    network.set_time(now += 1000);
    (void)origin.node.step(now);
    (void)target.node.step(now);
    bool has_ended = false;
    for (Notification told; notifications.take(told);) {
      if (told.tag >= kUnderWay || !under_way[told.tag].is_busy) return 1;
      Transfer& transfer = under_way[told.tag];
      Place& place = places[transfer.place];
      if (told.error != Error::None) {
        ++refused;
      } else if (transfer.operation == Operation::Get) {
        const Record expected = record_of(transfer.place, transfer.record, place.versions[transfer.record]);
        if (std::memcmp(buffer_of(told.tag).data(), expected.data(), kRecordBytes) != 0) ++wrong;
        ++done[1];
      } else if (transfer.operation == Operation::FetchAdd) {
        if (told.value != place.sum++) ++wrong;
        ++done[2];
      } else {
        ++done[0];
      }
      transfer.is_busy = false;
      has_ended = true;
      ++ended;
    }
    if (has_ended) {
      quiet = 0;
      last_end = std::chrono::steady_clock::now();
    } else if (++quiet > 8) {
      ::usleep(20);  // to the pager, which may have no processor of its own here
      is_stuck = std::chrono::steady_clock::now() - last_end > std::chrono::seconds(kSilence);
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  is_over = true;
  local.join();
  const bool is_flushed = memory.flush().empty();
  // All that was written, as the file has it.
  std::uint64_t lost = 0;
  for (std::uint64_t place = 0; place < kPlaces; ++place) {
    for (std::size_t record = 0; record < kRecords; ++record) {
      Record seen{};
      (void)!::pread(witness.get(), seen.data(), kRecordBytes, static_cast<off_t>(offset_of(place, record)));
      if (seen != record_of(place, record, places[place].versions[record])) ++lost;
    }
    std::array<std::uint64_t, 2> sums{};
    (void)!::pread(witness.get(), sums.data(), sizeof(sums), static_cast<off_t>(word_of(place, kSumAt)));
    if (sums[0] != places[place].sum || sums[1] != local_sums[place]) ++lost;
  }
  const PagedCounters counters = memory.counters();
  const RmaCounters& rma = target.node.rma().counters();
  const bool is_good = !is_stuck && is_flushed && wrong == 0 && refused == 0 && lost == 0 && local_wrong == 0 &&
                       counters.evicted > wanted / 32 && rma.bounced != 0 && counters.read_failures == 0 &&
                       counters.write_failures == 0;
  std::printf(
      "{\"soak\":\"nic unpinned\",\"seed\":%llu,\"file_gib\":64,\"resident_mib\":%zu,\"transfers\":%llu,\"puts\":%llu,"
      "\"gets\":%llu,\"additions\":%llu,\"local_additions\":%llu,\"wrong\":%llu,\"lost\":%llu,\"refused\":%llu,"
      "\"fetched\":%llu,\"evicted\":%llu,\"written_back\":%llu,\"absent\":%llu,\"bounced\":%llu,\"held_up\":%llu,"
      "\"restarts\":%llu,\"in_use\":%llu,\"faults\":%llu,\"crowded\":%llu,\"restored\":%llu,\"seconds\":%.1f,"
      "\"good\":%s}\n",
      static_cast<Count>(seed), kFrames * kPageBytes >> 20U, static_cast<Count>(ended), static_cast<Count>(done[0]),
      static_cast<Count>(done[1]), static_cast<Count>(done[2]), static_cast<Count>(local_additions),
      static_cast<Count>(wrong) + local_wrong, static_cast<Count>(lost), static_cast<Count>(refused),
      static_cast<Count>(counters.fetched), static_cast<Count>(counters.evicted), static_cast<Count>(counters.written),
      static_cast<Count>(counters.absent), static_cast<Count>(rma.bounced), static_cast<Count>(rma.held_up),
      static_cast<Count>(counters.restarts), static_cast<Count>(counters.in_use), static_cast<Count>(counters.faults),
      static_cast<Count>(counters.crowded), static_cast<Count>(counters.restored), seconds, is_good ? "true" : "false");
  return is_good ? 0 : 1;
}

}  // namespace stopbit::nic
