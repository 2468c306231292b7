#include "host/feed/channel/session_stage.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::feed {
namespace {

constexpr std::uint32_t kNewSeqNo = 36;  // FIX

/// Where the template's record has the number; 0: it is no such template.
std::uint8_t place_in(const Program& program, const Template& item) {
  if (program.name(item.name).find("SequenceReset") == std::string_view::npos) return 0;
  for (std::size_t i = item.first_node; i < item.end_node; ++i) {
    const SchemaNode& node = program.nodes[i];
    const bool is_number = node.type == FieldType::UInt32 || node.type == FieldType::UInt64;
    const bool is_named = node.id == kNewSeqNo || program.name(node.name) == "NewSeqNo";
    if (node.kind != NodeKind::Field || !is_number || !is_named || node.constant || node.unstored) continue;
    const std::size_t word = record::kHeaderWords + node.word;
    if (node.block == item.root_block && word < 256) return static_cast<std::uint8_t>(word);
  }
  return 0;
}

}  // namespace

std::unique_ptr<SessionStage> SessionStage::make(const Program& program) {
  std::vector<std::uint8_t> places;
  for (const Template& item : program.templates) places.push_back(place_in(program, item));
  if (std::all_of(places.begin(), places.end(), [](std::uint8_t place) { return place == 0; })) return nullptr;
  return std::unique_ptr<SessionStage>(new SessionStage(std::move(places)));
}

void SessionStage::commit(const record::Slot& first, std::uint32_t slots) noexcept {
  const auto index = static_cast<std::uint16_t>(first.words[0]);
  const std::size_t word = index < places_.size() ? places_[index] : 0;
  const std::size_t slot = word / record::kValueWords;
  if (word != 0 && slot < slots) {
    const record::Slot& holder = slot == 0 ? first : place_.slots[slot];
    const std::size_t at = word % record::kValueWords;
    const bool is_present = ((holder.words[record::kValueWords] >> (8 * at)) & 0xFF) != 0;  // its tag
    if (is_present) {
      announced_ = {.channel = static_cast<std::uint16_t>(first.words[2] >> 32), .sequence = holder.words[at]};
    }
  }
  next().commit(first, slots);
}

}  // namespace stopbit::feed
