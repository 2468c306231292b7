#include "host/multicast/refill_server.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/feed/packet/socket_address.hpp"
#include "host/multicast/packet.hpp"

namespace stopbit::multicast {

Result<std::unique_ptr<RefillServer>> RefillServer::open(const RefillOptions& options) {
  const auto failure = [&](const char* what) {
    return Failure{"cannot listen at " + net::to_text(options.listen) + ": " + what + ": " + std::strerror(errno)};
  };
  os::Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener.ok()) return failure("socket");
  const int yes = 1;
  if (::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0) return failure("SO_REUSEADDR");
  sockaddr_in address = net::socket_address(options.listen);
  socklen_t bytes = sizeof(address);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return failure("bind");
  if (::listen(listener.get(), static_cast<int>(options.clients)) != 0) return failure("listen");
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return failure("getsockname");
  const net::Endpoint here{ntohl(address.sin_addr.s_addr), ntohs(address.sin_port)};
  return std::unique_ptr<RefillServer>(new RefillServer(std::move(listener), options, here));
}

std::size_t RefillServer::step(std::uint64_t now_ns, const Kept& kept) {
  accept_clients(now_ns);
  std::size_t work = 0;
  for (std::size_t i = 0; i < clients_.size();) {
    if (serve(*clients_[i], now_ns, kept, work)) {
      ++i;
      continue;
    }
    clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  counts_.clients = clients_.size();
  return work;
}

void RefillServer::accept_clients(std::uint64_t now_ns) {
  // A few at a time, so that a client that keeps connecting does not keep the thread from the lines.
  for (int i = 0; i < 4; ++i) {
    sockaddr_in from{};
    socklen_t bytes = sizeof(from);
    os::Descriptor socket(
        ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.ok()) return;
    const std::uint32_t address = ntohl(from.sin_addr.s_addr);
    const auto of_address =
        std::count_if(clients_.begin(), clients_.end(), [&](const auto& client) { return client->address == address; });
    if (clients_.size() >= options_.clients || static_cast<std::size_t>(of_address) >= options_.clients_per_address) {
      ++counts_.refused;
      continue;
    }
    auto client = std::make_unique<Client>();
    client->socket = std::move(socket);
    client->address = address;
    client->moved_ns = now_ns;
    client->rate = remote::ByteRate(options_.bytes_per_second);
    client->out.reserve(kRoom);
    clients_.push_back(std::move(client));
    ++counts_.accepted;
  }
}

bool RefillServer::serve(Client& client, std::uint64_t now_ns, const Kept& kept, std::size_t& work) {
  if (now_ns - client.moved_ns > kPatienceNs) {
    ++counts_.idle;
    return false;
  }
  if (!client.is_answering && client.sent == client.out.size() && !read_request(client, now_ns, kept)) return false;
  if (client.is_answering) fill(client, kept);
  if (client.sent == client.out.size() || !client.rate.has_room(now_ns)) return true;
  const ssize_t sent = ::send(client.socket.get(), client.out.data() + client.sent, client.out.size() - client.sent,
                              MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
  ++work;
  client.moved_ns = now_ns;
  client.rate.take(static_cast<std::size_t>(sent));
  client.sent += static_cast<std::size_t>(sent);
  if (client.sent == client.out.size()) {
    client.out.clear();
    client.sent = 0;
  }
  return true;
}

bool RefillServer::read_request(Client& client, std::uint64_t now_ns, const Kept& kept) {
  const ssize_t read =
      ::recv(client.socket.get(), client.request.data() + client.read, kRequestBytes - client.read, MSG_DONTWAIT);
  if (read < 0) return errno == EAGAIN || errno == EINTR;
  if (read == 0) return false;
  client.moved_ns = now_ns;
  client.read += static_cast<std::size_t>(read);
  if (client.read < kRequestBytes) return true;
  client.read = 0;
  const auto request = decode_request(client.request);
  if (!request) {
    ++counts_.malformed;
    return false;
  }
  ++counts_.requests;
  client.asked = *request;
  client.is_answering = true;
  client.next = request->first;
  client.has_gone = false;
  client.image.clear();
  client.image_at = 0;
  client.state.reset();
  client.state_at = 0;
  if (request->kind == Request::Kind::State && kept.state != nullptr) client.state = (*kept.state)();
  if (request->kind == Request::Kind::Layout && request->first == kept.layout && !kept.image.empty()) {
    client.image.assign(kept.image.begin(), kept.image.end());
    append(client, AnswerHead::Kind::Layout, client.image.size());
  }
  return true;
}

/// As much of the answer as there is room for.
void RefillServer::fill(Client& client, const Kept& kept) {
  if (client.sent != 0) return;  // what waits goes first: nothing is moved in memory
  if (client.asked.kind == Request::Kind::Layout) {
    fill_layout(client);
    if (client.image_at == client.image.size()) finish(client, kept);
    return;
  }
  if (client.asked.kind == Request::Kind::State) {
    fill_state(client);
    if (client.state == nullptr || client.state_at == client.state->messages.size()) finish(client, kept);
    return;
  }
  for (; client.next < client.asked.end; ++client.next) {
    const std::span<const std::byte> packet = kept.history.find(client.next);
    if (packet.empty()) {
      // Numbers outside of what is kept need no look at each.
      client.has_gone = true;
      client.next = client.next < kept.history.oldest() ? std::min(kept.history.oldest(), client.asked.end) - 1
                                                        : client.asked.end - 1;
      continue;
    }
    if (client.out.size() + packet.size() + 2 * kAnswerHeadBytes + kDoneBytes > kRoom) return;
    append(client, AnswerHead::Kind::Packet, packet.size());
    client.out.insert(client.out.end(), packet.begin(), packet.end());
    ++counts_.packets;
  }
  finish(client, kept);
}

void RefillServer::fill_layout(Client& client) {
  const std::size_t part =
      std::min(client.image.size() - client.image_at, kRoom - client.out.size() - kAnswerHeadBytes - kDoneBytes);
  const auto from = client.image.begin() + static_cast<std::ptrdiff_t>(client.image_at);
  client.out.insert(client.out.end(), from, from + static_cast<std::ptrdiff_t>(part));
  client.image_at += part;
}

/// At least one item, as the first one says where the state belongs.
void RefillServer::fill_state(Client& client) {
  if (client.state == nullptr) return;
  const std::span<const std::byte> all = std::as_bytes(std::span(client.state->messages));
  do {
    if (client.out.size() + 2 * kAnswerHeadBytes + kMostStateBytes + kDoneBytes > kRoom) return;
    const std::size_t part = std::min(all.size() - client.state_at, kMostStateEvents * kEventBytes);
    append(client, AnswerHead::Kind::State, kStateHeadBytes + part);
    std::array<std::byte, kStateHeadBytes> head;
    encode(client.state->head, head);
    client.out.insert(client.out.end(), head.begin(), head.end());
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(client.state_at);
    client.out.insert(client.out.end(), from, from + static_cast<std::ptrdiff_t>(part));
    client.state_at += part;
  } while (client.state_at != all.size());
}

void RefillServer::finish(Client& client, const Kept& kept) {
  Completion done{Completion::Status::Complete, kept.epoch, kept.history.oldest(), kept.history.next()};
  if (client.has_gone) done.status = Completion::Status::Gone;
  if (client.asked.kind == Request::Kind::Layout && client.image.empty()) done.status = Completion::Status::Unknown;
  if (client.asked.kind == Request::Kind::State && client.state == nullptr) done.status = Completion::Status::Unknown;
  if (done.status != Completion::Status::Complete) ++counts_.gone;
  append(client, AnswerHead::Kind::Done, kDoneBytes);
  std::array<std::byte, kDoneBytes> bytes;
  encode(done, bytes);
  client.out.insert(client.out.end(), bytes.begin(), bytes.end());
  client.is_answering = false;
  client.state.reset();
  client.image.clear();
  client.image_at = 0;
}

void RefillServer::append(Client& client, AnswerHead::Kind kind, std::size_t bytes) {
  std::array<std::byte, kAnswerHeadBytes> head;
  encode(AnswerHead{kind, static_cast<std::uint32_t>(bytes)}, head);
  client.out.insert(client.out.end(), head.begin(), head.end());
}

}  // namespace stopbit::multicast
