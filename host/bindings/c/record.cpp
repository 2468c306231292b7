#include <algorithm>
#include <cstring>

#include "decoder/record/text.hpp"
#include "host/bindings/c/handles.hpp"
#include "host/market/event/print.hpp"

using namespace stopbit;  // NOLINT(google-build-using-namespace): the functions themselves are global

namespace {

constexpr char kNoRecord[] =
    "the record is no longer valid: its callback has returned, or another call was made on "
    "its handle";

/// Turns a walk into calls. The walk goes on in silence once the callback has had enough.
class Teller : public record::Visitor {
 public:
  Teller(const capi::Shared& shared, stopbit_item_callback callback, void* user)
      : shared_(shared), callback_(callback), user_(user) {}

  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

  void field(const SchemaNode& node, const record::Value& value) {
    stopbit_item item = item_of(STOPBIT_FIELD, node);
    item.type = static_cast<int32_t>(node.type);
    if (record::is_text(node.type)) {
      item.text = value.bytes.data() != nullptr ? value.bytes.data() : "";
      item.text_size = value.bytes.size();
    } else {
      item.value = value.as_signed();
      item.exponent = value.exponent;
      if (node.type == FieldType::Enum) set_text(item, element(node, value.bits));
    }
    tell(item);
  }
  void begin_group(const SchemaNode& node) { open(item_of(STOPBIT_GROUP_BEGIN, node)); }
  void end_group(const SchemaNode& node) { close(STOPBIT_GROUP_END, node); }
  void begin_sequence(const SchemaNode& node, std::uint32_t count) {
    stopbit_item item = item_of(STOPBIT_SEQUENCE_BEGIN, node);
    item.count = count;
    open(item);
  }
  void begin_element(const SchemaNode& node, std::uint32_t index) {
    stopbit_item item = item_of(STOPBIT_ELEMENT_BEGIN, node);
    item.count = index;
    open(item);
  }
  void end_element(const SchemaNode& node) { close(STOPBIT_ELEMENT_END, node); }
  void end_sequence(const SchemaNode& node) { close(STOPBIT_SEQUENCE_END, node); }
  void begin_reference(const SchemaNode& node, const Template& item) {
    stopbit_item told = item_of(STOPBIT_REFERENCE_BEGIN, node);
    const Program& program = shared_.firmware->program();
    set_text(told, shared_.templates[static_cast<std::size_t>(&item - program.templates.data())]);
    open(told);
  }
  void end_reference(const SchemaNode& node) { close(STOPBIT_REFERENCE_END, node); }

 private:
  [[nodiscard]] stopbit_item item_of(stopbit_kind kind, const SchemaNode& node) const noexcept {
    const std::size_t index = shared_.schema().index_of(node);
    stopbit_item item{};
    item.kind = kind;
    item.type = -1;
    item.id = node.id;
    item.node = static_cast<uint32_t>(index);
    item.depth = depth_;
    item.name = shared_.nodes[index].c_str();
    return item;
  }
  [[nodiscard]] const std::string& element(const SchemaNode& node, std::size_t index) const noexcept {
    return shared_.elements[shared_.firmware->program().type_infos[node.type_info].first_element + index];
  }
  static void set_text(stopbit_item& item, const std::string& text) noexcept {
    item.text = text.c_str();
    item.text_size = text.size();
  }
  void open(const stopbit_item& item) {
    tell(item);
    ++depth_;
  }
  void close(stopbit_kind kind, const SchemaNode& node) {
    --depth_;
    tell(item_of(kind, node));
  }
  void tell(const stopbit_item& item) {
    if (!stopped_) stopped_ = callback_(user_, &item) != 0;
  }

  const capi::Shared& shared_;
  stopbit_item_callback callback_;
  void* user_;
  std::uint32_t depth_ = 0;
  bool stopped_ = false;
};

/// The node of this record's program with that number; null if the item was made up.
const SchemaNode* node_of(const stopbit_record& record, const stopbit_item* item) noexcept {
  if (item == nullptr || record.shared == nullptr) return nullptr;
  const Program& program = record.shared->firmware->program();
  return item->node < program.nodes.size() ? &program.nodes[item->node] : nullptr;
}

}  // namespace

const stopbit_header* stopbit_record_header(const stopbit_record* record) {
  if (record == nullptr || !record->is_attached()) return nullptr;
  const record::HeaderView view(record->slots[0]);
  stopbit_header& header = record->header;
  header = {};
  header.arrival_ns = view.arrival_ns();
  header.sequence = view.sequence();
  header.channel = view.channel();
  header.flags = view.flags();
  header.template_index = UINT32_MAX;
  if (view.is_market_event()) return &header;  // whose other words are the event's own
  header.message_index = view.message_index();
  header.sender_epoch = view.sender_epoch();
  header.source = static_cast<uint8_t>(view.source());
  header.time_quality = static_cast<uint8_t>(view.time_quality());
  if (const Template* item = record->shared->schema().find(view.template_index()); item != nullptr) {
    header.template_index = view.template_index();
    header.template_id = item->id;
    header.template_name = record->shared->templates[view.template_index()].c_str();
  }
  return &header;
}

const stopbit_event* stopbit_record_event(stopbit_record* record) {
  if (record == nullptr || !record->is_attached() || !record::HeaderView(record->slots[0]).is_event()) return nullptr;
  const stopbit_status status = capi::guarded(record->error, [&] {
    const record::EventView view(record->slots[0]);
    const record::EventPlace place = record::event_place(record->shared->schema(), view);
    std::string* const texts = record->event_texts;
    texts[0] = record::event_name(view.kind());
    texts[1] = code_text(view.code());
    texts[2] = record::event_detail(view);
    texts[3] = place.template_name;
    texts[4] = place.field_name;
    stopbit_event& event = record->event;
    event = {};
    event.kind = texts[0].c_str();
    event.code = texts[1].c_str();
    event.detail = texts[2].c_str();
    event.template_name = texts[3].empty() ? nullptr : texts[3].c_str();
    event.field_name = texts[4].empty() ? nullptr : texts[4].c_str();
    if (view.kind() == record::EventKind::Gap) {
      event.first_missing = view.first_missing();
      event.missing = view.missing();
    } else if (view.kind() == record::EventKind::Lost) {
      event.missing = view.missing();
    } else {
      event.packet = view.packet_number();
      event.offset = view.offset_bytes();
    }
    return STOPBIT_OK;
  });
  return status == STOPBIT_OK ? &record->event : nullptr;
}

const stopbit_market_event* stopbit_record_market_event(stopbit_record* record) {
  if (record == nullptr || !record->is_attached() || !market::is_event(record->slots[0])) return nullptr;
  const market::Event from = market::Event::from(record->slots[0]);
  const std::string_view kind = market::name_of(from.kind());
  record->market_event = {.arrival_ns = from.arrival_ns(),
                          .delay_ns = from.delay_ns(),
                          .price = from.price(),
                          .quantity = from.quantity(),
                          .id = from.id(),
                          .instrument = from.instrument(),
                          .sequence = from.sequence(),
                          .channel = from.channel(),
                          .level = from.level(),
                          .price_exponent = -static_cast<int16_t>(market::kPriceDecimals),
                          .kind = static_cast<uint8_t>(from.kind()),
                          .side = static_cast<uint8_t>(from.side()),
                          .is_implied = static_cast<uint8_t>(from.book()),
                          .flags = from.flags(),
                          .kind_name = kind.empty() ? "" : kind.data()};  // a literal, which ends with a zero
  return &record->market_event;
}

stopbit_status stopbit_record_walk(stopbit_record* record, stopbit_item_callback callback, void* user) {
  if (record == nullptr) return STOPBIT_ERROR_ARGUMENT;
  if (callback == nullptr) return record->error.set(STOPBIT_ERROR_ARGUMENT, "callback is NULL");
  if (!record->is_attached()) return record->error.set(STOPBIT_ERROR_ARGUMENT, kNoRecord);
  ++record->walks;
  const stopbit_status status = capi::guarded(record->error, [&] {
    const record::HeaderView view(record->slots[0]);
    if (view.is_event() || view.is_market_event()) return STOPBIT_OK;
    record::Reader reader(record->shared->schema());  // on the stack: a callback may walk, too
    Teller teller(*record->shared, callback, user);
    const record::ReadError error = reader.read(record->slots, teller);
    if (teller.stopped()) return STOPBIT_STOPPED;
    if (error != record::ReadError::None) {
      return record->error.set_copy(STOPBIT_ERROR_INPUT, record::error_text(error));
    }
    return STOPBIT_OK;
  });
  if (--record->walks == 0 && record->settle != nullptr) record->settle(record->owner);
  return status;
}

stopbit_status stopbit_record_check(stopbit_record* record) {
  return stopbit_record_walk(
      record, [](void*, const stopbit_item*) { return 0; }, nullptr);
}

stopbit_status stopbit_record_json(stopbit_record* record, char* buffer, size_t size, size_t* length) {
  if (length != nullptr) *length = 0;
  if (buffer != nullptr && size > 0) buffer[0] = '\0';
  if (record == nullptr) return STOPBIT_ERROR_ARGUMENT;
  if (buffer == nullptr && size > 0) return record->error.set(STOPBIT_ERROR_ARGUMENT, "buffer is NULL");
  if (!record->is_attached()) return record->error.set(STOPBIT_ERROR_ARGUMENT, kNoRecord);
  return capi::guarded(record->error, [&] {
    if (!record->printer) record->printer.emplace(record->shared->schema());
    std::string& json = record->json;
    json.clear();
    record::ReadError error = record::ReadError::None;
    if (market::is_event(record->slots[0])) {
      market::append_json(market::Event::from(record->slots[0]), json);
    } else {
      error = record->printer->print(record->slots, json);
    }
    if (error != record::ReadError::None) {
      return record->error.set_copy(STOPBIT_ERROR_INPUT, record::error_text(error));
    }
    json.pop_back();  // the line end
    if (length != nullptr) *length = json.size();
    if (size <= json.size()) return record->error.set(STOPBIT_ERROR_ARGUMENT, "the buffer is too small");
    std::memcpy(buffer, json.c_str(), json.size() + 1);
    return STOPBIT_OK;
  });
}

const void* stopbit_record_slots(const stopbit_record* record, size_t* bytes) {
  if (bytes != nullptr) *bytes = 0;
  if (record == nullptr || !record->is_attached()) return nullptr;
  if (bytes != nullptr) *bytes = record->slots.size_bytes();
  return record->slots.data();
}

const char* stopbit_record_error(const stopbit_record* record) {
  return record != nullptr ? record->error.c_str() : "the record is NULL";
}

const char* stopbit_record_element(const stopbit_record* record, const stopbit_item* item, uint32_t index) {
  if (record == nullptr) return nullptr;
  const SchemaNode* node = node_of(*record, item);
  if (node == nullptr || node->kind != NodeKind::Field) return nullptr;
  if (node->type != FieldType::Enum && node->type != FieldType::Set) return nullptr;
  const TypeInfo& info = record->shared->firmware->program().type_infos[node->type_info];
  return index < info.element_count ? record->shared->elements[info.first_element + index].c_str() : nullptr;
}
