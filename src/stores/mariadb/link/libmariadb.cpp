// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/link/libmariadb.hpp"

#ifdef HOLDFAST_LOADED_CLIENTS
#include <array>

#include "stores/sql/link/loaded_client.hpp"

// All functions of libmariadb that this folder calls. The linker names one that is missing.
#define HOLDFAST_FUNCTIONS(EACH)      \
  EACH(mariadb_connection)            \
  EACH(mysql_close)                   \
  EACH(mysql_errno)                   \
  EACH(mysql_error)                   \
  EACH(mysql_fetch_field_direct)      \
  EACH(mysql_fetch_lengths)           \
  EACH(mysql_fetch_row)               \
  EACH(mysql_field_count)             \
  EACH(mysql_free_result)             \
  EACH(mysql_get_server_info)         \
  EACH(mysql_get_server_version)      \
  EACH(mysql_get_socket)              \
  EACH(mysql_get_ssl_cipher)          \
  EACH(mysql_init)                    \
  EACH(mysql_more_results)            \
  EACH(mysql_next_result_cont)        \
  EACH(mysql_next_result_start)       \
  EACH(mysql_num_fields)              \
  EACH(mysql_optionsv)                \
  EACH(mysql_real_connect_cont)       \
  EACH(mysql_real_connect_start)      \
  EACH(mysql_real_query_cont)         \
  EACH(mysql_real_query_start)        \
  EACH(mysql_reset_connection_cont)   \
  EACH(mysql_reset_connection_start)  \
  EACH(mysql_server_init)             \
  EACH(mysql_stmt_bind_param)         \
  EACH(mysql_stmt_bind_result)        \
  EACH(mysql_stmt_close)              \
  EACH(mysql_stmt_errno)              \
  EACH(mysql_stmt_error)              \
  EACH(mysql_stmt_execute_cont)       \
  EACH(mysql_stmt_execute_start)      \
  EACH(mysql_stmt_fetch)              \
  EACH(mysql_stmt_fetch_column)       \
  EACH(mysql_stmt_field_count)        \
  EACH(mysql_stmt_init)               \
  EACH(mysql_stmt_more_results)       \
  EACH(mysql_stmt_next_result_cont)   \
  EACH(mysql_stmt_next_result_start)  \
  EACH(mysql_stmt_num_rows)           \
  EACH(mysql_stmt_param_count)        \
  EACH(mysql_stmt_prepare_cont)       \
  EACH(mysql_stmt_prepare_start)      \
  EACH(mysql_stmt_result_metadata)    \
  EACH(mysql_stmt_store_result_cont)  \
  EACH(mysql_stmt_store_result_start) \
  EACH(mysql_store_result_cont)       \
  EACH(mysql_store_result_start)

HOLDFAST_FUNCTIONS(HOLDFAST_FORWARDED)

namespace holdfast::mariadb {

void load_libmariadb() {
  static constexpr auto functions =
      std::to_array<sql::client_function>({HOLDFAST_FUNCTIONS(HOLDFAST_CLIENT_FUNCTION)});
  [[maybe_unused]] static const bool once =
      (sql::load_client("libmariadb.so.3", "libmariadb3 (Debian) or mariadb-connector-c (Fedora)", functions),
       true);
}

}  // namespace holdfast::mariadb
#undef HOLDFAST_FUNCTIONS
#endif
