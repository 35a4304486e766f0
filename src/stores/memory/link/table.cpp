#include "stores/memory/link/table.hpp"

#include <algorithm>
#include <chrono>
#include <pthread.h>
#include <utility>

#include "base/metadata.hpp"
#include "base/release_request.hpp"
#include "runtime/process.hpp"

namespace holdfast::memory {

using store::time_point;

namespace {

duration between(time_point from, time_point to) { return std::chrono::duration_cast<duration>(to - from); }

std::int64_t public_capacity(std::int64_t capacity) {
  return capacity == store::full_capacity ? 0 : capacity;
}

}  // namespace

tickets::reply table::carry_out(const tickets::request& request, const owner_id& client, time_point now,
                                std::int64_t wall_us,
                                std::vector<store::client_notification>& notifications) {
  switch (request.kind) {
    case tickets::task::acquire: return acquire(request, client, now, wall_us);
    case tickets::task::find: return find(request, now);
    case tickets::task::look: {
      if (!keep({request.name, request.owner, request.token, request.ttl}, now)) return tickets::nothing{};
      tickets::place at = place_of(names_.at(request.name), request.token.value(), now);
      serve(request.name, now, notifications);
      return at;
    }
    case tickets::task::renew: {
      tickets::kept answer;
      for (const store::hold& h : request.batch) answer.each.push_back(holds(h) && keep(h, now));
      return answer;
    }
    case tickets::task::release:
    case tickets::task::withdraw:
      if (!drop(request.name, token_of(request, now), request.owner, now)) return tickets::nothing{};
      serve(request.name, now, notifications);
      return tickets::done{};
    case tickets::task::downgrade: {
      const auto n = names_.find(request.name);
      claim* own = n == names_.end() ? nullptr : living(n->second, request.token.value(), request.owner, now);
      if (own == nullptr || request.token.value() > n->second.granted) return tickets::nothing{};
      own->weight = request.weight;
      serve(request.name, now, notifications);
      return tickets::done{};
    }
    case tickets::task::annotate: {
      const auto n = names_.find(request.name);
      claim* own = n == names_.end() ? nullptr : living(n->second, request.token.value(), request.owner, now);
      if (own == nullptr || request.token.value() > n->second.granted) return tickets::nothing{};
      own->metadata = request.metadata;
      return tickets::done{};
    }
    case tickets::task::force_release: return force_release(request, now, notifications);
    case tickets::task::request_release: return request_release(request, now, notifications);
    case tickets::task::inspect: return inspect(request, now);
    case tickets::task::list: return list(request.idle, now);
  }
  return tickets::nothing{};
}

std::int64_t table::weight_held(const named& n, time_point now) {
  std::int64_t weight = 0;
  for (const auto& [token, c] : n.claims) {
    if (token > n.granted) break;
    if (c.expires > now) weight += c.weight;
  }
  return weight;
}

table::claims::const_iterator table::first_waiter(const named& n, time_point now) {
  return std::find_if(n.claims.upper_bound(n.granted), n.claims.end(),
                      [&](const auto& entry) { return entry.second.expires > now; });
}

bool table::in_use(const named& n, time_point now) {
  return std::any_of(n.claims.begin(), n.claims.end(),
                     [&](const auto& entry) { return entry.second.expires > now; });
}

tickets::place table::place_of(const named& n, std::uint64_t token, time_point now) {
  tickets::place at;
  at.token = fencing_token{token};
  at.granted = token <= n.granted;
  const auto first = first_waiter(n, now);
  at.head = first == n.claims.end() || first->first >= token;
  for (const auto& [place, c] : n.claims) {
    if (place > n.granted) break;
    if (c.expires <= now) continue;
    const duration left = between(now, c.expires);
    at.holder_left = std::min(at.holder_left.value_or(left), left);
  }
  return at;
}

table::claim* table::living(named& n, std::uint64_t token, const owner_id& owner, time_point now) {
  const auto found = n.claims.find(token);
  const bool is_living =
      found != n.claims.end() && found->second.owner == owner && found->second.expires > now;
  return is_living ? &found->second : nullptr;
}

tickets::reply table::acquire(const tickets::request& request, const owner_id& client, time_point now,
                              std::int64_t wall_us) {
  named& n = names_.try_emplace(request.name, named{0, 0, request.capacity, {}}).first->second;
  if (n.capacity != request.capacity && in_use(n, now)) return tickets::other_capacity{n.capacity};
  const std::uint64_t token = std::max(n.token + 1, static_cast<std::uint64_t>(wall_us));
  tickets::place at = place_of(n, token, now);
  at.granted = at.head && request.weight + weight_held(n, now) <= request.capacity;
  if (!at.granted && !request.wait) return tickets::refused{};
  n.token = token;
  n.capacity = request.capacity;
  if (at.granted) n.granted = token;
  n.claims.emplace(token,
                   claim{request.owner, client, request.weight, now + request.ttl, now, request.metadata});
  return at;
}

tickets::reply table::find(const tickets::request& request, time_point now) {
  const std::uint64_t token = token_of(request, now);
  if (token == 0) return tickets::nothing{};
  return place_of(names_.at(request.name), token, now);
}

/// A waiting claim holds nothing, even if its owner was granted it before.
bool table::holds(const store::hold& h) const {
  const auto n = names_.find(h.name);
  return n != names_.end() && h.token.value() <= n->second.granted;
}

bool table::keep(const store::hold& h, time_point now) {
  const auto n = names_.find(h.name);
  claim* own = n == names_.end() ? nullptr : living(n->second, h.token.value(), h.owner, now);
  if (own != nullptr) own->expires = now + h.ttl;
  return own != nullptr;
}

/// The token of the request, or, where the client does not know it, the token of the owner's living claim;
/// zero where there is none.
std::uint64_t table::token_of(const tickets::request& request, time_point now) const {
  if (request.token) return request.token.value();
  const auto n = names_.find(request.name);
  if (n == names_.end()) return 0;
  const auto& all = n->second.claims;
  const auto own = std::find_if(all.begin(), all.end(), [&](const auto& e) {
    return e.second.owner == request.owner && e.second.expires > now;
  });
  return own == all.end() ? 0 : own->first;
}

bool table::drop(const std::string& name, std::uint64_t token, const owner_id& owner, time_point now) {
  const auto n = names_.find(name);
  if (n == names_.end() || living(n->second, token, owner, now) == nullptr) return false;
  n->second.claims.erase(token);
  return true;
}

tickets::reply table::force_release(const tickets::request& request, time_point now,
                                    std::vector<store::client_notification>& notifications) {
  const auto found = names_.find(request.name);
  if (found == names_.end()) return tickets::count{0};
  named& n = found->second;
  const std::uint64_t last = std::min(n.granted, request.last.value());
  std::size_t holders = 0;
  for (auto c = n.claims.lower_bound(request.token.value()); c != n.claims.end() && c->first <= last;) {
    if (c->second.expires > now) {
      ++holders;
      notifications.push_back(
          {c->second.client, {c->second.owner, store::notification_kind::revoked, fencing_token{c->first}}});
    }
    c = n.claims.erase(c);
  }
  serve(request.name, now, notifications);
  return tickets::count{holders};
}

tickets::reply table::request_release(const tickets::request& request, time_point now,
                                      std::vector<store::client_notification>& notifications) {
  const auto found = names_.find(request.name);
  if (found == names_.end()) return tickets::count{0};
  std::size_t notified = 0;
  for (auto& [token, c] : found->second.claims) {
    if (token > found->second.granted) break;
    if (c.expires <= now || token < request.token.value() || token > request.last.value()) continue;
    ++notified;
    if (c.metadata) {
      c.metadata =
          std::make_shared<const std::string>(with_release_request(*c.metadata, metadata_of(request)));
    }
    notifications.push_back(
        {c.client, {c.owner, store::notification_kind::release_requested, fencing_token{token}}});
  }
  return tickets::count{notified};
}

/// Grants to as many of the first waiters as now fit together; see serve.sql.
void table::serve(const std::string& name, time_point now,
                  std::vector<store::client_notification>& notifications) {
  named& n = names_.at(name);
  std::int64_t weight = weight_held(n, now);
  for (auto next = n.claims.upper_bound(n.granted); next != n.claims.end(); ++next) {
    claim& c = next->second;
    if (c.expires <= now) continue;
    if (weight + c.weight > n.capacity) break;
    weight += c.weight;
    n.granted = next->first;
    c.since = now;
    notifications.push_back(
        {c.client, {c.owner, store::notification_kind::granted, fencing_token{next->first}}});
  }
  std::erase_if(n.claims, [&](const auto& e) { return e.first <= n.granted && e.second.expires <= now; });
}

std::optional<lock_state> table::inspect(const tickets::request& request, time_point now) const {
  const auto found = names_.find(request.name);
  if (found == names_.end()) return std::nullopt;
  const named& n = found->second;
  lock_state state;
  state.name = request.name;
  state.capacity = public_capacity(n.capacity);
  state.last_token = fencing_token{n.token};
  for (const auto& [token, c] : n.claims) {
    if (token > n.granted && state.waiters.size() == request.waiters_read) break;
    if (c.expires <= now) continue;
    claim_state s;
    s.owner = c.owner.hex();
    s.mode = store::mode_of(c.weight, n.capacity);
    s.permits = s.mode == mode::permits ? c.weight : 0;
    s.token = fencing_token{token};
    s.age = between(c.since, now);
    s.expires_in = between(now, c.expires);
    if (c.metadata) s.claimant = from_metadata(*c.metadata);
    (token <= n.granted ? state.holders : state.waiters).push_back(std::move(s));
  }
  return state;
}

std::vector<lock_summary> table::list(bool idle, time_point now) const {
  std::vector<lock_summary> all;
  for (const auto& [name, n] : names_) {
    if (!idle && !in_use(n, now)) continue;
    lock_summary s;
    s.name = name;
    s.capacity = public_capacity(n.capacity);
    s.mode = store::mode_of(n.capacity, n.capacity);
    s.last_token = fencing_token{n.token};
    for (const auto& [token, c] : n.claims) {
      if (c.expires <= now) continue;
      if (token > n.granted) {
        ++s.waiters;
      } else if (++s.holders == 1) {
        s.mode = store::mode_of(c.weight, n.capacity);
        s.held_for = between(c.since, now);
        s.holder_token = fencing_token{token};
        if (c.metadata) s.holder = from_metadata(*c.metadata);
      }
    }
    all.push_back(std::move(s));
  }
  return all;
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
  const annotated::exclusive_lock held{listeners_mutex_};
  listeners_.emplace(client, std::move(l));
}

void shared_table::leave(const owner_id& client) {
  const annotated::exclusive_lock held{listeners_mutex_};
  listeners_.erase(client);
}

void shared_table::with_table(const std::function<void(table&, effects&)>& tasks) {
  effects of_tasks;
  {
    const annotated::lock held{mutex_};
    tasks(table_, of_tasks);
  }
  if (of_tasks.notifications.empty() && of_tasks.changed.empty()) return;
  std::map<owner_id, std::vector<store::notification>> by_client;
  for (const store::client_notification& n : of_tasks.notifications) by_client[n.client].push_back(n.message);
  const annotated::shared_lock held{listeners_mutex_};
  for (const auto& [client, l] : listeners_) {
    if (const auto notifications = by_client.find(client); notifications != by_client.end())
      l.notified(notifications->second);
    if (!of_tasks.changed.empty()) l.changed(of_tasks.changed);
  }
}

}  // namespace holdfast::memory
