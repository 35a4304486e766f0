// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/link/handle.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <utility>
#include <zookeeper/zookeeper.h>

#include "runtime/io_deadline.hpp"

namespace holdfast::zookeeper {

namespace {

// Codes of newer servers, which the library's header lacks.
constexpr int quota_exceeded = -125;

/// Less is no session: its beats would follow one another without a pause. A URL asks for no less.
constexpr std::chrono::milliseconds shortest_session{100};

answer answer_of(int code) {
  switch (code) {
    case ZOK: return answer::done;
    case ZNONODE: return answer::no_node;
    case ZNODEEXISTS: return answer::node_exists;
    case ZNOCHILDRENFOREPHEMERALS: return answer::no_children;
    case ZNOTEMPTY: return answer::not_empty;
    case ZNOAUTH:
    case ZINVALIDACL:
    case ZAUTHFAILED: return answer::refused;
    case quota_exceeded: return answer::over_quota;
    case ZSESSIONMOVED:
    case ZTHROTTLEDOP: return answer::not_sent;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZRUNTIMEINCONSISTENCY:
    case ZSYSTEMERROR:
    case ZCLOSING:
    case ZINVALIDSTATE: return answer::unknown;
    default: return answer::other;
  }
}

failure failure_of(int code, const operation& step) {
  constexpr std::array<const char*, 10> verbs{"creating",
                                              "reading",
                                              "listing",
                                              "writing",
                                              "removing",
                                              "replacing the node",
                                              "syncing with the leader at",
                                              "removing the watch of",
                                              "looking up",
                                              "asking for a vote at"};
  const std::string doing = std::string{verbs[static_cast<std::size_t>(step.kind)]} + " " + step.path;
  switch (answer_of(code)) {
    case answer::refused:
      return {errc::permission_denied,
              code == ZINVALIDACL
                  ? "the servers refused the ACL for " + step.path + "; acl=auth needs an 'auth' in the URL"
                  : doing + " is refused by an ACL; give an 'auth' with that permission in the URL"};
    case answer::over_quota:
      return {errc::exhausted, doing + " would exceed a quota; raise it or remove nodes"};
    case answer::unknown:
    case answer::not_sent: return {errc::unavailable, doing + " was cut off (" + zerror(code) + ")"};
    default: break;
  }
  if (code == ZUNIMPLEMENTED) {
    return {errc::unavailable, "the servers are too old; ZooKeeper 3.5.3 or newer is needed"};
  }
  return {errc::unavailable, doing + " failed: " + zerror(code)};
}

/// The number of addresses for the library. After a failure it skips one (ZOOKEEPER-2466), and with an even
/// number it would never try every second one.
std::size_t tried_in_turn(const addresses& at) { return at.size() | 1U; }

std::string list_of(const addresses& at) {
  std::string list;
  for (std::size_t i = 0; i < tried_in_turn(at); ++i)
    list.append(list.empty() ? "" : ",").append(at[i % at.size()]);
  return list;
}

status status_of(const Stat* s) {
  if (s == nullptr) return {};
  status about;
  about.created = s->czxid;
  about.last_child = s->pzxid;
  about.session = s->ephemeralOwner;
  about.created_ms = s->ctime;
  about.child_count = s->numChildren;
  return about;
}

}  // namespace

/// The data of an operation until it is answered.
struct handle::pending {
  handle* owner;
  operation step;
  wire::on_result handler;
  std::array<zoo_op_result_t, 2> steps{};  // for operations of several steps; the library writes there
};

struct handle::callbacks {
  /// \param fill takes the rest of the server's reply into the result, if the operation was carried out.
  template <class Fill>
  static void give(int code, const void* data, Fill fill) noexcept {
    const std::unique_ptr<pending> p{static_cast<pending*>(const_cast<void*>(data))};
    result r{.code = answer_of(code), .path = p->step.path};
    if (r.code != answer::done) r.reason = failure_of(code, p->step);
    if (code == ZOK) fill(p->step, r);
    p->owner->news_.emplace_back(answered{std::move(p->handler), std::move(r)});
  }
  /// The server's reply ended too soon, or cannot belong to the request. No exception may leave a callback of
  /// the library.
  static void set_damaged(result& r) noexcept {
    r.code = answer::other;
    r.reason = {errc::corrupt_store, "the server's reply about " + r.path +
                                         " is damaged; look at its log, and whether a proxy changes replies"};
  }

  static void created(int code, const char* path, const Stat* about, const void* data) noexcept {
    give(code, data, [&](const operation& step, result& r) {
      r.about = status_of(about);
      if (path == nullptr || !may_create(step, path)) return set_damaged(r);
      r.path = path;
    });
  }
  static void read(int code, const char* bytes, int size, const Stat* about, const void* data) noexcept {
    give(code, data, [&](const operation&, result& r) {
      r.about = status_of(about);
      if (bytes != nullptr && size > 0) r.data.assign(bytes, static_cast<std::size_t>(size));
    });
  }
  static void listed(int code, const String_vector* names, const void* data) noexcept {
    give(code, data, [&](const operation&, result& r) {
      if (names == nullptr) return;
      auto all = listed_names(names->data, names->count);
      if (!all) return set_damaged(r);
      r.children = std::move(*all);
    });
  }
  static void found(int code, const Stat* about, const void* data) noexcept {
    give(code, data, [&](const operation&, result& r) { r.about = status_of(about); });
  }
  static void synced(int code, const char*, const void* data) noexcept { ended(code, data); }
  static void ended(int code, const void* data) noexcept {
    give(code, data, [](const operation&, result&) {});
  }

  static void session_event(zhandle_t* zk, int type, int state, const char*, void* context) noexcept {
    if (type != ZOO_SESSION_EVENT) return;
    handle& h = *static_cast<handle*>(context);
    if (state == ZOO_CONNECTED_STATE) {
      const std::chrono::milliseconds timeout{zoo_recv_timeout(zk)};
      if (timeout < shortest_session) return h.refuse(timeout);
      h.connected_ = true;
      h.failures_ = h.left_ = 0;
      h.dialled_.reset();
      h.news_.emplace_back(connected{zoo_client_id(zk)->client_id, timeout, h.attempt_});
      return;
    }
    h.connected_ = false;
    if (state == ZOO_EXPIRED_SESSION_STATE)
      h.news_.emplace_back(over{});
    else if (state == ZOO_AUTH_FAILED_STATE)
      h.news_.emplace_back(over{failure{
          errc::permission_denied, "the servers refused the 'auth' of the URL; check user and password"}});
    else
      h.news_.emplace_back(disconnected{});
  }
  static void node_event(zhandle_t*, int type, int, const char* path, void* context) noexcept {
    handle& h = *static_cast<handle*>(context);
    if (type == ZOO_CREATED_EVENT) h.news_.emplace_back(happening{path, change::created});
    if (type == ZOO_DELETED_EVENT) h.news_.emplace_back(happening{path, change::removed});
    if (type == ZOO_CHANGED_EVENT) h.news_.emplace_back(happening{path, change::data});
    if (type == ZOO_CHILD_EVENT) h.news_.emplace_back(happening{path, change::children});
  }
  // A refusal shows in the session's state.
  static void authenticated(int, const void*) noexcept {}
  static void keep_quiet(const char*) noexcept {}
};

std::optional<std::vector<std::string>> listed_names(const char* const* names, int count) {
  if (count < 0 || (count > 0 && names == nullptr)) return std::nullopt;
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    const char* const name = names[static_cast<std::size_t>(i)];
    if (name == nullptr) return std::nullopt;
    all.emplace_back(name);
  }
  return all;
}

handle::handle(const settings& s, const addresses& at)
    : settings_{s}, attempt_{boot_clock::now()}, servers_{tried_in_turn(at)} {
  const std::string login = s.login();
  // The library formats each log message in one buffer for all threads, even if logging is off.
  [[maybe_unused]] static const bool silent = (zoo_set_debug_level(ZooLogLevel{}), true);
  zk_ = zookeeper_init2(list_of(at).c_str(), &callbacks::session_event,
                        static_cast<int>(s.session_timeout.count()), nullptr, this, ZOO_NO_LOG_CLIENTENV,
                        &callbacks::keep_quiet);
  if (zk_ == nullptr) {
    throw runtime::connection_error{
        {errc::exhausted, std::string{"no session can be begun: "} + std::strerror(errno)}};
  }
  zoo_set_servers_resolution_delay(zk_, -1);  // they are addresses already
  if (s.auth.empty()) return;
  zoo_add_auth(zk_, "digest", login.c_str(), static_cast<int>(login.size()), &callbacks::authenticated,
               nullptr);
}

handle::~handle() { zookeeper_close(zk_); }

void handle::move_to(const addresses& at) {
  zoo_set_servers(zk_, list_of(at).c_str());
  servers_ = tried_in_turn(at);
  if (zoo_state(zk_) == ZOO_NOTCONNECTED_STATE)
    dialled_.reset();  // the server that was being tried is not among them
}

void handle::start(const operation& step, wire::on_result handler) {
  auto p = std::make_unique<pending>(pending{this, step, std::move(handler), {}});
  const int code = submit(p->step, p.get());
  if (code == ZOK) {
    [[maybe_unused]] const pending* const until_its_answer = p.release();
    return;
  }
  result r;
  r.path = step.path;
  r.reason = failure_of(code, step);
  r.code = answer_of(code) == answer::unknown ? answer::not_sent : answer_of(code);
  if (code == ZNOWATCHER) r.code = answer::done;
  news_.emplace_back(answered{std::move(p->handler), std::move(r)});
}

int handle::submit(const operation& step, pending* p) {
  const char* const path = step.path.c_str();
  const watcher_fn watcher = step.watch ? &callbacks::node_event : nullptr;
  // The library's types are not const; it only reads them.
  std::string scheme = "digest";
  std::string id = settings_.acl_id;
  ACL one{ZOO_PERM_ALL, {scheme.data(), id.data()}};
  const ACL_vector given{1, &one};
  const ACL_vector* list = &given;
  if (settings_.acl == settings::access::world) list = &ZOO_OPEN_ACL_UNSAFE;
  if (settings_.acl == settings::access::creator) list = &ZOO_CREATOR_ALL_ACL;
  const auto size = static_cast<int>(step.data.size());
  switch (step.kind) {
    case operation_kind::create: {
      constexpr std::array modes{&ZOO_CONTAINER, &ZOO_EPHEMERAL, &ZOO_EPHEMERAL_SEQUENTIAL};
      const int mode = *modes[static_cast<std::size_t>(step.make)];
      return zoo_acreate2(zk_, path, step.data.data(), size, list, mode, &callbacks::created, p);
    }
    case operation_kind::replace: {
      std::array<zoo_op_t, 2> steps{};
      zoo_create_op_init(steps.data(), path, step.data.data(), size, list, ZOO_EPHEMERAL, nullptr, 0);
      zoo_delete_op_init(&steps[1], step.former.c_str(), -1);
      return zoo_amulti(zk_, static_cast<int>(steps.size()), steps.data(), p->steps.data(), &callbacks::ended,
                        p);
    }
    case operation_kind::agree: {
      zoo_op_t check{};
      zoo_check_op_init(&check, path, -1);
      return zoo_amulti(zk_, 1, &check, p->steps.data(), &callbacks::ended, p);
    }
    case operation_kind::get: return zoo_awget(zk_, path, watcher, this, &callbacks::read, p);
    case operation_kind::exists: return zoo_awexists(zk_, path, watcher, this, &callbacks::found, p);
    case operation_kind::list: return zoo_awget_children(zk_, path, watcher, this, &callbacks::listed, p);
    case operation_kind::set: return zoo_aset(zk_, path, step.data.data(), size, -1, &callbacks::found, p);
    case operation_kind::remove: return zoo_adelete(zk_, path, -1, &callbacks::ended, p);
    case operation_kind::sync: return zoo_async(zk_, path, &callbacks::synced, p);
    case operation_kind::unwatch: {
      // Removes all watches, because there is one for each path and kind. The call for a single watch ends it
      // in this client only, and lets the servers check that they have it. The declaration has a pointer to a
      // function pointer, but the library calls the given pointer itself.
      auto* const ended = reinterpret_cast<void_completion_t*>(&callbacks::ended);
      return zoo_aremove_all_watches(zk_, path, step.children ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA, 0, ended,
                                     p);
    }
  }
  return ZBADARGUMENTS;
}

bool handle::is_cut() const { return connected_ && zoo_state(zk_) != ZOO_CONNECTED_STATE; }

/// The library has taken over the timeout, and would ask the next server for a session of this length.
void handle::refuse(std::chrono::milliseconds timeout) {
  news_.emplace_back(over{failure{
      errc::unavailable, "a server gave a session of " + std::to_string(timeout.count()) +
                             " ms, and the shortest one is " + std::to_string(shortest_session.count()) +
                             " ms; check its minSessionTimeout and maxSessionTimeout"}});
}

/// The library does not report a connection that broke while sending.
void handle::notice_cut() {
  if (!is_cut()) return;
  connected_ = false;
  news_.emplace_back(disconnected{});
}

handle::interest handle::wants() {
  notice_cut();
  if (!connected_ && zoo_state(zk_) != ZOO_ASSOCIATING_STATE) attempt_ = boot_clock::now();
  int descriptor = -1;
  int wanted = 0;
  timeval patience{};
  const int code = zookeeper_interest(zk_, &descriptor, &wanted, &patience);
  note(code);
  interest i;
  i.patience = std::chrono::milliseconds{patience.tv_sec * 1000 + patience.tv_usec / 1000};
  if (code != ZOK) return i;
  i.descriptor = descriptor;
  if (!connected_ && descriptor >= 0) prepare(descriptor);
  if ((wanted & ZOOKEEPER_READ) != 0) i.events |= POLLIN;
  if ((wanted & ZOOKEEPER_WRITE) != 0) i.events |= POLLOUT;
  if (!connected_ && descriptor >= 0) go_to_the_next_in_time(i);
  return i;
}

void handle::prepare(int socket) {
  // The library may not have set close-on-exec; commands that this process starts must not inherit the
  // socket.
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
  // The system sends again for a quarter of an hour to a host that acknowledges nothing, at intervals of up
  // to two minutes: a host that was off or cut off, and is back, would not be noticed for so long.
  constexpr int unacknowledged_ms = 10'000;
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

/// Apache's client would wait for two thirds of the session's timeout for a server that does not answer,
/// while the others serve, or while this one has come back and knows nothing of the connection.
void handle::go_to_the_next_in_time(interest& i) {
  const auto now = boot_clock::now();
  if (!dialled_) dialled_ = now;
  const auto patience = patience_with_each(std::min(settings_.connect_limit, settings_.session_timeout),
                                           servers_, left_, zoo_state(zk_) == ZOO_ASSOCIATING_STATE);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*dialled_ + patience - now);
  i.patience = std::clamp(left, std::chrono::milliseconds{0}, i.patience);
  pollfd answer{i.descriptor, i.events, 0};
  if (left.count() > 0 || ::poll(&answer, 1, 0) != 0) return;  // an answer has arrived
  ++left_;
  ::shutdown(i.descriptor, SHUT_RDWR);  // the library sees it as closed by the server
}

void handle::go_on(short events) {
  notice_cut();  // before requests in flight fail
  if (!connected_ && zoo_state(zk_) != ZOO_ASSOCIATING_STATE) attempt_ = boot_clock::now();
  int wanted = 0;
  if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) wanted |= ZOOKEEPER_READ;
  if ((events & POLLOUT) != 0) wanted |= ZOOKEEPER_WRITE;
  // The library reads one packet with each call; under load more of them are there.
  int code = zookeeper_process(zk_, wanted);
  while (code == ZOK && (wanted & ZOOKEEPER_READ) != 0) code = zookeeper_process(zk_, ZOOKEEPER_READ);
  note(code);
}

void handle::note(int code) {
  if (code == ZOK || code == ZNOTHING || connected_) return;
  ++failures_;
  dialled_.reset();
  problem_ = zerror(code);
}

}  // namespace holdfast::zookeeper
