// SPDX-License-Identifier: Apache-2.0
#include "contract/database_store.hpp"
#include "support/postgresql_server.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::contract::test_on;
using holdfast::test::postgresql_server;
using database = holdfast::contract::database_store<postgresql_server>;

const test_on tcp{database::kind("postgresql", "postgresql", extent::blocking,
                                 [](const postgresql_server& at, const std::string& options) {
                                   return at.url("?connect_timeout=50s&" + options);
                                 })};
const test_on unix_socket{database::kind(
    "postgres", "postgres", extent::smoke, [](const postgresql_server& at, const std::string& options) {
      return "postgres" +
             at.socket_url("?connect_timeout=50s&" + options).substr(std::string{"postgresql"}.size());
    })};
const test_on session{database::kind(
    "postgresql_session", "postgresql", extent::chosen,
    [](const postgresql_server& at, const std::string& options) {
      return at.url("?mode=session&session_timeout=20s&connect_timeout=50s&" + options);
    },
    true)};
const test_on poll{database::kind("postgresql_poll", "postgresql", extent::chosen,
                                  [](const postgresql_server& at, const std::string& options) {
                                    return at.url("?notify=poll&poll=20ms&connect_timeout=50s&" + options);
                                  })};

}  // namespace
