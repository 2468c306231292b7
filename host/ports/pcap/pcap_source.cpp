#include "host/ports/pcap/pcap_source.hpp"

#include <pcap/pcap.h>

#include <array>
#include <cstdio>
#include <utility>

#include "host/ports/byte_stream.hpp"
#include "host/ports/pcap/pcapng_source.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::ingest {
namespace {

/// A stdio stream over a ByteStream, which libpcap reads from and which must outlive it. Its position is that of
/// libpcap, not of what is buffered.
FILE* make_file(ByteStream& stream) {
  const auto read = [](void* cookie, char* to, std::size_t bytes) -> ssize_t {
    return static_cast<ssize_t>(static_cast<ByteStream*>(cookie)->read(reinterpret_cast<std::byte*>(to), bytes));
  };
  // Supports only the query for the position.
  const auto seek = [](void* cookie, off64_t* offset, int whence) -> int {
    if (whence != SEEK_CUR || *offset != 0) return -1;
    *offset = static_cast<off64_t>(static_cast<ByteStream*>(cookie)->position());
    return 0;
  };
  cookie_io_functions_t functions{};
  functions.read = read;
  functions.seek = seek;
  return ::fopencookie(&stream, "rb", functions);
}

class PcapSource final : public PacketSource {
 public:
  /// Takes the handle over.
  PcapSource(std::unique_ptr<ByteStream> stream, pcap_t* handle, net::LinkType link)
      : stream_(std::move(stream)), handle_(handle), file_(pcap_file(handle)), link_(link) {}
  ~PcapSource() override { pcap_close(handle_); }

  Next next(Packet& packet) noexcept override {
    if (ended_) return Next::End;
    const std::uint64_t begin = position();
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    const int status = pcap_next_ex(handle_, &header, &data);
    if (status == 1) {
      packet.frame = {reinterpret_cast<const std::byte*>(data), header->caplen};
      packet.original_bytes = header->len;
      // Time stamps are the file's: a hostile one may wrap, no harm.
      packet.arrival_ns =
          static_cast<std::uint64_t>(header->ts.tv_sec) * kNsPerSecond + static_cast<std::uint64_t>(header->ts.tv_usec);
      packet.number = ++packets_;
      packet.link = link_;
      return Next::Packet;
    }
    ended_ = true;
    if (status == PCAP_ERROR_BREAK && stream_->fault().empty()) return Next::End;
    set_fault(begin);
    return Next::Fault;
  }

  std::string_view name() const noexcept override { return stream_->name(); }
  const Fault& fault() const noexcept override { return fault_; }
  SourceProgress progress() const noexcept override {
    return {stream_->compressed() ? stream_->file_bytes_done() : position(), stream_->file_bytes_total()};
  }
  record::TimeQuality time_quality() const noexcept override { return record::TimeQuality::Kernel; }
  void cancel() noexcept override { stream_->cancel(); }
  void ask_while_waiting(std::function<bool()> is_cancelled) override {
    stream_->ask_while_waiting(std::move(is_cancelled));
  }

 private:
  [[nodiscard]] std::uint64_t position() const noexcept { return static_cast<std::uint64_t>(::ftello(file_)); }

  void set_fault(std::uint64_t begin) {
    fault_.packet = packets_ + 1;
    fault_.offset = begin;
    const std::string text = pcap_geterr(handle_);
    const std::string end = std::to_string(position());
    fault_.message =
        stream_->name() + ": packet " + std::to_string(fault_.packet) + ", at byte " + std::to_string(begin);
    if (!stream_->fault().empty()) {
      fault_.message += ": " + stream_->fault();
    } else if (text.starts_with("truncated")) {
      fault_.message += ": cut: the file ends at byte " + end + ", inside the packet's record";
    } else {
      fault_.message += ": " + text;
    }
  }

  std::unique_ptr<ByteStream> stream_;
  pcap_t* handle_;
  FILE* file_;  ///< Owned by the handle.
  net::LinkType link_;
  std::uint64_t packets_ = 0;
  bool ended_ = false;
  Fault fault_;
};

Result<std::unique_ptr<PacketSource>> open_stream(Result<std::unique_ptr<ByteStream>> opened) {
  if (!opened) return Failure{opened.message()};
  std::unique_ptr<ByteStream> stream = std::move(opened).value();
  if (stream->starts_with(kPcapngMagic)) return open_pcapng(std::move(stream));
  FILE* const file = make_file(*stream);
  if (file == nullptr) return Failure{stream->name() + ": not enough memory to open it"};
  std::array<char, PCAP_ERRBUF_SIZE> error{};
  pcap_t* const handle = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error.data());
  if (handle == nullptr) {
    std::fclose(file);
    const std::string why = stream->fault().empty() ? error.data() : stream->fault();
    return Failure{stream->name() + ": not a pcap or pcapng capture: " + why};
  }
  const int dlt = pcap_datalink(handle);
  const auto link = net::link_type_from_dlt(dlt);
  if (!link) {
    const char* const known = pcap_datalink_val_to_name(dlt);
    pcap_close(handle);
    return Failure{stream->name() + ": link type " + std::to_string(dlt) +
                   (known != nullptr ? std::string(" (") + known + ")" : "") +
                   " is not supported (Ethernet, Linux cooked, raw IP and loopback are)"};
  }
  return std::unique_ptr<PacketSource>(std::make_unique<PcapSource>(std::move(stream), handle, *link));
}

}  // namespace

Result<std::unique_ptr<PacketSource>> open_capture(const std::string& path) {
  return open_stream(ByteStream::open(path));
}

Result<std::unique_ptr<PacketSource>> open_capture(int descriptor, std::string name) {
  return open_stream(ByteStream::from_descriptor(descriptor, std::move(name)));
}

}  // namespace stopbit::ingest
