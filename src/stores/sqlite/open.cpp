// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "stores/scheme.hpp"
#include "stores/sqlite/link/diagnosis.hpp"
#include "stores/sqlite/link/fences.hpp"
#include "stores/sqlite/link/link.hpp"
#include "stores/sqlite/link/place.hpp"
#include "stores/sqlite/protocol/script.hpp"
#include "stores/table_name.hpp"

namespace holdfast::stores {

namespace {

constexpr std::string_view known_options =
    "table (name of the lock table), keep_idle (how long an unused name's token is remembered), network_fs "
    "(1: use a file on a network file system in spite of the risk)";

/// `sqlite:/path`, `sqlite:path`, and, because people write it, `sqlite:///path`. Empty: the file of this
/// user.
std::string path_of(const store_url& url) {
  std::string path = url.path();
  if (path.starts_with("//")) {
    path.erase(0, 2);
    if (!path.starts_with('/'))
      url.refuse("it names a host, which a file does not have; write sqlite:/path/to/locks.db");
  }
  if (path.ends_with('/')) url.refuse("it names a folder; add the name of a file");
  if (const std::string problem = sqlite::problem_of(path); !problem.empty()) url.refuse(problem);
  return path;
}

struct choice {
  sqlite::database::settings file;
  bool anywhere = false;    // also on a network file system
  bool is_default = false;  // the file of this user
};

choice choice_of(store_url& url) {
  using namespace std::chrono_literals;
  choice made;
  const std::string table = take_table(url);
  if (table.starts_with("sqlite_"))
    url.refuse("the option 'table' begins with sqlite_, as SQLite's own tables do; choose another name");
  made.file.names = sql::naming{"", table, '"'};
  made.file.keep_idle = url.take_duration("keep_idle", 30 * 24h);
  made.anywhere = url.take_flag("network_fs", false);
  url.refuse_rest(known_options);
  made.file.lease_clock = [ahead = sqlite::boottime_offset()] { return boot_clock::now() - ahead; };
  const std::string path = path_of(url);
  made.is_default = path.empty();
  made.file.path = sqlite::resolved(made.is_default ? sqlite::default_path() : path);
  return made;
}

}  // namespace

std::unique_ptr<tickets::link> open_sqlite(store_url& url, const client_options& options,
                                           runtime::event_loop& on) {
  using namespace std::chrono_literals;
  choice made = choice_of(url);
  made.file.opening_limit = std::min<duration>(options.locks().retry().limit(), 5s);
  sqlite::check_place(made.file.path, made.anywhere);
  return std::make_unique<sqlite::link>(
      on, made.file, [path = made.file.path, anywhere = made.anywhere, is_default = made.is_default] {
        sqlite::prepare_place(path, anywhere, is_default);
      });
}

doctor::report diagnose_sqlite(store_url& url, const client_options&) {
  using namespace std::chrono_literals;
  const choice made = choice_of(url);
  return {sqlite::diagnose(made.file.path, made.file.names, {made.anywhere, made.is_default}, 2s),
          doctor::own_clock()};
}

stores::database_schema fences_of_sqlite(store_url& url, const client_options&) {
  const choice made = choice_of(url);
  return {sql::fence_script(), [path = made.file.path] { return sqlite::provide_fences(path); }};
}

}  // namespace holdfast::stores
