#include "faults/servers/servers.hpp"
#include "support/postgresql_server.hpp"
#include "support/small_disk.hpp"

namespace {

using namespace holdfast::faults;

class postgresql final : public wrapped<database, holdfast::test::postgresql_server> {
 public:
  explicit postgresql(const server_settings& settings)
      : wrapped{{.lines = settings.log_statements ? logging() : std::vector<std::string>{},
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
  void execute(const std::string& sql) override { EXPECT_EQ(real_.ask(sql), ""); }
  std::int64_t number(const std::string& sql) override { return real_.number(sql); }
  std::int64_t sessions() override {
    return number("SELECT count(*) FROM pg_stat_activity WHERE usename = 'holdfast'");
  }
  void end_sessions() override {
    number("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'holdfast'");
  }
  void set_read_only() override {
    execute("ALTER SYSTEM SET default_transaction_read_only = on");
    number("SELECT pg_reload_conf()::int");
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
  void fill_disk() override { holdfast::test::fill_small_disk(real_.pid(), real_.small_disk()); }
  void clear_disk() override { holdfast::test::clear_small_disk(real_.pid(), real_.small_disk()); }

 private:
  static std::vector<std::string> logging() {
    return {"log_statement = all", "log_parameter_max_length = 0"};
  }
};

const test_on tested{database_kind{
    .name = "postgresql", .can_start_empty = false, .start = [](const server_settings& settings) {
      return std::make_unique<postgresql>(settings);
    }}};

}  // namespace
