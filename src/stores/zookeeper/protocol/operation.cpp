#include "stores/zookeeper/protocol/operation.hpp"

namespace holdfast::zookeeper {

store::request_error request_error_of(const result& r) {
  switch (r.code) {
    case answer::unknown:
    case answer::not_sent: return {r.reason, r.reason.code == errc::unavailable, r.code == answer::unknown};
    case answer::no_node:
      return {{errc::unavailable, "the lock's node is gone: " + r.reason.message}, true, false};
    case answer::no_children:
      return {{errc::wrong_type, "an ephemeral node is in the place of the lock's node; take another name: " +
                                     r.reason.message},
              false,
              false};
    case answer::refused: return {{errc::permission_denied, r.reason.message}, false, false};
    case answer::over_quota: return {{errc::exhausted, r.reason.message}, false, false};
    default: return {r.reason, false, false};
  }
}

}  // namespace holdfast::zookeeper
