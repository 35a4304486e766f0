#include "stores/redis/link/sentinel/search.hpp"

#include <exception>
#include <string>
#include <utility>
#include <variant>

#include "stores/redis/link/introduction.hpp"
#include "stores/redis/link/socket.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/sentinel_replies.hpp"

namespace holdfast::redis {

using runtime::io_deadline;

namespace {

void require_sentinel(const value& hello, const server_address& at) {
  const value* const mode = field_of(hello, "mode");
  if (mode == nullptr || mode->text == "sentinel") return;
  throw connection_error{{errc::foreign_store,
                          "the server is no Sentinel (its mode in HELLO); the URL of a server without "
                          "Sentinels is redis://" +
                              at.place()},
                         false};
}

/// What an exception means for the search. Rethrows what ends it.
std::pair<failure, bool> reason_in(const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const connection_error& c) {
    if (c.reason.code == errc::closed) throw;
    return {c.reason, c.retryable};
  } catch (const parser::garbage& g) {
    return {{errc::corrupt_store, std::string{"it does not answer as Redis does: "} + g.what()}, false};
  } catch (const misunderstood&) {
    return {{errc::corrupt_store, "its answer is not the address of a server"}, false};
  }
}

}  // namespace

sentinel_search::sentinel_search(const settings& of, const tls_context* secure)
    : settings_{of}, secure_{secure}, order_{of.sentinel.addresses.size()} {}

connection sentinel_search::run(bool subscribes, int stop, const use& accept) {
  const io_deadline whole{settings_.connect_limit, stop};
  sentinel_query query{settings_.sentinel.primary, settings_.sentinel.addresses, order()};
  sentinel_query::step step = query.begin();
  answer heard;
  while (true) {
    try {
      if (const auto* next = std::get_if<sentinel_query::ask>(&step)) {
        heard = ask(next->sentinel, subscribes, whole.part(next->parts));
        if (heard.primary) {
          step = query.on_address(*heard.primary);
          if (std::holds_alternative<sentinel_query::connect>(step)) continue;
        } else {
          put_last(heard.sentinel);
          step = query.on_unknown(heard.names);
        }
      } else if (const auto* server = std::get_if<sentinel_query::connect>(&step)) {
        connection made = accept(std::move(heard), whole.part(server->parts));
        put_first(query.current());
        return made;
      } else {
        const auto& failed = std::get<sentinel_query::failed>(step);
        throw connection_error{failed.reason, failed.retryable};
      }
    } catch (const std::exception&) {
      if (std::holds_alternative<sentinel_query::failed>(step)) throw;
      const auto [reason, retryable] = reason_in(std::current_exception());
      put_last(query.current());
      step = std::holds_alternative<sentinel_query::ask>(step) ? query.on_no_answer(reason, retryable)
                                                               : query.on_refused(reason, retryable);
    }
  }
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
  if (heard.primary) return heard;
  std::string names_question;
  append_names_question(names_question);
  talk.send(names_question);
  heard.names = primary_names_in(talk.hear());
  return heard;
}

std::vector<std::size_t> sentinel_search::order() const {
  const annotated::lock held{mutex_};
  return order_.indices();
}

void sentinel_search::put_first(std::size_t sentinel) {
  const annotated::lock held{mutex_};
  order_.put_first(sentinel);
}

void sentinel_search::put_last(std::size_t sentinel) {
  const annotated::lock held{mutex_};
  order_.put_last(sentinel);
}

}  // namespace holdfast::redis
