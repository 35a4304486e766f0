// SPDX-License-Identifier: Apache-2.0
#include "stores/sqlite/link/conditions.hpp"
#include "unit/doctor/cases.hpp"

namespace holdfast::sqlite {
namespace {

using grade = finding::grade;
using test::expect_each_row;

TEST(doctor_tables, know_each_case_of_a_file) {
  expect_each_row(conditions::file_conditions,
                  {
                      {"file=it can be read", "file", grade::kept, "it can be read"},
                      {"read_problem=locked", "file", grade::unknown, "locked"},
                      {"user=7", "place", grade::kept, "uid 7"},
                      {"place_problem=no;folder=missing;folder_path=/x", "place", grade::broken, "no"},
                      {"place_problem=no;folder=there", "place", grade::broken, "no"},
                      {"", "file system", grade::kept, "a local one"},
                      {"network=NFS", "file system", grade::warning, "NFS"},
                      {"temporary=yes", "cleaners", grade::warning, "temporary files"},
                      {"file_everybody=yes", "permissions", grade::warning, "everybody may write it"},
                      {"file_group=yes;folder_group=no", "permissions", grade::warning, "and not its folder"},
                      {"readers=everybody", "permissions", grade::warning, "everybody may read it"},
                      {"file_mode=0600", "permissions", grade::kept, "0600"},
                      {"", "neighbours", grade::kept, "the database's own"},
                      {"neighbour=a-shm;neighbour_is_index=yes", "neighbours", grade::broken, "a-shm"},
                      {"neighbour=a-wal;neighbour_is_index=no", "neighbours", grade::broken, "a-wal"},
                      {"proc=yes", "lease clock", grade::kept, "can be read"},
                      {"proc=no", "lease clock", grade::warning, "/proc is not mounted"},
                      {"layout=9;newer_layout=yes", "layout", grade::broken, "the layout 9"},
                      {"layout=1;tables=no", "layout", grade::kept, "no such tables yet"},
                      {"layout=1;tables=yes", "layout", grade::kept, "layout 1"},
                      {"journal=wal", "journal", grade::kept, "wal"},
                      {"journal=a rollback journal", "journal", grade::warning, "a rollback journal"},
                      {"tables=yes;token_ahead_s=0", "wall clock", grade::kept, "no token is ahead"},
                      {"tables=yes;token_ahead_s=7", "wall clock", grade::warning, "7 s ahead"},
                  });
  expect_each_row(
      conditions::folder_conditions,
      {
          {"above=yes;stranger=yes", "folder", grade::warning, "its owner is neither root"},
          {"above=yes;sticky=no;writers=its group", "folder", grade::warning, "its group may rename"},
          {"above=no;writers=everybody", "folder", grade::warning, "everybody may write it"},
          {"above=no;writers=its group;sticky=yes", "folder", grade::warning, "sticky"},
          {"above=no;writers=its group;group_has_file=no", "folder", grade::warning,
           "may not write the file"},
          {"above=no;writers=its group;group_has_file=yes;described=fine", "folder", grade::kept, "fine"},
      });
  std::vector<finding> none;
  doctor::examine(conditions::folder_conditions,
                  test::facts_of("above=yes;stranger=no;sticky=yes;writers=everybody"), none);
  EXPECT_TRUE(none.empty()) << "as of /tmp";
}

}  // namespace
}  // namespace holdfast::sqlite
