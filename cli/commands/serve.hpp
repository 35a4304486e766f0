// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store.hpp"

namespace holdfast::cli {

/// `holdfast serve`
struct serve_command {
  store_choice store;
  std::string listen = "127.0.0.1:8377";
  std::vector<std::string> hosts;  ///< further names under which it is reached
  std::string tls_certificate;     ///< a file; empty: plain HTTP
  std::string tls_key;             ///< a file
  bool allow_release = false;
  std::string secret_file;           ///< with allow_release
  std::optional<duration> interval;  ///< between two readings of the store; empty: the default
  std::optional<duration> ttl;  ///< the longest in use, for the doctor; empty: the default of the library
};

int perform(const serve_command& request);

}  // namespace holdfast::cli
