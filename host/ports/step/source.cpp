#include <utility>

#include "host/fix/fix_text.hpp"
#include "host/os/config/keys.hpp"
#include "host/os/shm/read_file.hpp"
#include "host/ports/port_source.hpp"
#include "host/ports/step/step_port.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::ingest {
namespace {

/// Sessions of STEP, one for each address that a line has.
class StepSource final : public PortSource {
 public:
  StepSource(config::Table& table, const PortPlace& place) {
    session_.sender = value_of(table, "sender");
    session_.target = value_of(table, "target");
    session_.version = value_of(table, "version");
    const std::uint64_t heartbeat_ns = table.duration_ns("heartbeat");
    if (heartbeat_ns % kNsPerSecond != 0) table.error("heartbeat", "must be whole seconds");
    session_.heartbeat_s = static_cast<std::uint32_t>(heartbeat_ns / kNsPerSecond);
    password_file_ = config::in_folder(place.folder, table.text("password_file"));
    if (auto templates = table.table("templates")) {
      for (const std::string& type : templates->keys()) {
        session_.templates.push_back({type, static_cast<std::uint32_t>(templates->integer(type))});
      }
      templates->finish();
    }
    limits_.patience_ns = table.duration_ns("patience");
    limits_.retry_ns = table.duration_ns("retry");
  }

  [[nodiscard]] OpenedPort open(PortContext& context, std::vector<std::string>& /*notes*/) const override {
    if (!context.open_session) return Failure{"sessions are for an appliance"};
    StepPortOptions options{
        .session = session_, .limits = limits_, .clock = context.clock, .open_session = context.open_session};
    auto password = os::read_secret(password_file_);
    if (!password) return password.failure();
    if (!password_file_.empty() && !fix::is_fix_value(password.value())) {
      return Failure{"the password in '" + password_file_ + "' must be 1 to 64 printable characters, in ASCII"};
    }
    options.session.password = std::move(password).value();
    return make_step_port(std::move(options));
  }
  [[nodiscard]] bool has_sessions() const noexcept override { return true; }
  [[nodiscard]] std::string password_file() const override { return password_file_; }

 private:
  static std::string value_of(config::Table& table, const char* key) {
    std::string text = table.text(key);
    if (!text.empty() && !fix::is_fix_value(text)) table.error(key, "must be 1 to 64 printable characters, in ASCII");
    return text;
  }

  fix::StepOptions session_;
  fix::StepLimits limits_;
  std::string password_file_;
};

}  // namespace

std::vector<config::Key> step_port_keys() {
  const fix::StepOptions usual;
  const fix::StepLimits limits;
  constexpr std::uint64_t kHour = 3'600 * kNsPerSecond;
  return {config::text_key("sender",
                           "SenderCompID of the log-on. All of STEP is unproven: no session of another "
                           "program was at hand to compare with.")
              .otherwise(usual.sender),
          config::text_key("target", "TargetCompID of the log-on.").otherwise(usual.target),
          config::text_key("password_file", "Its first line is the password of the log-on.")
              .unless("no password")
              .such_as("\"password\""),
          config::text_key("version", "DefaultApplVerID of the log-on.").unless("none").such_as("\"1.02\""),
          config::duration_key("heartbeat", {0, kHour},
                               "HeartBtInt, in whole seconds; 0: no heartbeats, and a server whose host answers may be "
                               "silent.")
              .otherwise(0),
          config::names_key(
              "templates", config::integer_key("", {0, 0xFFFF'FFFF}, "The identifier of the template.").such_as("3202"),
              "By MsgType: the template of the first message in RawData that does not name it.")
              .unless("each first message names its template"),
          config::duration_key("patience", {10'000'000, 60 * kNsPerSecond},
                               "For the connection, and for the answer to the log-on.")
              .otherwise(limits.patience_ns),
          config::duration_key(
              "retry", {10'000'000, limits.longest_retry_ns},
              "From the end of a connection to the next; twice as long after each that brought no data, up to 64s.")
              .otherwise(limits.retry_ns)};
}

std::unique_ptr<PortSource> read_step_port(config::Table& table, const PortPlace& place) {
  return std::make_unique<StepSource>(table, place);
}

}  // namespace stopbit::ingest
