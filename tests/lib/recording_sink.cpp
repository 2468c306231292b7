#include "tests/lib/recording_sink.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stopbit::cases {
namespace {

constexpr std::size_t kWordBits = 8;

std::uint8_t tag_of(const record::Slot& slot, std::size_t word) {
  return static_cast<std::uint8_t>(slot.words[record::kTagWord] >> word * kWordBits);
}

/// Memory of destroyed sinks, for the next one of as many slots: new pages for each sink would take most of the
/// time of a case.
struct Spare {
  std::uint32_t slots = 0;
  std::unique_ptr<record::Slot[]> place;
};

std::vector<Spare>& spares() {
  thread_local std::vector<Spare> places;
  return places;
}

std::unique_ptr<record::Slot[]> take_place(std::uint32_t slots) {
  std::vector<Spare>& places = spares();
  const auto found =
      std::find_if(places.begin(), places.end(), [&](const Spare& spare) { return spare.slots == slots; });
  if (found == places.end()) return std::make_unique_for_overwrite<record::Slot[]>(slots);
  std::unique_ptr<record::Slot[]> place = std::move(found->place);
  places.erase(found);
  return place;
}

}  // namespace

RecordingSink::RecordingSink(const Program& program)
    : max_slots_(program.max_record_slots),
      shape_(program),
      place_(take_place(program.max_record_slots)),
      used_slots_(program.max_record_slots) {}

RecordingSink::~RecordingSink() {
  constexpr std::size_t kMost = 4;
  if (place_ != nullptr && spares().size() < kMost) spares().push_back({max_slots_, std::move(place_)});
}

record::RecordSink::Place RecordingSink::open() noexcept {
  // What a record that was not committed has left beyond is junk, too.
  if (!open_) std::memset(place_.get(), 0xA5, used_slots_ * sizeof(record::Slot));
  open_ = true;
  return {place_.get(), stamp_, phase_};
}

void RecordingSink::commit(const record::Slot& first, std::uint32_t slots) noexcept {
  if (!open_) {
    problems_.emplace_back("commit without open");
    return;
  }
  if (slots == 0 || slots > max_slots_) {
    problems_.push_back("commit of " + std::to_string(slots) + " slots");
    return;
  }
  place_[0] = first;
  Record record(place_.get(), place_.get() + slots);
  check(record, first.words[0]);
  records_.push_back(std::move(record));
  used_slots_ = slots;
  open_ = false;
  stamp_ += slots;
  phase_ = !phase_;
}

void RecordingSink::check(const Record& record, std::uint64_t word0) {
  const auto problem = [this](std::size_t slot, const std::string& text) {
    problems_.push_back("record " + std::to_string(records_.size() + 1) + ", slot " + std::to_string(slot) + ": " +
                        text);
  };
  if ((word0 >> 16 & 0xFFFF) != record.size()) problem(0, "word 0 has another number of slots than the commit");
  if (word0 >> 32 != stamp_) problem(0, "wrong stamp");
  const std::uint64_t string_slots = record[0].words[2] >> 48 & 0xFF;
  if (string_slots >= record.size()) problem(0, "the string area is as long as the record");
  const bool is_event = (word0 & 0xFFFF) == record::kEventIndex;
  const record::ReadError error = view::check(shape_.shape(), record);
  if (error != record::ReadError::None) problem(0, "a view says: " + std::string(record::error_text(error)));

  for (std::size_t i = 0; i < record.size(); ++i) {
    const record::Slot& slot = record[i];
    const std::uint64_t base = slot.words[record::kTagWord] >> 56 << 56;
    if (base != record::tag_word_base(phase_, i)) problem(i, "wrong phase or number");
    const bool is_string = i + string_slots >= record.size();
    for (std::size_t word = 0; word < record::kValueWords; ++word) {
      const std::uint8_t tag = tag_of(slot, word);
      const std::string name = "word " + std::to_string(word);
      if (tag == 0 && slot.words[word] != 0) problem(i, name + " has a value and no tag");
      if (i == 0 && word < record::kHeaderWords) {
        if (tag != record::kHeaderTag + word) problem(i, name + " has not the tag of a header word");
      } else if (tag > record::kMaxValueTag) {
        const bool fits = is_event    ? tag == record::kEventTag
                          : is_string ? tag == record::kStringTag
                                      : tag == record::kReferenceTag;
        if (!fits) problem(i, name + " has tag " + std::to_string(tag));
      } else if (tag != 0 && (is_event || is_string)) {
        problem(i, name + " has the tag of a value");
      }
    }
  }
}

}  // namespace stopbit::cases
