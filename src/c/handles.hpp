// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <string_view>

#include "c/guard.hpp"
#include "holdfast/client.hpp"

// The opaque types of <holdfast/holdfast.h> that more than one source uses.

struct holdfast_client {
  holdfast_client(std::string_view url, const holdfast::client_options& options)
      : locks{url, options}, defaults{options.locks()} {}

  holdfast::client locks;
  holdfast::lock_options defaults;
};

struct holdfast_stop : holdfast::c::owned {
  std::stop_source source;
};
