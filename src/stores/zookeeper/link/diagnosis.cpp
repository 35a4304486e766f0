#include "stores/zookeeper/link/diagnosis.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <sstream>
#include <utility>
#include <zookeeper/zookeeper.h>

#include "runtime/io_deadline.hpp"
#include "runtime/wakeup_fd.hpp"
#include "stores/zookeeper/link/four_letter.hpp"
#include "stores/zookeeper/link/names.hpp"
#include "stores/zookeeper/link/session_reader.hpp"
#include "stores/zookeeper/protocol/ensemble_facts.hpp"
#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::size_t most_lists = 1000;  // of nodes below the root

std::string parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// The addresses of a list in the format of the client library.
std::vector<std::string> split(std::string list) {
  std::vector<std::string> all;
  std::ranges::replace(list, ',', '\n');
  std::istringstream lines{list};
  for (std::string each; std::getline(lines, each);) all.push_back(each);
  return all;
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

/// Lists the nodes below the root that are no contenders. \throws runtime::connection_error.
void measure_lists(session_reader& in, ensemble_facts::session& found) {
  std::deque<std::string> rest{found.root};
  for (; !rest.empty(); ++found.lists) {
    if (found.lists == most_lists) {
      found.has_more = true;
      return;
    }
    const std::string path = rest.front();
    rest.pop_front();
    const auto listed = in.list(path);
    // A node that has gone meanwhile has no list.
    if (listed.code != ZOK && listed.code != ZNONODE)
      found.unseen = "the nodes below " + path + " cannot be listed: " + zerror(listed.code);
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

ensemble_facts::session look(session_reader& in, const settings& of) {
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
  if (rights.code != ZOK && rights.code != ZNOAUTH) found.acl_problem = zerror(rights.code);
  if (!found.has_root) return found;
  try {
    measure_lists(in, found);
  } catch (const runtime::connection_error& c) {  // the session was granted: a list that is slow is no more
    if (c.reason.code == errc::permission_denied) throw;
    found.unseen = "the nodes cannot be listed: " + c.reason.message;
  }
  return found;
}

/// The answer as fields; none where the server does not allow the command.
ensemble_facts::fields fields_of(const std::string& address, std::string_view command,
                                 std::string_view separator, const runtime::io_deadline& limit) {
  const std::string answer = ask_four_letter(address, command, limit);
  if (answer.find("not in the whitelist") != std::string::npos) return {};
  return fields_in(answer, separator);
}

class ensemble_survey {
 public:
  explicit ensemble_survey(const settings& of) : settings_{of} {}

  std::vector<finding> run(bool asks_for_world) && {
    facts_.requested = settings_.session_timeout;
    facts_.buffer_bytes = settings_.buffer_bytes;
    facts_.user = settings_.auth.substr(0, settings_.auth.find(':'));
    facts_.asks_for_world = asks_for_world;
    facts_.makes_world = settings_.acl == settings::access::world;
    facts_.is_local = std::ranges::all_of(settings_.servers, is_local);
    for (const settings::server& each : settings_.servers) hear(each);
    if (at_.count == 0) throw runtime::connection_error{{errc::unavailable, last_problem_}};
    {
      std::optional<session_reader> session;
      look_at_nodes(session);
      for (ensemble_facts::server& each : facts_.servers) count_local_sessions(each);
    }
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
    for (const std::string& each : split(found.list)) {
      address = each;
      hear(one, address);
      if (one.problem.empty()) break;
    }
    if (!one.problem.empty()) {
      last_problem_ = one.problem;
      return;
    }
    at_.list.append(at_.list.empty() ? "" : ",").append(found.list);
    at_.count += found.count;
  }

  void hear(ensemble_facts::server& one, const std::string& address) {
    one.problem.clear();
    try {
      const std::string answer = ask_four_letter(address, "srvr", limit());
      one.is_serving = answer.find("not currently serving") == std::string::npos;
      if (one.is_serving && answer.find("not in the whitelist") == std::string::npos)
        one.srvr = fields_in(answer, ": ");
    } catch (const runtime::connection_error& c) {
      one.problem = c.reason.message;
    }
  }

  void look_at_nodes(std::optional<session_reader>& session) {
    if (std::ranges::none_of(facts_.servers,
                             [](const auto& each) { return each.problem.empty() && each.is_serving; })) {
      facts_.session_problem = "no server serves";
      return;
    }
    try {
      session.emplace(settings_, at_, 2 * settings_.connect_limit);
      facts_.seen = look(*session, settings_);
    } catch (const runtime::connection_error& c) {
      if (c.reason.code == errc::permission_denied) throw;
      facts_.session_problem = c.reason.message;
    }
  }

  /// While the session is open: it is a local one itself, where the server makes such.
  void count_local_sessions(ensemble_facts::server& one) {
    ask(one, [&](const std::string& address) { one.mntr = fields_of(address, "mntr", "\t", limit()); });
  }

  void monitor(ensemble_facts::server& one) {
    ask(one, [&](const std::string& address) {
      one.conf = fields_of(address, "conf", "=", limit());
      auto during_session = one.mntr.extract("zk_local_sessions");
      one.mntr = fields_of(address, "mntr", "\t", limit());
      if (during_session) one.mntr.insert_or_assign(during_session.key(), during_session.mapped());
    });
  }

  template <class Question>
  void ask(ensemble_facts::server& one, const Question& question) {
    if (!one.problem.empty() || !one.is_serving) return;
    try {
      question(addresses_.at(static_cast<std::size_t>(&one - facts_.servers.data())));
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
