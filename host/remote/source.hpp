#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "decoder/record/schema.hpp"
#include "host/market/state/tables.hpp"
#include "host/remote/node_port.hpp"
#include "host/remote/protocol.hpp"
#include "host/ring/reader.hpp"
#include "microcode/program.hpp"

namespace stopbit::remote {

/// A published ring of this host: one epoch of one writer. Its segment is memory of `owner`'s port, read-only, so that
/// late subscribers can fetch what is still in it without disturbing any process. Of the node's thread.
class Source {
 public:
  /// `owner` must outlive it. A failure says why the ring cannot be read.
  [[nodiscard]] static Result<std::shared_ptr<Source>> open(const std::string& ring, NodePort& owner);
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source();

  [[nodiscard]] const std::string& ring() const noexcept { return ring_; }
  /// Another reader of the same epoch. Nothing: the name belongs to another one by now.
  [[nodiscard]] std::optional<ring::Reader> reader(ring::Start start) const;
  /// The same of a lossless ring; wait for its seat. A failure says why there can be none.
  [[nodiscard]] Result<ring::Reader> lossless_reader() const;
  /// The ring's state when it was opened; not polled.
  [[nodiscard]] const ring::Reader& fixed() const noexcept { return look_; }
  [[nodiscard]] const Program& program() const noexcept { return program_; }
  [[nodiscard]] const record::Schema& schema() const noexcept { return *schema_; }
  [[nodiscard]] std::uint64_t slots_offset() const noexcept { return slots_offset_; }
  [[nodiscard]] std::uint64_t image_offset() const noexcept { return image_offset_; }

  /// A window to the whole segment, with a capability of its own. Nothing if the node has none left, or no addresses
  /// for a ring of this length.
  [[nodiscard]] std::optional<nic::WindowName> open_window();
  void close_window(const nic::WindowName& window) noexcept;
  /// The tables of instruments and states that belong to the ring; null: it has none.
  [[nodiscard]] const market::Tables* tables() const noexcept { return tables_ ? &*tables_ : nullptr; }
  /// Windows to these. Nothing as above, or there are none.
  [[nodiscard]] std::optional<TableWindows> open_tables();
  /// Reads that went through the window.
  [[nodiscard]] nic::WindowUse use_of(const nic::WindowName& window) const noexcept;

  /// Looks how the writer is: a system call. Once it has ended, it has.
  ring::WriterState look();
  [[nodiscard]] ring::WriterState writer() const noexcept { return writer_; }

 private:
  Source(std::string ring, NodePort& owner, ring::Reader look)
      : ring_(std::move(ring)), owner_(owner), look_(std::move(look)) {}

  std::string ring_;
  NodePort& owner_;
  ring::Reader look_;
  Program program_;
  std::optional<record::Schema> schema_;
  os::Mapping segment_;
  std::optional<nic::Nla> address_;
  std::optional<market::Tables> tables_;
  std::optional<nic::Nla> instruments_address_;
  std::optional<nic::Nla> states_address_;
  std::uint64_t slots_offset_ = 0;
  std::uint64_t image_offset_ = 0;
  ring::WriterState writer_ = ring::WriterState::Running;
};

}  // namespace stopbit::remote
