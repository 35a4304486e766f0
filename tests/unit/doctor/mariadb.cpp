// SPDX-License-Identifier: Apache-2.0
#include "stores/mariadb/link/conditions.hpp"
#include "unit/doctor/cases.hpp"

namespace holdfast::mariadb {
namespace {

using grade = finding::grade;
using test::expect_each_row;

TEST(doctor_tables, know_each_case_of_mariadb) {
  expect_each_row(
      conditions::server_conditions,
      {
          {"torn_pages=yes", "persistence", grade::warning, "innodb_doublewrite is off"},
          {"flush=1", "persistence", grade::kept, "commit is 1"},
          {"big_selects=yes", "limits", grade::kept, "as many rows"},
          {"big_selects=no;max_join_size=1", "limits", grade::warning, "max_join_size is 1"},
          {"log_bin=no", "replicas", grade::kept, "no binary log"},
          {"log_bin=yes;product=MySQL", "replicas", grade::unknown, "does not say"},
          {"log_bin=yes;product=MariaDB;slaves_connected=0", "replicas", grade::kept, "no replica"},
          {"log_bin=yes;product=MariaDB;slaves_connected=2", "replicas", grade::warning, "2 replicas"},
          {"sees_writers=no", "access", grade::unknown, "may not see"},
          {"sees_writers=yes;writers=0", "access", grade::kept, "nobody else"},
      });
  expect_each_row(conditions::excess_conditions, {
                                                     {"object=o;rights=DROP;range= of columns;remedy=r",
                                                      "access", grade::warning, "has DROP of columns on o"},
                                                 });
}

}  // namespace
}  // namespace holdfast::mariadb
