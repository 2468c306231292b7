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
/// can take a name, or offer a ring of his own under it. Readers look only into folders of users that they accept, and
/// check the owner of what they have open.
namespace stopbit::os {

/// Where this process makes what has a plain name: the folder of $RUNTIME_DIRECTORY below /run/stopbit, which systemd
/// makes for a service, else /dev/shm/stopbit-UID.
[[nodiscard]] std::string own_folder();

/// Makes it if it does not exist (mode 0755), and the folder for the signs of readers in it. Fails if it cannot
/// be used: it belongs to another user, or others can write to it.
[[nodiscard]] Status make_own_folder();

/// In a user's folder: where readers of any user may leave their signs (sign.hpp).
inline constexpr std::string_view kSignsFolder = ".readers";

/// The number of a user, by name or number. Nothing if this machine has no such user.
[[nodiscard]] std::optional<uid_t> user_number(const std::string& user);
/// "user mallory (uid 1003)".
[[nodiscard]] std::string user_text(uid_t user);

/// From here on this process accepts what belongs to this user, and prefers it to that of others. $STOPBIT_USER does
/// the same, if this was not called. Call it before rings are opened.
void accept_user(uid_t user) noexcept;

/// Whose rings and counters a process reads: of the named user, of its own, of root and of the user "stopbit".
class Accepted {
 public:
  /// `also`: a user to prefer, in place of what accept_user or $STOPBIT_USER names.
  explicit Accepted(std::optional<uid_t> also = std::nullopt);

  [[nodiscard]] bool has(uid_t user) const noexcept;
  /// In the order in which their folders are looked at.
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

/// A file that was found by its name and opened to read. Its owner is one of the accepted.
struct FoundFile {
  Descriptor file;
  std::string path;
};

/// Finds NAME plus `suffix`, for a path with a '/' just that file. Of several users' files: the named user's, else the
/// one that has a live writer, else the first. A failure says in whose folders it was looked for, or whose it is.
/// `noun`: "ring".
[[nodiscard]] Result<FoundFile> open_accepted(std::string_view name, std::string_view suffix, std::string_view noun,
                                              const Accepted& accepted = Accepted());

/// Opens, to read and write, a file of this user: in the own folder, else in another of the same user. errno, and
/// `path` as it was tried last, if there is none.
[[nodiscard]] Descriptor open_own(std::string_view name, std::string& path) noexcept;

}  // namespace stopbit::os
