#include "host/appliance/book_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "host/appliance/opener/request.hpp"
#include "host/os/readable.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::size_t kBuffered = 1'024;  ///< Slots that are written at a time.
constexpr std::size_t kKept = 2;          ///< Files.
constexpr std::uint64_t kClockSlackNs = 1'000'000'000;

std::string hex(std::uint64_t value) {
  std::string text;
  for (unsigned shift = 32; shift != 0; shift -= 4) text += "0123456789abcdef"[value >> (shift - 4) & 0xF];
  return text;
}

std::vector<std::uint64_t> numbers_in(const opener::FileSet& set) {
  std::error_code error;  // a folder that cannot be read has none
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : disk::names_in(set.folder, error)) {
    const auto number = set.number(name);
    if (number && *number < opener::kMaxNumber) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

opener::FileSet book_files(const std::string& folder, const std::string& ring) {
  // Rings may be paths. What names the ring for people is followed by what tells it from others.
  std::string name = ring.substr(ring.find_last_of('/') + 1).substr(0, 64);
  for (char& c : name) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!is_plain) c = '-';
  }
  return {.folder = folder,
          .prefix = "books-" + name + "-" + hex(fnv1a(ring)) + "-",
          .suffix = ".books",
          .digits = 6,
          .mode = 0640,
          .can_create = true,
          .can_remove = true};
}

Result<FoundBooks> FoundBooks::find(const std::string& folder, const std::string& ring,
                                    const market::SavedHead& expected, std::uint64_t now_ns) {
  const opener::FileSet set = book_files(folder, ring);
  std::vector<std::uint64_t> numbers = numbers_in(set);
  if (numbers.empty()) return Failure{"none were saved"};
  std::string why;
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    FoundBooks found;
    const std::string path = folder + "/" + set.name(*number);
    const Status opened = found.open(path, expected, now_ns);
    if (opened) return found;
    if (why.empty()) why = "'" + path + "': " + opened.message();
  }
  return Failure{why};
}

Status FoundBooks::open(const std::string& path, const market::SavedHead& expected, std::uint64_t now_ns) {
  // Not to hang on a FIFO that lies in the place of the file.
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.ok()) return Failure{os::system_error("open", path)};
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Failure{os::system_error("look at", path)};
  if (!S_ISREG(status.st_mode)) return Failure{"it is not a regular file"};
  if (status.st_uid != ::geteuid()) return Failure{"it belongs to another user"};
  if (status.st_size == 0) return Failure{"it is empty"};
  if (!mapping_.map(file, static_cast<std::size_t>(status.st_size), os::Mapping::Use::Read)) {
    return Failure{os::system_error("map", path)};
  }
  auto books = market::SavedBooks::over({mapping_.data(), mapping_.bytes()});
  if (!books) return Failure{books.message()};
  const market::SavedHead& head = books.value().head();
  if (head.image != expected.image) return Failure{"it is of another image"};
  if (head.map != expected.map) return Failure{"it is of another feed map"};
  if (head.ring != expected.ring) return Failure{"it is of another ring"};
  if (head.saved_ns > now_ns + kClockSlackNs) return Failure{"it is from the future"};
  const std::uint64_t age_ns = now_ns > head.saved_ns ? now_ns - head.saved_ns : 0;
  const std::string age = "it was saved " + os::duration_text(age_ns) + " ago";
  if (age_ns > kMostDefinitionAgeNs) return Failure{age};
  if (age_ns > kMostAgeNs) why_no_books_ = "'" + path + "': " + age;
  path_ = path;
  books_ = std::move(books).value();
  return Done{};
}

BookWriter::BookWriter(RecordOutput& output, const std::string& folder, std::uint64_t every_ns)
    : output_(&output),
      set_(book_files(folder, output.plan().events.ring)),
      every_ns_(every_ns),
      files_(numbers_in(set_)) {
  if (!files_.empty()) next_number_ = files_.back() + 1;
  buffer_.reserve(kBuffered);
}

BookWriter::News BookWriter::step(std::uint64_t now_ns) {
  if (next_ns_ == 0) next_ns_ = now_ns + every_ns_;
  SaveQueue& queue = *output_->save_queue();
  record::Slot slot;
  has_ended_ = false;
  // Not for ever: the other thread fills the queue meanwhile.
  for (std::size_t i = 0; i < 4 * SaveQueue::kSlots && queue.take(slot); ++i) put(slot);
  if (now_ns >= next_ns_ && slots_ == 0 && !queue.is_wanted()) {
    next_ns_ = now_ns + every_ns_;
    queue.want();
  }
  if (!has_ended_ || was_good_ != is_failing_) return {};
  is_failing_ = !was_good_;
  return {.fails = is_failing_, .goes_on = !is_failing_, .why = problem_};
}

BookWriter::News BookWriter::finish(std::uint64_t now_ns) {
  record::Slot slot;
  while (output_->save_queue()->take(slot)) {
  }
  if (slots_ != 0) drop();
  has_ended_ = false;
  output_->save_all(*this, now_ns);
  if (!has_ended_ || was_good_) return {};
  return {.fails = true, .goes_on = false, .why = problem_};
}

void BookWriter::abandon() {
  if (slots_ != 0) drop();
}

void BookWriter::put(const record::Slot& slot) {
  if (slots_ == 0) begin();
  const std::uint64_t at = slots_++;
  const auto kind = static_cast<market::SavedKind>(slot.words[0] & 0xFFFF'FFFF);
  if (at != 0 && left_ == 0 && kind == market::SavedKind::End) return end(slot);
  if (at != 0) left_ = left_ == 0 ? market::kSavedRowSlots - 1 + (slot.words[0] >> 32) : left_ - 1;
  buffer_.push_back(slot);
  if (buffer_.size() == kBuffered) flush();
}

void BookWriter::begin() {
  problem_.clear();
  left_ = 0;
  number_ = next_number_++;
  if (const int error = file_.open(path_of(number_), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0640); error != 0) {
    return fail("create", error);
  }
  files_.push_back(number_);
}

void BookWriter::flush() {
  std::uint64_t written = 0;
  if (problem_.empty()) {
    if (const int error = file_.write(std::as_bytes(std::span(buffer_)), written); error != 0) fail("write", error);
  }
  buffer_.clear();
}

void BookWriter::end(const record::Slot& slot) {
  const auto end = std::bit_cast<market::SavedEnd>(slot);
  // The image changed on the way: the next save has the new one's.
  const bool is_abandoned = end.slots != slots_;
  buffer_.push_back(slot);
  flush();
  if (problem_.empty()) {
    if (const int error = file_.close(); error != 0) fail("write", error);
  }
  has_ended_ = !is_abandoned;
  was_good_ = problem_.empty();
  if (is_abandoned || !was_good_) return drop();
  slots_ = 0;
  output_->market_counter_set().saves.add();
  output_->market_counter_set().books_left_out.set(end.left_out);
  // One that cannot be removed does not keep the others.
  for (std::size_t i = 0; files_.size() > kKept && i + kKept < files_.size();) {
    if (disk::remove(path_of(files_[i])) == 0) {
      files_.erase(files_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

/// What was written of this save is of no use.
void BookWriter::drop() {
  (void)file_.close();
  buffer_.clear();
  slots_ = 0;
  if (files_.empty() || files_.back() != number_) return;
  if (disk::remove(path_of(number_)) == 0) files_.pop_back();  // else with the next ones
}

void BookWriter::fail(const char* what, int error) {
  if (!problem_.empty()) return;
  problem_ = std::string("cannot ") + what + " '" + path_of(number_) + "': " + std::generic_category().message(error);
  output_->market_counter_set().save_failures.add();
}

}  // namespace stopbit::appliance
