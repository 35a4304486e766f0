#include "stores/zookeeper/protocol/claim_nodes.hpp"

#include <utility>

#include "base/metadata.hpp"
#include "stores/zookeeper/protocol/note.hpp"

namespace holdfast::zookeeper {

bool is_semaphore(const store::claim& of) { return of.mode == mode::permits; }

std::string data_of(const store::claim& of, fencing_token token) {
  note n;
  n.token = token;
  if (is_semaphore(of)) {
    n.permits = of.permits;
    n.capacity = of.capacity;
  }
  n.ttl = store_ttl(of);
  if (of.metadata) n.metadata = *of.metadata;
  if (!of.election) return to_text(n);
  // Curator's LeaderLatch and kazoo's Election show a participant's data as its id.
  return from_metadata(n.metadata).value.value_or("") + '\n' + to_text(n);
}

fencing_token token_of(const status& node) { return fencing_token{static_cast<std::uint64_t>(node.created)}; }

tickets::place place_of(fencing_token token, bool granted) {
  tickets::place at;
  at.token = token;
  at.granted = granted;
  return at;
}

store::request_error no_numbers_below(const std::string& parent) {
  return {{errc::unavailable, "ZooKeeper has no more numbers for the children of " + parent +
                                  "; remove that node while nobody uses it"},
          true,
          false};
}

store::request_error session_ended(bool maybe_executed) {
  return {{errc::unavailable, "the session ended"}, true, maybe_executed};
}

store::request_error misnamed(const result& creation) {
  return {{errc::corrupt_store, "the servers gave the node of a claim another name (" + creation.path +
                                    "); look at their logs, and whether a proxy changes replies"},
          false,
          false};
}

std::vector<contender> made_with(layout style, const owner_id& guid,
                                 const std::vector<std::string>& children) {
  std::vector<contender> all;
  for (const std::string& each : children) {
    auto c = parse(style, each);
    if (c && c->guid == guid) all.push_back(std::move(*c));
  }
  return all;
}

}  // namespace holdfast::zookeeper
