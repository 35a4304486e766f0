#pragma once

#include "stores/postgresql/link/settings.hpp"
#include "stores/sql/link/link.hpp"

namespace holdfast::postgresql {

/// Carries requests to a PostgreSQL server, over one connection for the calls and notifications of a client.
class link final : public sql::link {
 public:
  /// Begins to connect.
  link(runtime::event_loop& on, const settings& s);
  ~link() override { shut(); }
  link(const link&) = delete;
  link& operator=(const link&) = delete;
};

}  // namespace holdfast::postgresql
