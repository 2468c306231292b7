#include "tests/nic/tags.hpp"

namespace stopbit::nic {
namespace {

/// The number after `name`; without it, or with "any", the whole field is a wildcard.
template <class Field>
void read(Arguments& arguments, std::string_view name, Field& value, Field& mask) {
  if (!arguments.has(name) || arguments.after(name) == "any") {
    mask = 0;
  } else {
    value = static_cast<Field>(arguments.number_after(name));
  }
}

}  // namespace

void TagsScript::matched(const TagReceive& receive, const TagRecord& record) {
  said_.push_back("record " + std::to_string(record.id) + " to " + std::to_string(receive.id));
}

bool TagsScript::run(const std::string& step, Arguments& arguments) {
  if (step == "tags") {
    TagOptions options;
    options.unit = {arguments.number_after("receives"), arguments.number_after("unexpected")};
    if (options.unit.receives > 10'000 || options.unit.unexpected > 10'000) return false;
    options.software_receives = options.software_unexpected = 64;
    options.stores_unexpected = !arguments.has("count");
    tags_.emplace(options, static_cast<TagSink&>(*this), units_.tag(options.unit));
    return true;
  }
  if (!tags_) return false;
  if (step == "post") {
    TagReceive receive;
    receive.id = arguments.number(1);
    receive.is_persistent = arguments.has("persistent");
    read(arguments, "channel", receive.wanted.channel, receive.mask.channel);
    read(arguments, "template", receive.wanted.template_id, receive.mask.template_id);
    read(arguments, "value", receive.wanted.value, receive.mask.value);
    if (arguments.has("mask")) receive.mask.value = arguments.number_after("mask");
    if (tags_->post(receive) == PostResult::Full) said_.push_back(arguments.at(1) + ": refused");
  } else if (step == "cancel") {
    said_.push_back(arguments.at(1) + (tags_->cancel(arguments.number(1)) ? ": cancelled" : ": not posted"));
  } else if (step == "record") {
    TagRecord record;
    record.id = arguments.number(1);
    record.header = {static_cast<std::uint32_t>(arguments.number_after("channel")),
                     static_cast<std::uint32_t>(arguments.number_after("template")), arguments.number_after("value")};
    tags_->arrive(record);
  } else if (step == "state") {
    const TagCounters& counters = tags_->counters();
    said_.push_back(std::to_string(tags_->receives()) + " receives, " + std::to_string(tags_->unexpected()) +
                    " unexpected" + (tags_->is_in_software() ? ", in software" : "") + "; matched " +
                    std::to_string(counters.matched) + ", dropped " + std::to_string(counters.dropped));
  } else {
    return false;
  }
  return true;
}

}  // namespace stopbit::nic
