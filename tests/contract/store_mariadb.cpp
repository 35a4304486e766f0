// SPDX-License-Identifier: Apache-2.0
#include "contract/database_store.hpp"
#include "support/mariadb_server.hpp"

namespace {

using holdfast::contract::extent;
using holdfast::contract::test_on;
using holdfast::test::mariadb_server;
using database = holdfast::contract::database_store<mariadb_server>;

const test_on tcp{database::kind("mysql", "mysql", extent::blocking,
                                 [](const mariadb_server& at, const std::string& options) {
                                   return at.url("?connect_timeout=50s&" + options);
                                 })};
const test_on unix_socket{database::kind(
    "mariadb", "mariadb", extent::smoke, [](const mariadb_server& at, const std::string& options) {
      return "mariadb" + at.socket_url("&connect_timeout=50s&" + options).substr(std::string{"mysql"}.size());
    })};
const test_on session{database::kind(
    "mysql_session", "mysql", extent::chosen,
    [](const mariadb_server& at, const std::string& options) {
      return at.url("?mode=session&session_timeout=20s&connect_timeout=50s&" + options);
    },
    true)};
const test_on poll{database::kind("mysql_poll", "mysql", extent::chosen,
                                  [](const mariadb_server& at, const std::string& options) {
                                    return at.url("?notify=poll&poll=20ms&connect_timeout=50s&" + options);
                                  })};

}  // namespace
