// SPDX-License-Identifier: Apache-2.0
#include "stores/quorum/protocol/server_set.hpp"

#include <algorithm>
#include <utility>

#include "holdfast/error.hpp"

namespace holdfast::quorum {

namespace {

constexpr unsigned most_failures = 4;       // to write the set on one connection
constexpr std::size_t longest_text = 1024;  // of another set, in a message: a server is not trusted

std::string text_of(std::vector<std::string> places) {
  std::sort(places.begin(), places.end());
  std::string text;
  for (const std::string& each : places) text += (text.empty() ? "" : ",") + each;
  return text;
}

std::string printable(const std::string& text) {
  std::string shown = text.substr(0, longest_text);
  // Names of hosts are ASCII. Other characters may hide or turn what follows.
  std::replace_if(shown.begin(), shown.end(), [](char c) { return c < 0x20 || c > 0x7e; }, '?');
  return shown;
}

}  // namespace

server_set::server_set(std::vector<std::string> places)
    : places_{std::move(places)}, text_{text_of(places_)}, members_(places_.size()) {}

/// A server that restarted without its memory keeps no set any more. It was told another one before, and the
/// clients of that one will tell it again. So a client that it refused stays refused. A key that is gone
/// while the server ran was deleted to make room for this set.
void server_set::on_hello(std::size_t server, const self_description& said) {
  member& of = members_.at(server);
  const bool has_restarted = !of.run.empty() && !said.run.empty() && of.run != said.run;
  const bool stays_refused = of.is == state::conflicts && said.keeps_set && !said.set && has_restarted;
  if (!stays_refused) {
    of.run = said.run;
    of.other = said.set.value_or("");
    of.is = !said.keeps_set      ? state::agrees
            : !said.set          ? state::lacks
            : *said.set == text_ ? state::agrees
                                 : state::conflicts;
  }
  of.is_heard = true;
  of.is_connected = false;
  of.failures = 0;
}

bool server_set::connected(std::size_t server) {
  member& of = members_.at(server);
  of.is_connected = true;
  return std::exchange(of.run_in_use, of.run) != of.run || of.run.empty();
}

void server_set::on_unreachable(std::size_t server) {
  member& of = members_.at(server);
  of.is_heard = of.is_connected = false;
  if (of.is != state::agrees && of.is != state::conflicts) of.is = state::missed;
}

void server_set::join(std::size_t server) { members_.at(server).is = state::joining; }

bool server_set::failed(std::size_t server) {
  member& of = members_.at(server);
  if (of.is != state::joining) return false;
  of.is = state::unwritten;
  return ++of.failures < most_failures;
}

void server_set::lacks_again(std::size_t server) {
  member& of = members_.at(server);
  if (of.is == state::unwritten) of.is = state::lacks;
}

void server_set::wrote(std::size_t server) { members_.at(server).is_written = true; }

std::vector<std::size_t> server_set::take_written() {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    member& of = members_[i];
    if (!std::exchange(of.is_written, false)) continue;
    if (of.is == state::agrees) of.is = state::lacks;
    all.push_back(i);
  }
  return all;
}

bool server_set::is_unheard() const {
  return std::any_of(members_.begin(), members_.end(), [](const member& each) {
    return each.is == state::unheard || (each.is == state::lacks && !each.is_connected);
  });
}

bool server_set::is_joining() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const member& each) { return each.is == state::joining; });
}

std::vector<std::size_t> server_set::lacking() const {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (members_[i].is == state::lacks && members_[i].is_connected) all.push_back(i);
  return all;
}

std::optional<std::string> server_set::other_at(std::size_t server) const {
  const member& of = members_.at(server);
  if (of.is != state::conflicts) return std::nullopt;
  return printable(of.other);
}

std::optional<failure> server_set::conflict_at(std::size_t server) const {
  const auto other = other_at(server);
  if (!other) return std::nullopt;
  return failure{
      errc::foreign_store,
      "other clients name the servers " + *other + ", and this URL names " + text_ +
          "; all clients have to name the same servers, by the same addresses. If the set was changed: end "
          "all clients that use the former one, delete on each server the key that ends with \\x1fquorum, "
          "and start this client again"};
}

/// Addresses may move from one server to another: what was said before a server was missed counts no more.
std::optional<std::size_t> server_set::same_process_as(std::size_t server) const {
  const member& of = members_.at(server);
  const auto end = members_.begin() + static_cast<std::ptrdiff_t>(server);
  const auto twin = std::find_if(members_.begin(), end, [&](const member& each) {
    return each.is_heard && of.is_heard && !of.run.empty() && each.run == of.run;
  });
  if (twin == end) return std::nullopt;
  return static_cast<std::size_t>(twin - members_.begin());
}

std::optional<failure> server_set::conflict() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (auto refusal = conflict_at(i)) {
      refusal->message.insert(0, places_[i] + ": ");
      return refusal;
    }
    const auto twin = same_process_as(i);
    if (!twin) continue;
    return failure{errc::invalid_argument,
                   places_[*twin] + " and " + places_[i] +
                       " are the same server, which has one vote; name each server once in the store's URL"};
  }
  return std::nullopt;
}

}  // namespace holdfast::quorum
