#include "stores/redis/link/dial.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "runtime/signals.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "stores/redis/protocol/server_errors.hpp"

namespace holdfast::redis {

namespace {

using runtime::io_deadline;

struct closer {
  int fd = -1;
  closer() = default;
  explicit closer(int f) : fd{f} {}
  ~closer() {
    if (fd >= 0) ::close(fd);
  }
  closer(const closer&) = delete;
  closer& operator=(const closer&) = delete;
  int release() { return std::exchange(fd, -1); }
};

struct address {
  int family = AF_UNSPEC;
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

address unix_address(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.size() >= sizeof a.sun_path) {
    throw connection_error{{errc::invalid_url, "the path of a Unix socket has at most " +
                                                   std::to_string(sizeof a.sun_path - 1) + " bytes"},
                           false};
  }
  std::memcpy(a.sun_path, path.data(), path.size());
  address found;
  found.family = AF_UNIX;
  std::memcpy(&found.bytes, &a, sizeof a);
  found.size = sizeof a;
  return found;
}

/// A name look-up blocks without a limit and cannot be stopped. It has its own thread, which is abandoned
/// when it takes too long.
std::vector<address> look_up(const std::string& host, const std::string& port, const io_deadline& limit) {
  struct question {
    std::string host;
    std::string port;
    std::optional<runtime::wakeup_fd> ready;  // of a name alone
    annotated::mutex mutex;
    std::vector<address> found HOLDFAST_GUARDED_BY(mutex);
    int problem HOLDFAST_GUARDED_BY(mutex) = 0;
  };
  const auto ask = [](question& q, int flags) {
    const annotated::lock held{q.mutex};
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* list = nullptr;
    q.problem = ::getaddrinfo(q.host.c_str(), q.port.c_str(), &hints, &list);
    for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
      address one;
      one.family = a->ai_family;
      std::memcpy(&one.bytes, a->ai_addr, a->ai_addrlen);
      one.size = a->ai_addrlen;
      q.found.push_back(one);
    }
    if (list != nullptr) ::freeaddrinfo(list);
    return q.problem;
  };
  const auto q = std::make_shared<question>();
  q->host = host;
  q->port = port;
  if (ask(*q, AI_NUMERICHOST) == EAI_NONAME) {
    try {
      q->ready.emplace();
    } catch (const error&) {
      throw connection_error{{errc::exhausted, "no descriptor is left to look the host up"}};
    }
    runtime::quiet_thread([q, ask] {
      ask(*q, AI_ADDRCONFIG);
      q->ready->ring();
    }).detach();
    limit.wait(q->ready->descriptor(), POLLIN);
  }
  const annotated::lock held{q->mutex};
  if (q->problem != 0 || q->found.empty()) {
    throw connection_error{
        {errc::unavailable, "the host " + host + " cannot be found: " + ::gai_strerror(q->problem)}};
  }
  return q->found;
}

/// A connected socket, or -1 and the reason in errno.
int connect_to(const address& a, const io_deadline& limit) {
  closer fd{::socket(a.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (fd.fd < 0) return -1;
  if (::connect(fd.fd, reinterpret_cast<const sockaddr*>(&a.bytes), a.size) != 0) {
    if (errno != EINPROGRESS) return -1;
    limit.wait(fd.fd, POLLOUT);
    int problem = 0;
    socklen_t size = sizeof problem;
    ::getsockopt(fd.fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    if (problem != 0) {
      errno = problem;
      return -1;
    }
  }
  if (a.family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(fd.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(fd.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  }
  return fd.release();
}

int connect_any(const settings& to, io_deadline& limit) {
  const auto addresses =
      to.path.empty() ? look_up(to.host, to.port, limit) : std::vector<address>{unix_address(to.path)};
  limit.begin("the host to answer");
  int problem = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    try {  // an address that does not answer must leave time for the others
      const int fd = connect_to(addresses[i], limit.share(addresses.size() - i));
      if (fd >= 0) return fd;
      problem = errno;
    } catch (const connection_error& c) {
      if (c.reason.code == errc::closed || i + 1 == addresses.size()) throw;
      problem = ETIMEDOUT;
    }
  }
  const errc as = problem == EACCES                        ? errc::permission_denied
                  : problem == EMFILE || problem == ENFILE ? errc::exhausted
                                                           : errc::unavailable;
  throw connection_error{{as, std::string{"cannot connect: "} + std::strerror(problem)},
                         as != errc::permission_denied};
}

/// The client's address as the server sees it; empty for Unix sockets, which have none.
/// \param client_info the reply to CLIENT INFO, if the server has the command (6.2) and the user may call it:
/// a proxy may be in between.
std::string own_address(const value& client_info, int fd) {
  const std::string& info = client_info.text;
  const std::size_t begin = info.find(" addr=");
  if (client_info.is(value::kind::text) && begin != std::string::npos &&
      info.find(" addr=/") == std::string::npos) {
    return info.substr(begin + 6, info.find(' ', begin + 6) - begin - 6);
  }
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size) != 0 || a.ss_family == AF_UNIX ||
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&a), size, host.data(), host.size(), port.data(),
                    port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  const std::string name = host.data();
  return (a.ss_family == AF_INET6 ? "[" + name + "]" : name) + ":" + port.data();
}

/// The greeting, as a blocking exchange.
class introduction {
 public:
  introduction(connection& with, const io_deadline& limit) : with_{with}, limit_{limit} {}

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t n = with_.stream->write_some(bytes);
      bytes.remove_prefix(n);
      if (n == 0) limit_.wait(with_.stream->descriptor(), POLLOUT);
    }
  }
  value hear() {
    while (true) {
      if (auto v = with_.parser.next()) {
        if (!v->is(value::kind::push) || is_confirmation(*v)) return std::move(*v);
        with_.early.push_back(std::move(*v));
        continue;
      }
      std::array<char, 4096> bytes{};
      const std::size_t n = with_.stream->read_some(bytes.data(), bytes.size());
      with_.parser.feed({bytes.data(), n});
      if (n == 0)
        limit_.wait(with_.stream->descriptor(), with_.stream->reading_wants_to_write() ? POLLOUT : POLLIN);
    }
  }

 private:
  /// SUBSCRIBE is answered by a push.
  static bool is_confirmation(const value& v) { return !v.items.empty() && v.items[0].text == "subscribe"; }

  connection& with_;
  const io_deadline& limit_;
};

/// The server's error reply to the greeting, without the password: servers and proxies repeat the command,
/// some of them shortened.
std::string without_password(std::string error, const std::string& password) {
  constexpr std::size_t shortest_part = 4;  // of a shortened password
  if (password.empty()) return error;
  const std::string_view begin = std::string_view{password}.substr(0, shortest_part);
  for (auto at = error.find(begin); at != std::string::npos; at = error.find(begin, at + 3)) {
    std::size_t same = begin.size();
    while (same < password.size() && at + same < error.size() && error[at + same] == password[same]) ++same;
    error.replace(at, same, "***");
  }
  return error;
}

[[noreturn]] void refuse(const std::string& error) {
  if (error.starts_with("ERR unknown command") || error.starts_with("NOPROTO")) {
    throw connection_error{
        {errc::unavailable,
         "the server does not speak RESP3 (HELLO 3); Holdfast needs Redis 6 or newer, or Valkey"},
        false};
  }
  store::request_error t = request_error_of(error);
  const bool full = error.find("max number of clients") != std::string::npos;
  throw connection_error{std::move(t.reason), t.retryable || full};
}

void require_fine(const value& answer, const std::string& password) {
  if (answer.is(value::kind::error)) refuse(without_password(answer.text, password));
}

/// A field of what HELLO answers; null where it is not there.
const value* field_of(const value& hello, std::string_view name) {
  for (std::size_t i = 0; i + 1 < hello.items.size(); i += 2) {
    if (hello.items[i].text == name) return &hello.items[i + 1];
  }
  return nullptr;
}

/// Whether every write is on the disk before its reply.
/// \param configuration the reply to CONFIG GET, if the user may ask.
bool keeps_all(const value& configuration) {
  const value* const appends = field_of(configuration, "appendonly");
  const value* const syncs = field_of(configuration, "appendfsync");
  return appends != nullptr && appends->text == "yes" && syncs != nullptr && syncs->text == "always";
}

/// \throws connection_error where the server does not answer that.
void ask_whether_it_grants(connection& made, introduction& talk, const dialect& in) {
  std::string question;
  failover_guard::append_question(question, in, made.durable);
  talk.send(question);
  if (auto refusal = made.guard.hear(talk.hear(), boot_clock::now())) {
    throw connection_error{std::move(refusal->reason), refusal->retryable};
  }
}

std::int64_t id_in(const value& hello) {
  const value* const id = field_of(hello, "id");
  return id == nullptr ? 0 : id->number;
}

/// Refuses a server on which leases would be lost.
void require_primary(const value& hello) {
  // A cluster refuses a renewal of several names, because their keys are in different slots.
  if (const value* const mode = field_of(hello, "mode"); mode != nullptr && mode->text == "cluster") {
    throw connection_error{{errc::foreign_store,
                            "the server runs in cluster mode, which Holdfast does not support yet; use a "
                            "server with 'cluster-enabled no' (docs/stores/redis.md)"},
                           false};
  }
  // A replica renews nothing. Trying again makes sense: after a failover the host's name may lead to the
  // primary.
  const value* const role = field_of(hello, "role");
  if (role != nullptr && (role->text == "replica" || role->text == "slave")) {
    throw connection_error{
        {errc::unavailable,
         "the server is a replica (its role in HELLO); the store's URL has to lead to the primary"}};
  }
}

}  // namespace

void append_tracking(std::string& out, const std::string& prefix) {
  // Side keys begin with a brace. Prefixes must not overlap, and an empty one means every key.
  if (prefix.empty()) return append(out, {"CLIENT", "TRACKING", "ON", "BCAST"});
  if (prefix.front() == '{') return append(out, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "{"});
  append(out, {"CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", prefix, "PREFIX", "{"});
}

connection dial(const settings& to, const tls_context* secure, const owner_id& client, bool tracked,
                const std::string& former, int stop) {
  io_deadline limit{to.connect_limit, stop};
  connection made;
  const int socket = connect_any(to, limit);
  limit.begin("TLS to begin");
  made.stream = secure == nullptr ? plain_stream(socket)
                                  : secure->open(socket, [&](short events) { limit.wait(socket, events); });
  limit.begin("the server to answer");
  introduction talk{made, limit};
  std::string hello;
  if (to.password.empty() && to.user == "default")
    append(hello, {"HELLO", "3"});
  else
    append(hello, {"HELLO", "3", "AUTH", to.user, to.password});
  talk.send(hello);
  const value greeting = talk.hear();
  require_fine(greeting, to.password);
  require_primary(greeting);

  // If the server refuses an optional command, that costs performance only, or the command is repeated when
  // needed. It must accept the others.
  std::string rest;
  std::vector<bool> needed;
  const auto ask = [&](bool is_needed, std::initializer_list<std::string_view> arguments) {
    append(rest, arguments);
    needed.push_back(is_needed);
  };
  ask(false, {"CLIENT", "INFO"});
  if (!former.empty()) {  // before any other command
    rest += former;
    needed.push_back(false);
  }
  // Loads the scripts here and not at the first NOSCRIPT: a request that is sent again would run after
  // requests that were sent later.
  for (const std::string_view script : all_scripts()) ask(false, {"SCRIPT", "LOAD", script});
  if (to.database != 0) ask(true, {"SELECT", std::to_string(to.database)});
  if (tracked) {
    append_tracking(rest, to.speech.prefix);
    needed.push_back(false);
  }
  ask(true, {"SUBSCRIBE", channel_of(client)});
  const bool guards = to.speech.guard.count() != 0;
  if (guards) ask(false, {"CONFIG", "GET", "append*"});
  talk.send(rest);
  std::string own;
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const value answer = talk.hear();
    if (needed[i]) require_fine(answer, to.password);
    if (i == 0) own = own_address(answer, socket);
    if (guards && i + 1 == needed.size()) made.durable = keeps_all(answer);
  }
  if (guards) ask_whether_it_grants(made, talk, to.speech);

  const std::int64_t id = id_in(greeting);
  if (!own.empty() && id > 0) append(made.kill, {"CLIENT", "KILL", "ID", std::to_string(id), "ADDR", own});
  return made;
}

}  // namespace holdfast::redis
