#include "host/ring/writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <vector>

#include "host/ring/name.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::ring {
namespace {

constexpr mode_t kMode = 0644;  // readers need only to read

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
  // Now rather than by a bus error later.
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(writer.file_.get(), 0, static_cast<off_t>(segment_bytes));
  if (error != 0) {
    errno = error;
    return Failure{system_error("reserve memory for", path.value())};
  }
  if (!lock(writer.file_)) return Failure{system_error("lock", made.path())};
  if (!writer.mapping_.map(writer.file_, segment_bytes, Mapping::Use::Write))
    return Failure{system_error("map", path.value())};

  auto* header = new (writer.mapping_.data()) Header{};
  header->version = kVersion;
  header->max_record_slots = program.max_record_slots;
  header->slot_count = options.slot_count;
  header->slots_offset = slots_offset;
  header->segment_bytes = segment_bytes;
  header->image_offset = kHeaderBytes;
  header->image_bytes = image.size();
  header->layout_hash = layout_hash(program);
  header->epoch =
      static_cast<std::uint64_t>(std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
  header->heartbeat_ns = header->epoch;
  header->writer_pid = static_cast<std::uint32_t>(::getpid());
  header->image_generation = options.image_generation;
  header->state = static_cast<std::uint32_t>(State::Running);
  header->head = header->claim = options.slot_count;
  std::memcpy(writer.mapping_.data() + kHeaderBytes, image.data(), image.size());
  header->magic = kMagic;

  writer.slots_ = reinterpret_cast<record::Slot*>(writer.mapping_.data() + slots_offset);
  writer.slot_count_ = options.slot_count;
  writer.max_record_slots_ = program.max_record_slots;
  writer.number_ = writer.claim_ = options.slot_count;
  writer.claim_ahead();

  const std::string problem = publish(made, path.value());
  if (!problem.empty()) return Failure{problem};
  return writer;
}

Writer::~Writer() {
  if (mapping_.data() != nullptr) finish();
}

std::uint64_t Writer::epoch() const noexcept {
  return header().epoch;
}

record::RecordSink::Place Writer::open() noexcept {
  const std::uint64_t rest = slot_count_ - (number_ & (slot_count_ - 1));
  if (rest < max_record_slots_) write_pad(rest);
  if (claim_ - number_ < max_record_slots_) claim_ahead();
  record::Slot& first = slot(number_);
  // A reader that finds header tags in this slot must not find an older word 0 beside them. The fence also lets it see
  // the claim before it sees anything of what overwrites the slots.
  record::store_word(first.words[0], 0);
  release_fence();
  return {&first, static_cast<std::uint32_t>(number_), phase_of(number_, slot_count_)};
}

void Writer::commit(const record::Slot& first, std::uint32_t slots) noexcept {
  record::Slot& to = slot(number_);
  for (std::size_t word = 1; word < record::kSlotWords; ++word) record::store_word(to.words[word], first.words[word]);
  __atomic_store_n(&to.words[0], first.words[0], __ATOMIC_RELEASE);
  number_ += slots;
  __atomic_store_n(&header().head, number_, __ATOMIC_RELEASE);
}

void Writer::write_pad(std::uint64_t slots) noexcept {
  if (claim_ - number_ < slots) claim_ahead();
  record::store_word(slot(number_).words[0], 0);
  release_fence();
  record::Slot pad{};
  pad.words[0] = record::kPadIndex | slots << 16 | number_ << 32;
  pad.words[record::kTagWord] = first_slot_tags(phase_of(number_, slot_count_));
  commit(pad, static_cast<std::uint32_t>(slots));
}

/// Moves the claim so far that it need not move again soon, and leaves a mark: a record begins at number_.
void Writer::claim_ahead() noexcept {
  claim_ = number_ + max_record_slots_ + claim_step(slot_count_);
  Header& shared = header();
  record::store_word(shared.marks[claims_++ % kMarks], number_);
  record::store_word(shared.claim, claim_);
}

void Writer::beat(std::uint64_t now_ns) noexcept {
  record::store_word(header().heartbeat_ns, now_ns);
}

void Writer::finish() noexcept {
  __atomic_store_n(&header().state, static_cast<std::uint32_t>(State::Finished), __ATOMIC_RELEASE);
}

}  // namespace stopbit::ring
