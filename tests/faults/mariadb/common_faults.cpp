// SPDX-License-Identifier: Apache-2.0
#include "faults/servers/servers.hpp"
#include "support/mariadb_server.hpp"
#include "support/small_disk.hpp"

namespace {

using namespace holdfast::faults;
using holdfast::test::mariadb_console;

/// Of anything that has `ask`.
template <class Console>
std::string answer_of(Console& console, const std::string& sql) {
  std::string lines;
  try {
    for (const auto& row : console.ask(sql)) {
      if (!lines.empty()) lines += '\n';
      for (const auto& value : row) lines += (&value == row.data() ? "" : "|") + value;
    }
  } catch (const holdfast::test::mariadb_error& e) {
    return '-' + std::to_string(e.number()) + ' ' + e.what();
  }
  return lines;
}

class mariadb final : public wrapped<database, holdfast::test::mariadb_server> {
 public:
  explicit mariadb(const server_settings& settings)
      : wrapped{{.options = settings.few_connections ? std::vector<std::string>{"--max-connections=10"}
                                                     : std::vector<std::string>{},
                 .own_clock = settings.own_clock,
                 .small_disk_kib = settings.small_disk ? 1024 : 0}} {
    if (!settings.log_statements) return;
    execute("SET GLOBAL log_output = 'TABLE'");
    execute("SET GLOBAL general_log = 1");
  }
  [[nodiscard]] std::string url(std::uint16_t port, const std::string& options) const override {
    return "mysql://holdfast:secret@127.0.0.1:" + std::to_string(port) + "/holdfast" + options;
  }
  void shut_down() override { real_.shut_down(); }
  std::string ask(const std::string& sql) override { return answer_of(real_, sql); }
  session connect(const std::string& user) override {
    const mariadb_console::account login{user.empty() ? "root" : user, "", "holdfast"};
    return [console = std::shared_ptr{real_.console(login)}](const std::string& sql) {
      return answer_of(*console, sql);
    };
  }
  std::int64_t sessions() override {
    return number("SELECT count(*) FROM information_schema.processlist WHERE user = 'holdfast'");
  }
  void end_sessions() override { execute("KILL HARD USER holdfast"); }
  void set_read_only(bool is_so) override {
    execute(std::string{"SET GLOBAL read_only = "} + (is_so ? "1" : "0"));
  }
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
  [[nodiscard]] std::string kind_of_routine() const override { return "PROCEDURE"; }
  [[nodiscard]] std::string call_of(const std::string& routine, const std::string& arguments) const override {
    return "CALL holdfast_locks_" + routine + '(' + arguments + ')';
  }
  [[nodiscard]] std::string bytes(const std::string& hex, int count) const override {
    return "REPEAT(x'" + hex + "', " + std::to_string(count) + ')';
  }
  void make_guest() override {
    holdfast::apply_schema(url(port(), {}));
    execute("CREATE USER guest@'%'");
    execute("GRANT EXECUTE ON holdfast.* TO guest@'%'");
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
