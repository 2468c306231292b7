#include "host/nic/node/fd_passing.hpp"

#include <sys/socket.h>

#include <array>
#include <cstring>

namespace stopbit::nic {

ssize_t send_packet(int socket, const void* data, std::size_t length, int to_pass) noexcept {
  iovec vector{const_cast<void*>(data), length};  // sending does not write
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  if (to_pass >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &to_pass, sizeof(int));
  }
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace stopbit::nic
