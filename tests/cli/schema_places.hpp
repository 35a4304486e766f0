// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace holdfast::test {

/// A database server with a table name that is free, "locks.own". A user "worker" may make nothing.
class schema_place {
 public:
  virtual ~schema_place() = default;
  /// Of one who may make it.
  [[nodiscard]] virtual std::string url(const std::string& more_options = {}) const = 0;
  /// Of the same, with what the worker has to be granted for locking and has not been granted before.
  [[nodiscard]] virtual std::string url_for_worker() const { return url(); }
  [[nodiscard]] virtual std::string url_of_worker(const std::string& more_options = {}) const = 0;
  /// Without the password that it takes from `require_password`.
  [[nodiscard]] virtual std::string url_without_password() const = 0;
  virtual void require_password(const std::string& password) = 0;
  /// How many tables there are beside the name.
  virtual std::int64_t tables() = 0;
  virtual void make_foreign_table() = 0;
  /// What is there says from now on that it has the layout 3.
  virtual void raise_layout() = 0;
  /// The server's own client, that it may run a file.
  [[nodiscard]] virtual strings client_of(const std::string& file) const = 0;
};

struct schema_kind {
  std::string scheme;
  std::function<std::unique_ptr<schema_place>()> start;
};
/// What a failed test shows of it.
inline void PrintTo(const schema_kind& kind, std::ostream* to) { *to << kind.scheme; }

/// All that the files of this folder name, each by an object of the type below.
[[nodiscard]] std::vector<schema_kind>& schema_kinds();
struct schema_on {
  explicit schema_on(const schema_kind& kind) { schema_kinds().push_back(kind); }
};

}  // namespace holdfast::test
