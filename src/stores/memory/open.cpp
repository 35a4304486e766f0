// SPDX-License-Identifier: Apache-2.0
#include "stores/memory/link/link.hpp"
#include "stores/scheme.hpp"

namespace holdfast::stores {

std::unique_ptr<tickets::link> open_memory(store_url& url, const client_options&, runtime::event_loop& on) {
  url.refuse_rest({});
  return std::make_unique<memory::link>(on, url.path());
}

doctor::report diagnose_memory(store_url& url, const client_options&) {
  url.refuse_rest({});
  return {{{.subject = "this process",
            .condition = "reach",
            .result = finding::grade::kept,
            .observed = "it excludes the threads of one process only; each process has a store of its own",
            .meaning = {},
            .remedy = {}}},
          doctor::own_clock()};
}

}  // namespace holdfast::stores
