#include "stores/zookeeper/protocol/operation.hpp"

namespace holdfast::zookeeper {

store::trouble trouble_of(const result& r) {
  switch (r.code) {
    case answer::unknown:
    case answer::not_sent: return {r.reason, r.reason.code == errc::unavailable, r.code == answer::unknown};
    case answer::no_node:
      return {{errc::unavailable, "the lock's node is gone: " + r.reason.message}, true, false};
    case answer::no_children:
      return {{errc::wrong_type, "where the lock's node should be is an ephemeral one: " + r.reason.message},
              false,
              false};
    case answer::refused: return {{errc::permission_denied, r.reason.message}, false, false};
    case answer::over_quota: return {{errc::exhausted, r.reason.message}, false, false};
    default: return {r.reason, false, false};
  }
}

}  // namespace holdfast::zookeeper
