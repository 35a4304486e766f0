#include "stores/postgresql/link/diagnosis.hpp"
#include "unit/doctor/cases.hpp"

namespace holdfast::postgresql {
namespace {

using grade = finding::grade;
using test::expect_each_row;

TEST(doctor_tables, know_each_case_of_postgresql) {
  expect_each_row(
      conditions(),
      {
          {"version=15.6", "version", grade::kept, "PostgreSQL 15.6"},
          {"standby=true", "role", grade::broken, "a standby"},
          {"standby=false;read_only=on", "role", grade::broken, "default_transaction_read_only"},
          {"standby=false;read_only=off", "role", grade::kept, "a primary"},
          {"encoding=UTF8", "encoding", grade::kept, "UTF8"},
          {"encoding=SQL_ASCII", "encoding", grade::kept, "SQL_ASCII"},
          {"encoding=LATIN1", "encoding", grade::broken, "LATIN1"},
          {"fsync=off;session=yes", "persistence", grade::broken, "fsync is off"},
          {"fsync=on;synchronous_commit=off;session=yes", "persistence", grade::warning, "commit is off"},
          {"fsync=on;synchronous_commit=off;session=no", "persistence", grade::broken, "commit is off"},
          {"fsync=on;careless=a;session=yes", "persistence", grade::warning, "for the role a"},
          {"fsync=on;careless=a;session=no", "persistence", grade::broken, "for the role a"},
          {"fsync=on;careless_database=d;session=yes", "persistence", grade::warning, "for the database d"},
          {"fsync=on;careless_database=d;session=no", "persistence", grade::broken, "for the database d"},
          {"fsync=on;full_page_writes=off", "persistence", grade::warning, "full_page_writes is off"},
          {"fsync=on;synchronous_commit=on;full_page_writes=on", "persistence", grade::kept, "commit is on"},
          {"standby=false;standbys=0;idle_slots=0", "replicas", grade::kept, "no failover"},
          {"standby=false;standbys=0;idle_slots=1", "replicas", grade::warning,
           "in spite of 1 replication slot"},
          {"standby=false;standbys=2", "replicas", grade::warning, "2 standbys, and none is synchronous"},
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
          {"line=switched", "pooler", grade::broken, "switches the session"},
          {"line=pooled;pooled=no", "pooler", grade::broken, "in front of the server"},
          {"line=pooled;pooled=yes", "pooler", grade::kept, "there is one"},
          {"line=direct", "pooler", grade::kept, "there is none"},
          {"password_unused=yes", "password", grade::warning, "did not ask for it"},
          {"stranger=x", "owner", grade::broken, "x, whom"},
          {"has_owners=yes", "owner", grade::kept, "trusted"},
          {"table=t;foreign_table=u", "schema", grade::broken, "the table u"},
          {"table=t;other_layout=3;own_layout=2", "schema", grade::broken, "has layout 3"},
          {"table=t;newer=unusable", "schema", grade::broken, "a newer Holdfast"},
          {"table=t;newer=usable", "schema", grade::kept, "serve this one"},
          {"table=t;may_ask=no", "schema", grade::unknown, "may not execute"},
          {"table=t;may_ask=yes", "schema", grade::kept, "is complete"},
          {"table=t;shortage=s;is_there=no;create=yes;creates=true", "schema", grade::kept,
           "the first client"},
          {"table=t;shortage=s;is_there=yes;create=yes;creates=true", "schema", grade::warning, "s"},
          {"table=t;shortage=s;create=yes;creates=false", "schema", grade::broken, "may not make it"},
          {"table=t;shortage=s;create=no", "schema", grade::broken, "and create=0"},
          {"is_there=yes;uses_schema=false", "rights", grade::broken, "lacks USAGE"},
          {"is_there=yes;lacking=x;looks=yes", "rights", grade::broken, "may not execute x"},
          {"is_there=yes;lacking=x;looks=no", "rights", grade::broken, "may not execute x"},
          {"is_there=yes;user=u", "rights", grade::kept, "all routines"},
          {"excess=0", "access", grade::kept, "no other role"},
      });
  expect_each_row(excess_conditions(),
                  {
                      {"kind=ROLE;objects=pg_write_all_data", "access", grade::warning, "pg_write_all_data"},
                      {"kind=ROLE;objects=owner", "access", grade::warning, "a member of owner"},
                      {"kind=SCHEMA;rights=CREATE", "access", grade::warning, "has CREATE"},
                      {"kind=FUNCTION;rights=EXECUTE", "access", grade::warning, "has EXECUTE"},
                      {"kind=TABLE;writes=true;rights=UPDATE", "access", grade::warning, "has UPDATE"},
                      {"kind=TABLE;writes=false;rights=SELECT", "access", grade::warning, "has SELECT"},
                  });
}

}  // namespace
}  // namespace holdfast::postgresql
