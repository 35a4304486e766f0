// SPDX-License-Identifier: Apache-2.0
#include "commands/serve.hpp"

#include "exit_status.hpp"
#include "serve/server.hpp"

namespace holdfast::cli {

int perform(const serve_command& request) {
  run_server(request);
  return success;
}

}  // namespace holdfast::cli
