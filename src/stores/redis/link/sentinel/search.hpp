// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/annotated_mutex.hpp"
#include "runtime/io_deadline.hpp"
#include "stores/redis/link/connection.hpp"
#include "stores/redis/link/settings.hpp"
#include "stores/redis/link/stream.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// Asks the Sentinels of a URL in turn, as the guidelines for clients of Redis Sentinel have it. The one that
/// was of use last is asked first, those that were not are asked last. Any thread.
///
/// A Sentinel may be late or wrong. So an answer counts only if the server that it leads to is a primary.
class sentinel_search {
 public:
  /// \param secure null: no TLS.
  sentinel_search(const settings& of, const tls_context* secure);

  /// What a Sentinel has answered.
  struct answer {
    std::size_t sentinel = 0;               // its index in the URL
    connection to;                          // subscribed to announcements, where that was wanted
    std::optional<server_address> primary;  // empty: it does not know the name
    std::vector<std::string> names;         // that it knows instead
  };
  /// Uses an answer that names a server. \throws connection_error, parser::garbage: then the next Sentinel is
  /// asked.
  using use = std::function<connection(answer from, runtime::io_deadline limit)>;
  /// The two steps of a search. \param parts in how many the time that is left is divided: one of them is for
  /// the step. \throws connection_error, parser::garbage, misunderstood: then the next Sentinel is asked.
  struct steps {
    std::function<answer(std::size_t sentinel, std::size_t parts)> ask;
    std::function<connection(answer from, std::size_t parts)> connect;
  };

  /// Until an answer can be used. Blocks.
  /// \param subscribes whether the connection is to be kept.
  /// \param stop an eventfd: gives up as soon as it can be read.
  /// \return what `accept` returned. \throws connection_error.
  [[nodiscard]] connection run(bool subscribes, int stop, const use& accept);
  [[nodiscard]] connection run(const steps& by);
  /// It is asked before the others from now on, or after them.
  void put(std::size_t sentinel, bool first);

 private:
  [[nodiscard]] answer ask(std::size_t sentinel, bool subscribes, runtime::io_deadline limit) const;
  [[nodiscard]] std::vector<std::size_t> order() const;

  const settings& settings_;
  const tls_context* const secure_;
  mutable annotated::mutex mutex_;
  std::vector<std::size_t> order_ HOLDFAST_GUARDED_BY(mutex_);  // indices in the URL
};

}  // namespace holdfast::redis
