// SPDX-License-Identifier: Apache-2.0
#include "faults/servers/servers.hpp"
#include "support/postgresql_server.hpp"
#include "support/small_disk.hpp"

namespace {

using namespace holdfast::faults;

class postgresql final : public wrapped<database, holdfast::test::postgresql_server> {
 public:
  explicit postgresql(const server_settings& settings)
      : wrapped{{.lines = lines_of(settings),
                 .durable = settings.durable,
                 .own_clock = settings.own_clock,
                 .small_disk_kib = settings.small_disk ? 2048 : 0}} {
    if (!settings.small_disk) return;
    execute("CREATE TABLESPACE small LOCATION '" + real_.small_disk() + "'");
    execute("GRANT CREATE ON TABLESPACE small TO holdfast");
    execute("ALTER ROLE holdfast SET default_tablespace = small");
  }
  [[nodiscard]] std::string url(std::uint16_t port, const std::string& options) const override {
    return real_.url_through(port, options);
  }
  void shut_down() override { real_.shut_down(); }
  std::string ask(const std::string& sql) override { return real_.ask(sql); }
  session connect(const std::string& user) override {
    auto console = user.empty() ? real_.console() : real_.console(user);
    return
        [console = std::shared_ptr{std::move(console)}](const std::string& sql) { return console->ask(sql); };
  }
  std::int64_t sessions() override {
    return number("SELECT count(*) FROM pg_stat_activity WHERE usename = 'holdfast'");
  }
  void end_sessions() override {
    number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'holdfast'");
  }
  void set_read_only(bool is_so) override {
    const auto operators = connect({});
    operators("SET default_transaction_read_only = off");
    EXPECT_EQ(
        operators(std::string{"ALTER SYSTEM SET default_transaction_read_only = "} + (is_so ? "on" : "off")),
        "");
    EXPECT_EQ(operators("SELECT pg_reload_conf()"), "t");
  }
  std::int64_t living_claimants() override {
    return number(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name IN "
        "(SELECT 'holdfast ' || left(encode(client, 'hex'), 16) FROM holdfast_locks_claims)");
  }
  std::int64_t idle_transactions() override {
    return number(
        "SELECT count(*) FROM pg_stat_activity a JOIN pg_locks l USING (pid) WHERE a.usename = 'holdfast' "
        "AND a.state <> 'active' AND l.locktype = 'transactionid'");
  }
  bool has_logged(const std::string& text) override { return real_.log().find(text) != std::string::npos; }
  std::map<std::string, remains> what_is_left() override {
    auto all = database::what_is_left();
    all["advisory locks"] = {number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")};
    // Its housekeeping comes and goes.
    all["processes"] = {static_cast<std::int64_t>(real_.processes().size()), 2};
    // Dead rows are used again.
    all["pages"] = {number("SELECT pg_total_relation_size('holdfast_locks') / 8192"), 16};
    return all;
  }
  [[nodiscard]] std::string kind_of_routine() const override { return "FUNCTION"; }
  [[nodiscard]] std::vector<std::string> inner_routines() const override {
    return {"serve", "now", "untrack"};
  }
  [[nodiscard]] std::string call_of(const std::string& routine, const std::string& arguments) const override {
    return "SELECT * FROM holdfast_locks_" + routine + '(' + arguments + ')';
  }
  [[nodiscard]] std::string bytes(const std::string& hex, int count) const override {
    return "decode(repeat('" + hex + "', " + std::to_string(count) + "), 'hex')";
  }
  void make_guest() override {
    execute("CREATE ROLE guest LOGIN");
    holdfast::apply_schema(url(port(), "?grant_lock=guest"));
  }
  void fill_disk() override { holdfast::test::fill_small_disk(real_.pid(), real_.small_disk()); }
  void clear_disk() override { holdfast::test::clear_small_disk(real_.pid(), real_.small_disk()); }

 private:
  static std::vector<std::string> lines_of(const server_settings& settings) {
    if (settings.log_statements) return {"log_statement = all", "log_parameter_max_length = 0"};
    if (settings.few_connections) return {"max_connections = 8", "superuser_reserved_connections = 3"};
    return {};
  }
};

const test_on tested{database_kind{
    .name = "postgresql", .can_start_empty = false, .start = [](const server_settings& settings) {
      return std::make_unique<postgresql>(settings);
    }}};

}  // namespace
