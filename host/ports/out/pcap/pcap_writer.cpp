#include "host/ports/out/pcap/pcap_writer.hpp"

#include <pcap/pcap.h>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "microcode/base/time.hpp"

namespace stopbit::egress {
namespace {

constexpr int kSnapLength = 262'144;

}  // namespace

/// libpcap writes to a stdio stream; this one ends in a sink. An exception must not cross libpcap: it is kept until
/// libpcap has returned.
class PcapWriter::File {
 public:
  explicit File(ByteSink sink) : sink_(std::move(sink)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (dumper_ != nullptr) pcap_dump_close(dumper_);  // closes the stream, which holds nothing back
    if (handle_ != nullptr) pcap_close(handle_);
  }

  [[nodiscard]] bool open() {
    handle_ = pcap_open_dead_with_tstamp_precision(DLT_EN10MB, kSnapLength, PCAP_TSTAMP_PRECISION_NANO);
    if (handle_ == nullptr) return false;
    const auto take = [](void* cookie, const char* bytes, std::size_t count) -> ssize_t {
      return static_cast<File*>(cookie)->take({bytes, count});
    };
    cookie_io_functions_t functions{};
    functions.write = take;
    FILE* const stream = ::fopencookie(this, "wb", functions);
    if (stream == nullptr) return false;
    std::setvbuf(stream, nullptr, _IONBF, 0);
    dumper_ = pcap_dump_fopen(handle_, stream);  // closes the stream if it cannot write the header
    rethrow();
    return dumper_ != nullptr;
  }

  void write(std::span<const std::byte> frame, std::uint64_t time_ns) {
    pcap_pkthdr header{};
    header.ts.tv_sec = static_cast<time_t>(time_ns / kNsPerSecond);
    header.ts.tv_usec = static_cast<suseconds_t>(time_ns % kNsPerSecond);  // nanoseconds, by the handle's precision
    header.caplen = static_cast<bpf_u_int32>(frame.size());
    header.len = header.caplen;
    pcap_dump(reinterpret_cast<u_char*>(dumper_), &header, reinterpret_cast<const u_char*>(frame.data()));
    rethrow();
  }

 private:
  ssize_t take(std::string_view bytes) noexcept {
    if (error_) return 0;
    try {
      sink_(bytes);
    } catch (...) {
      error_ = std::current_exception();
      return 0;
    }
    return static_cast<ssize_t>(bytes.size());
  }
  void rethrow() {
    if (error_) std::rethrow_exception(error_);
  }

  ByteSink sink_;
  pcap_t* handle_ = nullptr;
  pcap_dumper_t* dumper_ = nullptr;
  std::exception_ptr error_;
};

PcapWriter::PcapWriter(std::unique_ptr<File> file) : file_(std::move(file)) {}
PcapWriter::PcapWriter(PcapWriter&&) noexcept = default;
PcapWriter::~PcapWriter() = default;

Result<PcapWriter> PcapWriter::open(ByteSink sink) {
  auto file = std::make_unique<File>(std::move(sink));
  if (!file->open()) return Failure{"not enough memory to write a capture file"};
  return PcapWriter(std::move(file));
}

void PcapWriter::write(std::span<const std::byte> frame, std::uint64_t time_ns) {
  file_->write(frame, time_ns);
}

}  // namespace stopbit::egress
