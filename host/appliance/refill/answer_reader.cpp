#include "host/appliance/refill/answer_reader.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "decoder/record/layout.hpp"
#include "decoder/select/make_engine.hpp"

namespace stopbit::appliance {
namespace {

constexpr std::uint32_t kMsgSeqNum = 34;
constexpr std::uint32_t kMsgType = 35;

/// The value of a template's constant MessageType; empty: it has none.
std::string_view type_of(const Program& program, const Template& item) {
  for (std::size_t i = item.first_node; i < item.end_node; ++i) {
    const SchemaNode& node = program.nodes[i];
    const std::string_view name = program.name(node.name);
    const bool is_type = node.id == kMsgType || name == "MessageType" || name == "MsgType";
    if (node.kind != NodeKind::Field || !is_type || !node.constant) continue;
    const Constant& constant = program.constants[node.constant_index];
    return constant.kind == ValueKind::Bytes ? program.constant_bytes(constant.bytes()) : std::string_view();
  }
  return {};
}

refill::Answer::Kind kind_of(std::string_view type, std::string_view name) {
  using Kind = refill::Answer::Kind;
  if (type.empty() ? name == "Logon" : type == "A") return Kind::LoggedOn;
  if (type.empty() ? name == "Logout" : type == "5") return Kind::LoggedOut;
  if (type == "Y") return Kind::Refused;
  if (type.empty() ? name == "Heartbeat" : type == "0") return Kind::Other;
  return Kind::Message;
}

}  // namespace

/// Keeps the number of the last record.
class AnswerReader::Sink final : public record::RecordSink {
 public:
  Sink(std::size_t slots, const std::vector<AnswerReader::Place>& places) : slots_(slots), places_(places) {}

  [[nodiscard]] Place open() noexcept override { return {slots_.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    ++records_;
    const auto index = static_cast<std::uint16_t>(first.words[0]);
    if (index >= places_.size()) return;  // an event
    answer_.kind = places_[index].kind;
    const std::size_t slot = places_[index].word / record::kSlotWords;
    if (places_[index].word == 0 || slot >= slots) return;
    const record::Slot& holder = slot == 0 ? first : slots_[slot];
    const std::size_t at = places_[index].word % record::kSlotWords;
    if ((holder.words[record::kTagWord] >> (8 * at) & 0xFF) == 0) return;
    has_number_ = true;
    answer_.number = holder.words[at];
  }
  void clear() noexcept {
    answer_ = {};
    records_ = 0;
    has_number_ = false;
  }
  /// Of the only record.
  [[nodiscard]] std::optional<refill::Answer> answer() const noexcept {
    const bool needs_number = answer_.kind == refill::Answer::Kind::Message;
    if (records_ != 1 || (needs_number && !has_number_)) return std::nullopt;
    return answer_;
  }

 private:
  std::vector<record::Slot> slots_;
  const std::vector<AnswerReader::Place>& places_;
  refill::Answer answer_;
  std::uint32_t records_ = 0;
  bool has_number_ = false;
};

AnswerReader::Place AnswerReader::place_of(const Program& program, const Template& item) {
  Place place;
  if (item.supplied) return place;  // FastReset
  place.kind = kind_of(type_of(program, item), program.name(item.name));
  for (std::size_t i = item.first_node; i < item.end_node; ++i) {
    const SchemaNode& node = program.nodes[i];
    const bool is_number = node.type == FieldType::UInt32 || node.type == FieldType::UInt64;
    const bool is_named = node.id == kMsgSeqNum || program.name(node.name) == "MsgSeqNum";
    if (node.kind != NodeKind::Field || !is_number || !is_named || node.constant || node.unstored) continue;
    if (node.block != item.root_block) continue;
    // Seven values a slot: the eighth word has their tags.
    const std::size_t value = record::kHeaderWords + node.word;
    place.word =
        static_cast<std::uint16_t>(value / record::kValueWords * record::kSlotWords + value % record::kValueWords);
    break;
  }
  return place;
}

AnswerReader::AnswerReader(std::shared_ptr<const Program> program, const EngineLimits& limits)
    : program_(std::move(program)) {
  for (const Template& item : program_->templates) places_.push_back(place_of(*program_, item));
  sink_ = std::make_unique<Sink>(program_->max_record_slots, places_);
  // No native code: its thread may make no memory that can be executed.
  engine_ =
      make_engine(*program_, {.reset = ResetRule::Packet, .channels = 1, .limits = limits}, EngineKind::Quick).engine;
}

AnswerReader::~AnswerReader() = default;

std::string AnswerReader::why_not(bool logs_on_in_fast) const {
  using Kind = refill::Answer::Kind;
  const auto has = [this](Kind kind, bool needs_number) {
    return std::any_of(places_.begin(), places_.end(),
                       [&](const Place& place) { return place.kind == kind && (place.word != 0 || !needs_number); });
  };
  if (logs_on_in_fast && !has(Kind::LoggedOn, false))
    return "its templates have no log-on (MessageType A, or the name Logon)";
  if (!has(Kind::Message, true)) return "no template stores MsgSeqNum (34)";
  return {};
}

refill::Answer AnswerReader::read(std::span<const std::byte> answer) noexcept {
  sink_->clear();
  const Outcome outcome = engine_->decode(answer, {}, *sink_);
  if (outcome.error != ErrorCode::None || outcome.messages != 1) return {};
  return sink_->answer().value_or(refill::Answer{});
}

}  // namespace stopbit::appliance
