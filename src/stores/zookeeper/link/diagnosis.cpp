// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/link/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <netdb.h>
#include <optional>
#include <poll.h>
#include <set>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <variant>

#include "base/owner_id.hpp"
#include "runtime/io_deadline.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/zookeeper/link/conditions.hpp"
#include "stores/zookeeper/link/handle.hpp"
#include "stores/zookeeper/link/names.hpp"
#include "stores/zookeeper/protocol/paths.hpp"

namespace holdfast::zookeeper {

namespace {

using namespace std::chrono_literals;
using doctor::facts;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t safe_ticks = 8;  // of a session, see the page

/// A server has no say in facts of other names.
constexpr std::string_view taken =
    " Mode Zxid tickTime minSessionTimeout maxSessionTimeout zk_local_sessions zk_cnt_fsynctime "
    "zk_cnt_sync_processor_batch_size ";

bool is_local(const settings::server& at) {
  return at.host == "localhost" || at.host == "::1" || at.host.starts_with("127.");
}

constexpr std::size_t most_bytes = 1 << 20;

struct descriptor {
  explicit descriptor(int of) : number{of} {}
  ~descriptor() {
    if (number >= 0) ::close(number);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int number;
};

[[noreturn]] void fail(const std::string& step, int system_error) {
  throw runtime::connection_error{{errc::unavailable, step + ": " + std::strerror(system_error)}};
}

/// Sends one of the servers' administrative commands ("srvr", "conf", "mntr"), over a connection of its own.
/// \param address one of `addresses`.
/// \return the answer, at most 1 MiB of it. \throws runtime::connection_error.
std::string ask_four_letter(const std::string& address, std::string_view command,
                            runtime::io_deadline limit) {
  const auto colon = address.rfind(':');
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int problem =
      ::getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (problem != 0) throw runtime::connection_error{{errc::unavailable, ::gai_strerror(problem)}};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner{found, &::freeaddrinfo};
  const descriptor to{::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (to.number < 0) fail("no socket", errno);
  limit.begin("the server to accept a connection");
  if (::connect(to.number, found->ai_addr, found->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) fail("cannot connect", errno);
    limit.wait(to.number, POLLOUT);
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(to.number, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) fail("cannot connect", code);
  }
  limit.begin("the server to answer");
  if (::send(to.number, command.data(), command.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(command.size()))
    fail("cannot send", errno);
  std::string answer;
  std::array<char, 16'384> part{};
  while (answer.size() < most_bytes) {
    limit.wait(to.number, POLLIN);
    const ssize_t count = ::recv(to.number, part.data(), part.size(), 0);
    if (count == 0) break;
    if (count < 0 && errno != EAGAIN && errno != EINTR) fail("cannot read the answer", errno);
    if (count > 0) answer.append(part.data(), static_cast<std::size_t>(count));
  }
  return answer;
}

/// A session that blocks.
class blocking_session {
 public:
  /// \param limit for the session and all that is asked in it. \throws runtime::connection_error.
  blocking_session(const settings& of, const addresses& at, milliseconds limit)
      : until_{steady_clock::now() + limit}, handle_{of, at} {
    run_until([this] { return timeout_ > 0ms; });
  }

  /// That the servers have granted.
  [[nodiscard]] milliseconds timeout() const { return timeout_; }

  /// \throws runtime::connection_error if the session is over, or the time.
  [[nodiscard]] answer ask(const operation& step) {
    std::optional<result> found;
    handle_.start(step, [&](result r) { found = std::move(r); });
    run_until([&] { return found.has_value(); });
    if (is_unanswered(*found)) throw runtime::connection_error{found->reason};
    return found->code;
  }

  /// Tries it with a step that cannot be carried out as a whole.
  [[nodiscard]] bool may_create_below(const std::string& path) {
    const std::string node = (path == "/" ? "" : path) + "/doctor-" + owner_id::random().hex();
    return ask({.kind = operation_kind::replace, .path = node, .former = node + "-none"}) != answer::refused;
  }

 private:
  void run_until(const std::function<bool()>& is_done) {
    while (!is_done()) {
      const auto left = std::chrono::ceil<milliseconds>(until_ - steady_clock::now());
      if (left <= 0ms) throw runtime::connection_error{{errc::unavailable, "no answer in time"}};
      const handle::interest wanted = handle_.wants();
      pollfd events{wanted.descriptor, wanted.events, 0};
      // A server that cannot be reached is tried again at once: not without a pause.
      const milliseconds most = wanted.descriptor >= 0 ? wanted.patience : 20ms;
      ::poll(&events, 1, static_cast<int>(std::min(left, most).count()));
      handle_.go_on(events.revents);
      for (handle::news& each : handle_.take_news()) {
        if (const auto* made = std::get_if<handle::connected>(&each)) timeout_ = made->timeout;
        if (const auto* end = std::get_if<handle::over>(&each); end != nullptr && end->refusal)
          throw runtime::connection_error{*end->refusal};
        if (auto* reply = std::get_if<handle::answered>(&each)) reply->handler(std::move(reply->result));
      }
    }
  }

  steady_clock::time_point until_;
  milliseconds timeout_{};
  handle handle_;
};

class ensemble_survey {
 public:
  explicit ensemble_survey(const settings& of) : settings_{of} {}

  doctor::report run(bool asks_for_world) && {
    for (const settings::server& each : settings_.servers) hear(each);
    if (at_.empty()) throw runtime::connection_error{{errc::unavailable, last_problem_}};
    const std::string user = settings_.auth.substr(0, settings_.auth.find(':'));
    ensemble_.set("client", user.empty() ? "a client without auth" : "the user " + user);
    ensemble_.set("requested", settings_.session_timeout.count());
    ensemble_.set_flag("asks_for_world", asks_for_world);
    ensemble_.set_flag("makes_world", settings_.acl == settings::access::world);
    ensemble_.set_flag("is_local", std::ranges::all_of(settings_.servers, is_local));
    look();
    // The session has been written by then, which shows whether a server forces writes to its disk.
    doctor::report result;
    std::vector<finding>& all = result.findings;
    std::vector<facts> said;
    for (one& each : servers_) {
      ask(each, "conf", "=");
      ask(each, "mntr", "\t");
      if (!each.said.has("problem")) each.said.set("missing", each.missing);
      if (each.said.has("tickTime")) each.said.set("two_ticks", 2 * each.said.number("tickTime"));
      doctor::examine(conditions::server_conditions, each.said, all);
      said.push_back(each.said);
      add_transaction(each.said, result.tokens);
    }
    conclude(ensemble_, said);
    doctor::examine(conditions::ensemble_conditions, ensemble_, all);
    return result;
  }

 private:
  struct one {
    facts said;
    std::string address;
    std::string missing;  // the commands that it does not answer
  };
  [[nodiscard]] runtime::io_deadline limit() const {
    return {std::min(settings_.connect_limit, milliseconds{2s}), never_.descriptor()};
  }

  void hear(const settings::server& at) {
    settings alone;
    alone.servers = {at};
    one& server = servers_.emplace_back(one{facts{alone.place()}, {}, {}});
    const auto outcome = name_lookup::begin({at})->wait(settings_.connect_limit);
    if (const auto* problem = std::get_if<failure>(&outcome)) {
      last_problem_ = problem->message;
    } else {
      const auto& found = std::get<addresses>(outcome);
      for (const std::string& address : found) {
        try {
          server.address = address;
          const std::string answer = ask_four_letter(server.address, "srvr", limit());
          const bool is_serving = answer.find("not currently serving") == std::string::npos;
          server.said.set("state", is_serving ? "serving" : "waiting");
          if (!set_fields(server.said, answer, ": ") && is_serving) server.missing = "srvr";
          at_.insert(at_.end(), found.begin(), found.end());
          return;
        } catch (const runtime::connection_error& c) {
          last_problem_ = c.reason.message;
        }
      }
    }
    server.said.set("problem", last_problem_);
  }

  /// \param only these fields, and nothing is said of the command; empty: all.
  void ask(one& server, const char* command, std::string_view separator, std::string_view only = {}) {
    if (server.said.text("state") != "serving" || server.said.has("problem")) return;
    try {
      const std::string answer = ask_four_letter(server.address, command, limit());
      if (!only.empty()) {
        facts all;
        set_fields(all, answer, separator);
        if (all.has(only)) server.said.set(only, all.text(only));
      } else if (!set_fields(server.said, answer, separator)) {
        server.missing.append(server.missing.empty() ? "" : ", ").append(command);
      }
    } catch (const runtime::connection_error& c) {
      server.said.set("problem", c.reason.message);
    }
  }

  /// What a session may do at the root, or at the nearest node above it that is there.
  void look() {
    if (std::ranges::none_of(servers_, [](const one& each) { return each.said.text("state") == "serving"; }))
      return ensemble_.set("session_problem", "no server serves");
    try {
      blocking_session own{settings_, at_, 2 * settings_.connect_limit};
      ensemble_.set("timeout", own.timeout().count());
      // The session is a local one itself, if the server makes such.
      for (one& each : servers_) ask(each, "mntr", "\t", "zk_local_sessions");
      std::string root = top_of(settings_.recipes.root);
      const auto read = [&] { return own.ask({.kind = operation_kind::get, .path = root}); };
      answer found = read();
      ensemble_.set_flag("has_root", found != answer::no_node);
      for (; found == answer::no_node && root != "/"; found = read())
        root = top_of(root.substr(0, root.rfind('/')));
      ensemble_.set("root", root);
      ensemble_.set_flag("may_read", found != answer::refused);
      ensemble_.set_flag("may_create", own.may_create_below(root));
      if (settings_.acl == settings::access::world) return;
      settings anybody = settings_;
      anybody.acl = settings::access::world;
      anybody.auth.clear();
      ensemble_.set_flag("is_open",
                         blocking_session{anybody, at_, settings_.connect_limit}.may_create_below(root));
    } catch (const runtime::connection_error& c) {
      if (c.reason.code == errc::permission_denied) throw;
      if (!ensemble_.has("may_create"))
        ensemble_.set(ensemble_.has("timeout") ? "rights_problem" : "session_problem", c.reason.message);
    }
  }

  const settings& settings_;
  runtime::wakeup_fd never_;
  std::vector<one> servers_;  // in the order of the URL
  addresses at_;              // of those that answer
  std::string last_problem_;
  facts ensemble_{"the ensemble"};
};

}  // namespace

bool set_fields(facts& of, std::string_view answer, std::string_view separator) {
  bool is_any = false;
  while (!answer.empty()) {
    const std::string_view line = answer.substr(0, answer.find('\n'));
    answer.remove_prefix(std::min(answer.size(), line.size() + 1));
    const auto at = line.find(separator);
    if (at == std::string_view::npos) continue;
    is_any = true;
    const std::string_view name = line.substr(0, at);
    if (taken.find(' ' + std::string{name} + ' ') != std::string_view::npos)
      of.set(name, line.substr(at + separator.size()));
  }
  return is_any;
}

void add_transaction(const facts& of_server, doctor::token_source& to) {
  constexpr std::string_view prefix = "0x";
  std::string_view text = of_server.text("Zxid");
  if (!text.starts_with(prefix)) return;
  text.remove_prefix(prefix.size());
  std::int64_t last = 0;  // of Java: never negative
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), last, 16);
  if (problem == std::errc{} && end == text.data() + text.size() && last > 0)
    to.add_transaction(static_cast<std::uint64_t>(last));
}

void conclude(facts& ensemble, const std::vector<facts>& servers) {
  const auto count = [&](std::string_view mode) {
    return std::ranges::count_if(servers, [&](const facts& each) { return each.text("Mode") == mode; });
  };
  const auto alone = count("standalone");
  ensemble.set_flag("mixed", count("leader") > 1 || alone > 1 || (alone == 1 && servers.size() > 1));
  std::set<std::string> bounds;
  std::int64_t tick = 0;
  for (const facts& each : servers) {
    tick = std::max(tick, each.number("tickTime"));
    if (each.has("minSessionTimeout") && each.has("maxSessionTimeout"))
      bounds.insert(each.text("minSessionTimeout") + " to " + each.text("maxSessionTimeout") + " ms");
  }
  ensemble.set("tick", tick);
  ensemble.set("safe_timeout", safe_ticks * tick);
  if (servers.size() >= 2) ensemble.set("kinds_of_bounds", static_cast<std::int64_t>(bounds.size()));
  std::string all;
  for (const std::string& each : bounds) all.append(all.empty() ? "" : ", ").append(each);
  ensemble.set("bounds", all);
}

doctor::report diagnose(const settings& of, bool asks_for_world) {
  return ensemble_survey{of}.run(asks_for_world);
}

}  // namespace holdfast::zookeeper
