// Any bytes as an answer of a replay service: the reader calls it a message only if it is one message and nothing else,
// with the number that the record has, and keeps nothing of it.

#include <array>
#include <memory>

#include "decoder/select/make_engine.hpp"
#include "host/appliance/refill/answer_reader.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"

namespace {

using namespace stopbit;

/// Takes every record and looks at none.
class NoSink final : public record::RecordSink {
 public:
  explicit NoSink(std::size_t slots) : slots_(slots) {}
  [[nodiscard]] Place open() noexcept override { return {slots_.data(), 0, false}; }
  void commit(const record::Slot& /*first*/, std::uint32_t /*slots*/) noexcept override {}

 private:
  std::vector<record::Slot> slots_;
};

constexpr const char* kTemplates = R"(
<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="A" id="1"><string name="MessageType" id="35"><constant value="A"/></string>
    <uInt32 name="MsgSeqNum" id="34"/></template>
  <template name="5" id="2"><string name="MessageType" id="35"><constant value="5"/></string></template>
  <template name="0" id="3"><string name="MessageType" id="35"><constant value="0"/></string>
    <uInt32 name="MsgSeqNum" id="34"/></template>
  <template name="X" id="4"><string name="MessageType" id="35"><constant value="X"/></string>
    <uInt32 name="MsgSeqNum" id="34" presence="optional"/><uInt64 name="SendingTime"/>
    <sequence name="Entries"><length name="NoEntries"/><string name="Text" presence="optional"/>
      <decimal name="Price"><exponent><default value="-2"/></exponent><mantissa><delta/></mantissa></decimal>
      <uInt32 name="MsgSeqNum"/></sequence></template>
  <template name="Wide" id="5"><uInt64 name="a"/><uInt64 name="b"/><uInt64 name="c"/><uInt64 name="d"/><uInt64 name="e"/>
    <uInt64 name="f"/><uInt64 name="g"/><uInt64 name="MsgSeqNum" id="34"/></template>
</templates>)";

std::shared_ptr<const Program> program(std::uint8_t which) {
  static const auto own = std::make_shared<const Program>([] {
    Diagnostics diagnostics;
    const auto source = std::make_shared<SourceBuffer>("answers.xml", kTemplates);
    auto made = templates::compile({source}, {}, diagnostics);
    fuzz::require(made.has_value(), "the templates are right", diagnostics.format());
    return std::move(*made);
  }());
  // The others have no log-on, and numbers where they like.
  return which % 4 != 3 ? own
                        : std::shared_ptr<const Program>(std::shared_ptr<void>(), &fuzz::fixed_program(which / 4));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using Kind = refill::Answer::Kind;
  if (size == 0) return 0;
  const auto with = program(data[0]);
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  appliance::AnswerReader reader(with, {});
  const refill::Answer answer = reader.read(bytes);
  const refill::Answer again = reader.read(bytes);
  fuzz::require(answer.kind == again.kind && answer.number == again.number, "an answer says the same twice");
  if (answer.kind == Kind::Unreadable) return 0;

  NoSink sink(with->max_record_slots);
  const auto engine = make_engine(*with, {.reset = ResetRule::Packet, .channels = 1}, EngineKind::Interp).engine;
  const Outcome outcome = engine->decode(bytes, {}, sink);
  fuzz::require(outcome.error == ErrorCode::None && outcome.messages == 1, "what is readable is one message");
  return 0;
}
