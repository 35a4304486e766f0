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
#include "stores/redis/protocol/sentinel_query.hpp"
#include "stores/redis/protocol/server_address.hpp"

namespace holdfast::redis {

/// Asks the Sentinels of a URL in turn, and remembers which of them were of use. Any thread.
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

  /// Until an answer can be used. Blocks.
  /// \param subscribes whether the connection is to be kept.
  /// \param stop an eventfd: gives up as soon as it can be read.
  /// \return what `accept` returned. \throws connection_error.
  [[nodiscard]] connection run(bool subscribes, int stop, const use& accept);
  /// It is asked after the others from now on.
  void put_last(std::size_t sentinel);

 private:
  [[nodiscard]] std::vector<std::size_t> order() const;
  void put_first(std::size_t sentinel);
  [[nodiscard]] answer ask(std::size_t sentinel, bool subscribes, runtime::io_deadline limit) const;

  const settings& settings_;
  const tls_context* const secure_;
  mutable annotated::mutex mutex_;
  sentinel_order order_ HOLDFAST_GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis
