#include "stores/redis/link/set_findings.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "stores/redis/link/self_description.hpp"
#include "stores/redis/protocol/keys.hpp"

namespace holdfast::redis {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using grade = finding::grade;

/// As one word for a shell of POSIX.
std::string word_of(std::string_view text) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/";
  if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos) return std::string{text};
  std::string word{'\''};
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word += '\'';
}

/// The command for a shell that deletes the key of a server's set. A terminal takes no control character, so
/// printf writes the one of the key.
std::string deletion_of_set(const settings& in, const server_address& at) {
  const std::string key = quorum_key(in.speech.prefix);
  const std::size_t separator = key.rfind('\x1f');
  std::string command = "redis-cli -h " + word_of(at.host) + " -p " + word_of(at.port);
  if (in.database != 0) command += " -n " + std::to_string(in.database);
  if (in.tls.on) command += in.tls.ca.empty() ? " --tls" : " --tls --cacert " + word_of(in.tls.ca);
  if (in.tls.on && !in.tls.cert.empty()) {
    command += " --cert " + word_of(in.tls.cert);
    if (!in.tls.key.empty()) command += " --key " + word_of(in.tls.key);
  }
  if (in.login.are_given()) command += " --user " + word_of(in.login.user) + " --askpass";
  return command + " DEL \"$(printf '%s\\037%s' " + word_of(key.substr(0, separator)) + ' ' +
         word_of(key.substr(separator + 1)) + ")\"";
}

class examination {
 public:
  examination(const settings& in, const std::vector<server_facts>& of) : in_{in}, of_{of} {}

  std::vector<finding> run() && {
    examine_majority();
    examine_names();
    examine_votes();
    examine_clocks();
    return std::move(found_);
  }

 private:
  void add(std::string subject, std::string condition, grade result, std::string observed,
           std::string meaning = {}, std::string remedy = {}) {
    found_.push_back({std::move(subject), std::move(condition), result, std::move(observed),
                      std::move(meaning), std::move(remedy)});
  }

  void examine_majority();
  void examine_names();
  void examine_votes();
  void examine_clocks();

  const settings& in_;
  const std::vector<server_facts>& of_;
  std::vector<finding> found_;
};

void examination::examine_majority() {
  const std::string observed =
      std::to_string(of_.size()) + " of " + std::to_string(in_.quorum.size()) + " servers answer";
  if (2 * of_.size() > in_.quorum.size()) return add("the set", "majority", grade::kept, observed);
  add("the set", "majority", grade::broken, observed, "no lock can be acquired or renewed",
      "start the servers that do not answer");
}

/// One server that keeps another set refuses the client as a whole: see server_set, which the clients use.
void examination::examine_names() {
  std::vector<std::string> places;
  places.reserve(in_.quorum.size());
  for (const server_address& each : in_.quorum) places.push_back(each.place());
  quorum::server_set set{places};
  bool are_kept = true;
  for (const server_facts& each : of_) {
    const auto index = static_cast<std::size_t>(std::ranges::find(places, each.place) - places.begin());
    if (index == places.size() || !each.set) continue;
    const std::string deletion = deletion_of_set(in_, in_.quorum[index]);
    if (each.set->is(value::kind::error)) {
      are_kept = false;
      const bool is_denied = is_denial(*each.set);
      add(each.place, "set", is_denied ? grade::unknown : grade::warning,
          "which servers its clients name is answered with " + each.set->text,
          "clients of another set of servers are not refused there, and a lock may be held twice",
          is_denied ? "ACL SETUSER " + each.user + " +get ~{" + in_.speech.prefix + "*" : deletion);
      continue;
    }
    set.hear(index, description_of(*each.set, std::string{each.field("run_id")}));
    const auto other = set.other_at(index);
    if (!other) continue;
    are_kept = false;
    add(each.place, "set", grade::broken,
        "it keeps '" + *other + "' as the servers of its clients, and this URL names '" + set.text() + "'",
        "it refuses each client of this URL as a whole (errc::foreign_store): nothing is acquired",
        "if this URL is wrong, name those servers; if it is right, end all clients of the other set, and: " +
            deletion);
  }
  if (are_kept) add("the set", "set", grade::kept, "no server keeps another set of servers for its clients");
}

/// A server that may have forgotten its votes has none for a while; one that is named twice has two.
void examination::examine_votes() {
  std::map<std::string, std::string> processes;
  for (const server_facts& each : of_) {
    const std::string run{each.field("run_id")};
    const auto [known, is_new] = processes.emplace(run, each.place);
    if (!run.empty() && !is_new) {
      add(each.place, "vote", grade::broken, "it is the same server as " + known->second,
          "it would vote twice: clients refuse this URL (errc::invalid_argument)", "name each server once");
    }
    const milliseconds up{1000 * each.number("uptime_in_seconds")};
    if (keep_each_write(each.settings) || in_.speech.guard.count() == 0 || run.empty() ||
        up >= in_.speech.guard)
      continue;
    add(each.place, "vote", grade::warning,
        "it began " + std::to_string(up / std::chrono::seconds{1}) +
            " s ago, and may have forgotten its votes",
        std::string{"it has no vote until "} + in_.speech.guard_option + " is over",
        "wait; a server votes as soon as it starts if its file has appendonly yes, appendfsync always and "
        "no-appendfsync-on-rewrite no");
  }
}

/// Tokens rise over forgetting as long as clocks differ by less than the guard. The number of a claim is the
/// time of the servers, so one that is far behind the others refuses it until its clock has come there.
void examination::examine_clocks() {
  const auto ahead = [](const server_facts& one) { return one.clock_ahead.value_or(microseconds{}); };
  const auto [least, most] = std::ranges::minmax(of_, {}, ahead);
  const auto apart = std::chrono::duration_cast<milliseconds>(ahead(most) - ahead(least));
  if (apart < dialect::furthest_number)
    return add("the set", "clocks", grade::kept, "the servers' clocks agree");

  const std::string observed = "the clocks of " + most.place + " and " + least.place + " are " +
                               std::to_string(apart.count()) + " ms apart";
  const std::string remedy = "timedatectl set-ntp true on each host (NTP)";
  if (apart < in_.speech.guard) {
    return add("the set", "clocks", grade::warning, observed,
               "a server that is more than a second behind the others refuses the token of a name that was "
               "free for as long: while another server is away, a free lock waits for that long, and a try "
               "fails",
               remedy);
  }
  add("the set", "clocks", grade::broken, observed,
      "tokens may fall after a server has forgotten, and a server far behind refuses claims", remedy);
}

}  // namespace

std::vector<finding> findings_of_set(const settings& in, const std::vector<server_facts>& of) {
  return examination{in, of}.run();
}

}  // namespace holdfast::redis
