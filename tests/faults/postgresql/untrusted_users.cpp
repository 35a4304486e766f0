// SPDX-License-Identifier: Apache-2.0
// Others who may log in to the database, and make things in its schema "public", as everybody may by default
// before PostgreSQL 15: nothing of theirs is run by a client of ours, whoever that is.

#include <sstream>

#include "faults/postgresql/on_postgresql.hpp"
#include "support/fault_proxy.hpp"

namespace holdfast::faults {
namespace {

using test::postgresql_console;
using testing::HasSubstr;

constexpr const char* in_order = "it did not fail";

/// Mallory, who may make what she likes in "public", and writes down there as whom her functions are run.
class postgresql_untrusted_users : public on_postgresql {
 protected:
  postgresql_untrusted_users() {
    done("CREATE ROLE mallory LOGIN; CREATE ROLE worker LOGIN");
    done("GRANT CREATE ON SCHEMA public TO PUBLIC; GRANT USAGE ON SCHEMA public TO PUBLIC");
    mallory("CREATE TABLE public.caught (victim text, at text); GRANT ALL ON public.caught TO PUBLIC");
  }
  void done(const std::string& statements) { ASSERT_EQ(server_.ask(statements), "") << statements; }
  void mallory(const std::string& statements) {
    ASSERT_EQ(server_.console("mallory")->ask(statements), "") << statements;
  }
  [[nodiscard]] std::string url(const std::string& user, const std::string& options = {}) const {
    return "postgresql://" + user + "@127.0.0.1:" + std::to_string(server_.port()) + "/holdfast" + options;
  }
  /// Whose rights Mallory has had, and where.
  std::string caught() {
    return server_.ask(
        "SELECT DISTINCT victim, at FROM public.caught WHERE victim <> 'mallory' ORDER BY 1, 2");
  }
  /// A function of Mallory's in the schema, with what it answers.
  [[nodiscard]] static std::string spy(const std::string& name, const std::string& parameters,
                                       const std::string& type, const std::string& answer) {
    return "CREATE FUNCTION " + name + '(' + parameters + ") RETURNS " + type +
           " LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.caught VALUES (current_user, '" + name +
           "'); RETURN " + answer + "; END $$;";
  }
  /// An operator that fits better than the server's own, where it is looked for in "public" at all.
  [[nodiscard]] static std::string spy_operator(const std::string& sign, const std::string& left,
                                                const std::string& right, const std::string& type,
                                                const std::string& answer) {
    const std::string name = "public.\"" + sign + ' ' + left + ' ' + right + '"';
    return spy(name, "a " + left + ", b " + right, type, answer) + "CREATE OPERATOR public." + sign +
           " (LEFTARG = " + left + ", RIGHTARG = " + right + ", FUNCTION = " + name + ");";
  }
  void lay_traps() {
    mallory(spy_operator("*", "numeric", "integer", "numeric", "a OPERATOR(pg_catalog.*) b::numeric"));
    mallory(spy_operator("||", "text", "bigint", "text", "pg_catalog.textcat(a, b::text)"));
    mallory(spy("public.convert_from", "a bytea, b text", "text", "pg_catalog.convert_from(a, b::name)"));
  }
  /// Every call that there is, with one who waits.
  static void use(const std::string& url) {
    client locks{url};
    client others{url};
    auto held = mutex{locks, "stock", lock_options{}.label("m")}.acquire();
    auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
    expect_waiter(locks);
    EXPECT_EQ(held.renew(), renewal::renewed);
    EXPECT_EQ(locks.list().size(), 1U);
    EXPECT_FALSE(held.release());
    auto after = next.get();
    EXPECT_EQ(locks.force_release("stock"), 1U);
    shared_mutex both{locks, "other"};
    both.lock();
    both.unlock();
  }
};

TEST_F(postgresql_untrusted_users, cannot_put_their_operators_under_the_routines) {
  done("CREATE SCHEMA locks");
  lay_traps();
  const std::string own = "?table=locks.own";
  for (const std::string& options : {std::string{}, own}) {
    const std::string table = options.empty() ? "public.holdfast_locks" : "locks.own";
    SCOPED_TRACE(table);
    use(url("postgres", options));
    (void)apply_schema(
        url("postgres", options.empty() ? "?grant_lock=worker" : options + "&grant_lock=worker"));
    use(url("worker", options));
    server_.number("SELECT " + table + "_evict('stock')");  // by hand, at psql
    server_.ask("SELECT " + table + "_now()");
    EXPECT_EQ(caught(), "");
  }
}

// She would see whatever is in a test's way: here is what it looks like.
TEST_F(postgresql_untrusted_users, would_be_seen) {
  lay_traps();
  EXPECT_EQ(server_.ask("SELECT 'a'::text || 1::bigint"), "a1");
  EXPECT_THAT(caught(), HasSubstr("postgres|"));
}

TEST_F(postgresql_untrusted_users, cannot_have_a_routine_called_that_they_have_made) {
  mallory(spy("public.holdfast_locks_layout", "", "bigint", "1"));
  for (const std::string user : {"postgres", "holdfast", "worker"}) {
    for (const std::string options : {"", "?create=0", "?table=public.holdfast_locks"}) {
      const auto refused = failure_of([&] { (void)client{url(user, options)}.list(); });
      EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
      EXPECT_THAT(refused.text, HasSubstr("holdfast_locks_layout belongs to mallory"));
      EXPECT_THAT(refused.text, HasSubstr("owner="));
    }
  }
  EXPECT_THROW(apply_schema(url("postgres")), error);
  EXPECT_EQ(caught(), "");
  EXPECT_EQ(server_.number("SELECT count(*) FROM pg_class WHERE relname LIKE 'holdfast%'"), 0);
}

TEST_F(postgresql_untrusted_users, cannot_have_tables_of_their_own_written) {
  mallory(schema(url("mallory")));
  client locks{url("holdfast")};
  const auto refused = failure_of([&] { mutex{locks, "stock", hasty()}.lock(); });
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, HasSubstr("belongs to mallory"));
  // She has it all back in order, but for one.
  done("ALTER TABLE public.holdfast_locks OWNER TO holdfast");
  EXPECT_EQ(failure_of([&] { mutex{locks, "stock", hasty()}.lock(); }).code, errc::foreign_store);
}

// Who makes the tables writes to them and calls nothing before it knows whose they are, also where it is a
// script that an administrator runs. What a stranger's trigger does is not undone with the transaction: a
// sequence shows it.
class postgresql_trapped_tables : public postgresql_untrusted_users {
 protected:
  postgresql_trapped_tables() {
    done("CREATE SCHEMA locks; GRANT ALL ON SCHEMA locks TO mallory");
    mallory(
        "CREATE SEQUENCE public.times; GRANT ALL ON SEQUENCE public.times TO PUBLIC;"
        "CREATE FUNCTION locks.trap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM "
        "nextval('public.times'); RETURN NEW; END $$");
  }
  static constexpr const char* trapped_table =
      "CREATE TABLE locks.own_sweeps (swept bigint NOT NULL);"
      "CREATE TRIGGER trap BEFORE INSERT ON locks.own_sweeps FOR EACH ROW EXECUTE FUNCTION locks.trap()";
  [[nodiscard]] std::string admin() const { return url("postgres", "?table=locks.own"); }
  void expect_nothing_run() {
    EXPECT_EQ(server_.ask("SELECT is_called FROM public.times"), "f");
    EXPECT_EQ(server_.number("SELECT count(*) FROM pg_tables WHERE tablename = 'own_claims'"), 0);
  }
};

TEST_F(postgresql_trapped_tables, are_not_written_by_the_printed_script) {
  mallory(trapped_table);
  EXPECT_THAT(server_.console("postgres")->ask(schema(admin())), HasSubstr("own_sweeps belongs to mallory"));
  expect_nothing_run();
}

TEST_F(postgresql_trapped_tables, keep_their_routines_to_themselves) {
  mallory("CREATE FUNCTION locks.own_now() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'");
  EXPECT_THAT(server_.console("postgres")->ask(schema(admin())), HasSubstr("own_now belongs to mallory"));
  expect_nothing_run();
}

TEST_F(postgresql_trapped_tables, are_not_written_where_they_come_in_between) {
  const auto blocker = server_.console("mallory");
  EXPECT_EQ(blocker->ask("BEGIN; CREATE TABLE locks.own (a integer)"), "");
  auto made =
      std::async(std::launch::async, [&] { return failure_of([&] { (void)apply_schema(admin()); }); });
  await([&] { return server_.number("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0; },
        "it does not wait");
  mallory(trapped_table);
  EXPECT_EQ(blocker->ask("ROLLBACK"), "");
  const auto refused = made.get();
  // It waits for a second at most, which a machine that stalls may take for that.
  EXPECT_TRUE(refused.code == errc::foreign_store || refused.code == errc::unavailable) << refused.text;
  expect_nothing_run();
}

TEST_F(postgresql_untrusted_users, keep_nobody_out_by_routines_of_other_parameters) {
  use(url("holdfast"));
  mallory(spy("public.holdfast_locks_acquire", "a text", "bigint", "1"));
  mallory(spy("public.holdfast_locks_layout", "a integer", "bigint", "7"));
  EXPECT_EQ(failure_of([&] { use(url("holdfast", "?create=0")); }).text, in_order);
  EXPECT_EQ(caught(), "");
}

TEST_F(postgresql_untrusted_users, are_trusted_where_the_url_or_a_chief_says_so) {
  done("CREATE ROLE keeper LOGIN; CREATE SCHEMA locks AUTHORIZATION keeper");
  use(url("keeper", "?table=locks.own"));
  (void)apply_schema(url("keeper", "?table=locks.own&grant_lock=worker"));
  const auto refused = [&](const std::string& options) {
    return failure_of([&] { use(url("worker", "?table=locks.own" + options)); });
  };
  EXPECT_THAT(refused("").text, HasSubstr("belongs to keeper"));
  EXPECT_EQ(refused("&owner=mallory").code, errc::foreign_store);
  EXPECT_EQ(refused("&owner=keeper").text, in_order);
  // Of those who may make others members of a role, not everybody is to be trusted.
  done("GRANT keeper TO mallory WITH ADMIN OPTION");
  mallory("GRANT keeper TO worker");
  EXPECT_EQ(refused("").code, errc::foreign_store);
  mallory("REVOKE keeper FROM worker");
  done("GRANT keeper TO worker");
  EXPECT_EQ(refused("").text, in_order);
}

// Ids of clients stand in pg_stat_activity, and of sessions in pg_locks, for everybody to read.
class postgresql_connected : public postgresql_untrusted_users {
 protected:
  /// What is behind "holdfast " in the names of sessions.
  std::vector<std::string> shown_ids(postgresql_console& to) {
    std::istringstream each{
        to.ask("SELECT substr(application_name, 10) FROM pg_stat_activity WHERE application_name LIKE "
               "'holdfast %'")};
    std::vector<std::string> ids;
    for (std::string id; std::getline(each, id);) ids.push_back(id);
    return ids;
  }
  /// FNV-1a, by which the locks of a table once were named.
  [[nodiscard]] static std::string number_of(std::string_view table) {
    std::uint32_t hash = 2166136261U;
    for (const char c : table) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return std::to_string(static_cast<std::int32_t>(hash));
  }
  std::unique_ptr<postgresql_console> hers_ = server_.console("mallory");
};

TEST_F(postgresql_connected, do_not_hear_what_is_for_clients) {
  client locks{server_.url()};
  client others{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  auto next = std::async(std::launch::async, [&] { return mutex{others, "stock"}.acquire(); });
  expect_waiter(locks);
  const auto ids = shown_ids(*hers_);
  ASSERT_EQ(ids.size(), 2U);
  for (const auto& id : ids) EXPECT_EQ(hers_->ask("LISTEN \"holdfast_" + id + '"'), "");
  EXPECT_FALSE(held.release());
  EXPECT_FALSE(next.get().release());
  EXPECT_EQ(hers_->ask("NOTIFY \"holdfast_" + ids[0] + "\", 'her own'"), "");
  EXPECT_EQ(hers_->notified(), "her own") << "the owner of a claim, which is for its client alone";
}

TEST_F(postgresql_connected, keep_no_client_from_coming_back) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock", lock_options{}.ttl(6s)}.acquire();
  for (const auto& id : shown_ids(*hers_)) {
    hers_->tell("SELECT pg_advisory_lock(('x' || left('" + id + "', 16))::bit(64)::bigint)");
  }
  EXPECT_EQ(terminate_all(), 1);
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_FALSE(held.release());
}

// Another who bears the name of a client's session is neither ended nor waited for.
TEST_F(postgresql_connected, may_bear_the_name_of_a_client) {
  client locks{server_.url()};
  auto held = mutex{locks, "stock"}.acquire();
  ASSERT_EQ(shown_ids(*hers_).size(), 1U);
  EXPECT_EQ(hers_->ask("SET application_name = 'holdfast " + shown_ids(*hers_)[0] + "'"), "");
  EXPECT_EQ(terminate_all(), 1);
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_EQ(hers_->ask("SELECT 1"), "1");
}

TEST_F(postgresql_connected, keep_no_claims_of_a_session_that_is_over) {
  const auto holder = start(server_.url("?mode=session"));
  (void)holder->hold("stock ttl=60000");
  hers_->tell(
      "SELECT pg_advisory_lock((classid::bigint << 32) | objid::bigint) FROM pg_locks WHERE locktype = "
      "'advisory' AND "
      "objsubid = 1 AND mode = 'ExclusiveLock' AND granted");
  await(
      [&] {
        return server_.number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") ==
               1;
      },
      "she does not wait");
  client locks{server_.url()};
  EXPECT_FALSE(mutex(locks, "stock").try_lock()) << "while it lives";
  holder->kill();
  EXPECT_TRUE(mutex(locks, "stock").try_acquire_for(60s)) << "she keeps it alive";
  // And of the sessions that live she ends none by it.
  client session{server_.url("?mode=session")};
  auto held = mutex{session, "other"}.acquire();
  EXPECT_FALSE(mutex(locks, "other").try_lock());
  EXPECT_EQ(held.renew(), renewal::renewed);
}

TEST_F(postgresql_connected, silence_no_watch_and_hold_up_nobody_who_makes_the_tables) {
  for (const std::string table : {"holdfast_locks", "public.holdfast_locks"}) {
    for (const std::string key : {"1215261796", "1298230117"}) {
      EXPECT_EQ(hers_->ask("SELECT pg_advisory_lock(" + key + ", " + number_of(table) + ')'), "");
    }
  }
  client locks{server_.url("?connect_timeout=20s")};
  auto held = mutex{locks, "stock", patient()}.acquire();
  std::atomic<int> calls = 0;
  const auto watch = locks.watch([&] { ++calls; });
  await([&] { return server_.number("SELECT count(*) FROM holdfast_locks_sweeps WHERE watched > 0") == 1; },
        "it does not watch");
  client others{server_.url()};
  const int seen = calls;
  EXPECT_FALSE(mutex(others, "other").acquire().release());
  await([&] { return calls > seen; }, "it is notified of nothing");
}

// A login that takes on another role (Vault makes such) may end its own sessions, and the role need not.
TEST_F(postgresql_connected, as_a_login_with_another_role_end_their_own_former_sessions) {
  (void)apply_schema(server_.url("?grant_lock=worker"));
  done("CREATE ROLE ticket LOGIN NOINHERIT IN ROLE worker; ALTER ROLE ticket SET role = worker");
  test::fault_proxy line{server_.port()};
  client locks{"postgresql://ticket@127.0.0.1:" + std::to_string(line.port()) +
               "/holdfast?answer_timeout=500ms"};
  auto held = mutex{locks, "stock", lock_options{}.ttl(20s)}.acquire();
  line.cut_all(test::ending::silence);
  EXPECT_EQ(renew(held), renewal::renewed);
  EXPECT_EQ(server_.number("SELECT count(*) FROM pg_stat_activity WHERE usename = 'ticket'"), 1);
}

/// Grafana, who may read every table of the database, and so knows of each claim all that there is to know.
class postgresql_readers : public postgresql_untrusted_users {
 protected:
  postgresql_readers() {
    done("CREATE ROLE grafana LOGIN");
    hers_ = server_.console("grafana");
  }
  /// \param sign of the token: "-" for one that was ended by force.
  void forge_notification(const std::string& of_claims, const std::string& sign) {
    done("GRANT SELECT ON ALL TABLES IN SCHEMA public TO grafana");
    EXPECT_EQ(
        hers_->ask("SELECT pg_notify('holdfast_' || encode(c.client, 'hex'), encode(c.owner, 'hex') || ' " +
                   sign +
                   "' || c.token) FROM holdfast_locks_claims c JOIN holdfast_locks l USING (name) WHERE " +
                   of_claims),
        "");
  }
  std::int64_t expiry(const std::string& of_claims) {
    return server_.number(
        "SELECT max(c.expires) FROM holdfast_locks_claims c JOIN holdfast_locks l USING (name) WHERE " +
        of_claims);
  }
  client locks_{server_.url()};
  std::unique_ptr<postgresql_console> hers_;
};

TEST_F(postgresql_readers, grant_nothing) {
  auto held = mutex{locks_, "stock", lock_options{}.ttl(10min)}.acquire();
  client others{server_.url()};
  auto next = std::async(std::launch::async,
                         [&] { return mutex{others, "stock", lock_options{}.ttl(10min)}.acquire(); });
  expect_waiter(locks_);
  const std::string waiting = "c.token > l.granted";
  const auto before = expiry(waiting);
  forge_notification(waiting, "");
  await([&] { return expiry(waiting) > before; }, "the waiter does not ask");
  EXPECT_EQ(next.wait_for(0s), std::future_status::timeout) << "two hold";
  EXPECT_FALSE(held.release());
  EXPECT_FALSE(next.get().release());
}

TEST_F(postgresql_readers, end_nothing) {
  auto held = mutex{locks_, "stock", lock_options{}.ttl(10min)}.acquire();
  const auto before = expiry("true");
  forge_notification("true", "-");
  await([&] { return expiry("true") > before; }, "the holder does not ask");
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(held.release());
}

}  // namespace
}  // namespace holdfast::faults
