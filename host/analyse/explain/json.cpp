#include <nlohmann/json.hpp>

#include "host/analyse/explain/explain.hpp"
#include "host/analyse/explain/values.hpp"
#include "host/analyse/guess/trial.hpp"
#include "microcode/base/error_code.hpp"
#include "microcode/base/hex.hpp"

namespace stopbit::explain {
namespace {

using Json = nlohmann::ordered_json;

std::string_view kind_text(RowKind kind) {
  switch (kind) {
    case RowKind::Preamble: return "preamble";
    case RowKind::BlockSize: return "blockSize";
    case RowKind::Message: return "message";
    case RowKind::PresenceMap: return "presenceMap";
    case RowKind::TemplateId: return "templateId";
    case RowKind::Field: return "field";
    case RowKind::Length: return "length";
    case RowKind::Constant: return "constant";
    case RowKind::Group: return "group";
    case RowKind::BitGroup: return "bitGroup";
    case RowKind::Element: return "element";
    case RowKind::Reference: return "reference";
    case RowKind::Reset: return "reset";
    case RowKind::Ignored: return "ignored";
    case RowKind::Undecoded: return "undecoded";
  }
  return {};
}

std::string bytes_text(const std::vector<std::byte>& bytes, trace::Extent extent) {
  std::string text;
  for (std::size_t i = extent.begin; i < extent.end && i < bytes.size(); ++i) {
    append_hex(text, static_cast<unsigned>(bytes[i]), 2);
  }
  return text;
}

Json row_json(const Explanation& explanation, const Row& row) {
  Json out = {{"kind", kind_text(row.kind)}, {"offset", row.bytes.begin}};
  out["bytes"] = bytes_text(explanation.datagram, row.bytes);
  out["name"] = row.name;
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  if (row.depth != 0) out["depth"] = row.depth;
  text("type", row.type);
  if (row.is_optional) out["optional"] = true;
  text("operator", row.op);
  text("entry", row.slot);
  text("previous", row.previous);
  text("raw", row.raw);
  text("source", row.source);
  if (row.is_absent) {
    out["absent"] = true;
  } else {
    text("result", row.result);
  }
  if (row.place.block != kNoBlock) {
    out["record"] = {{"block", row.place.block},
                     {"word", row.place.word},
                     {"slot", row.place.slot},
                     {"slot_word", row.place.slot_word}};
  }
  if (row.kind == RowKind::PresenceMap) {
    Json bits = Json::array();
    for (const Bit& bit : row.bits) {
      Json item = {{"set", bit.is_set}, {"owner", bit.owner}};
      if (bit.is_implied) item["implied"] = true;
      bits.push_back(std::move(item));
    }
    out["bits"] = std::move(bits);
  }
  if (row.is_faulty) out["faulty"] = true;
  return out;
}

}  // namespace

std::string to_json(const Explanation& explanation) {
  Json out = {{"source", explanation.source}, {"packet", explanation.packet}};
  out["framing"] = explanation.framing;
  out["reset"] = reset_rule_name(explanation.reset);
  if (explanation.has_headers) {
    if (explanation.group.port != 0) out["group"] = net::to_text(explanation.group);
    Json parts = Json::array();
    for (const FramePart& part : explanation.parts) {
      parts.push_back({{"offset", part.bytes.begin},
                       {"bytes", part.bytes.end - part.bytes.begin},
                       {"name", part.name},
                       {"text", part.text}});
    }
    out["frame"] = std::move(parts);
  }
  if (explanation.sequence != 0) out["sequence"] = explanation.sequence;
  if (explanation.is_joined) out["joined"] = true;
  if (explanation.reset != ResetRule::Packet) out["earlier_packets"] = explanation.earlier_packets;
  out["datagram_bytes"] = explanation.datagram.size();
  out["accounted_bytes"] = accounted_bytes(explanation);
  Json rows = Json::array();
  for (const Row& row : explanation.rows) rows.push_back(row_json(explanation, row));
  out["rows"] = std::move(rows);
  if (explanation.rows_hidden != 0) out["rows_hidden"] = explanation.rows_hidden;
  if (explanation.has_fault()) {
    Json fault = {{"text", explanation.fault}};
    if (explanation.outcome.error != ErrorCode::None) {
      fault["code"] = code_text(explanation.outcome.error);
      fault["offset"] = explanation.outcome.offset_bytes;
    }
    Json causes = Json::array();
    for (const Cause& cause : explanation.causes)
      causes.push_back({{"text", cause.text}, {"evidence", cause.evidence}});
    fault["causes"] = std::move(causes);
    out["fault"] = std::move(fault);
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stopbit::explain
