// SPDX-License-Identifier: Apache-2.0
#include "schema_places.hpp"
#include "support/postgresql_server.hpp"

namespace holdfast::test {
namespace {

class schema_on_postgresql final : public schema_place {
 public:
  schema_on_postgresql() {
    EXPECT_EQ(server_.ask("CREATE ROLE worker LOGIN; CREATE SCHEMA locks AUTHORIZATION holdfast;"
                          "GRANT USAGE ON SCHEMA locks TO worker"),
              "");
  }
  [[nodiscard]] std::string url(const std::string& more) const override {
    return server_.url("?table=locks.own&connect_timeout=1m" + more);
  }
  [[nodiscard]] std::string url_for_worker() const override { return url("&grant_lock=worker"); }
  [[nodiscard]] std::string url_of_worker(const std::string& more) const override {
    return "postgresql://worker@127.0.0.1:" + std::to_string(server_.port()) +
           "/holdfast?table=locks.own&connect_timeout=1m" + more;
  }
  [[nodiscard]] std::string url_without_password() const override { return url(""); }
  void require_password(const std::string& password) override {
    EXPECT_EQ(server_.ask("ALTER ROLE holdfast PASSWORD '" + password + "'"), "");
  }
  std::int64_t tables() override {
    return server_.number("SELECT count(*) FROM pg_tables WHERE schemaname = 'locks'");
  }
  void make_foreign_table() override { EXPECT_EQ(server_.ask("CREATE TABLE locks.own (name text)"), ""); }
  void raise_layout() override {
    EXPECT_EQ(server_.ask("CREATE OR REPLACE FUNCTION locks.own_layout() RETURNS bigint LANGUAGE sql "
                          "IMMUTABLE AS 'SELECT 3::bigint'"),
              "");
  }
  [[nodiscard]] strings client_of(const std::string& file) const override {
    return {postgresql_server::programs() + "/psql",
            "--no-psqlrc",
            "--quiet",
            "--set=ON_ERROR_STOP=1",
            "--host=" + server_.socket_folder(),
            "--port=" + std::to_string(server_.port()),
            "--username=holdfast",
            "--dbname=holdfast",
            "--file=" + file};
  }

 private:
  postgresql_server server_;
};

const schema_on tested{{"postgresql", [] { return std::make_unique<schema_on_postgresql>(); }}};

}  // namespace
}  // namespace holdfast::test
