#pragma once

#include <functional>
#include <string>
#include <utility>

#include "host/appliance/opener/grants.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::opener {

/// A descriptor that can be given away.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int number) noexcept : number_(number) {}
  OpenFile(OpenFile&& other) noexcept : number_(other.release()) {}
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();

  [[nodiscard]] int get() const noexcept { return number_; }
  [[nodiscard]] bool ok() const noexcept { return number_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

/// Result of a request.
struct Outcome {
  int error = 0;  ///< errno; 0: done. EACCES: the grants do not cover it.
  OpenFile file;
  std::string notes;  ///< For a socket: a line for each requested feature that is not available.
};

/// Does what the request asks for, if the grants cover it.
[[nodiscard]] Outcome perform(const Request& request, const Grants& grants);

/// Reads the settings again, with the rights that confine_opener leaves, and returns what they name.
using ReadGrants = std::function<Result<Grants>()>;

/// Gives up what opening these does not take: capabilities, files outside the folders of the grants, system calls.
/// @returns what could not be done, a line each.
/// `reads_again`: a ReadGrants is to follow.
[[nodiscard]] std::string confine_opener(const Grants& grants, bool reads_again = false);

/// Serves requests from a socket of type SOCK_SEQPACKET until its other end is closed. One thread.
void serve(int socket, Grants grants, const ReadGrants& again = {});

}  // namespace stopbit::opener
