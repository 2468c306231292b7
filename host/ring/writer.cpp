#include "host/ring/writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "host/ring/cursor.hpp"
#include "host/ring/name.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::ring {
namespace {

constexpr mode_t kMode = 0644;  // readers need only to read
constexpr mode_t kFolderMode = 0755;
constexpr std::uint64_t kPrefetchSlots = 32;
constexpr std::uint64_t kSoonSlots = 9;
constexpr auto kNap = std::chrono::milliseconds(1);

/// A file that vanishes unless it got its final name.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  [[nodiscard]] Descriptor create() const {
    ::unlink(path_.c_str());  // has our process id: if it is there, its process is not
    return Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

/// Takes the name from a writer that is gone. Nothing on success, else why not; `again` if the name has changed
/// meanwhile.
std::string take_over(const TemporaryFile& made, const std::string& path, bool& again) {
  const Descriptor old(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!old.ok()) {
    again = errno == ENOENT;
    return system_error("open", path);
  }
  struct stat opened {};
  std::uint64_t magic = 0;
  const bool is_ring = ::fstat(old.get(), &opened) == 0 && S_ISREG(opened.st_mode) &&
                       ::pread(old.get(), &magic, sizeof(magic), 0) == sizeof(magic) && magic == kMagic;
  if (!is_ring) return "'" + path + "' exists and is no ring; it was left alone";
  if (!lock(old)) {
    const bool is_held = errno == EAGAIN || errno == EACCES;
    return is_held ? "the ring '" + path + "' has a live writer" : system_error("lock", path);
  }
  // Who holds the lock of the file behind the name may replace it: nobody else will.
  struct stat named {};
  if (::lstat(path.c_str(), &named) != 0 || named.st_ino != opened.st_ino || named.st_dev != opened.st_dev) {
    again = true;
    return "the ring '" + path + "' changes all the time";
  }
  if (::rename(made.path().c_str(), path.c_str()) != 0) return system_error("replace", path);
  return {};
}

/// Gives the complete segment its name. Empty on success.
std::string publish(TemporaryFile& made, const std::string& path) {
  constexpr int kTries = 100;
  std::string problem;
  for (int i = 0; i < kTries; ++i) {
    if (::link(made.path().c_str(), path.c_str()) == 0) return {};
    if (errno != EEXIST) return system_error("make the ring", path);
    bool again = false;
    problem = take_over(made, path, again);
    if (problem.empty()) made.keep();
    if (problem.empty() || !again) break;
  }
  return problem;
}

/// The folder that readers of a lossless ring write to: only those of our user. Empty on success.
std::string make_folder(const std::string& folder) {
  struct stat status {};
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) return system_error("make", folder);
  if (::lstat(folder.c_str(), &status) != 0) return system_error("look at", folder);
  const bool is_ours = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 022) == 0;
  return is_ours ? "" : "'" + folder + "' has to be a folder that only this user may write";
}

std::uint64_t wall_clock_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

Result<Writer> Writer::create(std::string_view name, const Program& program, const WriterOptions& options) {
  const Result<std::string> path = path_of(name);
  if (!path) return Failure{path.message()};
  if (!std::has_single_bit(options.slot_count) || options.slot_count < kMinSlotCount ||
      options.slot_count > kMaxSlotCount) {
    return Failure{"the ring's slots must be a power of two from " + std::to_string(kMinSlotCount) + " to " +
                   std::to_string(kMaxSlotCount)};
  }
  if (program.max_record_slots == 0 || program.max_record_slots > options.slot_count / kMaxRecordShare) {
    return Failure{"a record may take an eighth of the ring: records of " + std::to_string(program.max_record_slots) +
                   " slots want a ring of " +
                   std::to_string(std::bit_ceil(kMaxRecordShare * std::uint64_t{program.max_record_slots}))};
  }
  const std::vector<std::byte> image = image::write(program);
  const std::uint64_t slots_offset = round_up(kHeaderBytes + image.size(), kPageBytes);
  const std::uint64_t segment_bytes = slots_offset + options.slot_count * record::kSlotBytes;

  TemporaryFile made(path.value() + ".new-" + std::to_string(::getpid()));
  Writer writer;
  writer.path_ = path.value();
  writer.file_ = made.create();
  if (!writer.file_.ok()) return Failure{system_error("make", made.path())};
  if (!lock(writer.file_)) return Failure{system_error("lock", made.path())};
  if (!writer.mapping_.create(writer.file_, segment_bytes)) {
    return Failure{system_error("reserve memory for", path.value())};
  }

  auto* header = new (writer.mapping_.data()) Header{};
  header->version = kVersion;
  header->max_record_slots = program.max_record_slots;
  header->slot_count = options.slot_count;
  header->slots_offset = slots_offset;
  header->segment_bytes = segment_bytes;
  header->image_offset = kHeaderBytes;
  header->image_bytes = image.size();
  header->layout_hash = layout_hash(program);
  header->epoch = wall_clock_ns();
  header->heartbeat_ns = header->epoch;
  header->writer_pid = static_cast<std::uint32_t>(::getpid());
  header->image_generation = options.image_generation;
  header->state = static_cast<std::uint32_t>(State::Running);
  header->mode = static_cast<std::uint32_t>(options.lossless ? Mode::Lossless : Mode::Lossy);
  std::memcpy(writer.mapping_.data() + kHeaderBytes, image.data(), image.size());
  auto* slots = reinterpret_cast<record::Slot*>(writer.mapping_.data() + slots_offset);
  writer.core_ = WriterCore<SharedMemory>(*header, slots,
                                          {.slot_count = options.slot_count,
                                           .max_record_slots = program.max_record_slots,
                                           .claim_step = claim_step(options.slot_count)});
  header->magic = kMagic;

  const std::string problem = publish(made, path.value());
  if (!problem.empty()) return Failure{problem};
  if (options.lossless) {
    // The name is ours by now, so the folder is too.
    const std::string folder = readers_folder(path.value());
    const std::string no_folder = make_folder(folder);
    if (!no_folder.empty()) return Failure{no_folder};
    writer.seats_ = std::make_unique<Seats>(folder, *header, *options.lossless);
  }
  return writer;
}

Writer::~Writer() {
  if (mapping_.data() != nullptr) finish();
}

std::uint64_t Writer::epoch() const noexcept {
  return header().epoch;
}

record::RecordSink::Place Writer::open() noexcept {
  if (!core_.has_room()) {
    if (seats_) {
      core_.make_room([this](std::uint64_t need, std::uint64_t want) { return seats_->grant(need, want); });
    } else {
      core_.make_room(WriterCore<SharedMemory>::Ungated());
    }
  }
  const std::uint64_t number = core_.number();
  // A reader that polls holds the first slot, and its processor may have fetched the neighbours since the last commit.
  // They are back when the record is decoded; without this, the commit waits for one after the other.
  for (std::uint64_t i = kSoonSlots; i-- > 0;) prefetch_to_write(&core_.slot(number + i));
  return {&core_.slot(number), static_cast<std::uint32_t>(number), phase_of(number, core_.geometry().slot_count)};
}

void Writer::commit(const record::Slot& first, std::uint32_t slots) noexcept {
  core_.commit(first, slots);
  // Behind the commit: nobody waits for this. Readers still hold the lines of the last lap.
  const std::uint64_t number = core_.number();
  if (prefetched_ < number) prefetched_ = number;
  for (; prefetched_ < number + kPrefetchSlots; ++prefetched_) prefetch_to_write(&core_.slot(prefetched_));
}

bool Writer::wait_for_readers(std::size_t readers) {
  while (seats_ && seats_->taken() < readers) {
    seats_->look(core_.claim());
    if (seats_->taken() >= readers) break;
    if (!seats_->keep_waiting()) return false;
    record::store_word(header().heartbeat_ns, wall_clock_ns());
    std::this_thread::sleep_for(kNap);
  }
  return true;
}

void Writer::beat(std::uint64_t now_ns) noexcept {
  record::store_word(header().heartbeat_ns, now_ns);
  if (seats_) seats_->look(core_.claim());
}

void Writer::finish() noexcept {
  __atomic_store_n(&header().state, static_cast<std::uint32_t>(State::Finished), __ATOMIC_RELEASE);
}

}  // namespace stopbit::ring
