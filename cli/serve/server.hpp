// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/serve.hpp"

namespace holdfast::cli {

/// Serves until SIGINT or SIGTERM. \throws failure, holdfast::error.
void run_server(const serve_command& request);

}  // namespace holdfast::cli
