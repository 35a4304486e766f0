#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::contract {

/// One store, running and empty, for one test; gone with the object.
class store {
 public:
  virtual ~store() = default;
  /// Where its clients find it; every client that opens this sees the same locks.
  [[nodiscard]] virtual std::string url() const = 0;
  /// From now on the store does not answer; then it does again, with what it had. Only called where
  /// `store_kind::breakable` says so.
  virtual void stop_answering() {}
  virtual void answer_again() {}
};

/// A kind of store that the contract is tested on, and what it can be asked to do.
struct store_kind {
  std::string name;    ///< in the names of the tests; letters and digits
  std::string scheme;  ///< as in holdfast::schemes()
  bool across_processes = false;
  bool breakable = false;
  bool has_permits = true;      ///< semaphores
  bool by_majority = false;     ///< each request goes to several servers, which share this machine
  bool keeps_sessions = false;  ///< a lease may end before its ttl does, with its client's session
  bool keeps_marks = false;     ///< with sessions: a name rests after one all the same
  std::function<std::unique_ptr<store>()> start;
};

/// All kinds that the files of this folder name.
[[nodiscard]] std::vector<store_kind>& store_kinds();

/// Puts a store under the contract: one object of this type, at namespace scope, in a file of its own,
/// is all that a new store needs.
struct test_on {
  explicit test_on(store_kind kind);
};

}  // namespace holdfast::contract
