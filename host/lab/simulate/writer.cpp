#include "host/lab/simulate/writer.hpp"

#include <string>

namespace stopbit::simulate {

Writer::Writer(const Program& program, const record::Schema& schema, ResetRule reset)
    : json_(schema),
      encoder_(program, {.reset = reset, .strict = false, .limits = {}}),
      schema_(schema),
      sink_(program.max_record_slots, Keep{record_}) {}

void Writer::begin_datagram() {
  data_.clear();
  encoder_.begin_datagram();
}

Status Writer::add(std::string_view line) {
  if (json_.read(line, sink_) != record::JsonReader::Line::Message) {
    return Failure{json_.problem().message + ", in " + std::string(line)};
  }
  const encode::Outcome outcome = encoder_.encode(record_);
  if (!outcome.ok()) return Failure{encode::error_text(schema_, outcome) + ", in " + std::string(line)};
  data_.insert(data_.end(), outcome.bytes.begin(), outcome.bytes.end());
  return Done{};
}

}  // namespace stopbit::simulate
