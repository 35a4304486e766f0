// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <sqlite3.h>
#include <string>
#include <string_view>
#include <vector>

#include "base/owner_id.hpp"
#include "core/machine.hpp"
#include "core/notification.hpp"
#include "stores/sql/protocol/call.hpp"
#include "stores/sql/protocol/text.hpp"
#include "stores/sqlite/link/place.hpp"

namespace holdfast::sqlite {

inline constexpr std::int64_t application_id = 0x486F6C64;  // "Hold", in the file's header
inline constexpr std::int64_t schema_version = 1;           // likewise

/// Thrown inside the link. Its caller gets the request_error.
class broken : public std::exception {
 public:
  explicit broken(store::request_error t) : cause{std::move(t)} {}
  [[nodiscard]] const char* what() const noexcept override { return cause.reason.message.c_str(); }

  store::request_error cause;
};

/// The failure of an SQLite call as a message for users: the file, the failure, and the remedy.
/// \param path of the database.
[[nodiscard]] store::request_error request_error_of(sqlite3* db, int code, const std::string& path);

/// Lets SQLite run nothing of a file's own schema, and read no values that no client writes: whoever may
/// write the file may have put triggers and views there, which every other client would run, without an end
/// or with its statements left out.
void trust_no_schema(sqlite3* db);

/// A query for the number of Holdfast's tables in a file: all three, or it has no store of this name.
[[nodiscard]] std::string count_of_tables(const sql::naming& names);

/// An open database with Holdfast's tables, and the prepared statements of the tasks. Used by one thread at a
/// time.
class database {
 public:
  struct settings {
    std::string path;
    sql::naming names{"", "holdfast_locks", '"'};
    duration opening_limit{};  // for other processes that open or recover the file at the same moment
    duration keep_idle{};      // how long an unused name is remembered
    duration sweep_every = std::chrono::hours{1};  // for such names, by all clients together
    // Read once a transaction: the clock that ends leases, and the clock below which no token is drawn. All
    // clients of the file share them; tests and the simulator have their own.
    std::function<store::time_point()> lease_clock = boot_clock::now;
    std::function<std::chrono::system_clock::time_point()> wall_clock = std::chrono::system_clock::now;
    // Replaces the text of a task's statement. The simulator breaks statements with it, to show that it
    // detects them.
    std::function<std::string(const sql::statement&)> revise = nullptr;
  };

  /// Opens or makes it. \throws holdfast::error errc::foreign_store, errc::corrupt_store ….
  explicit database(const settings& s) : database{s, creation::allowed} {}
  /// Opens the database if it exists. \return null where there is no file, an empty one, or one without our
  /// tables; nothing is written then. \throws holdfast::error likewise.
  [[nodiscard]] static std::unique_ptr<database> find(const settings& s);
  ~database();
  database(const database&) = delete;
  database& operator=(const database&) = delete;

  /// Whether the file at the path, its -wal and its -shm are still those that were opened.
  [[nodiscard]] bool is_in_place() const noexcept { return identity_now() == identity_; }

  enum class access : std::uint8_t { read, write };
  /// False when another process is writing. \throws broken.
  [[nodiscard]] bool begin(access mode);
  /// \throws broken; then nothing has been carried out.
  void commit();
  void roll_back() noexcept;

  /// In a transaction. \throws broken.
  [[nodiscard]] tickets::reply carry_out(const tickets::request& request, const owner_id& client,
                                         std::vector<store::client_notification>& notifications);
  /// In a writing transaction: removes some unused rows, if no client has done so for `sweep_every`. \throws
  /// broken.
  void sweep_if_due();

 private:
  enum class creation : std::uint8_t { allowed, forbidden };
  /// Thrown where creation is forbidden, and there is no database.
  class absent : public std::exception {};
  /// Thrown where the path leads to another file than the one that was opened.
  class replaced : public std::exception {};
  database(const settings& s, creation make);

  /// A statement, and where its parameters come from and its columns go.
  struct prepared {
    sqlite3_stmt* statement = nullptr;
    std::string label;
    bool optional = false;
    bool is_query = false;
    bool is_answer = false;
    bool is_tell = false;
    std::vector<int> parameters;  // slots of `inputs`
    std::vector<int> columns;     // likewise; -1 for a column that no statement takes
  };
  using statements = std::vector<prepared>;
  struct routine {
    std::vector<int> parameters;  // slots of `inputs`
    statements script;
  };
  /// What was found by the statements of a routine.
  struct run {
    std::string_view ended_at;   // the label of the statement that found no row; empty: all statements ran
    std::vector<sql::row> rows;  // those of the routine
  };
  class inputs;

  bool open();
  void open_or_throw();
  void open_file();
  [[nodiscard]] database_identity identity_now() const noexcept;
  [[nodiscard]] bool has_moved(const database_identity& before) const;
  void close() noexcept;
  void make_tables();
  void expire_former_boot();
  void read_clocks();
  void execute(const char* text);
  [[nodiscard]] std::int64_t number(const char* query);
  [[nodiscard]] statements prepare(const std::vector<sql::statement>& texts);
  [[nodiscard]] tickets::kept renew(const tickets::renew& request);
  [[nodiscard]] std::vector<sql::row> call(const sql::call& of,
                                           std::vector<store::client_notification>& notifications);
  [[nodiscard]] run carry_out(statements& script, inputs& in,
                              std::vector<store::client_notification>& notifications);
  [[nodiscard]] broken failed(int code) const;

  settings settings_;
  creation make_;
  sqlite3* db_ = nullptr;
  std::string wal_ = settings_.path + "-wal";
  std::string shm_ = settings_.path + "-shm";
  database_identity identity_;
  std::int64_t lease_now_us_ = 0;  // read once a transaction, once it has its lock
  std::int64_t wall_now_us_ = 0;
  std::int64_t next_sweep_us_ = 0;  // not to ask sooner
  sqlite3_stmt* begin_read_ = nullptr;
  sqlite3_stmt* begin_write_ = nullptr;
  sqlite3_stmt* commit_ = nullptr;
  std::map<std::string_view, routine> routines_;
};

}  // namespace holdfast::sqlite
