// SPDX-License-Identifier: Apache-2.0
#include "stores/postgresql/link/conditions.hpp"
#include "stores/sql/link/conditions.hpp"
#include "unit/doctor/cases.hpp"

namespace holdfast::postgresql {
namespace {

using grade = finding::grade;
using test::expect_each_row;

TEST(doctor_tables, know_each_case_of_postgresql) {
  expect_each_row(
      conditions::server_conditions,
      {
          {"keeps_sessions=yes", "pooler", grade::kept, "kept the session"},
          {"pooler_unseen=r", "pooler", grade::unknown, "got none: r"},
          {"fsync=off;session=yes", "persistence", grade::broken, "fsync is off"},
          {"fsync=on;full_page_writes=off", "persistence", grade::warning, "full_page_writes is off"},
          {"fsync=on;synchronous_commit=on;full_page_writes=on", "persistence", grade::kept, "commit is on"},
          {"standby=false;standbys=0;idle_slots=0", "replicas", grade::kept, "no failover"},
          {"standby=false;standbys=0;idle_slots=1", "replicas", grade::warning, "0 standbys and 1 idle"},
          {"standby=false;synchronous_standby_names=a;synchronous_commit=local", "replicas", grade::warning,
           "local"},
          {"standby=false;synchronous_standby_names=a;standbys=1;sees_all=false", "replicas", grade::unknown,
           "of which kind"},
          {"standby=false;synchronous_standby_names=a;standbys=1;sees_all=true;wanted=2;synchronous_standbys="
           "1",
           "replicas", grade::broken, "asks for 2 standbys"},
          {"standby=false;synchronous_standby_names=a;standbys=2;sees_all=true;wanted=1;synchronous_standbys="
           "1",
           "replicas", grade::kept, "of which 1 synchronous"},
          {"password_unused=yes", "password", grade::warning, "did not ask for it"},
          {"uses_schema=false", "rights", grade::broken, "lacks USAGE"},
          {"excess=0", "access", grade::kept, "no other role"},
      });
  expect_each_row(conditions::excess_conditions,
                  {
                      {"kind=SCHEMA;rights=CREATE", "access", grade::warning, "has CREATE"},
                      {"kind=FUNCTION;rights=EXECUTE", "access", grade::warning, "has EXECUTE"},
                      {"kind=TABLE;writes=true;rights=UPDATE", "access", grade::warning, "has UPDATE"},
                      {"kind=TABLE;writes=false;rights=SELECT", "access", grade::warning, "has SELECT"},
                  });
}

TEST(doctor_tables, know_each_case_of_a_database_server) {
  expect_each_row(sql::conditions::server_conditions,
                  {
                      {"product=PostgreSQL;version=15.6", "version", grade::kept, "PostgreSQL 15.6"},
                      {"server_refusal=r;pooler_remedy=m", "server", grade::broken, "r"},
                      {"server_refusal=r", "server", grade::broken, "r"},
                      {"is_usable=yes", "server", grade::kept, "can use it"},
                      {"poll=1000;pooled=no", "notifications", grade::kept, "every 1 s; without notify=poll"},
                      {"poll=100;pooled=yes", "notifications", grade::kept, "through a pooler"},
                      {"poll=100", "notifications", grade::kept, "for all of them at least every 100 ms"},
                      {"careless=c;careless_remedy=m;session=yes", "persistence", grade::warning, "c"},
                      {"careless=c;careless_remedy=m;session=no", "persistence", grade::broken, "c"},
                      {"table=t;schema_refusal=r", "schema", grade::broken, "r"},
                      {"table=t;outdated=yes", "schema", grade::warning, "of another version"},
                      {"table=t;outdated=no", "schema", grade::kept, "fits this version"},
                      {"table=t;shortage=s;is_there=no;may_make=yes", "schema", grade::kept, "first client"},
                      {"table=t;shortage=s;is_there=yes;may_make=yes", "schema", grade::warning, "s"},
                      {"table=t;shortage=s;may_make=no", "schema", grade::broken, "may not make it"},
                      {"routines=1;lacking=x;grant=g", "rights", grade::broken, "may not call x"},
                      {"routines=1", "rights", grade::kept, "all routines"},
                  });
}

}  // namespace
}  // namespace holdfast::postgresql
