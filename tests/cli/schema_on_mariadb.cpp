// SPDX-License-Identifier: Apache-2.0
#include "schema_places.hpp"
#include "support/mariadb_server.hpp"

namespace holdfast::test {
namespace {

class schema_on_mariadb final : public schema_place {
 public:
  schema_on_mariadb() {
    for (const char* statement :
         {"CREATE DATABASE locks", "GRANT ALL ON locks.* TO holdfast@'%'", "CREATE USER worker@'%'",
          "GRANT SELECT, INSERT, UPDATE, DELETE, EXECUTE ON locks.* TO worker@'%'"}) {
      server_.ask(statement);
    }
  }
  [[nodiscard]] std::string url(const std::string& more) const override {
    return server_.url("?table=locks.own&connect_timeout=1m" + more);
  }
  [[nodiscard]] std::string url_of_worker(const std::string& more) const override {
    return of("worker", "locks?table=own&connect_timeout=1m") + more;
  }
  [[nodiscard]] std::string url_without_password() const override {
    return of("holdfast", "holdfast?table=locks.own&connect_timeout=1m");
  }
  void require_password(const std::string& password) override {
    server_.ask("SET PASSWORD FOR holdfast@'%' = PASSWORD('" + password + "')");
  }
  std::int64_t tables() override {
    return server_.number("SELECT count(*) FROM information_schema.tables WHERE table_schema = 'locks'");
  }
  void make_foreign_table() override { server_.ask("CREATE TABLE locks.own (name TEXT)"); }
  void raise_layout() override {
    server_.ask(
        "CREATE OR REPLACE DEFINER = holdfast@'%' PROCEDURE locks.own_layout() COMMENT 'Holdfast 3 0123' "
        "SELECT 3 AS layout");
  }
  [[nodiscard]] strings client_of(const std::string& file) const override {
    return {"mariadb",           "--no-defaults", "--socket=" + server_.socket(), "--user=holdfast",
            "--password=secret", "holdfast",      "--execute=source " + file};
  }

 private:
  [[nodiscard]] std::string of(const std::string& user, const std::string& rest) const {
    return "mysql://" + user + "@127.0.0.1:" + std::to_string(server_.port()) + '/' + rest;
  }

  mariadb_server server_;
};

const schema_on tested{{"mysql", [] { return std::make_unique<schema_on_mariadb>(); }}};

}  // namespace
}  // namespace holdfast::test
