// SPDX-License-Identifier: Apache-2.0
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
  /// The same store, for a process that is about to die: where its holds end with a session, that ends soon.
  [[nodiscard]] virtual std::string url_of_brief_sessions() const { return url(); }
  /// From now on the store does not answer; then it does again, with what it had. Only called where
  /// `store_kind::breakable` says so.
  virtual void stop_answering() {}
  virtual void answer_again() {}
};

/// How much of the contract runs on a kind of store by default. All of it does with HOLDFAST_TESTS=all in the
/// environment, as scripts/hunt has it.
enum class extent {
  whole,     ///< all suites, in both flavours
  blocking,  ///< all suites, without the asynchronous flavour of those that have both
  chosen,    ///< as blocking, and only the suites in which a link or a layout of its own shows
  smoke,     ///< as blocking, and only a few suites: another kind differs from this one by its URL alone
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
  extent in_gate = extent::whole;
  std::function<std::unique_ptr<store>()> start{};
};

/// All kinds that the files of this folder name.
[[nodiscard]] std::vector<store_kind>& store_kinds();

/// Puts a store under the contract: one object of this type, at namespace scope, in a file of its own,
/// is all that a new store needs.
struct test_on {
  explicit test_on(store_kind kind);
};

}  // namespace holdfast::contract
