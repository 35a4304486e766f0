#include "stores/zookeeper/link/session_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>

#include "runtime/io_deadline.hpp"

namespace holdfast::zookeeper {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

void keep_quiet(const char*) {}
void on_login(int, const void*) {}  // a refusal shows in the session's state

[[noreturn]] void fail(const std::string& reason) {
  throw runtime::connection_error{{errc::unavailable, reason}};
}

void begin(int code) {
  if (code != ZOK) fail(zerror(code));
}

}  // namespace

session_reader::session_reader(const settings& of, const addresses& at, milliseconds limit)
    : until_{steady_clock::now() + limit} {
  const std::string login = of.login();
  [[maybe_unused]] static const bool silent = (zoo_set_debug_level(ZooLogLevel{}), true);
  zk_ = zookeeper_init2(at.list.c_str(), &on_event, static_cast<int>(of.session_timeout.count()), nullptr,
                        this, ZOO_NO_LOG_CLIENTENV, &keep_quiet);
  if (zk_ == nullptr)
    throw runtime::connection_error{
        {errc::exhausted, std::string{"no session can be begun: "} + std::strerror(errno)}};
  zoo_set_servers_resolution_delay(zk_, -1);  // they are addresses already
  if (!of.auth_scheme.empty()) {
    zoo_add_auth(zk_, of.auth_scheme.c_str(), login.c_str(), static_cast<int>(login.size()), &on_login,
                 nullptr);
  }
  try {
    run_until(is_connected_);
  } catch (...) {
    zookeeper_close(zk_);
    throw;
  }
}

session_reader::~session_reader() { zookeeper_close(zk_); }

milliseconds session_reader::timeout() const { return milliseconds{zoo_recv_timeout(zk_)}; }

session_reader::rights session_reader::rights_of(const std::string& path) {
  request_ = std::make_unique<pending>();
  begin(zoo_aget_acl(zk_, path.c_str(), &on_acl, request_.get()));
  run_until(request_->is_answered);
  const int code = request_->answer.code;
  if (code == ZCONNECTIONLOSS || code == ZSESSIONEXPIRED || code == ZOPERATIONTIMEOUT || code == ZCLOSING)
    fail(zerror(code));
  return std::move(request_->answer);
}

void session_reader::on_event(zhandle_t*, int type, int state, const char*, void* context) {
  if (type != ZOO_SESSION_EVENT) return;
  auto& self = *static_cast<session_reader*>(context);
  self.is_connected_ = state == ZOO_CONNECTED_STATE;
  if (state == ZOO_AUTH_FAILED_STATE) self.is_shut_out_ = true;
}

/// The library does not tell that an answer ended too soon: what it could not read is null. An exception must
/// not pass through its frames.
void session_reader::on_acl(int code, ACL_vector* acl, Stat*, const void* data) {
  auto& request = *static_cast<pending*>(const_cast<void*>(data));
  request.is_answered = true;
  rights& found = request.answer;
  found.code = code;
  if (code != ZOK) return;
  const bool is_whole = acl != nullptr && (acl->count <= 0 || acl->data != nullptr);
  if (!is_whole) found.code = ZMARSHALLINGERROR;
  for (int i = 0; found.code == ZOK && i < acl->count; ++i) {
    const ACL& each = acl->data[i];
    if (each.id.scheme == nullptr || each.id.id == nullptr) {
      found.code = ZMARSHALLINGERROR;
    } else {
      found.all.push_back({each.perms, each.id.scheme, each.id.id});
    }
  }
}

void session_reader::run_until(const bool& is_done) {
  while (!is_done) {
    if (is_shut_out_)
      throw runtime::connection_error{{errc::permission_denied, "the servers refused the credentials"}};
    const auto left = std::chrono::ceil<milliseconds>(until_ - steady_clock::now());
    if (left <= 0ms) fail("no answer in time");
    int socket = -1;
    int wanted = 0;
    timeval patience{};
    const int code = zookeeper_interest(zk_, &socket, &wanted, &patience);
    const milliseconds suggested{patience.tv_sec * 1000 + patience.tv_usec / 1000};
    pollfd events{code == ZOK ? socket : -1, 0, 0};
    if (socket >= 0) ::fcntl(socket, F_SETFD, FD_CLOEXEC);
    if ((wanted & ZOOKEEPER_READ) != 0) events.events |= POLLIN;
    if ((wanted & ZOOKEEPER_WRITE) != 0) events.events |= POLLOUT;
    // A server that cannot be reached is tried again at once: not without a pause.
    const milliseconds most = code == ZOK ? std::min(left, suggested) : std::min(left, milliseconds{20});
    ::poll(&events, 1, static_cast<int>(most.count()));
    int ready = 0;
    if ((events.revents & (POLLIN | POLLHUP | POLLERR)) != 0) ready |= ZOOKEEPER_READ;
    if ((events.revents & POLLOUT) != 0) ready |= ZOOKEEPER_WRITE;
    zookeeper_process(zk_, ready);
  }
}

}  // namespace holdfast::zookeeper
