// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/link/table.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <pthread.h>
#include <utility>
#include <variant>

#include "base/metadata.hpp"
#include "core/summary.hpp"
#include "runtime/process.hpp"

namespace holdfast::memory {

using store::time_point;

namespace {

duration between(time_point from, time_point to) { return std::chrono::duration_cast<duration>(to - from); }

}  // namespace

/// One request, at one moment.
class table::execution {
 public:
  execution(std::map<std::string, named>& names, const owner_id& client, time_point now, std::int64_t wall_us,
            std::vector<store::client_notification>& notifications)
      : names_{names}, client_{client}, now_{now}, wall_us_{wall_us}, notifications_{notifications} {}

  tickets::reply operator()(const tickets::release& r) { return end(r, r.token.value()); }
  tickets::reply operator()(const tickets::withdraw& r) { return end(r, token_of(r)); }
  tickets::reply operator()(const tickets::acquire& r) {
    const store::claim& wanted = *r.claim;
    const std::int64_t capacity = store::capacity_of(wanted);
    const std::int64_t weight = store::weight_of(wanted);
    named& n = names_[wanted.name];
    if (n.capacity != capacity && in_use(n)) return tickets::other_capacity{n.capacity};
    const std::uint64_t token = std::max(n.token + 1, static_cast<std::uint64_t>(wall_us_));
    tickets::place at = place_of(n, token);
    at.granted = at.head && weight + weight_held(n) <= capacity;
    if (!at.granted && !wanted.wait) return tickets::refused{};
    n.token = token;
    n.capacity = capacity;
    if (at.granted) n.granted = token;
    n.claims.emplace(token,
                     claim{wanted.owner, client_, weight, now_ + store_ttl(wanted), now_, wanted.metadata});
    return at;
  }

  tickets::reply operator()(const tickets::joint_request& /*r*/) {
    assert(!"the link takes none");
    return tickets::several{};
  }

  tickets::reply operator()(const tickets::find& r) {
    const std::uint64_t token = token_of(r);
    if (token == 0) return tickets::nothing{};
    return place_of(names_.at(r.name), token);
  }

  tickets::reply operator()(const tickets::look& r) {
    named* const n = find_name(r.name);
    claim* const own = living(n, r, r.token.value());
    if (own == nullptr) return tickets::nothing{};
    own->expires = now_ + r.ttl;
    tickets::place at = place_of(*n, r.token.value());
    serve(*n);
    return at;
  }

  tickets::reply operator()(const tickets::renew& r) {
    tickets::kept answer;
    for (const store::hold& h : r.holds) {
      claim* const own = holding(find_name(h.name), h);
      answer.each.push_back(own != nullptr);
      if (own != nullptr) own->expires = now_ + h.ttl;
    }
    return answer;
  }

  tickets::reply operator()(const tickets::downgrade& r) {
    named* const n = find_name(r.name);
    claim* const own = holding(n, r);
    if (own == nullptr) return tickets::nothing{};
    own->weight = 1;
    serve(*n);
    return tickets::done{};
  }

  tickets::reply operator()(const tickets::annotate& r) {
    claim* const own = holding(find_name(r.name), r);
    if (own == nullptr) return tickets::nothing{};
    own->metadata = own->metadata && r.metadata
                        ? std::make_shared<const std::string>(with_request_of(*r.metadata, *own->metadata))
                        : r.metadata;
    return tickets::done{};
  }

  tickets::reply operator()(const tickets::force_release& r) {
    named* const n = find_name(r.name);
    if (n == nullptr) return tickets::count{0};
    const std::uint64_t last = std::min(n->granted, r.last.value());
    std::size_t holders = 0;
    for (auto c = n->claims.lower_bound(r.first.value()); c != n->claims.end() && c->first <= last;) {
      if (lives(c->second)) {
        ++holders;
        notify(c->second, store::notification_kind::revoked, c->first);
      }
      c = n->claims.erase(c);
    }
    serve(*n);
    return tickets::count{holders};
  }

  tickets::reply operator()(const tickets::request_release& r) {
    named* const n = find_name(r.name);
    if (n == nullptr) return tickets::count{0};
    std::size_t notified = 0;
    for (auto& [token, c] : n->claims) {
      if (token > n->granted) break;
      if (!lives(c) || token < r.first.value() || token > r.last.value()) continue;
      ++notified;
      if (c.metadata)
        c.metadata = std::make_shared<const std::string>(with_release_request(*c.metadata, r.reason));
      notify(c, store::notification_kind::release_requested, token);
    }
    return tickets::count{notified};
  }

  tickets::reply operator()(const tickets::inspect& r) {
    const named* const n = find_name(r.name);
    if (n == nullptr) return std::optional<lock_state>{};
    return std::optional{state_of(r.name, *n, r.waiters_read)};
  }

  tickets::reply operator()(const tickets::list& r) {
    std::vector<lock_summary> all;
    for (const auto& [name, n] : names_) {
      if (!r.idle && !in_use(n)) continue;
      lock_summary line = store::summary_of(state_of(name, n, 0));
      line.waiters =
          static_cast<std::size_t>(std::count_if(n.claims.upper_bound(n.granted), n.claims.end(),
                                                 [&](const auto& entry) { return lives(entry.second); }));
      all.push_back(std::move(line));
    }
    return all;
  }

 private:
  using claims = std::map<std::uint64_t, claim>;

  [[nodiscard]] bool lives(const claim& c) const { return c.expires > now_; }

  named* find_name(const std::string& name) {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : &found->second;
  }

  claim* living(named* n, const store::hold& h, std::uint64_t token) const {
    if (n == nullptr) return nullptr;
    const auto found = n->claims.find(token);
    const bool is_own = found != n->claims.end() && found->second.owner == h.owner;
    return is_own && lives(found->second) ? &found->second : nullptr;
  }

  /// A waiting claim holds nothing, even if its owner was granted it before.
  claim* holding(named* n, const store::hold& h) const {
    claim* const own = living(n, h, h.token.value());
    return own != nullptr && h.token.value() <= n->granted ? own : nullptr;
  }

  std::int64_t weight_held(const named& n) const {
    std::int64_t weight = 0;
    for (const auto& [token, c] : n.claims) {
      if (token > n.granted) break;
      if (lives(c)) weight += c.weight;
    }
    return weight;
  }

  claims::const_iterator first_waiter(const named& n) const {
    return std::find_if(n.claims.upper_bound(n.granted), n.claims.end(),
                        [&](const auto& entry) { return lives(entry.second); });
  }

  bool in_use(const named& n) const {
    return std::any_of(n.claims.begin(), n.claims.end(),
                       [&](const auto& entry) { return lives(entry.second); });
  }

  tickets::place place_of(const named& n, std::uint64_t token) const {
    tickets::place at;
    at.token = fencing_token{token};
    at.granted = token <= n.granted;
    const auto first = first_waiter(n);
    at.head = first == n.claims.end() || first->first >= token;
    for (const auto& [place, c] : n.claims) {
      if (place > n.granted) break;
      if (!lives(c)) continue;
      const duration left = between(now_, c.expires);
      at.holder_left = std::min(at.holder_left.value_or(left), left);
    }
    return at;
  }

  /// The token of the owner's living claim; zero if there is none.
  std::uint64_t token_of(const store::hold& of) {
    named* const n = find_name(of.name);
    if (n == nullptr) return 0;
    const auto own = std::find_if(n->claims.begin(), n->claims.end(), [&](const auto& entry) {
      return entry.second.owner == of.owner && lives(entry.second);
    });
    return own == n->claims.end() ? 0 : own->first;
  }

  void notify(const claim& c, store::notification_kind kind, std::uint64_t token) {
    notifications_.push_back({c.client, {c.owner, kind, fencing_token{token}}});
  }

  /// Grants to as many of the first waiters as now fit together; see serve.sql.
  void serve(named& n) {
    std::int64_t weight = weight_held(n);
    for (auto next = n.claims.upper_bound(n.granted); next != n.claims.end(); ++next) {
      claim& c = next->second;
      if (!lives(c)) continue;
      if (weight + c.weight > n.capacity) break;
      weight += c.weight;
      n.granted = next->first;
      c.since = now_;
      notify(c, store::notification_kind::granted, next->first);
    }
    std::erase_if(n.claims,
                  [&](const auto& entry) { return entry.first <= n.granted && !lives(entry.second); });
  }

  tickets::reply end(const store::hold& h, std::uint64_t token) {
    named* const n = find_name(h.name);
    if (living(n, h, token) == nullptr) return tickets::nothing{};
    n->claims.erase(token);
    serve(*n);
    return tickets::done{};
  }

  /// \param waiters_read how many waiters to describe.
  lock_state state_of(const std::string& name, const named& n, std::size_t waiters_read) const {
    lock_state state;
    state.name = name;
    state.capacity = n.capacity == store::full_capacity ? 0 : n.capacity;
    state.last_token = fencing_token{n.token};
    for (const auto& [token, c] : n.claims) {
      if (token > n.granted && state.waiters.size() == waiters_read) break;
      if (!lives(c)) continue;
      claim_state s;
      s.owner = c.owner.hex();
      s.mode = store::mode_of(c.weight, n.capacity);
      s.permits = s.mode == mode::permits ? c.weight : 0;
      s.token = fencing_token{token};
      s.age = between(c.since, now_);
      s.expires_in = between(now_, c.expires);
      if (c.metadata) s.claimant = from_metadata(*c.metadata);
      (token <= n.granted ? state.holders : state.waiters).push_back(std::move(s));
    }
    return state;
  }

  std::map<std::string, named>& names_;
  const owner_id& client_;
  time_point now_;
  std::int64_t wall_us_;
  std::vector<store::client_notification>& notifications_;
};

tickets::reply table::carry_out(const tickets::request& request, const owner_id& client, time_point now,
                                std::int64_t wall_us,
                                std::vector<store::client_notification>& notifications) {
  return std::visit(execution{names_, client, now, wall_us, notifications}, request);
}

std::shared_ptr<shared_table> shared_table::named(const std::string& name) {
  if (name.empty()) return std::make_shared<shared_table>();
  // Never destroyed: clients may be opened and forked as late as the last destructor.
  static annotated::mutex& mutex = *new annotated::mutex;
  static auto& all HOLDFAST_GUARDED_BY(mutex) = *new std::map<std::string, std::weak_ptr<shared_table>>;
  static std::uint32_t generation = runtime::process_generation();
  [[maybe_unused]] static const int registered = ::pthread_atfork(
      []() HOLDFAST_ACQUIRE(mutex) { mutex.lock(); }, []() HOLDFAST_RELEASE(mutex) { mutex.unlock(); },
      []() HOLDFAST_RELEASE(mutex) { mutex.unlock(); });
  const annotated::lock held{mutex};
  if (std::exchange(generation, runtime::process_generation()) != generation)
    all.clear();  // a forked child has tables of its own
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<shared_table> found = all[name].lock();
  if (!found) all[name] = found = std::make_shared<shared_table>();
  return found;
}

void shared_table::join(const owner_id& client, listener l) {
  const annotated::lock held{listeners_mutex_};
  listeners_.emplace(client, std::move(l));
}

void shared_table::leave(const owner_id& client) {
  const annotated::lock held{listeners_mutex_};
  listeners_.erase(client);
}

void shared_table::with_table(const std::function<void(table&, effects&)>& requests) {
  effects of_requests;
  {
    const annotated::lock held{mutex_};
    requests(table_, of_requests);
  }
  if (of_requests.notifications.empty() && of_requests.changed.empty()) return;
  std::map<owner_id, std::vector<store::notification>> by_client;
  for (const store::client_notification& n : of_requests.notifications)
    by_client[n.client].push_back(n.message);
  const annotated::lock held{listeners_mutex_};
  for (const auto& [client, l] : listeners_) {
    if (const auto notifications = by_client.find(client); notifications != by_client.end())
      l.notified(notifications->second);
    if (!of_requests.changed.empty()) l.changed(of_requests.changed);
  }
}

}  // namespace holdfast::memory
