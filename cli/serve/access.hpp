// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "serve/address.hpp"
#include "serve/exchange.hpp"

namespace holdfast::cli {

/// Which requests are answered at all. A page of another site can make a browser send requests to an address
/// of this machine: under a name of its own, which its DNS points here (rebinding), where Host gives it away,
/// or across sites, where Origin does.
class access_rules {
 public:
  /// \param further_hosts names, with or without a port, under which it is reached, too.
  /// \throws failure (bad_usage) for one that is no name of a host.
  access_rules(const listen_address& where, const std::vector<std::string>& further_hosts, bool has_tls);

  /// \param is_page a file of the page is asked for, to which other sites may link.
  /// \return why the request is refused; empty: it is not.
  [[nodiscard]] std::optional<http_reply> refuse(const http_request& request, bool is_page) const;
  /// Whether it comes from a page of this server.
  [[nodiscard]] bool is_same_origin(const http_request& request) const;

 private:
  std::set<std::string> hosts_;  // in lower case, those of --host with their port where they have one
  bool has_tls_;
};

}  // namespace holdfast::cli
