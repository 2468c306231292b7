#include "host/cli/common/session_log.hpp"

#include <algorithm>
#include <utility>

#include "templates/session/name_space.hpp"

namespace stopbit::tools {

SessionLog::SessionLog(record::RecordSink& inner, const record::Schema& schema) : inner_(inner), printer_(schema) {
  const Program& program = schema.program();
  for (const Template& item : program.templates) {
    is_session_.push_back(program.name(item.name_space) == templates::session::kNamespace);
  }
}

bool SessionLog::expects_messages() const noexcept {
  return std::find(is_session_.begin(), is_session_.end(), true) != is_session_.end();
}

void SessionLog::commit(const record::Slot& first, std::uint32_t slots) noexcept {
  inner_.commit(first, slots);
  look_at({place_.slots, slots});
}

void SessionLog::look_at(std::span<const record::Slot> record) noexcept {
  const std::uint16_t index = record::HeaderView(record[0]).template_index();
  if (index >= is_session_.size() || !is_session_[index]) return;
  if (lines_.size() == kKept) {
    ++more_;
    return;
  }
  std::string line;
  if (printer_.print(record, line) != record::ReadError::None) return;
  line.pop_back();  // the line end
  lines_.push_back(std::move(line));
}

std::vector<std::string> SessionLog::take_lines() {
  if (more_ != 0) lines_.push_back("... and " + std::to_string(more_) + " more");
  return std::move(lines_);
}

}  // namespace stopbit::tools
