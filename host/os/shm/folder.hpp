#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

/// Folders of rings, counters and inboxes with plain names. Only its user can write to such a folder, so no other user
/// can occupy a name or offer a ring under it. Readers search only folders of accepted users and check the owner of
/// each file they open.
namespace stopbit::os {

/// Folder in which this process creates files with plain names: the folder of $RUNTIME_DIRECTORY below /run/stopbit,
/// which systemd makes for a service, else /dev/shm/stopbit-UID.
[[nodiscard]] std::string own_folder();

/// Creates the folder if it does not exist (mode 0755), and in it the folder of readers' files. Fails if the folder
/// belongs to another user, or if other users can write to it.
[[nodiscard]] Status make_own_folder();

/// In a user's folder: the folder in which readers of any user create their files (reader_registration.hpp).
inline constexpr std::string_view kSignsFolder = ".readers";

/// Number of a user, by name or number. Nothing if the user does not exist.
[[nodiscard]] std::optional<uid_t> user_number(const std::string& user);
/// "user mallory (uid 1003)".
[[nodiscard]] std::string user_text(uid_t user);

/// Makes this process accept, and prefer, files of this user. $STOPBIT_USER does the same if this was not called. Call
/// it before opening rings.
void accept_user(uid_t user) noexcept;

/// Users whose rings and counters a process reads: of the named user, of its own, of root and of the user "stopbit".
class Accepted {
 public:
  /// `also`: a preferred user instead of that of accept_user or $STOPBIT_USER.
  explicit Accepted(std::optional<uid_t> also = std::nullopt);

  [[nodiscard]] bool has(uid_t user) const noexcept;
  /// In the order in which their folders are searched.
  [[nodiscard]] const std::vector<uid_t>& users() const noexcept { return users_; }
  [[nodiscard]] bool names_user() const noexcept { return names_user_; }
  /// "root, user alice (uid 1000)".
  [[nodiscard]] std::string text() const;
  /// $STOPBIT_USER names no user of this machine.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  std::vector<uid_t> users_;
  bool names_user_ = false;
  std::string problem_;
};

/// Folders of these users that exist, belong to them, and cannot be written by others.
struct UserFolder {
  std::string path;
  uid_t user = 0;
};
[[nodiscard]] std::vector<UserFolder> folders_of(const std::vector<uid_t>& users);

/// A file found by its name and opened for reading. Its owner is accepted.
struct FoundFile {
  Descriptor file;
  std::string path;
};

/// Finds NAME plus `suffix`, or, for a path with a '/', that file. If several users have the file: the named user's,
/// else the one with a live writer, else the first. A failure names the users whose folders were searched, or the
/// owner. `noun`: "ring".
[[nodiscard]] Result<FoundFile> open_accepted(std::string_view name, std::string_view suffix, std::string_view noun,
                                              const Accepted& accepted = Accepted());

/// Opens a file of this user for reading and writing: in its own folder, else in another folder of the same user. On
/// failure sets errno, and `path` to the last path tried.
[[nodiscard]] Descriptor open_own(std::string_view name, std::string& path) noexcept;

}  // namespace stopbit::os
