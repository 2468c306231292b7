// The module stopbit._core. Its interface for users is documented in stopbit/__init__.py.

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "host/bindings/python/arrays.hpp"
#include "host/bindings/python/captured_market.hpp"
#include "host/bindings/python/columns.hpp"
#include "host/bindings/python/dicts.hpp"
#include "host/bindings/python/errors.hpp"
#include "host/bindings/python/market.hpp"
#include "host/bindings/python/record_feed.hpp"
#include "host/bindings/python/unlocked.hpp"
#include "host/market/event/fields.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/name.hpp"
#include "host/ring/reader.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::python {
namespace {

using namespace std::chrono_literals;

/// How long a wait may last before the next check for Ctrl-C.
constexpr auto kPatience = 50ms;

/// Raises KeyboardInterrupt if it is time. Needs the GIL.
void check_signals() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

Decimals decimals_of(const std::string& name) {
  if (name == "exact") return Decimals::Exact;
  if (name == "float") return Decimals::Float;
  throw consumer::Failed(consumer::Fault::Usage, "decimals: '" + name + "' is not exact or float");
}

/// The arguments that replays and columns share.
struct Wish {
  std::string framing;
  std::string reset;
  std::string engine;
  bool strict = false;
  std::string pace;
  std::vector<std::string> groups;
  std::uint64_t limit = 0;
  bool merge = false;
  consumer::FeedPtr feed;

  [[nodiscard]] consumer::ReplayWish replay() const {
    return {.decode = {.framing = framing, .reset = reset, .engine = engine, .strict = strict},
            .pace = pace,
            .groups = groups,
            .limit = limit,
            .merge = merge,
            .feed = feed};
  }
};

py::dict summary_dict(const replay::Summary& summary, EngineKind engine) {
  py::dict result;
  result["engine"] = engine_name(engine);
  result["packets"] = summary.packets;
  result["datagrams"] = summary.datagrams;
  result["messages"] = summary.messages;
  result["fields"] = summary.fields;
  result["errors"] = summary.error_count();
  result["problems"] = summary.problems;
  result["seconds"] = summary.seconds;
  return result;
}

/// InputError if a capture broke off.
void require_whole(const replay::Summary& summary) {
  if (summary.faults != 0) throw consumer::Failed(consumer::Fault::Input, summary.problems.back());
}

/// The iterator of stopbit.replay.
class Replay {
 public:
  Replay(consumer::FirmwarePtr firmware, const std::vector<std::string>& captures, const Wish& wish,
         const std::string& decimals, bool with_header)
      : dicts_(firmware, decimals_of(decimals), with_header),
        feed_(open(std::move(firmware), captures, wish)),
        engine_(feed_->engine()) {}
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() { end(); }

  py::dict next() {
    const Ending ending(*this);
    const Use use(is_busy_, "replay");
    while (rest_.empty()) {
      if (feed_ == nullptr || is_closing_) throw py::stop_iteration();
      wait();
    }
    const auto record = rest_.first(record::HeaderView(rest_.front()).slots());
    rest_ = rest_.subspan(record.size());
    return dicts_.make(record);
  }

  [[nodiscard]] py::object summary() const {
    return summary_ ? py::object(summary_dict(*summary_, engine_)) : py::none();
  }

  /// While another call is in progress this asks it to end the replay, which it does before it returns.
  void close() {
    if (!is_busy_) return end();
    is_closing_ = true;
    if (feed_ != nullptr) feed_->request_stop();
  }

 private:
  /// Others run meanwhile: a capture may be a pipe, whose first bytes are waited for.
  static std::unique_ptr<RecordFeed> open(consumer::FirmwarePtr firmware, const std::vector<std::string>& captures,
                                          const Wish& wish) {
    const Unlocked unlocked;
    return std::make_unique<RecordFeed>(std::move(firmware), captures, wish.replay());
  }
  /// Ends the replay after a call during which its end was requested.
  class Ending {
   public:
    explicit Ending(Replay& replay) noexcept : replay_(replay) {}
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() {
      if (replay_.is_closing_ && !replay_.is_busy_) replay_.end();
    }

   private:
    Replay& replay_;
  };

  void wait() {
    check_signals();
    if (is_closing_) return;
    RecordFeed::Take found = RecordFeed::Take::Nothing;
    std::exception_ptr failure;
    {
      const Unlocked unlocked;
      try {
        found = feed_->take(kPatience);
      } catch (...) {
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    if (is_closing_) return;
    if (found == RecordFeed::Take::Chunk) rest_ = feed_->chunk();
    if (found != RecordFeed::Take::End) return;
    summary_ = feed_->summary();
    is_closing_ = true;
    require_whole(*summary_);
  }

  void end() noexcept {
    rest_ = {};
    // Others see no feed from here on: its end waits for a thread, without the GIL.
    std::unique_ptr<RecordFeed> ending = std::move(feed_);
    if (ending == nullptr) return;
    if (::getpid() != owner_) {
      (void)ending.release();  // NOLINT(bugprone-unused-return-value): a child of fork has no such thread to wait for
      return;
    }
    const Unlocked unlocked;
    ending.reset();
  }

  DictMaker dicts_;
  std::unique_ptr<RecordFeed> feed_;  ///< Null: the end.
  EngineKind engine_;
  std::span<const record::Slot> rest_;  ///< Of the feed's chunk.
  std::optional<replay::Summary> summary_;
  bool is_busy_ = false;     ///< A call is in progress.
  bool is_closing_ = false;  ///< It ends the replay on its way out.
  pid_t owner_ = ::getpid();
};

os::Accepted accepted_with(const std::optional<std::string>& user) {
  if (!user) return os::Accepted();
  const std::optional<uid_t> number = os::user_number(*user);
  if (!number) throw consumer::Failed(consumer::Fault::Usage, "user: this machine has no user '" + *user + "'");
  return os::Accepted(number);
}

ring::Reader open_ring(const std::string& name, const std::string& start, std::optional<bool> lossless,
                       double timeout_seconds, const os::Accepted& accepted) {
  if (start != "oldest" && start != "newest") {
    throw consumer::Failed(consumer::Fault::Usage, "start: '" + start + "' is not oldest or newest");
  }
  if (const auto path = os::path_of(name); !path) throw consumer::Failed(consumer::Fault::Usage, path.message());
  bool is_interrupted = false;
  const auto keep_waiting = [&] {
    const Locked locked;
    is_interrupted = is_interrupted || PyErr_CheckSignals() != 0;
    return !is_interrupted;
  };
  Result<ring::Reader> opened = [&] {
    const Unlocked unlocked;
    Result<ring::Reader> found =
        ring::Reader::open(name, start == "newest" ? ring::Start::Newest : ring::Start::Oldest, accepted);
    if (!found || !lossless.value_or(found.value().mode() == ring::Mode::Lossless)) return found;
    constexpr double kMostSeconds = 1e7;
    const auto timeout_ns = static_cast<std::uint64_t>(std::min(timeout_seconds, kMostSeconds) * 1e9);
    return ring::Reader::attach(name, timeout_ns, keep_waiting, accepted);
  }();
  if (is_interrupted) throw py::error_already_set();
  if (!opened) throw RingFailed(opened.message());
  return std::move(opened).value();
}

/// The iterator of stopbit.ring.
class Ring {
 public:
  Ring(const std::string& name, const std::string& start, std::optional<bool> lossless, double timeout_seconds,
       const std::string& decimals, bool with_header, const std::optional<std::string>& user)
      : Ring(name, start, lossless, timeout_seconds, decimals, with_header, accepted_with(user)) {}

  /// The next record, or None.
  py::object poll() {
    const Use use(is_busy_, "ring");
    return found();
  }

  py::list batch(std::size_t most) {
    const Use use(is_busy_, "ring");
    py::list result;
    while (result.size() < most) {
      py::object record = found();
      if (record.is_none()) break;
      result.append(std::move(record));
    }
    return result;
  }

  /// Waits for the next record.
  py::object next() {
    const Use use(is_busy_, "ring");
    for (bool has_ended = false;;) {
      py::object record = found();
      if (!record.is_none()) return record;
      // The writer's last records may have come between this poll and its end: once more after it.
      if (has_ended) break;
      check_signals();
      const Unlocked unlocked;
      has_ended = reader_.writer() != ring::WriterState::Running;
      if (!has_ended) std::this_thread::sleep_for(kIdleWait);
    }
    if (reader_.writer() == ring::WriterState::Dead) {
      throw RingFailed(name_ + ": the writer died");
    }
    throw py::stop_iteration();
  }

  /// Of the available market events.
  py::dict batch_columns(std::size_t most) {
    const Use use(is_busy_, "ring");
    MarketColumns columns;
    const auto add = [&](std::span<const record::Slot> slots) {
      for (const std::span<const record::Slot> record : ring::Records(slots)) {
        if (market::is_event(record[0])) columns.add(market::Event::from(record[0]));
      }
    };
    add(std::exchange(rest_, {}));
    for (bool is_over = false; !is_over && columns.kind.size() < most;) {
      switch (reader_.poll_batch(most - columns.kind.size())) {
        case ring::Poll::Record: add(reader_.slots()); break;
        case ring::Poll::Lost: break;  // counted
        case ring::Poll::Damaged: throw RingFailed(name_ + ": " + reader_.damage());
        case ring::Poll::Nothing: is_over = true;
      }
    }
    return to_arrays(std::move(columns));
  }

  py::list instruments() {
    const Use use(is_busy_, "ring");
    return market_.instruments(dicts_);
  }
  py::list states() {
    const Use use(is_busy_, "ring");
    return market_.states(dicts_);
  }
  py::object instrument(const std::string& key_or_name) {
    const Use use(is_busy_, "ring");
    return market_.instrument(key_or_name, dicts_);
  }
  py::object state(const std::string& key_or_name) {
    const Use use(is_busy_, "ring");
    return market_.state(key_or_name, dicts_);
  }

  [[nodiscard]] std::uint64_t lost_records() const { return reader_.total_lost_records(); }
  [[nodiscard]] std::uint64_t heartbeat_ns() const { return reader_.heartbeat_ns(); }
  [[nodiscard]] std::string writer() const {
    switch (reader_.writer()) {
      case ring::WriterState::Running: return "running";
      case ring::WriterState::Finished: return "finished";
      case ring::WriterState::Dead: break;
    }
    return "dead";
  }

 private:
  Ring(const std::string& name, const std::string& start, std::optional<bool> lossless, double timeout_seconds,
       const std::string& decimals, bool with_header, const os::Accepted& accepted)
      : name_(name),
        reader_(open_ring(name, start, lossless, timeout_seconds, accepted)),
        dicts_(consumer::load_image(reader_.image(), reader_.path()), decimals_of(decimals), with_header),
        market_(name, accepted, reader_.tables_epoch()) {}

  static constexpr auto kIdleWait = 200us;

  /// As poll.
  py::object found() {
    if (!rest_.empty()) return take();
    switch (reader_.poll_batch()) {
      case ring::Poll::Record: rest_ = reader_.slots(); return take();
      case ring::Poll::Lost: return lost();
      case ring::Poll::Damaged: throw RingFailed(name_ + ": " + reader_.damage());
      case ring::Poll::Nothing: break;
    }
    return py::none();
  }

  py::dict take() {
    const auto record = rest_.first(record::HeaderView(rest_.front()).slots());
    rest_ = rest_.subspan(record.size());
    return market::is_event(record[0]) ? market_.event(record[0], dicts_) : dicts_.make(record);
  }

  [[nodiscard]] py::dict lost() const {
    py::dict event;
    event["event"] = "lost";
    event["records"] = reader_.lost_records();
    event["detail"] = "the writer was faster than this reader";
    return event;
  }

  std::string name_;
  ring::Reader reader_;
  DictMaker dicts_;
  MarketDicts market_;
  std::span<const record::Slot> rest_;  ///< Of the reader's batch.
  bool is_busy_ = false;                ///< A call is in progress.
};

/// Replays captures into columns, without the GIL.
py::dict columns(const consumer::FirmwarePtr& firmware, const std::vector<std::string>& captures, const Wish& wish) {
  Columns columns(firmware->schema());
  std::exception_ptr failure;
  std::optional<consumer::CaptureReplay> replay;
  const auto stop_with = [&](std::exception_ptr cause) {
    if (!failure) failure = std::move(cause);
    replay->request_stop();
  };
  record::BufferSink sink(firmware->program().max_record_slots, [&](std::span<const record::Slot> slots) noexcept {
    if (failure) return;
    try {
      const record::ReadError error = columns.add(slots);
      if (error == record::ReadError::None) return;
      throw consumer::Failed(consumer::Fault::Input,
                             "a record cannot be read: " + std::string(record::error_text(error)));
    } catch (...) {
      stop_with(std::current_exception());
    }
  });
  bool is_interrupted = false;
  const auto look_for_signals = [&](const replay::Progress&) {
    const Locked locked;
    if (is_interrupted || PyErr_CheckSignals() == 0) return;
    is_interrupted = true;
    replay->request_stop();
  };
  replay::Summary summary;
  {
    const Unlocked unlocked;  // what is opened may be a pipe
    replay.emplace(firmware, captures, wish.replay(), sink, look_for_signals);
    summary = replay->run();
    if (!failure && !is_interrupted) columns.finish();
  }
  if (is_interrupted) throw py::error_already_set();
  if (failure) std::rethrow_exception(failure);
  require_whole(summary);
  return to_arrays(columns, firmware->schema());
}

/// The values of the columns kind and level: {name: number}.
template <class Enumerator>
py::dict numbers_of(unsigned end) {
  py::dict result;
  for (unsigned value = 0; value < end; ++value) {
    const std::string_view name = name_of(static_cast<Enumerator>(value));
    if (!name.empty()) result[py::str(name.data(), name.size())] = value;
  }
  return result;
}

py::dict market_numbers() {
  constexpr unsigned kEnd = 256;
  py::dict flags;
  for (const auto& [flag, name] : market::kFlagNames) flags[py::str(name.data(), name.size())] = flag;
  py::dict result;
  result["kind"] = numbers_of<market::Kind>(kEnd);
  result["side"] = numbers_of<market::Side>(kEnd);
  result["statistic"] = numbers_of<market::Statistic>(kEnd);
  result["cause"] = numbers_of<market::Cause>(kEnd);
  result["flag"] = flags;
  return result;
}

py::list templates_of(const consumer::Firmware& firmware) {
  py::list result;
  for (const Template& item : firmware.program().templates) {
    const std::string_view name = firmware.schema().name(item.name);
    result.append(py::make_tuple(item.id, py::str(name.data(), name.size())));
  }
  return result;
}

py::bytes image_of(const consumer::Firmware& firmware) {
  const std::vector<std::byte> image = image::write(firmware.program());
  return {reinterpret_cast<const char*>(image.data()), image.size()};
}

templates::CompileOptions compile_options(const std::string& fields, std::optional<std::uint32_t> template_id,
                                          bool session_control) {
  templates::CompileOptions options;
  if (!fields.empty()) options.fields = std::make_shared<const SourceBuffer>("fields", fields);
  options.template_id = template_id;
  options.session_control = session_control;
  return options;
}

/// "stopbit.NAME" in the module; stays for as long as the interpreter.
py::handle add_exception(py::module_& module, const char* name, const char* text, py::handle base) {
  const std::string full = std::string("stopbit.") + name;
  const py::handle type = PyErr_NewExceptionWithDoc(full.c_str(), text, base.ptr(), nullptr);
  if (!type) throw py::error_already_set();
  module.attr(name) = type;
  return type;
}

// For the translator, which cannot hold anything.
py::handle error_type, input_error_type, ring_error_type;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void translate(std::exception_ptr pending) {
  try {
    if (pending) std::rethrow_exception(std::move(pending));
  } catch (const RingFailed& failed) {
    PyErr_SetString(ring_error_type.ptr(), failed.what());
  } catch (const consumer::Failed& failed) {
    if (failed.fault() == consumer::Fault::Usage) return PyErr_SetString(PyExc_ValueError, failed.what());
    if (failed.fault() == consumer::Fault::Input) return PyErr_SetString(input_error_type.ptr(), failed.what());
    if (failed.system_error() == 0) return PyErr_SetString(error_type.ptr(), failed.what());
    errno = failed.system_error();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, failed.path().c_str());
  }
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The native part of stopbit/__init__.py.";
  error_type = add_exception(module, "Error", "Base class of all errors of stopbit.", PyExc_Exception);
  input_error_type =
      add_exception(module, "InputError", "Templates, firmware, a capture or a record was rejected.", error_type);
  ring_error_type =
      add_exception(module, "RingError", "A ring cannot be opened, is damaged, or its writer died.", error_type);
  py::register_exception_translator(&translate);

  using consumer::Firmware;
  py::class_<Firmware, std::shared_ptr<Firmware>>(module, "Program",
                                                  "A compiled and verified program of a feed, to be used any number of "
                                                  "times.")
      .def_static(
          "compile",
          [](const std::vector<std::string>& paths, const std::string& fields, std::optional<std::uint32_t> template_id,
             bool session_control) {
            return std::const_pointer_cast<Firmware>(
                consumer::compile(paths, compile_options(fields, template_id, session_control)));
          },
          py::arg("paths"), py::kw_only(), py::arg("fields") = "", py::arg("template_id") = py::none(),
          py::arg("session_control") = false, py::call_guard<Unlocked>(),
          "Compiles template files as one set. Records hold only the `fields`, names as `stopbit compile "
          "--fields` takes them; default: all.")
      .def_static(
          "load", [](const std::string& path) { return std::const_pointer_cast<Firmware>(consumer::load(path)); },
          py::arg("path"), py::call_guard<Unlocked>(), "Reads and verifies a firmware image (.sbf).")
      .def_static(
          "from_image",
          [](const py::bytes& image) {
            const std::string_view bytes = image;
            return std::const_pointer_cast<Firmware>(consumer::load_image(std::as_bytes(std::span(bytes)), "image"));
          },
          py::arg("image"), "Reads and verifies a firmware image in memory.")
      .def_property_readonly("templates", &templates_of, "A list of (id, name).")
      .def_property_readonly("warnings", &Firmware::warnings, "Warnings of the compiler; empty if none.")
      .def_property_readonly(
          "layout_hash", [](const Firmware& firmware) { return layout_hash(firmware.program()); },
          "Equal for programs with the same record layout.")
      .def_property_readonly(
          "is_projected", [](const Firmware& firmware) { return is_projected(firmware.program()); },
          "Whether its records hold only some of the fields.")
      .def("image", &image_of, "The firmware image, as written by `stopbit compile`.");

  py::class_<consumer::Feed, std::shared_ptr<consumer::Feed>>(module, "Feed", "A feed.toml, opened with one image.")
      .def(py::init([](const std::string& path, const std::string& image, const std::string& fields) {
             return std::const_pointer_cast<consumer::Feed>(
                 consumer::open_feed(path, image, compile_options(fields, std::nullopt, false)));
           }),
           py::arg("path"), py::kw_only(), py::arg("image"), py::arg("fields"), py::call_guard<Unlocked>())
      .def_property_readonly(
          "program", [](const consumer::Feed& feed) { return std::const_pointer_cast<Firmware>(feed.firmware()); });

  py::class_<Wish>(module, "Wish", "How a capture is decoded.")
      .def(py::init([](std::string framing, std::string reset, std::string engine, bool strict, std::string pace,
                       std::vector<std::string> groups, std::uint64_t limit, bool merge,
                       const std::shared_ptr<consumer::Feed>& feed) {
             return Wish{std::move(framing),
                         std::move(reset),
                         std::move(engine),
                         strict,
                         std::move(pace),
                         std::move(groups),
                         limit,
                         merge,
                         feed};
           }),
           py::kw_only(), py::arg("framing"), py::arg("reset"), py::arg("engine"), py::arg("strict"), py::arg("pace"),
           py::arg("groups"), py::arg("limit"), py::arg("merge") = false, py::arg("feed") = py::none());

  py::class_<Replay>(module, "Replay", "Iterates the records of captures; made by stopbit.replay.")
      .def(py::init([](const std::shared_ptr<Firmware>& program, const std::vector<std::string>& captures,
                       const Wish& wish, const std::string& decimals,
                       bool header) { return std::make_unique<Replay>(program, captures, wish, decimals, header); }),
           py::arg("program"), py::arg("captures"), py::arg("wish"), py::kw_only(), py::arg("decimals"),
           py::arg("header"))
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &Replay::next)
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](Replay& self, const py::args&) { self.close(); })
      .def("close", &Replay::close,
           "Ends the replay. Later iteration gives no records. From another thread or a signal handler, it asks the "
           "call in progress to end the replay and does not wait.")
      .def_property_readonly("summary", &Replay::summary,
                             "Counts and problems of the replay; None until the last record was taken.");

  py::class_<Ring>(module, "Ring", "Iterates the records of a ring; made by stopbit.ring.")
      .def(py::init<const std::string&, const std::string&, std::optional<bool>, double, const std::string&, bool,
                    const std::optional<std::string>&>(),
           py::arg("name"), py::kw_only(), py::arg("start"), py::arg("lossless"), py::arg("timeout"),
           py::arg("decimals"), py::arg("header"), py::arg("user") = py::none())
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &Ring::next)
      .def("poll", &Ring::poll, "The next record, or None if there is none yet. Does not wait.")
      .def("batch", &Ring::batch, py::arg("most") = 1024, "A list of the available records. Does not wait.")
      .def("batch_columns", &Ring::batch_columns, py::arg("most") = 65'536,
           "The available market events as numpy arrays: {column: array}. Does not wait. Other records are skipped; "
           "`lost` counts those that were overwritten.")
      .def("instruments", &Ring::instruments,
           "The instruments of the market events: a list of dicts, in the order of their rows, with the content of a "
           "line of `stopbit instruments`. RingError if there is no table, or if the ring's has been replaced.")
      .def("states", &Ring::states,
           "The newest state of each instrument, read without an event: a list of dicts with the content of a line of "
           "`stopbit states --format jsonl`. RingError as instruments().")
      .def("instrument", &Ring::instrument, py::arg("key_or_name"),
           "One of instruments(), by its key or, else, its name; None if there is no such instrument.")
      .def("state", &Ring::state, py::arg("key_or_name"), "Likewise, one of states().")
      .def_property_readonly("lost", &Ring::lost_records,
                             "Records overwritten by the writer before they were read, "
                             "so far.")
      .def_property_readonly("writer", &Ring::writer, "\"running\", \"finished\" or \"dead\".")
      .def_property_readonly("heartbeat_ns", &Ring::heartbeat_ns,
                             "When the writer has last said that it is well, by the clock of its host: ns since 1970, "
                             "several times a second, also in a quiet market. It stops if its process is stopped.");

  py::class_<CapturedMarket>(module, "CapturedMarket", "Captures as market events and books; of stopbit.Market.")
      .def(py::init([](const std::shared_ptr<Firmware>& program, const std::vector<std::string>& captures,
                       const Wish& wish, const std::string& map, std::optional<std::uint64_t> depth,
                       std::uint32_t instruments) {
             return std::make_unique<CapturedMarket>(program, captures, wish.replay(), map, depth, instruments);
           }),
           py::arg("program"), py::arg("captures"), py::arg("wish"), py::kw_only(), py::arg("map"), py::arg("depth"),
           py::arg("instruments"))
      .def("events", &CapturedMarket::events, "{column: array}, as Ring.batch_columns.")
      .def("instruments", &CapturedMarket::instruments, "As Ring.instruments, at the end of the captures.")
      .def("book", &CapturedMarket::book, py::arg("instrument"), py::kw_only(), py::arg("channel"), py::arg("sequence"),
           py::arg("time_ns"), py::arg("levels"), "A dict: instrument, is_known, book, and columns of both sides.")
      .def_property_readonly("quantity_decimals", &CapturedMarket::quantity_decimals);

  module.def("market_numbers", &market_numbers, "stopbit.MARKET.");
  module.def(
      "columns",
      [](const std::shared_ptr<Firmware>& program, const std::vector<std::string>& captures, const Wish& wish) {
        return columns(program, captures, wish);
      },
      py::arg("program"), py::arg("captures"), py::arg("wish"));
}

}  // namespace stopbit::python
