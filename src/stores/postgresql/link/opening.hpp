#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/io_deadline.hpp"
#include "stores/doctor/examination.hpp"
#include "stores/postgresql/link/handle.hpp"
#include "stores/postgresql/link/settings.hpp"
#include "stores/postgresql/protocol/schema.hpp"

namespace holdfast::postgresql {

/// A session that is being set up.
class opening {
 public:
  opening(const settings& to, const owner_id& client, int stop)
      : to_{to}, names_{to.names}, client_{client}, limit_{to.link.connect_limit, stop} {}

  [[nodiscard]] handle run(const std::optional<owner_id>& former, sql::provision make);
  /// With the schema of the tables; after `run`.
  [[nodiscard]] const sql::naming& names() const { return names_; }

  /// Whether there are no tables, and none were to be made.
  [[nodiscard]] bool is_bare() const { return bare_; }

  /// \return whether it has made tables.
  [[nodiscard]] bool provide();

  /// Reads what the server says of itself and of the store; changes and locks nothing, and calls no routine
  /// of an untrusted role.
  [[nodiscard]] std::vector<finding> examine();

 private:
  /// The pause before the next query. Not a sleep at the server, whose clock may be set back meanwhile.
  static constexpr std::chrono::milliseconds asking_interval{5};

  /// Half of the id, because everybody can read it at the server. The other half stays secret, so that no
  /// other user knows the channel.
  static std::string application(const owner_id& client) { return "holdfast " + client.hex().substr(0, 16); }

  /// The objects at the server.
  struct inventory {
    std::size_t tables = 0;
    bool has_layout = false;
    bool has_revision = false;
    bool is_complete = false;
    std::string stranger{};  // an object of an untrusted role, with its owner
  };

  void connect();
  void check_version() const;
  void check_server();
  void settle_names(const std::string& path);
  void check_line(const std::string& backend);
  void check_session();
  void end_sessions(const owner_id& of);
  void take_lock();
  void bind_to_session(std::chrono::milliseconds timeout);
  [[nodiscard]] std::optional<inventory> find_shortage();
  bool provide_tables();
  bool make_tables(const inventory& there);
  [[nodiscard]] std::string shortage(const inventory& there) const;
  [[nodiscard]] inventory take_inventory();
  /// Checks that trusted roles own the objects, too.
  [[nodiscard]] inventory look_around();
  [[nodiscard]] std::int64_t layout(const inventory& there);
  [[nodiscard]] sql::postgresql::revision revision(const inventory& there);
  /// Whether the objects suffice for this client; throws if the client must not use them.
  [[nodiscard]] bool suffices(const inventory& there);
  void await_makers();
  [[nodiscard]] std::string definitions();
  [[nodiscard]] std::optional<std::string> foreign_table();
  [[nodiscard]] std::string read_part(const std::function<void()>& read);
  void finish_answer();
  void read_store(doctor::facts& to);
  result ask(const std::string& statement, const std::vector<std::string>& values = {});
  [[nodiscard]] std::string text(const std::string& statement, const std::vector<std::string>& values = {});

  const settings& to_;
  sql::naming names_;
  const owner_id& client_;
  runtime::io_deadline limit_;
  sql::provision make_ = sql::provision::tables;
  bool bare_ = false;
  handle session_;
  std::string backend_;  // behind a pooler
};

}  // namespace holdfast::postgresql
