// SPDX-License-Identifier: Apache-2.0
// <holdfast/holdfast.h>: the core of the contract through the functions of C, with their codes, texts and
// descriptors.

#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "contract/contract.hpp"
#include "contract/sleeping_thread.hpp"
#include <holdfast/holdfast.h>

namespace holdfast::contract {
namespace {

template <auto free>
struct freed {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using client_ptr = std::unique_ptr<holdfast_client, freed<holdfast_client_free>>;
using lease_ptr = std::unique_ptr<holdfast_lease, freed<holdfast_lease_free>>;
using state_ptr = std::unique_ptr<holdfast_state, freed<holdfast_state_free>>;
using stop_ptr = std::unique_ptr<holdfast_stop, freed<holdfast_stop_free>>;
using queue_ptr = std::unique_ptr<holdfast_queue, freed<holdfast_queue_free>>;
using watch_ptr = std::unique_ptr<holdfast_watch, freed<holdfast_watch_free>>;
using fence_ptr = std::unique_ptr<holdfast_fence, freed<holdfast_fence_free>>;

/// How a call has ended.
struct ended {
  int code = HOLDFAST_OK;
  std::string text;
  friend bool operator==(const ended& one, int code) { return one.code == code; }
  friend std::ostream& operator<<(std::ostream& out, const ended& one) {
    return out << one.code << " (" << one.text << ')';
  }
};

/// Calls with a place for the text.
template <class Call>
ended calling(Call call) {
  char* text = nullptr;
  ended result{call(&text), {}};
  EXPECT_EQ(text != nullptr, result.code != HOLDFAST_OK);
  if (text != nullptr) result.text = text;
  holdfast_free(text);
  return result;
}

/// A call that makes an object.
template <class Pointer, class Call>
std::pair<ended, Pointer> making(Call call) {
  auto* made = reinterpret_cast<typename Pointer::element_type*>(1);
  auto result = calling([&](char** text) { return call(&made, text); });
  EXPECT_EQ(made != nullptr, result.code == HOLDFAST_OK);
  return {std::move(result), Pointer{made}};
}

bool is_readable(int fd, int limit_ms = 0) {
  ::pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, limit_ms) == 1;
}
constexpr int hang_ms = 60'000;  // far longer than anything here takes

holdfast_spec exclusive_spec(const char* name) { return {name, HOLDFAST_EXCLUSIVE, 0, 0}; }

/// What a test asks for.
struct c_wish {
  std::vector<holdfast_spec> specs;
  std::int64_t wait_ms = HOLDFAST_FOREVER;
  holdfast_stop* stop = nullptr;
  const holdfast_lock_options* options = nullptr;

  /// It points into the wish.
  [[nodiscard]] holdfast_request request() const& {
    holdfast_request made = HOLDFAST_REQUEST_INIT(specs.data(), specs.size());
    made.wait_ms = wait_ms;
    made.stop = stop;
    made.options = options;
    return made;
  }
  [[nodiscard]] holdfast_request request() && = delete;
};

std::pair<ended, lease_ptr> take(const client_ptr& client, const c_wish& wanted) {
  const auto request = wanted.request();
  return making<lease_ptr>([&](holdfast_lease** lease, char** text) {
    return holdfast_acquire(client.get(), &request, lease, text);
  });
}
std::pair<ended, lease_ptr> campaign(const client_ptr& client, const char* name, std::string_view value,
                                     std::int64_t wait_ms) {
  const c_wish wanted{{exclusive_spec(name)}, wait_ms};
  const auto request = wanted.request();
  return making<lease_ptr>([&](holdfast_lease** lease, char** text) {
    return holdfast_campaign(client.get(), &request, value.data(), value.size(), lease, text);
  });
}
ended release(const lease_ptr& lease) {
  return calling([&](char** text) { return holdfast_lease_release(lease.get(), text); });
}
ended renew(const lease_ptr& lease) {
  return calling([&](char** text) { return holdfast_lease_renew(lease.get(), text); });
}
int lost_fd(const lease_ptr& lease) {
  int fd = -2;
  EXPECT_EQ(calling([&](char** text) { return holdfast_lease_lost_fd(lease.get(), &fd, text); }),
            HOLDFAST_OK);
  return fd;
}

queue_ptr open_queue(std::int64_t patience_ms = 0) {
  return making<queue_ptr>(
             [&](holdfast_queue** out, char** text) { return holdfast_queue_open(patience_ms, out, text); })
      .second;
}
ended start(const client_ptr& client, const c_wish& wanted, const queue_ptr& queue, std::uint64_t tag) {
  const auto request = wanted.request();
  return calling(
      [&](char** text) { return holdfast_acquire_start(client.get(), &request, queue.get(), tag, text); });
}
ended start_release(const lease_ptr& lease, const queue_ptr& queue, std::uint64_t tag) {
  return calling(
      [&](char** text) { return holdfast_lease_release_start(lease.get(), queue.get(), tag, text); });
}

/// An end of a queue.
struct tagged_end {
  std::uint64_t tag = 0;
  ended result;
  lease_ptr lease;
};
/// The next end, for which it waits.
tagged_end next_of(const queue_ptr& queue) {
  EXPECT_TRUE(is_readable(holdfast_queue_fd(queue.get()), hang_ms));
  holdfast_completion end{};
  EXPECT_TRUE(holdfast_queue_next(queue.get(), &end));
  tagged_end next{end.tag, {end.code, end.message == nullptr ? "" : end.message}, lease_ptr{end.lease}};
  EXPECT_EQ(end.message != nullptr, end.code != HOLDFAST_OK);
  holdfast_free(end.message);
  return next;
}

class from_c : public on_each_store {
 protected:
  /// A client of C; with the limits of the others here, since the machine may keep a server from its work.
  client_ptr open_c() {
    holdfast_lock_options locks = HOLDFAST_LOCK_OPTIONS_INIT;
    locks.retry_limit_ms = 50'000;
    holdfast_client_options options = HOLDFAST_CLIENT_OPTIONS_INIT;
    options.locks = &locks;
    options.flush_limit_ms = 50'000;
    options.program = "a program in C";
    auto [result, made] = making<client_ptr>([&](holdfast_client** client, char** text) {
      return holdfast_client_open(store_->url().c_str(), &options, client, text);
    });
    EXPECT_EQ(result, HOLDFAST_OK);
    return std::move(made);
  }
  static holdfast_lock_options fixed(std::int64_t ttl_ms) {
    holdfast_lock_options options = HOLDFAST_LOCK_OPTIONS_INIT;
    options.ttl_ms = ttl_ms;
    options.retry_limit_ms = 50'000;
    options.is_fixed = true;
    return options;
  }
};

TEST_P(from_c, excludes_other_clients_and_its_tokens_rise) {
  const auto one = open_c();
  const auto two = open_c();
  auto [first_end, first] = take(one, {{exclusive_spec("stock")}});
  ASSERT_EQ(first_end, HOLDFAST_OK);
  EXPECT_TRUE(holdfast_lease_is_held(first.get()));
  EXPECT_GT(holdfast_lease_remaining_ms(first.get()), 0);
  EXPECT_EQ(holdfast_lease_count(first.get()), 1U);
  EXPECT_STREQ(holdfast_lease_name(first.get(), 0), "stock");
  EXPECT_EQ(holdfast_lease_name(first.get(), 1), nullptr);
  EXPECT_EQ(holdfast_lease_token(first.get(), 1), 0U);
  EXPECT_EQ(inspect("stock").holders.front().token.value(), holdfast_lease_token(first.get(), 0));

  EXPECT_EQ(take(two, {{exclusive_spec("stock")}, 0}).first, HOLDFAST_ERR_TIMEOUT);
  const auto waited = take(two, {{exclusive_spec("stock")}, 200}).first;
  const std::error_code code{waited.code, category()};
  EXPECT_TRUE(code == errc::timeout || test::is_unanswered(code)) << waited;
  EXPECT_THAT(waited.text, testing::HasSubstr("'stock' on "));
  EXPECT_FALSE(mutex(bystander(), "stock").try_lock()) << "C++ does not see the hold of C";

  lease_ptr next;
  {
    sleeping_thread waiting{[&] { next = take(two, {{exclusive_spec("stock")}}).second; }};
    EXPECT_TRUE(look().sees_waiters("stock", 1));
    EXPECT_EQ(release(first), HOLDFAST_OK);
  }
  ASSERT_TRUE(next);
  EXPECT_FALSE(holdfast_lease_is_held(first.get()));
  EXPECT_GT(holdfast_lease_token(next.get(), 0), holdfast_lease_token(first.get(), 0));
  EXPECT_EQ(release(first), HOLDFAST_ERR_NOT_OWNER);
  EXPECT_EQ(renew(first), HOLDFAST_ERR_NOT_OWNER);
  next.reset();
  EXPECT_TRUE(look().sees_holders("stock", 0)) << "a lease that is freed is released";
}

TEST_P(from_c, tells_of_a_loss_by_a_descriptor) {
  const auto one = open_c();
  const auto held = take(one, {{exclusive_spec("stock")}}).second;
  ASSERT_TRUE(held);
  EXPECT_EQ(renew(held), HOLDFAST_OK);  // on ZooKeeper it is watched from here on
  const int fd = lost_fd(held);
  EXPECT_EQ(lost_fd(held), fd);
  EXPECT_FALSE(is_readable(fd));
  EXPECT_EQ(holdfast_lease_loss(held.get(), 0), HOLDFAST_NOT_LOST);

  const auto two = open_c();
  std::size_t count = 0;
  EXPECT_EQ(calling([&](char** text) { return holdfast_force_release(two.get(), "stock", 0, &count, text); }),
            HOLDFAST_OK);
  EXPECT_EQ(count, 1U);
  EXPECT_TRUE(is_readable(fd, hang_ms));
  std::uint64_t counter = 0;
  EXPECT_EQ(::read(fd, &counter, sizeof counter), 8);
  EXPECT_TRUE(is_readable(fd)) << "a loss lasts";
  EXPECT_FALSE(holdfast_lease_is_held(held.get()));
  EXPECT_EQ(holdfast_lease_remaining_ms(held.get()), 0);
  EXPECT_EQ(holdfast_lease_loss(held.get(), 0), HOLDFAST_ENDED_AT_STORE);
  EXPECT_EQ(holdfast_lease_loss(held.get(), 1), HOLDFAST_NOT_LOST);
  const std::string reason = std::string{" 'stock' on "} + holdfast_client_url(one.get()) +
                             ": the store no longer has it: the lease was lost";
  const auto not_renewed = renew(held);
  EXPECT_EQ(not_renewed, HOLDFAST_ERR_LOST);
  EXPECT_EQ(not_renewed.text, "cannot renew" + reason);
  const auto not_released = release(held);
  EXPECT_EQ(not_released, HOLDFAST_ERR_LOST);
  EXPECT_EQ(not_released.text, "cannot release" + reason);
}

TEST_P(from_c, ends_a_fixed_lease_unless_it_is_renewed) {
  const auto one = open_c();
  const auto brief = fixed(300);
  lease_ptr held;
  while (!held) held = take(one, {{exclusive_spec("stock")}, HOLDFAST_FOREVER, nullptr, &brief}).second;
  EXPECT_TRUE(is_readable(lost_fd(held), hang_ms));
  EXPECT_FALSE(holdfast_lease_is_held(held.get()));
  const auto longer = fixed(10'000);
  const auto next = take(one, {{exclusive_spec("stock")}, HOLDFAST_FOREVER, nullptr, &longer}).second;
  ASSERT_TRUE(next);
  EXPECT_GT(holdfast_lease_token(next.get(), 0), holdfast_lease_token(held.get(), 0));
  EXPECT_LE(holdfast_lease_remaining_ms(next.get()), 10'000);
  EXPECT_EQ(renew(next), HOLDFAST_OK);
  EXPECT_EQ(release(held).text, std::string{"cannot release 'stock' on "} + holdfast_client_url(one.get()) +
                                    ": no renewal was confirmed before the deadline: the lease was lost");
}

TEST_P(from_c, names_the_store_and_the_reason_of_a_loss_after_the_client_has_gone) {
  auto one = open_c();
  const std::string store = holdfast_client_url(one.get());
  const auto both = take(one, {{exclusive_spec("a"), exclusive_spec("b")}}).second;
  ASSERT_TRUE(both);
  one.reset();
  const auto refused = release(both);
  EXPECT_EQ(refused, HOLDFAST_ERR_LOST);
  EXPECT_EQ(refused.text, "cannot release 'a' and the other names on " + store +
                              ": 'a': the client was closed: the lease was lost");
}

TEST_P(from_c, shares_with_readers_and_downgrades) {
  const auto one = open_c();
  const auto two = open_c();
  const holdfast_spec reader{"rates", HOLDFAST_SHARED, 0, 0};
  const holdfast_spec writer{"rates", HOLDFAST_WRITER, 0, 0};
  auto first = take(one, {{reader}}).second;
  const auto second = take(two, {{reader}}).second;
  EXPECT_TRUE(first && second);
  EXPECT_EQ(take(two, {{writer}, 0}).first, HOLDFAST_ERR_TIMEOUT);
  EXPECT_EQ(release(first), HOLDFAST_OK);
  EXPECT_EQ(release(second), HOLDFAST_OK);
  first = take(one, {{writer}}).second;
  ASSERT_TRUE(first);
  EXPECT_EQ(take(two, {{reader}, 0}).first, HOLDFAST_ERR_TIMEOUT);
  EXPECT_EQ(calling([&](char** text) { return holdfast_lease_downgrade(first.get(), text); }), HOLDFAST_OK);
  EXPECT_EQ(take(two, {{reader}, 0}).first, HOLDFAST_OK);
  EXPECT_EQ(calling([&](char** text) { return holdfast_lease_proclaim(first.get(), "x", 1, text); }),
            HOLDFAST_ERR_INVALID_ARGUMENT);
}

TEST_P(from_c, counts_permits) {
  HOLDFAST_NEEDS_PERMITS();
  const auto one = open_c();
  const holdfast_spec two_seats{"seats", HOLDFAST_PERMITS, 2, 3};
  const auto held = take(one, {{two_seats}}).second;
  EXPECT_TRUE(held);
  EXPECT_EQ(take(one, {{two_seats}, 0}).first, HOLDFAST_ERR_TIMEOUT);
  EXPECT_EQ(take(one, {{{"seats", HOLDFAST_PERMITS, 1, 3}}, 0}).first, HOLDFAST_OK);
  EXPECT_EQ(take(one, {{{"seats", HOLDFAST_PERMITS, 1, 4}}, 0}).first, HOLDFAST_ERR_WRONG_TYPE);
}

TEST_P(from_c, takes_several_names_or_none) {
  const auto one = open_c();
  const auto two = open_c();
  const c_wish both{{exclusive_spec("b"), exclusive_spec("a")}, 0};
  const auto a = take(two, {{exclusive_spec("a")}}).second;
  const auto refused = take(one, both).first;
  EXPECT_EQ(refused, HOLDFAST_ERR_TIMEOUT);
  EXPECT_THAT(refused.text, testing::HasSubstr("'b' and the other names"));
  EXPECT_EQ(release(a), HOLDFAST_OK);
  const auto held = take(one, {both.specs}).second;
  ASSERT_TRUE(held);
  EXPECT_EQ(holdfast_lease_count(held.get()), 2U);
  EXPECT_STREQ(holdfast_lease_name(held.get(), 0), "b");
  EXPECT_STREQ(holdfast_lease_name(held.get(), 1), "a");
  EXPECT_GT(holdfast_lease_token(held.get(), 1), holdfast_lease_token(a.get(), 0));
  EXPECT_EQ(calling([&](char** text) { return holdfast_lease_downgrade(held.get(), text); }),
            HOLDFAST_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(renew(held), HOLDFAST_OK);
  EXPECT_EQ(calling([&](char** text) { return holdfast_force_release(two.get(), "a", 0, nullptr, text); }),
            HOLDFAST_OK);
  EXPECT_TRUE(is_readable(lost_fd(held), hang_ms));
  EXPECT_EQ(holdfast_lease_loss(held.get(), 0), HOLDFAST_NOT_LOST);
  EXPECT_EQ(holdfast_lease_loss(held.get(), 1), HOLDFAST_ENDED_AT_STORE);
  EXPECT_EQ(release(held), HOLDFAST_ERR_LOST);
}

TEST_P(from_c, elects_a_leader_with_a_value) {
  const auto one = open_c();
  const auto two = open_c();
  auto [first_end, term] = campaign(one, "scheduler", "10.0.0.7", HOLDFAST_FOREVER);
  ASSERT_EQ(first_end, HOLDFAST_OK);
  EXPECT_EQ(campaign(two, "scheduler", "10.0.0.8", 0).first, HOLDFAST_ERR_TIMEOUT);
  const std::string later{"a\0b", 3};
  EXPECT_EQ(calling([&](char** text) {
              return holdfast_lease_proclaim(term.get(), later.data(), later.size(), text);
            }),
            HOLDFAST_OK);
  lease_ptr next;
  {
    sleeping_thread waiting{[&] { next = campaign(two, "scheduler", "", HOLDFAST_FOREVER).second; }};
    EXPECT_TRUE(look().sees([&] {
      const auto [result, state] = making<state_ptr>([&](holdfast_state** out, char** text) {
        return holdfast_inspect_election(two.get(), "scheduler", out, text);
      });
      if (!state || state->holder_count != 1 || state->waiter_count != 1) return false;
      const holdfast_claim& leader = *state->holders[0];
      EXPECT_EQ(std::string(static_cast<const char*>(leader.value), leader.value_size), later);
      EXPECT_EQ(leader.token, holdfast_lease_token(term.get(), 0));
      EXPECT_EQ(state->waiters[0]->pid, ::getpid());
      return true;
    }));
    EXPECT_EQ(release(term), HOLDFAST_OK);
  }
  ASSERT_TRUE(next);
  EXPECT_GT(holdfast_lease_token(next.get(), 0), holdfast_lease_token(term.get(), 0));
}

TEST_P(from_c, hears_requests_to_release) {
  const auto one = open_c();
  const auto held = take(one, {{exclusive_spec("stock")}}).second;
  ASSERT_TRUE(held);
  EXPECT_EQ(renew(held), HOLDFAST_OK);  // on ZooKeeper it is watched from here on
  int fd = -2;
  char* reason = nullptr;
  EXPECT_EQ(calling([&](char** text) { return holdfast_lease_release_request_fd(held.get(), &fd, text); }),
            HOLDFAST_OK);
  const auto read_reason = [&](char** text) {
    return holdfast_lease_release_request(held.get(), &reason, text);
  };
  EXPECT_EQ(calling(read_reason), HOLDFAST_OK);
  EXPECT_EQ(reason, nullptr);
  EXPECT_FALSE(is_readable(fd));

  const auto two = open_c();
  std::size_t count = 0;
  EXPECT_EQ(calling([&](char** text) {
              return holdfast_request_release(two.get(), "stock", holdfast_lease_token(held.get(), 0),
                                              "backup", &count, text);
            }),
            HOLDFAST_OK);
  EXPECT_EQ(count, 1U);
  EXPECT_TRUE(is_readable(fd, hang_ms));
  EXPECT_EQ(calling(read_reason), HOLDFAST_OK);
  EXPECT_STREQ(reason, "backup");
  holdfast_free(reason);
  EXPECT_TRUE(holdfast_lease_is_held(held.get()));
}

TEST_P(from_c, looks_and_watches) {
  const auto one = open_c();
  const auto inspected = [&](std::size_t most_waiters) {
    return making<state_ptr>([&](holdfast_state** out, char** text) {
             return holdfast_inspect(one.get(), "stock", most_waiters, out, text);
           })
        .second;
  };
  auto state = inspected(SIZE_MAX);
  ASSERT_TRUE(state);
  EXPECT_STREQ(state->name, "stock");
  EXPECT_EQ(state->holder_count + state->waiter_count, 0U);

  const auto watch = making<watch_ptr>([&](holdfast_watch** out, char** text) {
                       return holdfast_watch_open(one.get(), "stock", out, text);
                     }).second;
  ASSERT_TRUE(watch);
  const int fd = holdfast_watch_fd(watch.get());
  EXPECT_TRUE(is_readable(fd, hang_ms));
  const auto two = open_c();
  const auto stock = take(two, {{exclusive_spec("stock")}}).second;
  ASSERT_TRUE(stock);
  do {
    ASSERT_TRUE(is_readable(fd, hang_ms));
    holdfast_watch_clear(watch.get());
    state = inspected(0);
    ASSERT_TRUE(state);
  } while (state->holder_count == 0);
  const holdfast_claim& holder = *state->holders[0];
  EXPECT_EQ(holder.token, holdfast_lease_token(stock.get(), 0));
  EXPECT_EQ(holder.mode, HOLDFAST_EXCLUSIVE);
  EXPECT_STREQ(holder.program, "a program in C");
  EXPECT_EQ(holder.pid, ::getpid());
  EXPECT_GT(holder.expires_in_ms, 0);
  EXPECT_EQ(holder.release_request, nullptr);
  EXPECT_EQ(holder.value, nullptr);
}

TEST_P(from_c, ends_waits_that_are_stopped_or_whose_client_is_closed) {
  const auto held = take(open_c(), {{exclusive_spec("elsewhere")}}).second;
  EXPECT_FALSE(holdfast_lease_is_held(held.get())) << "its client was freed";
  EXPECT_EQ(holdfast_lease_loss(held.get(), 0), HOLDFAST_CLIENT_CLOSED);

  mutex stock{bystander(), "stock"};
  stock.lock();
  const auto one = open_c();
  const auto stop = making<stop_ptr>([](holdfast_stop** out, char** text) {
                      return holdfast_stop_create(out, text);
                    }).second;
  ended result;
  {
    sleeping_thread waiting{
        [&] { result = take(one, {{exclusive_spec("stock")}, HOLDFAST_FOREVER, stop.get()}).first; }};
    EXPECT_TRUE(look().sees_waiters("stock", 1));
    holdfast_stop_request(stop.get());
  }
  EXPECT_EQ(result, HOLDFAST_ERR_CANCELLED);
  EXPECT_EQ(take(one, {{exclusive_spec("stock")}, HOLDFAST_FOREVER, stop.get()}).first,
            HOLDFAST_ERR_CANCELLED);
  {
    sleeping_thread waiting{[&] { result = take(one, {{exclusive_spec("stock")}}).first; }};
    EXPECT_TRUE(look().sees_waiters("stock", 1));
    holdfast_client_close(one.get());
  }
  EXPECT_EQ(result, HOLDFAST_ERR_CLOSED);
  EXPECT_EQ(take(one, {{exclusive_spec("stock")}}).first, HOLDFAST_ERR_CLOSED);
}

TEST_P(from_c, starts_operations_and_takes_their_ends_from_a_queue) {
  const auto one = open_c();
  const auto queue = open_queue();
  ASSERT_TRUE(queue);
  const int fd = holdfast_queue_fd(queue.get());
  EXPECT_FALSE(is_readable(fd));
  EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, queue, 1), HOLDFAST_OK);
  const auto first = next_of(queue);
  EXPECT_EQ(first.tag, 1U);
  ASSERT_TRUE(first.lease) << first.result;
  EXPECT_EQ(inspect("stock").holders.front().token.value(), holdfast_lease_token(first.lease.get(), 0));
  EXPECT_FALSE(is_readable(fd)) << "the only end was taken";

  EXPECT_EQ(start(one, {{exclusive_spec("stock")}, 0}, queue, 2), HOLDFAST_OK);
  const auto refused = next_of(queue);
  EXPECT_EQ(refused.tag, 2U);
  EXPECT_EQ(refused.result, HOLDFAST_ERR_TIMEOUT);
  EXPECT_THAT(refused.result.text, testing::HasSubstr("cannot lock 'stock' on "));

  EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, queue, 3), HOLDFAST_OK);
  EXPECT_TRUE(look().sees_waiters("stock", 1));
  EXPECT_EQ(start_release(first.lease, queue, 4), HOLDFAST_OK);
  EXPECT_FALSE(holdfast_lease_is_held(first.lease.get()));
  EXPECT_EQ(start_release(first.lease, queue, 5), HOLDFAST_ERR_NOT_OWNER);
  std::map<std::uint64_t, tagged_end> ends;
  for (int each = 0; each < 2; ++each) {
    auto end = next_of(queue);
    ends[end.tag] = std::move(end);
  }
  EXPECT_EQ(ends[4].result, HOLDFAST_OK);
  EXPECT_EQ(ends[4].lease, nullptr);
  ASSERT_TRUE(ends[3].lease) << ends[3].result;
  EXPECT_GT(holdfast_lease_token(ends[3].lease.get(), 0), holdfast_lease_token(first.lease.get(), 0));

  const c_wish both{{exclusive_spec("b"), exclusive_spec("a")}};
  EXPECT_EQ(start(one, both, queue, 6), HOLDFAST_OK);
  const auto set = next_of(queue);
  ASSERT_TRUE(set.lease) << set.result;
  EXPECT_EQ(holdfast_lease_count(set.lease.get()), 2U);
  EXPECT_STREQ(holdfast_lease_name(set.lease.get(), 0), "b");
  EXPECT_EQ(start_release(set.lease, queue, 7), HOLDFAST_OK);
  EXPECT_EQ(next_of(queue).result, HOLDFAST_OK);
  EXPECT_TRUE(look().sees_holders("a", 0));

  const c_wish office{{exclusive_spec("scheduler")}};
  const auto request = office.request();
  EXPECT_EQ(holdfast_campaign_start(one.get(), &request, "10.0.0.7", 8, queue.get(), 8, nullptr),
            HOLDFAST_OK);
  const auto term = next_of(queue);
  ASSERT_TRUE(term.lease) << term.result;
  EXPECT_EQ(calling([&](char** text) { return holdfast_lease_proclaim(term.lease.get(), "x", 1, text); }),
            HOLDFAST_OK);
}

TEST_P(from_c, may_be_stopped_while_it_starts) {
  const auto one = open_c();
  const auto queue = open_queue();
  for (std::uint64_t tag = 1; tag <= 200; ++tag) {
    const auto stop = making<stop_ptr>([](holdfast_stop** out, char** text) {
                        return holdfast_stop_create(out, text);
                      }).second;
    {
      const std::jthread stopping{[&] { holdfast_stop_request(stop.get()); }};
      EXPECT_EQ(start(one, {{exclusive_spec("stock")}, HOLDFAST_FOREVER, stop.get()}, queue, tag),
                HOLDFAST_OK);
    }
    const auto end = next_of(queue);
    EXPECT_EQ(end.tag, tag);
    EXPECT_EQ(end.lease == nullptr, end.result == HOLDFAST_ERR_CANCELLED) << end.result;
  }
  EXPECT_TRUE(look().sees_holders("stock", 0));
  EXPECT_TRUE(look().sees_waiters("stock", 0));
}

TEST_P(from_c, ends_started_waits_and_releases_what_nobody_takes) {
  mutex stock{bystander(), "stock"};
  stock.lock();
  const auto one = open_c();
  auto queue = open_queue();
  auto stop = making<stop_ptr>([](holdfast_stop** out, char** text) {
                return holdfast_stop_create(out, text);
              }).second;
  EXPECT_EQ(start(one, {{exclusive_spec("stock")}, HOLDFAST_FOREVER, stop.get()}, queue, 1), HOLDFAST_OK);
  EXPECT_TRUE(look().sees_waiters("stock", 1));
  holdfast_stop_request(stop.get());
  EXPECT_EQ(next_of(queue).result, HOLDFAST_ERR_CANCELLED);
  EXPECT_EQ(start(one, {{exclusive_spec("stock")}, HOLDFAST_FOREVER, stop.get()}, queue, 2), HOLDFAST_OK);
  EXPECT_EQ(next_of(queue).result, HOLDFAST_ERR_CANCELLED) << "it was stopped before it was started";
  stop.reset();
  EXPECT_TRUE(look().sees_waiters("stock", 0));

  EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, queue, 3), HOLDFAST_OK);
  EXPECT_TRUE(look().sees_waiters("stock", 1));
  queue.reset();
  stock.unlock();
  EXPECT_TRUE(stock.try_lock_for(std::chrono::milliseconds{hang_ms})) << "the lease is kept by nobody";
  stock.unlock();

  queue = open_queue();
  EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, queue, 4), HOLDFAST_OK);
  EXPECT_TRUE(is_readable(holdfast_queue_fd(queue.get()), hang_ms));
  queue.reset();
  EXPECT_TRUE(look().sees_holders("stock", 0)) << "the end in the queue is kept by nobody";

  queue = open_queue();
  const auto held = take(one, {{exclusive_spec("stock")}}).second;
  EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, queue, 5), HOLDFAST_OK);
  EXPECT_TRUE(look().sees_waiters("stock", 1));
  holdfast_client_close(one.get());
  EXPECT_EQ(next_of(queue).result, HOLDFAST_ERR_CLOSED);
  EXPECT_EQ(start_release(held, queue, 6), HOLDFAST_OK);
  EXPECT_EQ(next_of(queue).result, HOLDFAST_ERR_LOST);
}

TEST_P(from_c, waits_for_the_ends_of_operations_as_long_as_the_queue_has_patience) {
  const auto one = open_c();
  const auto patient = open_queue(HOLDFAST_FOREVER);
  const auto ended = [&] { return is_readable(holdfast_queue_fd(patient.get())); };
  EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, patient, 1), HOLDFAST_OK);
  ASSERT_TRUE(ended());
  const auto first = next_of(patient);
  ASSERT_TRUE(first.lease) << first.result;
  const c_wish both{{exclusive_spec("b"), exclusive_spec("a")}};
  EXPECT_EQ(start(one, both, patient, 2), HOLDFAST_OK);
  ASSERT_TRUE(ended());
  const auto set = next_of(patient);
  EXPECT_EQ(start_release(set.lease, patient, 3), HOLDFAST_OK);
  ASSERT_TRUE(ended());
  EXPECT_EQ(next_of(patient).tag, 3U);

  // Its thread leaves the wait before the end, which comes all the same.
  const auto hasty = open_queue(1);
  EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, hasty, 4), HOLDFAST_OK);
  EXPECT_FALSE(is_readable(holdfast_queue_fd(hasty.get())));
  EXPECT_TRUE(look().sees_waiters("stock", 1));
  EXPECT_EQ(start_release(first.lease, patient, 5), HOLDFAST_OK);
  EXPECT_EQ(next_of(patient).tag, 5U);
  const auto second = next_of(hasty);
  EXPECT_EQ(second.tag, 4U);
  ASSERT_TRUE(second.lease) << second.result;

  {
    const auto stop = making<stop_ptr>([](holdfast_stop** out, char** text) {
                        return holdfast_stop_create(out, text);
                      }).second;
    const std::jthread waits{[&] {
      EXPECT_EQ(start(one, {{exclusive_spec("stock")}, HOLDFAST_FOREVER, stop.get()}, patient, 6),
                HOLDFAST_OK);
      EXPECT_TRUE(ended());
    }};
    EXPECT_TRUE(look().sees_waiters("stock", 1));
    holdfast_stop_request(stop.get());
  }
  EXPECT_EQ(next_of(patient).result, HOLDFAST_ERR_CANCELLED);
  {
    const std::jthread waits{
        [&] { EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, patient, 7), HOLDFAST_OK); }};
    EXPECT_TRUE(look().sees_waiters("stock", 1));
    holdfast_client_close(one.get());
  }
  EXPECT_EQ(next_of(patient).result, HOLDFAST_ERR_CLOSED);
  EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, patient, 8), HOLDFAST_OK);
  EXPECT_EQ(next_of(patient).result, HOLDFAST_ERR_CLOSED);
}

/// Four threads, each of which takes five turns.
void in_many_threads(const std::function<void()>& turn) {
  std::vector<std::jthread> threads;
  for (int each = 0; each < 4; ++each) {
    threads.emplace_back([&] {
      for (int turns = 0; turns < 5; ++turns) turn();
    });
  }
}

TEST_P(from_c, has_queues_for_many_threads) {
  const auto one = open_c();
  for (const std::int64_t patience_ms : {std::int64_t{0}, std::int64_t{1}, std::int64_t{HOLDFAST_FOREVER}}) {
    const auto queue = open_queue(patience_ms);
    std::atomic<int> inside = 0;
    in_many_threads([&] {
      EXPECT_EQ(start(one, {{exclusive_spec("stock")}}, queue, 1), HOLDFAST_OK);
      // Each takes what comes, also what another has started.
      holdfast_completion end{};
      while (!holdfast_queue_next(queue.get(), &end))
        EXPECT_TRUE(is_readable(holdfast_queue_fd(queue.get()), hang_ms));
      const lease_ptr held{end.lease};
      EXPECT_TRUE(held);
      EXPECT_EQ(++inside, 1);
      --inside;
    });
    EXPECT_FALSE(is_readable(holdfast_queue_fd(queue.get())));
  }
}

TEST_P(from_c, is_of_no_use_in_a_child) {
  auto one = open_c();
  auto held = take(one, {{exclusive_spec("stock")}}).second;
  auto stop = making<stop_ptr>([](holdfast_stop** out, char** text) {
                return holdfast_stop_create(out, text);
              }).second;
  auto watch = making<watch_ptr>([&](holdfast_watch** out, char** text) {
                 return holdfast_watch_open(one.get(), "stock", out, text);
               }).second;
  auto queue = open_queue();
  ASSERT_TRUE(held && stop && watch && queue);
  EXPECT_EQ(start(one, {{exclusive_spec("other")}}, queue, 1), HOLDFAST_OK);
  ASSERT_TRUE(is_readable(holdfast_queue_fd(queue.get()), hang_ms));
  const int fd = lost_fd(held);
  ASSERT_TRUE(is_readable(holdfast_watch_fd(watch.get()), hang_ms));
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);  // ends a child that hangs
    const auto is_closed = [](int code) { return code == HOLDFAST_ERR_CLOSED; };
    const c_wish wanted{{exclusive_spec("stock")}};
    const auto request = wanted.request();
    holdfast_lease* lease = nullptr;
    char* text = nullptr;
    int lost = 0;
    bool good = is_closed(holdfast_acquire(one.get(), &request, &lease, nullptr));
    good = is_closed(holdfast_lease_renew(held.get(), nullptr)) && good;
    good = is_closed(holdfast_lease_release(held.get(), &text)) && text != nullptr && good;
    good = is_closed(holdfast_lease_lost_fd(held.get(), &lost, nullptr)) && lost == -1 && good;
    good = is_closed(holdfast_lease_release_request(held.get(), &text, nullptr)) && text == nullptr && good;
    good = !holdfast_lease_is_held(held.get()) && holdfast_lease_remaining_ms(held.get()) == 0 && good;
    good = holdfast_watch_fd(watch.get()) == -1 && good;
    holdfast_watch_clear(watch.get());
    holdfast_stop_request(stop.get());
    holdfast_completion end{};
    good = holdfast_queue_fd(queue.get()) == -1 && !holdfast_queue_next(queue.get(), &end) && good;
    good = is_closed(holdfast_acquire_start(one.get(), &request, queue.get(), 2, nullptr)) && good;
    good = is_closed(holdfast_lease_release_start(held.get(), queue.get(), 2, nullptr)) && good;
    queue.reset();
    watch.reset();
    held.reset();
    stop.reset();
    one.reset();
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(holdfast_lease_is_held(held.get()));
  EXPECT_FALSE(is_readable(fd));
  EXPECT_TRUE(is_readable(holdfast_watch_fd(watch.get()))) << "the child has taken what the parent is to see";
  EXPECT_EQ(inspect("stock").holders.size(), 1U);
  EXPECT_TRUE(next_of(queue).lease);
}

TEST_P(from_c, may_be_used_by_many_threads_at_once) {
  const auto one = open_c();
  std::atomic<int> inside = 0;
  in_many_threads([&] {
    const auto held = take(one, {{exclusive_spec("stock")}}).second;
    EXPECT_TRUE(held);
    EXPECT_EQ(++inside, 1);
    // Others may look, and ask for the descriptor, while it is released.
    const std::jthread looks{[&] {
      int fd = -1;
      static_cast<void>(holdfast_lease_lost_fd(held.get(), &fd, nullptr));
      static_cast<void>(holdfast_lease_is_held(held.get()));
    }};
    --inside;
    EXPECT_EQ(release(held), HOLDFAST_OK);
  });
}

HOLDFAST_ON_EACH_STORE(from_c, any_store);

// What needs no store.

TEST(from_c_alone, codes_and_texts_name_what_is_wrong) {
  const auto opened = making<client_ptr>(
      [](holdfast_client** out, char** text) { return holdfast_client_open("memory:", nullptr, out, text); });
  const client_ptr& one = opened.second;
  ASSERT_TRUE(one);
  EXPECT_STREQ(holdfast_client_url(one.get()), "memory:");
  const auto refusal = [&](const c_wish& wanted, int code, const char* text) {
    const auto result = take(one, wanted).first;
    EXPECT_EQ(result, code);
    EXPECT_THAT(result.text, testing::HasSubstr(text));
  };
  refusal({{exclusive_spec("")}}, HOLDFAST_ERR_INVALID_NAME, "name");
  refusal({{exclusive_spec(nullptr)}}, HOLDFAST_ERR_INVALID_ARGUMENT, "name is NULL");
  refusal({{{"x", 7, 0, 0}}}, HOLDFAST_ERR_INVALID_ARGUMENT, "there is no mode 7");
  refusal({{{"x", HOLDFAST_SHARED, 1, 0}}}, HOLDFAST_ERR_INVALID_ARGUMENT, "permits");
  refusal({{{"x", HOLDFAST_PERMITS, 2, 1}}}, HOLDFAST_ERR_INVALID_ARGUMENT, "permits");
  refusal({{{"x", HOLDFAST_PERMITS, 1, 0}}}, HOLDFAST_ERR_INVALID_ARGUMENT, "capacity");
  refusal({{exclusive_spec("x")}, -7}, HOLDFAST_ERR_INVALID_ARGUMENT, "wait_ms is negative");
  refusal({{exclusive_spec("x"), exclusive_spec("x")}}, HOLDFAST_ERR_INVALID_ARGUMENT, "x");
  holdfast_lock_options options = HOLDFAST_LOCK_OPTIONS_INIT;
  options.ttl_ms = 1;
  refusal({{exclusive_spec("x")}, 0, nullptr, &options}, HOLDFAST_ERR_INVALID_ARGUMENT, "ttl");
  options = {};
  refusal({{exclusive_spec("x")}, 0, nullptr, &options}, HOLDFAST_ERR_INVALID_ARGUMENT, "_INIT");

  const c_wish wanted{{exclusive_spec("")}};
  const auto no_text = wanted.request();
  holdfast_lease* lease = nullptr;
  EXPECT_EQ(holdfast_acquire(one.get(), &no_text, &lease, nullptr), HOLDFAST_ERR_INVALID_NAME);
  EXPECT_EQ(holdfast_acquire(nullptr, &no_text, &lease, nullptr), HOLDFAST_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(holdfast_acquire(one.get(), nullptr, &lease, nullptr), HOLDFAST_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(holdfast_acquire(one.get(), &no_text, nullptr, nullptr), HOLDFAST_ERR_INVALID_ARGUMENT);
  auto too_many = no_text;
  too_many.spec_count = SIZE_MAX;
  EXPECT_EQ(holdfast_acquire(one.get(), &too_many, &lease, nullptr), HOLDFAST_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(holdfast_lease_release(nullptr, nullptr), HOLDFAST_ERR_INVALID_ARGUMENT);

  const auto secret = making<client_ptr>([](holdfast_client** out, char** text) {
    return holdfast_client_open("nosuch://user:hunter2@host", nullptr, out, text);
  });
  EXPECT_EQ(secret.first, HOLDFAST_ERR_INVALID_URL);
  EXPECT_THAT(secret.first.text, testing::Not(testing::HasSubstr("hunter2")));
  EXPECT_STREQ(holdfast_error_text(HOLDFAST_ERR_LOST), "the lease was lost");
  EXPECT_STREQ(holdfast_error_text(99), "unknown error");
  EXPECT_STREQ(holdfast_loss_text(HOLDFAST_NOT_RENEWED), "not_renewed");
  EXPECT_STREQ(holdfast_loss_text(HOLDFAST_NOT_LOST), "");
  EXPECT_EQ(holdfast_version(), version());
}

TEST(from_c_alone, null_may_be_freed_and_looked_at) {
  holdfast_client_free(nullptr);
  holdfast_client_close(nullptr);
  holdfast_lease_free(nullptr);
  holdfast_stop_free(nullptr);
  holdfast_stop_request(nullptr);
  holdfast_watch_free(nullptr);
  holdfast_watch_clear(nullptr);
  holdfast_fence_free(nullptr);
  holdfast_state_free(nullptr);
  holdfast_queue_free(nullptr);
  holdfast_free(nullptr);
  EXPECT_FALSE(holdfast_lease_is_held(nullptr));
  EXPECT_EQ(holdfast_lease_remaining_ms(nullptr), 0);
  EXPECT_EQ(holdfast_lease_token(nullptr, 0), 0U);
  EXPECT_EQ(holdfast_lease_name(nullptr, 0), nullptr);
  EXPECT_EQ(holdfast_lease_loss(nullptr, 0), HOLDFAST_NOT_LOST);
  EXPECT_EQ(holdfast_watch_fd(nullptr), -1);
  EXPECT_EQ(holdfast_queue_fd(nullptr), -1);
  EXPECT_FALSE(holdfast_queue_next(nullptr, nullptr));
  EXPECT_EQ(holdfast_client_url(nullptr), nullptr);
}

/// What a program compiled with a later header hands to this library.
struct later_request {
  holdfast_request known;
  std::int64_t later;
};

TEST(from_c_alone, a_newer_struct_is_taken_as_far_as_its_new_members_are_zero) {
  const auto one = making<client_ptr>([](holdfast_client** out, char** text) {
                     return holdfast_client_open("memory:", nullptr, out, text);
                   }).second;
  const auto spec = exclusive_spec("stock");
  later_request request{HOLDFAST_REQUEST_INIT(&spec, 1), 0};
  request.known.struct_size = sizeof request;
  const auto attempt = [&] {
    return making<lease_ptr>([&](holdfast_lease** lease, char** text) {
      return holdfast_acquire(one.get(), &request.known, lease, text);
    });
  };
  EXPECT_EQ(attempt().first, HOLDFAST_OK);
  request.later = 1;
  const auto refused = attempt().first;
  EXPECT_EQ(refused, HOLDFAST_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(refused.text, testing::HasSubstr("this version does not know"));
}

TEST(from_c_alone, sizes_times_and_descriptors_have_their_bounds) {
  const auto one = making<client_ptr>([](holdfast_client** out, char** text) {
                     return holdfast_client_open("memory:", nullptr, out, text);
                   }).second;
  const auto spec = exclusive_spec("stock");
  holdfast_request request = HOLDFAST_REQUEST_INIT(&spec, 1);
  const auto attempt = [&] {
    return making<lease_ptr>([&](holdfast_lease** lease, char** text) {
      return holdfast_acquire(one.get(), &request, lease, text);
    });
  };
  for (const std::size_t size : {std::size_t{0}, sizeof request - 1, std::size_t{4097}, SIZE_MAX}) {
    request.struct_size = size;
    EXPECT_EQ(attempt().first, HOLDFAST_ERR_INVALID_ARGUMENT) << size;
  }
  request.struct_size = sizeof request;
  request.wait_ms = HOLDFAST_NONE;
  EXPECT_EQ(attempt().first, HOLDFAST_ERR_INVALID_ARGUMENT) << "it is for options alone";
  EXPECT_EQ(calling([&](char** text) {
              holdfast_queue* queue = nullptr;
              return holdfast_queue_open(HOLDFAST_NONE, &queue, text);
            }),
            HOLDFAST_ERR_INVALID_ARGUMENT);
  request.wait_ms = INT64_MAX;
  const auto held = attempt().second;
  ASSERT_TRUE(held);
  const int fd = lost_fd(held);
  EXPECT_TRUE((::fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0) << "programs that are run inherit it";

  ::rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const auto before = limit;
  limit.rlim_cur = static_cast<::rlim_t>(fd);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  int none = -2;
  EXPECT_EQ(calling([&](char** text) { return holdfast_lease_release_request_fd(held.get(), &none, text); }),
            HOLDFAST_ERR_EXHAUSTED);
  EXPECT_EQ(none, -1);
  EXPECT_EQ(lost_fd(held), fd);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

class fence_from_c : public testing::TestWithParam<bool> {};

TEST_P(fence_from_c, refuses_older_tokens) {
  const test::scratch_folder folder;
  const std::string path = folder.path() / "fence";
  const char* const file = GetParam() ? path.c_str() : nullptr;
  const auto open = [&] {
    return making<fence_ptr>(
        [&](holdfast_fence** out, char** text) { return holdfast_fence_open(file, 0, 0, out, text); });
  };
  auto fence = open().second;
  ASSERT_TRUE(fence);
  const auto admits = [&](std::uint64_t token) {
    bool admitted = true;
    EXPECT_EQ(calling([&](char** text) {
                return holdfast_fence_admit(fence.get(), "stock", token, &admitted, text);
              }),
              HOLDFAST_OK);
    return admitted;
  };
  EXPECT_TRUE(admits(34));
  EXPECT_TRUE(admits(34));
  EXPECT_FALSE(admits(33));
  bool admitted = true;
  EXPECT_EQ(holdfast_fence_admit(fence.get(), "", 35, &admitted, nullptr), HOLDFAST_ERR_INVALID_NAME);
  EXPECT_FALSE(admitted);
  if (file != nullptr) {
    EXPECT_EQ(open().first, HOLDFAST_ERR_TIMEOUT) << "this process has the file already";
    fence.reset();
    fence = open().second;
    ASSERT_TRUE(fence);
  }
  std::uint64_t token = 0;
  EXPECT_EQ(calling([&](char** text) { return holdfast_fence_largest(fence.get(), "stock", &token, text); }),
            HOLDFAST_OK);
  EXPECT_EQ(token, 34U);
}

INSTANTIATE_TEST_SUITE_P(contract, fence_from_c, testing::Bool(), [](const auto& info) {
  return std::string{info.param ? "in_a_file" : "in_memory"};
});

}  // namespace
}  // namespace holdfast::contract
