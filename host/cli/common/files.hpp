#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "microcode/base/diagnostic.hpp"

/// Files as the commands use them: `-` is stdin or stdout, and what goes wrong is a ToolError that names the file.
namespace stopbit::tools {

/// Call it before an input is opened: `-` is stdin, which can be one input of a command only. Throws if it is a second.
void claim_input(const std::string& path);
/// The same for a file that a library will open. Throws if it cannot be read.
void claim_file(const std::string& path);

/// An open file; closes it at the end, but not stdin.
class InputFile {
 public:
  [[nodiscard]] static InputFile open(const std::string& path);
  /// A text in memory, which is read as a file is.
  [[nodiscard]] static InputFile of_text(std::string name, std::string text);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  /// Up to `bytes` bytes; 0 at the end.
  [[nodiscard]] std::size_t read(char* to, std::size_t bytes);
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  InputFile(std::string name, int file) : name_(std::move(name)), file_(file) {}

  std::string name_;
  int file_ = -1;     ///< -1: reads text_.
  std::string text_;  ///< Reads the rest of the file.
};

/// The whole file. Longer than `max_bytes`: rejected, without reading on.
[[nodiscard]] std::string read_file(const std::string& path, std::size_t max_bytes);
/// A template or assembly text.
[[nodiscard]] std::shared_ptr<const SourceBuffer> read_text(const std::string& path);

/// A file that is written, or stdout. Buffered; an error is a ToolError of kExitEnvironment, so nothing is lost
/// silently.
///
/// If the reader of a pipe has exited, writing throws a ToolError of kExitDone without a message.
class Output {
 public:
  /// Opens `path` for writing. An existing regular file is emptied; anything that is not one (a pipe, a device) is
  /// written as it is. Refuses a file that is also one of `inputs`, whatever name it has there.
  /// `mode` is that of a new file, less the umask.
  [[nodiscard]] static Output open(const std::string& path, const std::vector<std::string>& inputs = {},
                                   mode_t mode = 0666);

  /// A new file in the same folder, which take_place() puts in the place of `path`: until then, and for good if it
  /// fails, the old content stays. Nothing where that cannot be: stdout, what is not a regular file, a file of another
  /// owner or with several names, a folder that cannot be written.
  [[nodiscard]] static std::optional<Output> beside(const std::string& path, const std::vector<std::string>& inputs);
  /// The end of what beside() began.
  void take_place();

  /// A regular file of that name, for names that the command has chosen: in a folder of others, a link would lead it
  /// to a file that it must not overwrite. An existing file is replaced, not emptied.
  [[nodiscard]] static Output replace(const std::string& path);

  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  /// Drops what was not written. Call close().
  ~Output();

  void write(std::string_view text);
  /// The unflushed output, to append to. Call flush_if_full() regularly.
  [[nodiscard]] std::string& buffer() noexcept { return buffer_; }
  void flush_if_full();
  /// Flushes, then hands `text` to the system without another copy.
  void write_now(std::string_view text);
  /// Hands everything written so far to the system.
  void flush();
  /// Flushes and closes. Errors that the system reports late come here.
  void close();
  [[nodiscard]] bool is_terminal() const noexcept;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  Output(std::string name, int file) : name_(std::move(name)), file_(file) {}
  void write_all(std::string_view text);
  [[noreturn]] void fail(int error);

  std::string name_;
  int file_ = -1;
  std::string buffer_;
  std::string part_;    ///< Of beside(): the file's name for now. Goes with this.
  std::string target_;  ///< And its name in the end.
};

/// Replaces, writes, closes.
void replace_file(const std::string& path, std::string_view content);
/// The whole content, or, if there is an error, what was before: a reader, too, finds one of both. Where the file
/// cannot be replaced (see Output::beside) it is emptied and written.
void write_file(const std::string& path, std::string_view content, const std::vector<std::string>& inputs = {});

[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace stopbit::tools
