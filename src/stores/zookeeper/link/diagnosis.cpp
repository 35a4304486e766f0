#include "stores/zookeeper/link/diagnosis.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <optional>
#include <poll.h>
#include <utility>
#include <zookeeper/zookeeper.h>

#include "runtime/io_deadline.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/zookeeper/link/four_letter.hpp"
#include "stores/zookeeper/link/names.hpp"
#include "stores/zookeeper/protocol/ensemble_facts.hpp"
#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t most_lists = 1000;  // of nodes below the root

/// A session with blocking requests, one at a time. It reads.
class session_reader {
 public:
  /// \throws runtime::connection_error.
  session_reader(const settings& of, const addresses& at, milliseconds limit)
      : until_{steady_clock::now() + limit} {
    [[maybe_unused]] static const bool silent = (zoo_set_debug_level(ZooLogLevel{}), true);
    zk_ = zookeeper_init2(at.list.c_str(), &on_event, static_cast<int>(of.session_timeout.count()), nullptr,
                          this, ZOO_NO_LOG_CLIENTENV, &keep_quiet);
    if (zk_ == nullptr)
      throw runtime::connection_error{
          {errc::exhausted, std::string{"no session can be begun: "} + std::strerror(errno)}};
    zoo_set_servers_resolution_delay(zk_, -1);  // they are addresses already
    if (!of.auth_scheme.empty()) {
      zoo_add_auth(zk_, of.auth_scheme.c_str(), of.auth.c_str(), static_cast<int>(of.auth.size()), &on_login,
                   nullptr);
    }
    try {
      run_until([this] { return is_connected_; });
    } catch (...) {
      zookeeper_close(zk_);
      throw;
    }
  }
  ~session_reader() { zookeeper_close(zk_); }
  session_reader(const session_reader&) = delete;
  session_reader& operator=(const session_reader&) = delete;

  [[nodiscard]] milliseconds timeout() const { return milliseconds{zoo_recv_timeout(zk_)}; }

  struct listing {
    int code = ZOK;
    std::vector<std::string> children;
  };
  // Each throws runtime::connection_error where the session is over, or the time.
  [[nodiscard]] listing list(const std::string& path) {
    auto r = request<listing>();
    begin(zoo_awget_children(zk_, path.c_str(), nullptr, nullptr, &on_list, r.get()));
    run_until([&] { return r->is_answered; });
    return finish(r);
  }
  struct rights {
    int code = ZOK;
    std::vector<ensemble_facts::permission> all;
  };
  [[nodiscard]] rights rights_of(const std::string& path) {
    auto r = request<rights>();
    begin(zoo_aget_acl(zk_, path.c_str(), &on_acl, r.get()));
    run_until([&] { return r->is_answered; });
    return finish(r);
  }
  struct content {
    int code = ZOK;
    std::string bytes;
  };
  [[nodiscard]] content get(const std::string& path) {
    auto r = request<content>();
    begin(zoo_aget(zk_, path.c_str(), 0, &on_content, r.get()));
    run_until([&] { return r->is_answered; });
    return finish(r);
  }

 private:
  /// It has to outlive the session where it was not answered in time: the library answers it at the end.
  template <class Answer>
  struct pending {
    Answer answer;
    bool is_answered = false;
  };
  template <class Answer>
  std::shared_ptr<pending<Answer>> request() {
    auto made = std::make_shared<pending<Answer>>();
    kept_.push_back(made);
    return made;
  }
  template <class Answer>
  Answer finish(const std::shared_ptr<pending<Answer>>& r) {
    kept_.pop_back();
    const int code = r->answer.code;
    if (code == ZCONNECTIONLOSS || code == ZSESSIONEXPIRED || code == ZOPERATIONTIMEOUT || code == ZCLOSING)
      fail(zerror(code));
    return std::move(r->answer);
  }
  template <class Answer>
  static Answer& answered(const void* data, int code) {
    auto& r = *static_cast<pending<Answer>*>(const_cast<void*>(data));
    r.is_answered = true;
    r.answer.code = code;
    return r.answer;
  }

  static void on_event(zhandle_t*, int type, int state, const char*, void* context) {
    if (type != ZOO_SESSION_EVENT) return;
    auto& self = *static_cast<session_reader*>(context);
    self.is_connected_ = state == ZOO_CONNECTED_STATE;
    if (state == ZOO_AUTH_FAILED_STATE) self.is_shut_out_ = true;
  }
  static void on_login(int, const void*) {}  // a refusal shows in the session's state
  static void keep_quiet(const char*) {}
  static void on_list(int code, const String_vector* names, const void* data) {
    auto& found = answered<listing>(data, code);
    for (int i = 0; code == ZOK && i < names->count; ++i) found.children.emplace_back(names->data[i]);
  }
  static void on_acl(int code, ACL_vector* acl, Stat*, const void* data) {
    auto& found = answered<rights>(data, code);
    for (int i = 0; code == ZOK && i < acl->count; ++i) {
      const ACL& each = acl->data[i];
      found.all.push_back({each.perms, each.id.scheme, each.id.id});
    }
  }
  static void on_content(int code, const char* bytes, int size, const Stat*, const void* data) {
    auto& found = answered<content>(data, code);
    if (code == ZOK && bytes != nullptr && size > 0)
      found.bytes.assign(bytes, static_cast<std::size_t>(size));
  }

  [[noreturn]] static void fail(const std::string& reason) {
    throw runtime::connection_error{{errc::unavailable, reason}};
  }
  static void begin(int code) {
    if (code != ZOK) fail(zerror(code));
  }

  void run_until(const std::function<bool()>& is_done) {
    while (!is_done()) {
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

  steady_clock::time_point until_;
  zhandle_t* zk_ = nullptr;
  bool is_connected_ = false;
  bool is_shut_out_ = false;
  std::vector<std::shared_ptr<void>> kept_;
};

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string child_of(const std::string& path, const std::string& name) {
  return path == "/" ? path + name : path + '/' + name;
}

/// As the servers write a list: a length and a name for each.
std::uint64_t bytes_of(const std::vector<std::string>& names) {
  std::uint64_t sum = 4;
  for (const std::string& each : names) sum += 4 + each.size();
  return sum;
}

/// Lists the nodes below the root that are no contenders.
void measure_lists(session_reader& in, ensemble_facts::session& found) {
  std::deque<std::string> rest{found.root};
  for (std::size_t lists = 0; !rest.empty(); ++lists) {
    if (lists == most_lists) {
      found.saw_all = false;
      return;
    }
    const std::string path = rest.front();
    rest.pop_front();
    const auto listed = in.list(path);
    if (const auto bytes = bytes_of(listed.children); bytes > found.largest_list_bytes) {
      found.largest_list_bytes = bytes;
      found.largest_list = path;
    }
    for (const std::string& name : listed.children) {
      if (rest.size() > most_lists) break;
      if (!looks_like_contender(name) && !(path == "/" && name == "zookeeper"))
        rest.push_back(child_of(path, name));
    }
  }
}

ensemble_facts::session look(const settings& of, const addresses& at) {
  session_reader in{of, at, 2 * of.connect_limit};
  ensemble_facts::session found;
  found.timeout = in.timeout();
  found.members = in.get("/zookeeper/config").bytes;
  found.root = of.recipes.root.empty() ? "/" : of.recipes.root;
  auto rights = in.rights_of(found.root);
  while (rights.code == ZNONODE && found.root != "/") {
    found.has_root = false;
    found.root = parent_of(found.root);
    rights = in.rights_of(found.root);
  }
  if (rights.code == ZOK) found.acl = std::move(rights.all);
  if (found.has_root) measure_lists(in, found);
  return found;
}

/// The answer as fields; none where the server does not allow the command.
ensemble_facts::fields ask(const std::string& address, std::string_view command, std::string_view separator,
                           const runtime::io_deadline& limit) {
  const std::string answer = ask_four_letter(address, command, limit);
  if (answer.find("not in the whitelist") != std::string::npos) return {};
  return fields_in(answer, separator);
}

class ensemble_survey {
 public:
  explicit ensemble_survey(const settings& of) : settings_{of} {}

  std::vector<finding> run(bool asks_for_world) && {
    facts_.requested = settings_.session_timeout;
    facts_.user = settings_.auth.substr(0, settings_.auth.find(':'));
    facts_.asks_for_world = asks_for_world;
    facts_.makes_world = settings_.acl == settings::access::world;
    facts_.is_local = std::ranges::all_of(settings_.servers, is_local);
    for (const settings::server& each : settings_.servers) hear(each);
    if (at_.count == 0) throw runtime::connection_error{{errc::unavailable, last_problem_}};
    look_at_nodes();
    // The session has been written by then, which shows whether a server forces writes to its disk.
    for (ensemble_facts::server& each : facts_.servers) monitor(each);
    return findings_of(facts_);
  }

 private:
  static bool is_local(const settings::server& at) {
    return at.host == "localhost" || at.host == "::1" || at.host.starts_with("127.");
  }
  [[nodiscard]] runtime::io_deadline limit() const {
    return {std::min(settings_.connect_limit, milliseconds{2s}), never_.descriptor()};
  }

  void hear(const settings::server& at) {
    ensemble_facts::server& one = facts_.servers.emplace_back();
    settings alone;
    alone.servers = {at};
    one.place = alone.place();
    const auto outcome = name_lookup::begin({at})->wait(settings_.connect_limit);
    std::string& address = addresses_.emplace_back();
    if (const auto* problem = std::get_if<failure>(&outcome)) {
      one.problem = last_problem_ = problem->message;
      return;
    }
    const auto& found = std::get<addresses>(outcome);
    address = found.list.substr(0, found.list.find(','));
    try {
      const std::string answer = ask_four_letter(address, "srvr", limit());
      one.is_serving = answer.find("not currently serving") == std::string::npos;
      if (one.is_serving && answer.find("not in the whitelist") == std::string::npos)
        one.srvr = fields_in(answer, ": ");
      at_.list.append(at_.list.empty() ? "" : ",").append(found.list);
      at_.count += found.count;
    } catch (const runtime::connection_error& c) {
      one.problem = last_problem_ = c.reason.message;
    }
  }

  void look_at_nodes() {
    if (std::ranges::none_of(facts_.servers,
                             [](const auto& each) { return each.problem.empty() && each.is_serving; })) {
      facts_.session_problem = "no server serves";
      return;
    }
    try {
      facts_.seen = look(settings_, at_);
    } catch (const runtime::connection_error& c) {
      if (c.reason.code == errc::permission_denied) throw;
      facts_.session_problem = c.reason.message;
    }
  }

  void monitor(ensemble_facts::server& one) {
    if (!one.problem.empty() || !one.is_serving) return;
    const std::string& address = addresses_.at(static_cast<std::size_t>(&one - facts_.servers.data()));
    try {
      one.conf = ask(address, "conf", "=", limit());
      one.mntr = ask(address, "mntr", "\t", limit());
    } catch (const runtime::connection_error& c) {
      one.problem = c.reason.message;
    }
  }

  const settings& settings_;
  runtime::wakeup_fd never_;
  ensemble_facts facts_;
  std::vector<std::string> addresses_;  // of the servers, in the order of the URL
  addresses at_;                        // of those that answer
  std::string last_problem_;
};

}  // namespace

std::vector<finding> diagnose(const settings& of, bool asks_for_world) {
  return ensemble_survey{of}.run(asks_for_world);
}

}  // namespace holdfast::zookeeper
