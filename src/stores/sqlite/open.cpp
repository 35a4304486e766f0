#include <algorithm>

#include "stores/scheme.hpp"
#include "stores/sqlite/link/link.hpp"
#include "stores/sqlite/link/place.hpp"
#include "stores/table_name.hpp"

namespace holdfast::stores {

namespace {

constexpr std::string_view known_options =
    "table (name of the lock table), keep_idle (how long an unused name's token is remembered), network_fs "
    "(1: use a file on a network file system in spite of the risk)";

/// `sqlite:/path`, `sqlite:path`, and, because people write it, `sqlite:///path`.
std::string path_of(const store_url& url) {
  std::string path = url.path();
  if (path.starts_with("//")) {
    path.erase(0, 2);
    if (!path.starts_with('/'))
      url.refuse("it names a host, which a file does not have; write sqlite:/path/to/locks.db");
  }
  if (path.ends_with('/')) url.refuse("it names a folder; add the name of a file");
  return sqlite::resolved(path.empty() ? sqlite::default_path() : path);
}

}  // namespace

std::unique_ptr<runtime::backend> open_sqlite(store_url& url, const client_options& options,
                                              runtime::event_loop& on) {
  using namespace std::chrono_literals;
  sqlite::database::settings s;
  const std::string table = take_table(url);
  if (table.starts_with("sqlite_"))
    url.refuse("the option 'table' begins with sqlite_, as SQLite's own tables do; choose another name");
  s.names = sql::tables::named(table);
  s.opening_limit = std::min<duration>(options.locks().retry().limit(), 5s);
  s.keep_idle = url.take_duration("keep_idle", 30 * 24h);
  const bool anywhere = url.take_flag("network_fs", false);
  url.refuse_rest(known_options);
  s.lease_clock = [ahead = sqlite::boottime_offset()] { return boot_clock::now() - ahead; };
  s.path = path_of(url);
  sqlite::check_place(s.path, anywhere);
  return std::make_unique<runtime::connected<sqlite::link>>(
      on, s, [path = s.path, anywhere] { sqlite::prepare_place(path, anywhere); });
}

}  // namespace holdfast::stores
