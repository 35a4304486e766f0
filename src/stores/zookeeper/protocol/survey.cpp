// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/protocol/survey.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/metadata.hpp"
#include "stores/zookeeper/protocol/note.hpp"

namespace holdfast::zookeeper {

namespace {

/// In the order of `reads_of`.
enum read_index : std::uint8_t { name_node, name_list, lease_list, gate_list, lease_node };

/// The holders among the contenders: the first one, and if it is a reader, all readers before the first
/// writer. Every recipe decides it in this way.
std::size_t holders_among(const std::vector<claimed>& queue) {
  if (queue.empty() || queue.front().place.excludes()) return std::min<std::size_t>(queue.size(), 1);
  const auto writer =
      std::find_if(queue.begin(), queue.end(), [](const claimed& c) { return c.place.excludes(); });
  return static_cast<std::size_t>(writer - queue.begin());
}

/// Moves the holders of a queue to the survey's, and the others to its waiters.
void divide(survey& all, std::vector<claimed> queue) {
  const auto first = queue.begin() + static_cast<std::ptrdiff_t>(holders_among(queue));
  std::move(queue.begin(), first, std::back_inserter(all.holders));
  all.waiters.insert(all.waiters.begin(), std::make_move_iterator(first),
                     std::make_move_iterator(queue.end()));
}

/// Whether it takes more than the numbers to find the holders: several numbers are from the end of the
/// counter, and nobody before them excludes them.
bool numbers_leave_open(const std::vector<claimed>& queue) {
  const auto of_the_end = std::find_if(queue.begin(), queue.end(),
                                       [](const claimed& c) { return is_of_the_end(c.place.number); });
  return queue.end() - of_the_end > 1 &&
         std::none_of(queue.begin(), of_the_end, [](const claimed& c) { return c.place.excludes(); });
}

/// The contenders in a list, in their order.
void append(std::vector<claimed>& to, layout style, const result& list, const std::string& below) {
  const layout other = style == layout::curator ? layout::kazoo : layout::curator;
  for (const std::string& child : list.children) {
    auto place = parse(style, child);
    if (!place) place = parse(other, child);  // shown, although clients of this layout do not count it
    if (!place) continue;
    claimed& c = to.emplace_back();
    c.place = std::move(*place);
    c.nodes.push_back(std::string{below}.append("/").append(child));
  }
  std::sort(to.begin(), to.end(), [](const claimed& one, const claimed& two) {
    return is_before(one.place.number, two.place.number);
  });
}

/// Leases with the same guid are one claim. A claim that still queues for permits does not hold, even if its
/// leases exist.
void sort_out_permits(survey& all, std::vector<claimed> queue, std::vector<claimed> leases) {
  std::unordered_set<owner_id> queued;
  for (claimed& c : queue) {
    if (c.place.guid) queued.insert(*c.place.guid);
    c.place.wants = role::lease;
  }
  all.waiters = std::move(queue);
  std::unordered_map<owner_id, std::size_t> holders;
  for (claimed& lease : leases) {
    if (lease.place.guid && queued.contains(*lease.place.guid)) continue;
    if (lease.place.guid) {
      const auto [at, is_new] = holders.try_emplace(*lease.place.guid, all.holders.size());
      if (!is_new) {
        all.holders[at->second].nodes.push_back(std::move(lease.nodes.front()));
        continue;
      }
    }
    all.holders.push_back(std::move(lease));
  }
}

/// The order of creation, which the numbers do not show: see is_of_the_end.
void settle_order(survey& all, std::size_t waiters) {
  std::vector<claimed> queue = std::exchange(all.holders, {});
  std::sort(queue.begin(), queue.end(),
            [](const claimed& one, const claimed& two) { return token_of(one) < token_of(two); });
  divide(all, std::move(queue));
  all.waiters_read = std::min(waiters, all.waiters.size());
}

/// Whether its owner may be a Curator client that listens for a request to release.
bool is_curators_lock(const contender& place) {
  if (!parse(layout::curator, place.node)) return false;
  return place.wants == role::mutex || place.wants == role::writer || place.wants == role::reader;
}

mode mode_of(role wants) {
  switch (wants) {
    case role::reader: return mode::shared;
    case role::lease: return mode::permits;
    default: return mode::exclusive;
  }
}

/// By the client's clock, which is exact enough for people.
duration age_of(const status& s) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::max<duration>(
      duration::zero(), std::chrono::duration_cast<duration>(now - std::chrono::milliseconds{s.created_ms}));
}

claim_state state_of(const claimed& c, duration most) {
  const auto n = read_note(c.data);
  claim_state s;
  s.owner = c.place.guid ? c.place.guid->hex() : c.place.node;
  s.mode = mode_of(c.place.wants);
  if (s.mode == mode::permits) s.permits = static_cast<std::int64_t>(c.nodes.size());
  s.token = token_of(c);
  s.age = age_of(c.about);
  s.expires_in = n ? std::min(n->ttl, most) : most;
  if (const auto reason = request_in(c.data); reason && !n) {
    s.claimant.release_request = reason;
  } else {
    s.claimant = from_metadata(n ? n->metadata : c.data);
  }
  return s;
}

}  // namespace

std::vector<operation> reads_of(const std::string& base) {
  return {{.kind = operation_kind::get, .path = base},
          {.kind = operation_kind::list, .path = base},
          {.kind = operation_kind::list, .path = base + "/leases"},
          {.kind = operation_kind::list, .path = base + "/locks"},
          {.kind = operation_kind::get, .path = base + "/leases"}};
}

survey survey_of(layout style, const std::string& base, const std::vector<result>& reads) {
  survey all;
  all.ours = read_note(reads[name_node].data) || read_note(reads[lease_node].data);
  all.last_child = std::max(reads[name_node].about.last_child, reads[lease_node].about.last_child);
  // The name's own queue, or, of a semaphore, its leases and then the queue for them.
  std::vector<claimed> queue;
  std::vector<claimed> leases;
  std::vector<claimed> gates;
  append(queue, style, reads[name_list], base);
  append(leases, style, reads[lease_list], base + "/leases");
  append(gates, style, reads[gate_list], base + "/locks");
  if (const auto n = read_note(reads[lease_node].data); n && !leases.empty()) all.capacity = n->capacity;
  if (!leases.empty()) {
    std::move(gates.begin(), gates.end(), std::back_inserter(queue));
    sort_out_permits(all, std::move(queue), std::move(leases));
    return all;
  }
  sort_out_permits(all, std::move(gates), {});
  all.has_open_order = numbers_leave_open(queue);
  if (all.has_open_order) {
    all.holders = std::move(queue);  // so that all are read
  } else {
    divide(all, std::move(queue));
  }
  return all;
}

std::vector<operation> claim_reads_of(const survey& name, std::size_t waiters) {
  std::vector<operation> reads;
  for (const claimed& c : name.holders) {
    for (const std::string& path : c.nodes) reads.push_back({.kind = operation_kind::get, .path = path});
  }
  for (std::size_t i = 0; i < std::min(waiters, name.waiters.size()); ++i) {
    reads.push_back({.kind = operation_kind::get, .path = name.waiters[i].nodes.front()});
  }
  return reads;
}

void fill(survey& name, std::size_t waiters, const std::vector<result>& reads) {
  std::size_t next = 0;
  const auto take_reads = [&](claimed& c) {
    std::vector<std::string> there;
    for (std::string& path : c.nodes) {
      const result& r = reads[next++];
      if (r.code != answer::done) continue;
      const std::int64_t created = std::max(c.about.created, r.about.created);
      if (there.empty()) c.data = r.data;
      if (there.empty()) c.about = r.about;
      c.about.created = created;
      there.push_back(std::move(path));
    }
    c.nodes = std::move(there);
  };
  const auto is_gone = [](const claimed& c) { return c.nodes.empty(); };
  for (claimed& c : name.holders) {
    const std::size_t count = c.nodes.size();
    take_reads(c);
    // Another claim may have its permits by now; or the writer's reader may have its place.
    const bool has_successor =
        c.place.wants == role::lease || (c.place.wants == role::writer && name.has_open_order);
    name.is_torn = name.is_torn || (has_successor && c.nodes.size() < count);
  }
  std::erase_if(name.holders, is_gone);
  const std::size_t read = std::min(waiters, name.waiters.size());
  const auto end_of_read = name.waiters.begin() + static_cast<std::ptrdiff_t>(read);
  std::for_each(name.waiters.begin(), end_of_read, take_reads);
  const auto end_of_kept = std::remove_if(name.waiters.begin(), end_of_read, is_gone);
  name.waiters_read = static_cast<std::size_t>(end_of_kept - name.waiters.begin());
  name.waiters.erase(end_of_kept, end_of_read);
  if (name.has_open_order) settle_order(name, waiters);
}

bool is_ours(const claimed& c) {
  return read_note(c.data).has_value() || (c.place.guid && is_marked_as_ours(*c.place.guid));
}

fencing_token token_of(const claimed& c) {
  const auto n = read_note(c.data);
  return n && n->token ? n->token : token_of(c.about);
}

std::optional<std::string> data_that_asks(const claimed& holder, std::string_view reason) {
  if (!is_ours(holder) && !is_curators_lock(holder.place)) return std::nullopt;
  auto n = is_ours(holder) ? read_note(holder.data) : std::nullopt;
  if (!n) return std::string{revoke_message};
  n->metadata = with_release_request(n->metadata, reason);
  return std::string{before_note(holder.data)} + to_text(*n);
}

lock_state state_of(const survey& all, const std::string& name, duration most) {
  lock_state s;
  s.name = name;
  s.capacity = all.capacity;
  for (const claimed& c : all.holders) s.holders.push_back(state_of(c, most));
  for (std::size_t i = 0; i < all.waiters_read; ++i) {
    s.waiters.push_back(state_of(all.waiters[i], most));
    if (s.waiters.back().mode != mode::permits) continue;
    const auto n = read_note(all.waiters[i].data);
    s.waiters.back().permits = n ? n->permits : 1;
  }
  for (const auto* list : {&s.holders, &s.waiters}) {
    for (const claim_state& c : *list) s.last_token = std::max(s.last_token, c.token);
  }
  // For a name without claims only the last change of its children is known, which is later than any token.
  if (!s.last_token) s.last_token = fencing_token{static_cast<std::uint64_t>(all.last_child)};
  return s;
}

}  // namespace holdfast::zookeeper
