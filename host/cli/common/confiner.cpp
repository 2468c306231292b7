#include "host/cli/common/confiner.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>
#include <utility>

#include "host/appliance/grants.hpp"
#include "host/market/map/find.hpp"
#include "host/os/config/toml.hpp"
#include "host/os/shm/read_file.hpp"

namespace stopbit::tools {
namespace {

appliance::Change not_confined(std::string why) {
  return {appliance::Change::Level::Warning, "not confined", {{"why", std::move(why)}}};
}

/// A regular file, as an opener reads it: one that does not wait for a FIFO in its place.
Result<std::string> read_regular(const std::string& path) {
  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (file.ok() && (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))) {
    return Failure{"cannot read " + path + ": not a regular file"};
  }
  auto text = os::read_file(file, path, config::kMaxFileBytes);
  if (!text) return Failure{text.message()};
  return std::move(text).value();
}

/// Of the opener process, when the settings have changed.
Result<opener::Grants> read_grants(const std::string& file) {
  Diagnostics diagnostics;
  const auto settings = appliance::load_names(file, read_regular, diagnostics);
  if (settings) return appliance::grants_of(*settings);
  const std::string findings = diagnostics.format();
  return Failure{findings.substr(0, findings.find('\n'))};
}

}  // namespace

Confiner::Confiner(const appliance::Settings& settings) {
  if (!settings.confined) return;
  // Maps are looked for beside the program, whose place a confined process may not ask for.
  (void)market::installed_maps();
  opener::ReadGrants again;
  if (!settings.file.empty() && settings.file != "-") again = [file = settings.file] { return read_grants(file); };
  auto opener = opener::Client::start(appliance::grants_of(settings), true, notes_, again);
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
                 "the opener process ended: no gaps or recordings are written, no images loaded and no connections "
                 "made until the appliance is restarted"}}});
  }
  if (const int error = filters_.error(); error != 0 && !told_error_) {
    told_error_ = true;
    log.write(not_confined(std::string("a thread: ") + std::strerror(error)));
  }
}

}  // namespace stopbit::tools
