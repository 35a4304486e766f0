// SPDX-License-Identifier: Apache-2.0
#include "stores/zookeeper/protocol/wire.hpp"

#include "stores/zookeeper/protocol/layout.hpp"

namespace holdfast::zookeeper {

bool may_create(const operation& creation, std::string_view path) {
  if (!path.starts_with(creation.path)) return false;
  const std::string_view number = path.substr(creation.path.size());
  const bool is_numbered = creation.make == operation::made::sequential;
  return is_numbered ? number_in(number).has_value() : number.empty();
}

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
