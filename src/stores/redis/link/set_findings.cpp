#include "stores/redis/link/set_findings.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stores/redis/link/self_description.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/shell_words.hpp"

namespace holdfast::redis {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using grade = finding::grade;

/// The command for a shell that deletes the key of a server's set.
std::string deletion_of_set(const settings& in, const server_address& at) {
  std::string command = "redis-cli -h " + word_for_shell(at.host) + " -p " + word_for_shell(at.port);
  if (in.database != 0) command += " -n " + std::to_string(in.database);
  if (in.tls.on) command += in.tls.ca.empty() ? " --tls" : " --tls --cacert " + word_for_shell(in.tls.ca);
  if (in.tls.on && !in.tls.verify) command += " --insecure";
  if (in.tls.on && !in.tls.name.empty()) command += " --sni " + word_for_shell(in.tls.name);
  if (in.tls.on && !in.tls.cert.empty()) {
    command += " --cert " + word_for_shell(in.tls.cert);
    if (!in.tls.key.empty()) command += " --key " + word_for_shell(in.tls.key);
  }
  if (in.login.are_given()) command += " --user " + word_for_shell(in.login.user) + " --askpass";
  return command + " DEL " + key_for_shell(quorum_key(in.speech.prefix));
}

std::vector<std::string> places_of(const settings& in) {
  std::vector<std::string> places;
  places.reserve(in.quorum.size());
  for (const server_address& each : in.quorum) places.push_back(each.place());
  return places;
}

bool is_wrong_type(const value& reply) {
  return reply.is(value::kind::error) && reply.text.starts_with("WRONGTYPE");
}

class examination {
 public:
  examination(const settings& in, const std::vector<server_facts>& of)
      : in_{in}, places_{places_of(in)}, set_{places_} {
    for (const server_facts& each : of) {
      const auto place = std::ranges::find(places_, each.place);
      if (place == places_.end()) continue;
      const auto index = static_cast<std::size_t>(place - places_.begin());
      set_.on_hello(index, description_of(each.set.value_or(value{}), std::string{each.field("run_id")}));
      of_.push_back({index, each});
    }
  }

  std::vector<finding> run() && {
    examine_majority();
    examine_names();
    examine_votes();
    examine_clocks();
    return std::move(found_);
  }

 private:
  /// A server that answers.
  struct voter {
    std::size_t index;
    const server_facts& said;
  };

  void add(std::string subject, std::string condition, grade result, std::string observed,
           std::string meaning = {}, std::string remedy = {}) {
    found_.push_back({std::move(subject), std::move(condition), result, std::move(observed),
                      std::move(meaning), std::move(remedy)});
  }

  void examine_majority();
  void examine_names();
  bool examine_names_at(const voter& one);
  void examine_votes();
  void examine_clocks();

  const settings& in_;
  const std::vector<std::string> places_;
  quorum::server_set set_;  // which the clients use, too
  std::vector<voter> of_;
  std::vector<finding> found_;
};

void examination::examine_majority() {
  const std::string observed =
      std::to_string(of_.size()) + " of " + std::to_string(places_.size()) + " servers answer";
  if (2 * of_.size() > places_.size()) return add("the set", "majority", grade::kept, observed);
  add("the set", "majority", grade::broken, observed, "no lock can be acquired or renewed",
      "start the servers that do not answer");
}

/// One server that keeps another set refuses the client as a whole.
void examination::examine_names() {
  bool are_kept = true;
  for (const voter& each : of_) are_kept = examine_names_at(each) && are_kept;
  if (!are_kept) return;
  add("the set", "set", grade::kept,
      std::string{of_.size() == places_.size() ? "no server" : "no server that answers"} +
          " keeps another set of servers for its clients");
}

/// \return whether it is known that it keeps no other set.
bool examination::examine_names_at(const voter& one) {
  const server_facts& said = one.said;
  if (!said.set) return true;
  if (const auto other = set_.other_at(one.index)) {
    add(said.place, "set", grade::broken,
        "it keeps '" + *other + "' as the servers of its clients, and this URL names '" + set_.text() + "'",
        "it refuses each client of this URL as a whole (errc::foreign_store): nothing is acquired",
        "if this URL is wrong, name those servers; if it is right, end all clients of the other set, and: " +
            deletion_of_set(in_, in_.quorum[one.index]));
    return false;
  }
  if (said.set->is(value::kind::text) || said.set->is(value::kind::null)) return true;

  const bool is_error = said.set->is(value::kind::error);
  const std::string observed =
      "which servers its clients name is answered with " + (is_error ? said.set->text : "what is no text");
  const std::string meaning =
      "clients of another set of servers are not refused there, and a lock may be held twice";
  if (is_wrong_type(*said.set)) {
    add(said.place, "set", grade::warning, observed, meaning, deletion_of_set(in_, in_.quorum[one.index]));
  } else if (is_denial(*said.set)) {
    add(said.place, "set", grade::unknown, observed, meaning,
        "ACL SETUSER " + said.user + " +get " + key_grant("{", in_.speech.prefix));
  } else if (is_obstacle(*said.set)) {
    add(said.place, "set", grade::unknown, observed, "whether it keeps another set was not examined",
        "run holdfast doctor again when that is over");
  } else {
    add(said.place, "set", grade::unknown, observed, meaning,
        "let the server answer GET as Redis does, and run holdfast doctor again");
  }
  return false;
}

/// A server that may have forgotten its votes has none for a while; one that is named twice has two.
void examination::examine_votes() {
  for (const auto& [index, each] : of_) {
    if (const auto twin = set_.same_process_as(index)) {
      add(each.place, "vote", grade::broken, "it is the same server as " + places_[*twin],
          "it would vote twice: clients refuse this URL (errc::invalid_argument)", "name each server once");
    }
    const milliseconds up{1000 * each.number("uptime_in_seconds")};
    if (keep_each_write(each.settings) || in_.speech.guard.count() == 0 || each.field("run_id").empty() ||
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

/// A server accepts a number as token only near its clock: see lua/quorum/grant.lua. That keeps the order of
/// the tokens whatever the clocks are, so clocks that are far apart cost votes alone.
void examination::examine_clocks() {
  if (of_.empty()) return;
  const auto ahead = [](const voter& one) { return one.said.clock_ahead.value_or(microseconds{}); };
  const auto [least, most] = std::ranges::minmax_element(of_, {}, ahead);
  const auto apart = std::chrono::duration_cast<milliseconds>(ahead(*most) - ahead(*least));
  if (apart < dialect::furthest_number)
    return add("the set", "clocks", grade::kept, "the servers' clocks agree");

  const std::string observed = "the clocks of " + most->said.place + " and " + least->said.place + " are " +
                               std::to_string(apart.count()) + " ms apart";
  const std::string remedy = "timedatectl set-ntp true on each host (NTP)";
  const milliseconds guard = in_.speech.guard;  // without one a server accepts old numbers, too
  if (guard.count() == 0 || apart < guard) {
    return add(
        "the set", "clocks", grade::warning, observed,
        "the number of a new claim is the time, and becomes its fencing token: a server whose clock is "
        "more than a second behind the others grants the claim, but does not accept the number until "
        "its clock has come there, and its vote does not count before; where the servers whose clocks "
        "agree are no majority any more, a free lock waits for as long as that clock is behind, and a "
        "try fails",
        remedy);
  }
  add("the set", "clocks", grade::broken, observed,
      "a server accepts a number as fencing token only near its clock, and these two accept none in common: "
      "a claim has the vote of one of them at most; where the servers whose clocks agree are no majority "
      "any more, nothing is acquired; tokens rise all the same",
      remedy);
}

}  // namespace

std::vector<finding> findings_of_set(const settings& in, const std::vector<server_facts>& of) {
  return examination{in, of}.run();
}

}  // namespace holdfast::redis
