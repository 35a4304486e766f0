#include "stores/sqlite/link/database.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "stores/sql/protocol/looks.hpp"
#include "stores/sql/protocol/notification.hpp"
#include "stores/sqlite/link/request_error.hpp"
#include "stores/sqlite/protocol/statements.hpp"

namespace holdfast::sqlite {

namespace {

using namespace std::chrono_literals;

constexpr duration sweep_again = 100ms;  // where one sweep does not remove all
constexpr std::int64_t sweep_rows = 256;

/// Every name that a statement may take as a parameter: members of a request, values that the link adds, and
/// values that a statement passes to later ones.
constexpr auto slot_names = std::to_array<std::string_view>(
    {"name", "owner",    "client", "token", "weight", "capacity", "ttl",   "wait",
     "idle", "metadata", "now",    "floor", "before", "every",    "limit", "head",
     "held", "dead",     "other",  "after", "upto",   "last",     "most"});
constexpr int no_slot = -1;

constexpr int slot_of(std::string_view name) {
  const auto found = std::find(slot_names.begin(), slot_names.end(), name);
  return found == slot_names.end() ? no_slot : static_cast<int>(found - slot_names.begin());
}

std::int64_t micros(std::chrono::nanoseconds t) {
  return std::chrono::duration_cast<std::chrono::microseconds>(t).count();
}

}  // namespace

/// The values for the parameters of one request. Texts stay where they are, in the request.
class database::inputs {
 public:
  void set(std::string_view name, std::int64_t value) {
    cells_[index(name)] = {kind::number, value, nullptr, 0};
  }
  void set_text(std::string_view name, std::string_view value) { set(name, kind::text, value); }
  void set_blob(std::string_view name, std::string_view value) { set(name, kind::blob, value); }
  /// Takes a value from a row of a query.
  void capture(int slot, sqlite3_stmt* from, int column) {
    const bool null = sqlite3_column_type(from, column) == SQLITE_NULL;
    cells_[static_cast<std::size_t>(slot)] = {null ? kind::null : kind::number,
                                              sqlite3_column_int64(from, column), nullptr, 0};
  }
  [[nodiscard]] int bind(sqlite3_stmt* to, int parameter, int slot) const {
    const cell& c = cells_[static_cast<std::size_t>(slot)];
    switch (c.type) {
      case kind::null: return sqlite3_bind_null(to, parameter);
      case kind::number: return sqlite3_bind_int64(to, parameter, c.value);
      case kind::text: return sqlite3_bind_text(to, parameter, c.bytes, c.size, SQLITE_STATIC);
      case kind::blob: return sqlite3_bind_blob(to, parameter, c.bytes, c.size, SQLITE_STATIC);
    }
    return SQLITE_MISUSE;
  }

 private:
  enum class kind : std::uint8_t { null, number, text, blob };
  struct cell {
    kind type = kind::null;
    std::int64_t value = 0;
    const char* bytes = nullptr;
    int size = 0;
  };
  static std::size_t index(std::string_view name) { return static_cast<std::size_t>(slot_of(name)); }
  void set(std::string_view name, kind type, std::string_view value) {
    cells_[index(name)] = {type, 0, value.data(), static_cast<int>(value.size())};
  }

  std::array<cell, slot_names.size()> cells_;
};

/// The lease clock starts anew with each boot of the machine, and every process of the last boot is gone.
void database::expire_former_boot() {
  read_clocks();
  // Reads before it locks: an opening that has nothing to write must not wait for a writer.
  const std::string any = "SELECT EXISTS (SELECT 1 FROM " + settings_.names.claims +
                          " WHERE expires - ttl > " + std::to_string(lease_now_us_) + ")";
  if (number(any.c_str()) == 0) return;
  script end = prepare(sql::statements_of(sql::text::former_boot, settings_.names));
  execute("BEGIN IMMEDIATE");
  read_clocks();  // again: other clients have renewed their claims until now
  inputs in;
  in.set("now", lease_now_us_);
  std::vector<store::client_notification> none;
  static_cast<void>(run(end, in, none));
  execute("COMMIT");
}

void database::read_clocks() {
  lease_now_us_ = micros(settings_.lease_clock().time_since_epoch());
  wall_now_us_ = micros(settings_.wall_clock().time_since_epoch());
}

database_identity database::identity_now() const noexcept {
  return {file_identity::of(settings_.path.c_str()), file_identity::of(wal_.c_str()),
          file_identity::of(shm_.c_str())};
}

bool database::begin(access mode) {
  sqlite3_stmt* const statement = mode == access::write ? begin_write_ : begin_read_;
  const int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  if ((code & 0xFF) == SQLITE_BUSY) return false;
  if (code != SQLITE_DONE) throw failed(code);
  lease_now_us_ = micros(settings_.lease_clock().time_since_epoch());
  wall_now_us_ = micros(settings_.wall_clock().time_since_epoch());
  return true;
}

void database::commit() {
  const int code = sqlite3_step(commit_);
  sqlite3_reset(commit_);
  // In WAL mode, a commit that fails has not happened: readers see it by a header that is written last.
  if (code != SQLITE_DONE) throw failed(code);
}

void database::roll_back() noexcept { sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr); }

/// Sets the parameters of each request.
struct database::parameters {
  inputs& in;

  void operator()(const tickets::acquire& r) const {
    const store::claim& c = *r.claim;
    set(c.name, c.owner, {}, store_ttl(c));
    in.set("weight", store::weight_of(c));
    in.set("capacity", store::capacity_of(c));
    in.set("wait", c.wait ? 1 : 0);
    in.set_text("metadata", store::text_of(c.metadata));
  }
  void operator()(const store::hold& h) const { set(h); }
  void operator()(const tickets::annotate& r) const {
    set(r);
    in.set_text("metadata", store::text_of(r.metadata));
  }
  void operator()(const tickets::downgrade& r) const {
    set(r);
    in.set("weight", 1);
  }
  void operator()(const tickets::force_release& r) const { set(r); }
  void operator()(const tickets::request_release& r) const {
    set(r);
    in.set_text("metadata", r.reason);
  }
  void operator()(const tickets::inspect& r) const {
    const auto so_far = sql::inspection_of(r);
    in.set_text("name", r.name);
    in.set("after", so_far->after);
    in.set("upto", so_far->upto);
    in.set("most", sql::claims_in_part);
  }
  /// The name stays where it is, in the listing.
  void operator()(const sql::listing& of) const {
    in.set("idle", of.has_counted ? 1 : 0);
    in.set_text("name", of.name);
    in.set("token", of.token);
    in.set("most", sql::names_in_part);
    in.set("limit", sql::counted_in_part);
  }
  void operator()(const tickets::list& /*r*/) const {}
  void operator()(const tickets::renew& /*r*/) const {}

 private:
  void set(const std::string& name, const owner_id& owner, fencing_token token, duration ttl) const {
    in.set_text("name", name);
    in.set_blob("owner", owner.bytes());
    in.set("token", static_cast<std::int64_t>(token.value()));
    in.set("ttl", ttl.count());
  }
  void set(const store::hold& h) const { set(h.name, h.owner, h.token, h.ttl); }
  template <class Range>
    requires requires(const Range& r) { r.first; }
  void set(const Range& r) const {
    in.set_text("name", r.name);
    in.set("token", static_cast<std::int64_t>(r.first.value()));
    in.set("last", static_cast<std::int64_t>(r.last.value()));
  }
};

tickets::reply database::carry_out(const tickets::request& request, const owner_id& client,
                                   std::vector<store::client_notification>& notifications) {
  inputs in;
  in.set_blob("client", client.bytes());
  in.set("now", lease_now_us_);
  in.set("floor", wall_now_us_);
  const parameters set{in};
  script& statements = tasks_[request.index()];
  if (const auto* const renewal = std::get_if<tickets::renew>(&request)) {
    tickets::kept answer;
    for (const store::hold& h : renewal->holds) {
      set(h);
      answer.each.push_back(run(statements, in, notifications).ended_at.empty());
    }
    return answer;
  }
  std::shared_ptr<sql::listing> so_far;
  if (const auto* const listing = std::get_if<tickets::list>(&request)) {
    so_far = sql::listing_of(*listing);
    set(*so_far);
  }
  std::visit(set, request);
  sql::run result = run(statements, in, notifications);
  if (result.ended_at == "capacity") {  // the name was never used before
    static_cast<void>(run(open_, in, notifications));
    result = run(statements, in, notifications);
  }
  return sql::to_reply(request, result);
}

void database::sweep_if_due() {
  // After the clock has started anew, that time is far off, and means nothing.
  const std::int64_t left = next_sweep_us_ - lease_now_us_;
  if (left > 0 && left <= settings_.sweep_every.count()) return;
  inputs in;
  in.set("now", lease_now_us_);
  in.set("floor", wall_now_us_);
  in.set("before", wall_now_us_ - settings_.keep_idle.count());
  in.set("every", settings_.sweep_every.count());
  in.set("limit", sweep_rows);
  std::vector<store::client_notification> none;
  const bool more = run(sweep_, in, none).ended_at == "swept";
  next_sweep_us_ = lease_now_us_ + (more ? sweep_again : settings_.sweep_every).count();
}

namespace {

sql::value value_at(sqlite3_stmt* from, int column) {
  switch (sqlite3_column_type(from, column)) {
    case SQLITE_NULL: return std::monostate{};
    case SQLITE_INTEGER: return sqlite3_column_int64(from, column);
    default: break;
  }
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(from, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(from, column));
  return bytes == nullptr ? std::string{} : std::string{bytes, size};
}

owner_id id_at(sqlite3_stmt* from, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(from, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(from, column));
  return owner_id::from_bytes({bytes, bytes == nullptr ? 0 : size}).value_or(owner_id{});
}

}  // namespace

sql::run database::run(script& statements, inputs& in,
                       std::vector<store::client_notification>& notifications) {
  sql::run result;
  for (prepared& p : statements) {
    for (std::size_t i = 0; i < p.parameters.size(); ++i) {
      const int code = in.bind(p.statement, static_cast<int>(i) + 1, p.parameters[i]);
      if (code != SQLITE_OK) throw failed(code);
    }
    bool found = false;
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(p.statement)) == SQLITE_ROW) {
      if (p.is_tell) {
        notifications.push_back(
            {id_at(p.statement, 0),
             sql::notification_of(id_at(p.statement, 1), sqlite3_column_int64(p.statement, 2))});
      } else if (p.is_answer) {
        sql::row row;
        for (int c = 0; c < static_cast<int>(p.columns.size()); ++c) row.push_back(value_at(p.statement, c));
        result.rows.push_back(std::move(row));
      }
      for (int c = 0; !found && c < static_cast<int>(p.columns.size()); ++c) {
        const int slot = p.columns[static_cast<std::size_t>(c)];
        if (slot != no_slot) in.capture(slot, p.statement, c);
      }
      found = true;
    }
    if (code == SQLITE_DONE && !p.is_query) found = sqlite3_changes(db_) > 0;
    sqlite3_reset(p.statement);
    if (code != SQLITE_DONE) throw failed(code);
    if (!found && !p.optional) {
      result.ended_at = p.label;
      return result;
    }
  }
  return result;
}

database::script database::prepare(const std::vector<sql::statement>& statements) {
  script all;
  for (const sql::statement& s : statements) {
    prepared& p = all.emplace_back();
    const std::string text = settings_.revise ? settings_.revise(s) : s.text;
    const int code = sqlite3_prepare_v3(db_, text.data(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &p.statement, nullptr);
    if (code != SQLITE_OK) throw failed(code);
    p.label = s.label;
    p.optional = s.optional;
    p.is_tell = s.label == "tell";
    p.is_query = sqlite3_column_count(p.statement) > 0;
    p.is_answer = p.is_query && sql::is_answer(s.label);
    for (int i = 1; i <= sqlite3_bind_parameter_count(p.statement); ++i) {
      p.parameters.push_back(
          slot_of(std::string_view{sqlite3_bind_parameter_name(p.statement, i)}.substr(1)));
    }
    for (int c = 0; c < sqlite3_column_count(p.statement); ++c) {
      p.columns.push_back(p.is_tell ? no_slot : slot_of(sqlite3_column_name(p.statement, c)));
    }
  }
  return all;
}

void database::execute(const char* text) {
  const int code = sqlite3_exec(db_, text, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) throw failed(code);
}

std::int64_t database::number(const char* query) {
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db_, query, -1, &statement, nullptr);
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  const std::int64_t value = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  if (code != SQLITE_ROW) throw failed(code);
  return value;
}

broken database::failed(int code) const { return broken{request_error_of(db_, code, settings_.path)}; }

}  // namespace holdfast::sqlite
