#include "faults/servers/servers.hpp"
#include "support/mariadb_server.hpp"
#include "support/small_disk.hpp"

namespace {

using namespace holdfast::faults;

class mariadb final : public wrapped<database, holdfast::test::mariadb_server> {
 public:
  explicit mariadb(const server_settings& settings)
      : wrapped{{.own_clock = settings.own_clock, .small_disk_kib = settings.small_disk ? 1024 : 0}} {
    if (!settings.log_statements) return;
    execute("SET GLOBAL log_output = 'TABLE'");
    execute("SET GLOBAL general_log = 1");
  }
  [[nodiscard]] std::string url(std::uint16_t port, const std::string& options) const override {
    return "mysql://holdfast:secret@127.0.0.1:" + std::to_string(port) + "/holdfast" + options;
  }
  void shut_down() override { real_.shut_down(); }
  void execute(const std::string& sql) override { real_.ask(sql); }
  std::int64_t number(const std::string& sql) override { return real_.number(sql); }
  std::int64_t sessions() override {
    return number("SELECT count(*) FROM information_schema.processlist WHERE user = 'holdfast'");
  }
  void end_sessions() override { execute("KILL HARD USER holdfast"); }
  void set_read_only() override { execute("SET GLOBAL read_only = 1"); }
  std::int64_t living_claimants() override {
    return number(
        "SELECT count(DISTINCT client) FROM holdfast_locks_claims "
        "WHERE IS_USED_LOCK(CONCAT('holdfast-calls:', LOWER(HEX(client)))) IS NOT NULL");
  }
  std::int64_t idle_transactions() override {
    return number(
        "SELECT count(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p "
        "ON p.id = t.trx_mysql_thread_id WHERE p.user = 'holdfast' AND p.command = 'Sleep'");
  }
  bool has_logged(const std::string& text) override {
    // 'Execute' has the values as well, which the server has filled in.
    return number(
               "SELECT count(*) FROM mysql.general_log WHERE user_host LIKE 'holdfast%' "
               "AND command_type IN ('Query', 'Prepare') AND INSTR(argument, \"" +
               text + "\") > 0") > 0;
  }
  void fill_disk() override { holdfast::test::fill_small_disk(real_.pid(), real_.small_disk()); }
  void clear_disk() override { holdfast::test::clear_small_disk(real_.pid(), real_.small_disk()); }
};

const test_on tested{database_kind{
    .name = "mariadb",
    .connections = 2,     // the one for notifications counts
    .shortest_part = 23,  // a request is one packet, and begun when all of it is there
    .start = [](const server_settings& settings) { return std::make_unique<mariadb>(settings); }}};

}  // namespace
