#include "stores/mariadb/link/diagnosis.hpp"
#include "unit/doctor/cases.hpp"

namespace holdfast::mariadb {
namespace {

using grade = finding::grade;
using test::expect_each_row;

TEST(doctor_tables, know_each_case_of_mariadb) {
  expect_each_row(
      conditions(),
      {
          {"product=MySQL;version=8", "version", grade::kept, "MySQL 8"},
          {"transaction_read_only=yes", "role", grade::broken, "READ ONLY"},
          {"force_recovery=1", "role", grade::broken, "innodb_force_recovery is 1"},
          {"force_recovery=0;innodb_read_only=yes", "role", grade::broken, "innodb_read_only"},
          {"force_recovery=0;is_writable=yes;read_only=0", "role", grade::kept, "takes writes"},
          {"force_recovery=0;is_writable=no;read_only=ON", "role", grade::broken, "read_only is ON"},
          {"flushes=no;flush=2;session=yes", "persistence", grade::warning, "commit is 2"},
          {"flushes=no;flush=2;session=no", "persistence", grade::broken, "commit is 2"},
          {"flushes=yes;log_bin=yes;sync_binlog=0;session=yes", "persistence", grade::warning,
           "sync_binlog is 0"},
          {"flushes=yes;log_bin=yes;sync_binlog=0;session=no", "persistence", grade::broken,
           "sync_binlog is 0"},
          {"is_careless=yes;flush_method=nosync;session=yes", "persistence", grade::warning, "nosync"},
          {"is_careless=yes;flush_method=nosync;session=no", "persistence", grade::broken, "nosync"},
          {"doublewrite=OFF", "persistence", grade::warning, "innodb_doublewrite is off"},
          {"doublewrite=0", "persistence", grade::warning, "innodb_doublewrite is off"},
          {"flushes=yes;flush=1", "persistence", grade::kept, "commit is 1"},
          {"log_bin=no", "binary log", grade::kept, "there is none"},
          {"log_bin=yes;binlog_format=STATEMENT", "binary log", grade::broken, "STATEMENT"},
          {"log_bin=yes;binlog_format=ROW", "binary log", grade::kept, "ROW"},
          {"big_selects=yes", "limits", grade::kept, "as many rows"},
          {"big_selects=no;max_join_size=1", "limits", grade::broken, "max_join_size is 1"},
          {"big_selects=no;max_join_size=18446744073709551615", "limits", grade::warning,
           "max_join_size is 1844"},
          {"log_bin=no", "replicas", grade::kept, "no binary log"},
          {"log_bin=yes;product=MySQL", "replicas", grade::unknown, "does not say"},
          {"log_bin=yes;product=MariaDB;slaves_connected=0", "replicas", grade::kept, "no replica"},
          {"log_bin=yes;product=MariaDB;slaves_connected=2", "replicas", grade::warning, "2 replicas"},
          {"wsrep_cluster_size=3", "cluster", grade::warning, "one of 3 nodes"},
          {"foreign=x is not Holdfast's", "schema", grade::broken, "x is not"},
          {"untrusted=p", "schema", grade::broken, "the procedure p"},
          {"refusal=r;layout=none", "schema", grade::broken, "do not work: r"},
          {"layout=other;layout_there=3;own_layout=2", "schema", grade::broken, "has layout 3"},
          {"layout=none;create=no", "schema", grade::broken, "create=0"},
          {"layout=none;create=yes;procedures=0", "schema", grade::kept, "the first client"},
          {"layout=none;create=yes;procedures=3", "schema", grade::warning, "there is no"},
          {"layout=own;current=yes", "schema", grade::kept, "that of this version"},
          {"layout=own;current=no", "schema", grade::warning, "of another version"},
          {"procedures=1;lacking=x", "rights", grade::broken, "may not call x"},
          {"procedures=1", "rights", grade::kept, "all procedures"},
          {"sees_writers=no", "access", grade::unknown, "may not see"},
          {"sees_writers=yes;writers=0", "access", grade::kept, "no other user"},
      });
  expect_each_row(
      excess_conditions(),
      {
          {"is_own=yes;part=columns;object=o", "access", grade::warning, "of columns on o"},
          {"is_own=yes;part=;object=o;rights=DROP", "access", grade::warning, "of this URL has DROP on o"},
          {"is_own=no;part=columns;object=o", "access", grade::warning, "of columns on o"},
          {"is_own=no;part=;object=o;rights=DROP", "access", grade::warning, "has DROP on o"},
      });
}

}  // namespace
}  // namespace holdfast::mariadb
