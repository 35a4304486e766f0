// SPDX-License-Identifier: Apache-2.0
// mode=session, as far as it is MariaDB's own; see server_session_mode.cpp.

#include "faults/faults.hpp"
#include "support/mariadb_server.hpp"
#include "support/reserved_port.hpp"

namespace holdfast::faults {
namespace {

using test::mariadb_server;
using testing::HasSubstr;

TEST(mariadb_session_mode, live_whatever_the_server_has_for_those_who_are_idle) {
  mariadb_server server;
  server.ask("SET GLOBAL wait_timeout = 1");
  client locks{server.url("?mode=session")};
  const auto held = mutex{locks, "stock", lock_options{}.ttl(1h)}.acquire();
  const auto idle = server.console({"holdfast", "secret", "holdfast"});  // is ended while ours says nothing
  const auto id = idle->value("SELECT CONNECTION_ID()");
  await(
      [&] {
        return server.number("SELECT count(*) FROM information_schema.processlist WHERE id = " + id) == 0;
      },
      "the server ends nobody");
  EXPECT_TRUE(held.held());
  EXPECT_FALSE(mutex(locks, "stock").try_lock());
}

// The nodes of a cluster share the tables, and not the locks by which sessions are known to live.
TEST(mariadb_session_cluster, is_refused) {
  const test::reserved_port among_nodes;
  mariadb_server node{{.options = {"--wsrep-on=ON", "--wsrep-provider=/usr/lib/galera/libgalera_smm.so",
                                   "--wsrep-cluster-address=gcomm://", "--wsrep-sst-method=rsync",
                                   "--wsrep-provider-options=gmcast.listen_addr=tcp://127.0.0.1:" +
                                       std::to_string(among_nodes.number()),
                                   "--wsrep-node-address=127.0.0.1", "--binlog-format=ROW"}}};
  ASSERT_EQ(node.number("SELECT @@global.wsrep_on"), 1);
  const auto refused = failure_of([&] {
    client locks{node.url("?mode=session")};
    mutex{locks, "stock"}.lock();
  });
  EXPECT_EQ(refused.code, errc::foreign_store) << refused.text;
  EXPECT_THAT(refused.text, testing::AllOf(HasSubstr("Galera"), HasSubstr("mode=table")));
  // A cluster may also lose what it has committed. One node alone is as good as a server.
  const auto unaware = failure_of([&] {
    client locks{node.url()};
    mutex{locks, "stock"}.lock();
  });
  EXPECT_EQ(unaware.code, errc::foreign_store) << unaware.text;
  EXPECT_THAT(unaware.text, HasSubstr("galera=one-node"));
  client locks{node.url("?galera=one-node")};
  EXPECT_TRUE(mutex(locks, "stock").try_lock_for(60s));
}

TEST(mariadb_session_url, says_what_there_is) {
  const auto refused = [](const std::string& options) {
    return failure_of([&] { client{"mysql://localhost/holdfast?" + options}; });
  };
  for (const char* options : {"mode=row", "mode=sessions", "mode=", "session_timeout=30s",
                              "mode=table&session_timeout=30s", "galera=", "galera=two-nodes",
                              "mode=session&session_timeout=999ms", "mode=session&session_timeout=61m"}) {
    EXPECT_EQ(refused(options).code, errc::invalid_url) << options;
  }
  EXPECT_THAT(refused("mode=row").text, testing::AllOf(HasSubstr("mode=table"), HasSubstr("mode=session")));
}

}  // namespace
}  // namespace holdfast::faults
