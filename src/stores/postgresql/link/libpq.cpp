// SPDX-License-Identifier: Apache-2.0
#include "stores/postgresql/link/libpq.hpp"

#ifdef HOLDFAST_LOADED_CLIENTS
#include <array>

#include "stores/sql/link/loaded_client.hpp"

// All functions of libpq that this folder calls. The linker names one that is missing.
#define HOLDFAST_FUNCTIONS(EACH)  \
  EACH(PQbackendPID)              \
  EACH(PQclear)                   \
  EACH(PQconnectPoll)             \
  EACH(PQconnectStartParams)      \
  EACH(PQconnectionNeedsPassword) \
  EACH(PQconnectionUsedPassword)  \
  EACH(PQconsumeInput)            \
  EACH(PQenterPipelineMode)       \
  EACH(PQerrorMessage)            \
  EACH(PQfinish)                  \
  EACH(PQflush)                   \
  EACH(PQfreemem)                 \
  EACH(PQftype)                   \
  EACH(PQgetResult)               \
  EACH(PQgetisnull)               \
  EACH(PQgetlength)               \
  EACH(PQgetvalue)                \
  EACH(PQisBusy)                  \
  EACH(PQnfields)                 \
  EACH(PQnotifies)                \
  EACH(PQntuples)                 \
  EACH(PQpipelineSync)            \
  EACH(PQresultErrorField)        \
  EACH(PQresultErrorMessage)      \
  EACH(PQresultStatus)            \
  EACH(PQsendPrepare)             \
  EACH(PQsendQuery)               \
  EACH(PQsendQueryParams)         \
  EACH(PQsendQueryPrepared)       \
  EACH(PQserverVersion)           \
  EACH(PQsetErrorVerbosity)       \
  EACH(PQsetNoticeProcessor)      \
  EACH(PQsetnonblocking)          \
  EACH(PQsocket)                  \
  EACH(PQstatus)                  \
  EACH(PQtransactionStatus)

HOLDFAST_FUNCTIONS(HOLDFAST_FORWARDED)

namespace holdfast::postgresql {

void load_libpq() {
  static constexpr auto functions =
      std::to_array<sql::client_function>({HOLDFAST_FUNCTIONS(HOLDFAST_CLIENT_FUNCTION)});
  [[maybe_unused]] static const bool once =
      (sql::load_client("libpq.so.5", "libpq5 (Debian) or libpq (Fedora)", functions), true);
}

}  // namespace holdfast::postgresql

#undef HOLDFAST_FUNCTIONS
#endif
