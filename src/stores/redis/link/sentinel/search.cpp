// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/sentinel/search.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "holdfast/error.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"

namespace holdfast::redis {

namespace {

constexpr std::size_t longest_text = 300;  // of an error that a server sends, in ours

/// What a server says, cut to a length and to what a terminal can show.
std::string shown(std::string text) {
  if (text.size() > longest_text) text = text.substr(0, longest_text) + "...";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      '?');
  return text;
}

/// What became of a Sentinel that was asked.
struct problem {
  std::string text;
  std::error_code code;
  bool retryable = true;
  bool is_unknown_name = false;
  std::optional<server_address> refused{};  // the server that it has named, and that is no primary
};

connection_error failure_of(const std::vector<problem>& all) {
  connection_error failed{{errc::unavailable, "no Sentinel leads to it: "}, false};
  bool all_unknown = true;
  bool same_code = true;
  for (const problem& each : all) {
    if (&each != all.data()) failed.reason.message += "; ";
    failed.reason.message += each.text;
    all_unknown = all_unknown && each.is_unknown_name;
    same_code = same_code && each.code == all.front().code;
    failed.retryable = failed.retryable || each.retryable;
  }
  if (same_code) failed.reason.code = all.front().code;
  if (all_unknown) {
    failed.reason.message +=
        "; correct the name of the primary in the store's URL, or have the Sentinels "
        "monitor it";
  }
  return failed;
}

void require_sentinel(const value& hello, const server_address& at) {
  const value* const mode = field_of(hello, "mode");
  if (mode == nullptr || mode->text == "sentinel") return;
  throw connection_error{{errc::foreign_store,
                          "the server is no Sentinel (its mode in HELLO); the URL of a server without "
                          "Sentinels is redis://" +
                              at.place()},
                         false};
}

}  // namespace

sentinel_search::sentinel_search(const settings& of, const tls_context* secure)
    : settings_{of}, secure_{secure}, order_(of.sentinel.addresses.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

connection sentinel_search::run(bool subscribes, int stop, const use& accept) {
  const io_deadline whole{settings_.connect_limit, stop};
  return run(
      {[&](std::size_t sentinel, std::size_t parts) { return ask(sentinel, subscribes, whole.part(parts)); },
       [&](answer from, std::size_t parts) { return accept(std::move(from), whole.part(parts)); }});
}

connection sentinel_search::run(const steps& by) {
  const std::vector<std::size_t> all = order();
  std::vector<problem> problems;
  for (std::size_t left = all.size(); left != 0; --left) {
    const std::size_t sentinel = all[all.size() - left];
    std::string about = settings_.sentinel.addresses.at(sentinel).place();
    std::optional<server_address> server;
    const auto fail = [&](const failure& reason, bool retryable) {
      put(sentinel, false);
      problems.push_back({about + ": " + shown(reason.message), reason.code, retryable, false, server});
    };
    try {
      // A Sentinel that is silent leaves time for the others, and for the primary.
      answer heard = by.ask(sentinel, left + 1);
      if (!heard.primary) {
        put(sentinel, false);
        about += " does not know it";
        if (!heard.names.empty()) about += ", but knows " + listed(heard.names);
        problems.push_back({about, errc::invalid_url, false, true});
        continue;
      }
      about += " names " + heard.primary->place();
      const auto before = std::find_if(problems.begin(), problems.end(),
                                       [&](const problem& each) { return each.refused == heard.primary; });
      if (before != problems.end()) {
        problems.push_back({about + " too", before->code, before->retryable});
        continue;
      }
      server = heard.primary;
      connection made = by.connect(std::move(heard), left == 1 ? 1 : 2);
      put(sentinel, true);
      return made;
    } catch (const connection_error& c) {
      if (c.reason.code == errc::closed) throw;
      fail(c.reason, c.retryable);
    } catch (const parser::garbage& g) {
      fail({errc::corrupt_store, std::string{"it does not answer as Redis does: "} + g.what()}, false);
    } catch (const misunderstood&) {
      fail({errc::corrupt_store, "its answer is not the address of a server"}, false);
    }
  }
  throw failure_of(problems);
}

sentinel_search::answer sentinel_search::ask(std::size_t sentinel, bool subscribes, io_deadline limit) const {
  const server_address& at = settings_.sentinel.addresses.at(sentinel);
  const auto login = settings_.sentinel.login.current();
  answer heard;
  heard.sentinel = sentinel;
  heard.to.parser = parser{longest_sentinel_reply};
  heard.to.stream = connect_stream(at, secure_, limit);
  limit.begin("the Sentinel to answer");
  introduction talk{heard.to, limit};
  std::string questions;
  append_hello(questions, login);
  // Before the question: a switch after its answer is announced.
  if (subscribes) {
    append(questions, {"SUBSCRIBE", switch_channel});
    append(questions, {"SUBSCRIBE", promotion_channel});
  }
  append_address_question(questions, settings_.sentinel.primary);
  talk.send(questions);
  const value greeting = talk.hear();
  require_no_error(greeting, login);
  require_sentinel(greeting, at);
  if (subscribes) {
    require_no_error(talk.hear(), login);
    // An ACL may forbid it, which costs time at a failover.
    [[maybe_unused]] const value second = talk.hear();
  }
  const value reply = talk.hear();
  require_no_error(reply, login);
  heard.primary = primary_address_in(reply);
  if (!heard.primary) heard.names = primary_names_in(talk.ask({"SENTINEL", "MASTERS"}));
  return heard;
}

std::vector<std::size_t> sentinel_search::order() const {
  const annotated::lock held{mutex_};
  return order_;
}

void sentinel_search::put(std::size_t sentinel, bool first) {
  const annotated::lock held{mutex_};
  const auto at = std::find(order_.begin(), order_.end(), sentinel);
  if (first)
    std::rotate(order_.begin(), at, at + 1);
  else
    std::rotate(at, at + 1, order_.end());
}

}  // namespace holdfast::redis
