#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/request.hpp"
#include "stores/redis/protocol/dialect.hpp"
#include "stores/redis/protocol/value.hpp"

namespace holdfast::redis {

/// The listing of a server's locks: a scan of its keys, and then a summary of each name that it finds.
struct listing final : tickets::listing_state {
  std::string cursor = "0";
  bool scanned = false;         // all of the database
  std::set<std::string> found;  // locks' keys that are not read yet
  std::vector<lock_summary> summaries;
  std::set<std::string> moved;  // locks' keys that another server of the cluster has by now
  bool follows = false;         // of one name: the link asks the server that has it

  /// Appends the command for the next part of the scan.
  void append_scan(std::string& out, const dialect& in) const;
  /// \return whether the scan goes on. \throws misunderstood.
  bool hear_scan(const value& reply, const dialect& in);

  /// Appends the commands for the next names. \return how many.
  [[nodiscard]] std::size_t append_details(std::string& out) const;
  /// \param idle names as well that nobody holds or waits for.
  /// \return why not all were read: those that were not are read by the next commands.
  [[nodiscard]] std::optional<store::request_error> hear_details(const std::vector<value>& replies,
                                                                 const dialect& in, bool idle);
};

}  // namespace holdfast::redis
