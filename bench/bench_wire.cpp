/// From a packet that is due on a wire to its record in another process: `stopbit run` as it is installed, on the other
/// end of a virtual cable, with its port a socket or DPDK's net_af_packet. Open loop: packets are due at fixed times,
/// and the clock of each begins then. One thread sends and reads, so two processors are enough.

#include <sys/types.h>
#include <time.h>

#include <array>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/lib/appliance.hpp"
#include "bench/lib/arguments.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/histogram.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/ticks.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json.hpp"
#include "decoder/record/views.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/ports/out/socket/udp_sender.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "host/ring/reader.hpp"
#include "microcode/image/image.hpp"
#include "tests/lib/veth.hpp"

namespace stopbit::bench {
namespace {

using namespace std::chrono_literals;
using testing::Veth;
using Steady = std::chrono::steady_clock;

constexpr std::array kRates = {1'000, 10'000, 50'000};  ///< Packets a second.
constexpr std::size_t kPackets = 2'048;                 ///< Of the sample, over and over.
constexpr std::size_t kUnderWay = 1U << 16;             ///< Numbers of which the due time is kept; a power of two.
constexpr net::Endpoint kGroup = {0xEF140101, 20'001};
constexpr std::size_t kRests = 50;  ///< Of one burst of packets that come after a rest.
constexpr auto kRest = 100ms;       ///< A thread with idle = "backoff" has gone to sleep by then.
constexpr auto kPatience = 30s;     ///< For a record that is late; the machine may be busy.

template <class T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.message());
  return std::move(result).value();
}

using Payloads = std::vector<std::vector<std::byte>>;

Payloads sample_payloads() {
  const auto source = need(ingest::open_capture(STOPBIT_SAMPLE_FOLDER "/capture.pcap.gz"));
  Payloads payloads;
  ingest::Packet packet;
  while (payloads.size() < kPackets && source->next(packet) == ingest::Next::Packet) {
    net::Datagram datagram;
    if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted)
      continue;
    payloads.emplace_back(datagram.payload.begin(), datagram.payload.end());
  }
  return payloads;
}

/// What the records of each payload have to be.
struct Answers {
  std::vector<std::string> lines;      ///< JSON, by payload.
  std::vector<std::uint64_t> records;  ///< How many, by payload.
};

/// By the interpreter, in this process.
Answers answers_of(const Payloads& payloads, const Program& program, record::JsonPrinter& printer) {
  const net::Framing framing = need(net::parse_framing("cme"));
  const std::unique_ptr<Engine> engine = make_engine(program, {}, EngineKind::Quick).engine;
  Answers answers;
  std::string lines;
  std::uint64_t records = 0;
  record::BufferSink sink(program.max_record_slots, [&](std::span<const record::Slot> slots) {
    ++records;
    if (printer.print(slots, lines) != record::ReadError::None) lines += "unreadable\n";
  });
  for (const std::vector<std::byte>& payload : payloads) {
    const net::Preamble preamble = net::read_preamble(framing, payload);
    PacketInfo info;
    info.data_offset = preamble.data_begin;
    (void)engine->decode(std::span(payload).first(preamble.data_end), info, sink);
    answers.lines.push_back(std::exchange(lines, {}));
    answers.records.push_back(std::exchange(records, 0));
  }
  return answers;
}

/// Both ends: packets go out, their records come back through the ring.
class Wire {
 public:
  Wire(const TickClock& clock, ring::Reader& reader)
      : clock_(clock),
        reader_(reader),
        program_(need(image::read(reader.image()))),
        schema_(need(record::Schema::make(program_))),
        printer_(schema_),
        payloads_(sample_payloads()),
        answers_(answers_of(payloads_, program_, printer_)),
        sender_(open_sender()),
        due_(kUnderWay) {}

  /// Sends until there is a record: a port may take seconds to open, and nothing counts before. Throws if the appliance
  /// ends or stays silent.
  void wake(Appliance& appliance) {
    for (const auto until = Steady::now() + kPatience; reader_.poll() != ring::Poll::Record;) {
      if (!appliance.runs() || Steady::now() > until) throw std::runtime_error("no record comes from the appliance");
      send(ticks());
      std::this_thread::sleep_for(10ms);
    }
    first_ = next_;
    read_ = next_ - 1;
    expected_records_ = 0;
  }

  /// Every payload at an easy pace; its records, as text, have to be the interpreter's. Throws.
  void check() {
    std::string expected;
    std::string lines;
    for (std::size_t i = 0; i < payloads_.size(); ++i) {
      expected += answers_.lines[next_ % payloads_.size()];
      send(ticks());
      read(nullptr, &lines);
      std::this_thread::sleep_for(200us);
    }
    await(nullptr, &lines);
    if (lines != expected) throw std::runtime_error("records differ from the interpreter's");
  }

  /// Ticks from due to read, of packets that are due at this rate for a quarter of a second.
  Histogram burst(int rate) {
    Histogram latencies;
    const double interval = clock_.ticks_of(1e9 / rate);
    const std::uint64_t last = next_ + static_cast<std::uint64_t>(kBurstSeconds * rate) - 1;
    {
      const Undisturbed undisturbed;
      const std::uint64_t first = next_;
      const std::uint64_t begin = ticks();
      while (next_ <= last) {
        const std::uint64_t due = begin + static_cast<std::uint64_t>(static_cast<double>(next_ - first) * interval);
        if (ticks() >= due) send(due);
        read(&latencies, nullptr);
      }
    }
    await(&latencies, nullptr);
    return latencies;
  }

  /// Ticks from due to read, of packets that each find the appliance asleep.
  Histogram after_rests() {
    Histogram latencies;
    for (std::size_t i = 0; i < kRests; ++i) {
      std::this_thread::sleep_for(kRest);
      const Undisturbed undisturbed;
      send(ticks());
      await(&latencies, nullptr);
    }
    return latencies;
  }

  /// Packets without a record, records too few or too many, events: empty if all is well.
  [[nodiscard]] std::string fault() const {
    if (lost_ == 0 && events_ == 0 && records_ == expected_records_) return {};
    return fmt::format("{} packets did not arrive, {} events, {} records instead of {}", lost_, events_, records_,
                       expected_records_);
  }

 private:
  static egress::UdpSender open_sender() {
    egress::UdpSenderOptions options;
    options.interface = Veth::kSender;
    options.source = {Veth::kSenderAddress, 20'000};
    options.batch = 1;
    return need(egress::UdpSender::open(options));
  }

  void send(std::uint64_t due) {
    std::vector<std::byte>& payload = payloads_[next_ % payloads_.size()];
    expected_records_ += answers_.records[next_ % payloads_.size()];
    net::store_be(payload.data(), static_cast<std::uint32_t>(next_));
    due_[next_ % kUnderWay] = due;
    ++next_;
    sender_.add(kGroup, payload);
    sender_.flush();
  }

  /// Takes the published records. The first record of a packet counts.
  void read(Histogram* latencies, std::string* lines) {
    while (reader_.poll() == ring::Poll::Record) {
      const std::uint64_t now = ticks();
      const record::HeaderView header(reader_.record().front());
      if (header.is_event()) {
        events_ += read_ < first_ ? 0 : 1;
        continue;
      }
      if (header.sequence() < first_) continue;
      ++records_;
      if (lines != nullptr && printer_.print(reader_.record(), *lines) != record::ReadError::None) {
        *lines += "unreadable\n";
      }
      if (header.sequence() <= read_ || header.sequence() >= next_) continue;
      lost_ += header.sequence() - read_ - 1;
      read_ = header.sequence();
      if (latencies != nullptr) latencies->record(now - due_[read_ % kUnderWay]);
    }
  }

  /// Until all records have arrived, or the time limit ends.
  void await(Histogram* latencies, std::string* lines) {
    const auto until = Steady::now() + kPatience;
    while ((read_ + 1 < next_ || records_ < expected_records_) && Steady::now() < until) read(latencies, lines);
    lost_ += next_ - read_ - 1;
    read_ = next_ - 1;
  }

  const TickClock& clock_;
  ring::Reader& reader_;
  const Program program_;
  const record::Schema schema_;
  record::JsonPrinter printer_;
  Payloads payloads_;
  const Answers answers_;
  egress::UdpSender sender_;
  std::vector<std::uint64_t> due_;
  std::uint64_t next_ = 1;   ///< Number of the next packet.
  std::uint64_t first_ = 1;  ///< That counts.
  std::uint64_t read_ = 0;   ///< The last that came.
  std::uint64_t lost_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t expected_records_ = 0;
};

/// Something is due at this rate, and a loop that only reads the clock sees it: nothing that is measured can be better.
Histogram clock_alone(const TickClock& clock, int rate) {
  Histogram latencies;
  const double interval = clock.ticks_of(1e9 / rate);
  const auto count = static_cast<std::uint64_t>(kBurstSeconds * rate);
  const std::uint64_t begin = ticks();
  for (std::uint64_t i = 0; i < count;) {
    const std::uint64_t due = begin + static_cast<std::uint64_t>(static_cast<double>(i) * interval);
    const std::uint64_t now = ticks();
    if (now < due) continue;
    latencies.record(now - due);
    ++i;
  }
  return latencies;
}

using Bursts = std::array<std::vector<Histogram>, kRates.size()>;

void add(Report& report, const std::string& name, const Bursts& bursts, const TickClock& clock) {
  for (std::size_t i = 0; i < kRates.size(); ++i) {
    report.add(fmt::format("wire/{}/{}", name, kRates[i]), "ns", bursts[i], clock.ns_per_tick());
  }
}

struct Machine {
  const TickClock& clock;
  int reader;  ///< Processor of the thread that sends and reads.
  int agent;   ///< Processor of the appliance's thread.
  std::size_t bursts;
  Bursts alone_as_reader;
  Bursts alone_as_agent;
};

void measure(const std::string& port, Machine& machine, Report& report) {
  std::string why;
  const auto veth = Veth::make(why);
  if (veth == nullptr) return report.note("wire: " + why);

  // The agent's processor, as long as there is no agent; an ordinary thread, as that one is.
  pin(machine.agent);
  for (std::size_t i = 0; i < kRates.size(); ++i) {
    for (std::size_t n = 0; n < machine.bursts; ++n) {
      machine.alone_as_agent[i].push_back(clock_alone(machine.clock, kRates[i]));
    }
  }
  pin(machine.reader);

  Appliance appliance(*veth, {.port = port, .group = "239.20.1.1", .processor = machine.agent});
  ring::Reader reader = appliance.reader();
  Wire wire(machine.clock, reader);
  wire.wake(appliance);
  wire.check();
  (void)wire.burst(kRates.front());  // caches
  Bursts latencies;
  for (std::size_t i = 0; i < kRates.size(); ++i) {
    for (std::size_t n = 0; n < machine.bursts && wire.fault().empty(); ++n) {
      latencies[i].push_back(wire.burst(kRates[i]));
      const Undisturbed undisturbed;
      machine.alone_as_reader[i].push_back(clock_alone(machine.clock, kRates[i]));
    }
  }
  if (const std::string fault = wire.fault(); !fault.empty()) return report.problem("wire/" + port + ": " + fault);
  add(report, port, latencies, machine.clock);
}

/// Processor time of a process so far, all its threads.
double processor_seconds(pid_t process) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    throw std::runtime_error("the processor time of the appliance cannot be read");
  }
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// An appliance that waits: what it costs, and how late it is when a packet comes.
void measure_rest(Machine& machine, Report& report) {
  std::string why;
  const auto veth = Veth::make(why);
  if (veth == nullptr) return report.note("wire: " + why);
  Appliance appliance(*veth, {.group = "239.20.1.1", .processor = machine.agent, .idle = "backoff"});
  ring::Reader reader = appliance.reader();
  Wire wire(machine.clock, reader);
  wire.wake(appliance);
  std::vector<double> shares;
  std::vector<Histogram> latencies;
  for (std::size_t n = 0; n < machine.bursts && wire.fault().empty(); ++n) {
    std::this_thread::sleep_for(kRest);
    const auto begin = Steady::now();
    const double used = processor_seconds(appliance.process());
    std::this_thread::sleep_for(1s);
    const std::chrono::duration<double> passed = Steady::now() - begin;
    shares.push_back(100 * (processor_seconds(appliance.process()) - used) / passed.count());
    latencies.push_back(wire.after_rests());
  }
  if (const std::string fault = wire.fault(); !fault.empty()) return report.problem("wire/rest: " + fault);
  report.add("wire/rest/processor", "% of a core", std::move(shares));
  report.add("wire/rest/first-packet", "ns", latencies, machine.clock.ns_per_tick());
}

void run(const Arguments& arguments, Report& report) {
  const TickClock clock;
  const auto processors = two_processors();
  if (!processors) return report.problem("wire: two processors are needed");
  if (!Undisturbed::is_possible()) report.note("wire: no SCHED_FIFO: others run on the reader's processor");
  Machine machine{clock, processors->first, processors->second, arguments.quick ? 2U : 15U, {}, {}};
  std::vector<std::string> ports = {"socket"};
#ifdef STOPBIT_DPDK
  ports.emplace_back("af_packet");
#endif
  for (const std::string& port : ports) {
    if (arguments.wants(port)) measure(port, machine, report);
  }
  if (arguments.wants("rest")) measure_rest(machine, report);
  if (machine.alone_as_reader.front().empty()) return;
  add(report, "clock-alone-reader", machine.alone_as_reader, clock);
  add(report, "clock-alone-agent", machine.alone_as_agent, clock);
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(
      argc, argv,
      "From a packet that is due on a virtual cable to its record in another process, through `stopbit run`.");
  Report report;
  try {
    run(arguments, report);
  } catch (const std::exception& failure) {
    report.problem(std::string("wire: ") + failure.what());
  }
  return report.finish(arguments.json);
}
