#pragma once

#include "stores/mariadb/link/listener.hpp"
#include "stores/mariadb/link/settings.hpp"
#include "stores/sql/link/link.hpp"

namespace holdfast::mariadb {

/// Carries requests to a MariaDB or MySQL server, over one connection for the calls of a client, and, from
/// its first wish to acquire, one for the notifications.
class link final : public sql::link {
 public:
  /// Begins to connect.
  link(runtime::event_loop& on, settings s);
  ~link() override { link::shut(); }
  link(const link&) = delete;
  link& operator=(const link&) = delete;

  void send(tickets::request request, on_reply handler) override;
  void shut() override;

 private:
  listener listener_;
};

}  // namespace holdfast::mariadb
