#include "host/cli/common/confiner.hpp"

#include <cstring>
#include <utility>

#include "host/appliance/grants.hpp"

namespace stopbit::tools {
namespace {

appliance::Change not_confined(std::string why) {
  return {appliance::Change::Level::Warning, "not confined", {{"why", std::move(why)}}};
}

}  // namespace

Confiner::Confiner(const appliance::Settings& settings) {
  if (!settings.confined) return;
  auto opener = opener::Client::start(appliance::grants_of(settings), true, notes_);
  if (opener) {
    opener_ = std::move(opener).value();
  } else {
    notes_.push_back(opener.message());
  }
}

void Confiner::confine(const appliance::Confinement& confinement, Log& log) {
  for (const std::string& note : notes_) log.write(not_confined("the opener process: " + note));
  // First: it takes calls that go then.
  if (const Status made = filters_.make(confinement); !made) log.write(not_confined(made.message()));
  for (std::string& problem : appliance::confine(confinement)) log.write(not_confined(std::move(problem)));
  if (opener_ == nullptr) return;
  calls_.emplace(*opener_);
  replaced_.emplace(*calls_);
}

void Confiner::step(Log& log) {
  if (opener_ != nullptr && !told_end_ && opener_->has_ended()) {
    told_end_ = true;
    log.write({appliance::Change::Level::Error,
               "opener ended",
               {{"text",
                 "the opener process ended: no gaps or recordings are written and no image can be loaded until the "
                 "appliance is restarted"}}});
  }
  if (const int error = filters_.error(); error != 0 && !told_error_) {
    told_error_ = true;
    log.write(not_confined(std::string("a thread: ") + std::strerror(error)));
  }
}

}  // namespace stopbit::tools
