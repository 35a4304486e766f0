#include "stores/sqlite/link/diagnosis.hpp"
#include "unit/doctor/cases.hpp"

namespace holdfast::sqlite {
namespace {

using grade = finding::grade;
using test::expect_each_row;

TEST(doctor_tables, know_each_case_of_a_file) {
  expect_each_row(
      conditions(),
      {
          {"file=missing", "file", grade::kept, "the first lock makes it"},
          {"file=read", "file", grade::kept, "it can be read"},
          {"file=empty", "file", grade::kept, "it is empty"},
          {"file=unread;read_problem=locked", "file", grade::unknown, "locked"},
          {"", "file system", grade::kept, "a local one"},
          {"network=NFS;accepts_network=no", "file system", grade::broken, "NFS"},
          {"network=NFS;accepts_network=yes", "file system", grade::warning, "network_fs=1 accepts it"},
          {"temporary=yes", "cleaners", grade::warning, "temporary files"},
          {"mounted_alone=yes", "mount", grade::broken, "a mount point"},
          {"names=1", "names", grade::kept, "one name"},
          {"names=2", "names", grade::broken, "2 names"},
          {"user=7", "rights", grade::kept, "uid 7"},
          {"access_problem=no;file=missing;folder=there", "rights", grade::broken, "no"},
          {"access_problem=no;file=missing;folder=missing;folder_path=/x", "rights", grade::broken, "no"},
          {"access_problem=no;file=unread", "rights", grade::broken, "no"},
          {"file_everybody=yes", "permissions", grade::warning, "everybody may write it"},
          {"file_group=yes;folder_group=no", "permissions", grade::warning, "and not its folder"},
          {"readers=everybody", "permissions", grade::warning, "everybody may read it"},
          {"readers=group", "permissions", grade::warning, "its group may read it"},
          {"file_mode=0600", "permissions", grade::kept, "0600"},
          {"", "neighbours", grade::kept, "the database's own"},
          {"neighbour=a-shm;neighbour_is_index=yes", "neighbours", grade::broken, "a-shm"},
          {"neighbour=a-wal;neighbour_is_index=no", "neighbours", grade::broken, "a-wal"},
          {"", "notifications", grade::kept, "can be used"},
          {"wake=a-wake;wake_problem=is no folder", "notifications", grade::warning, "a-wake is no folder"},
          {"proc=yes", "lease clock", grade::kept, "can be read"},
          {"proc=no", "lease clock", grade::warning, "/proc is not mounted"},
          {"layout=9;newer_layout=yes", "layout", grade::broken, "the layout 9"},
          {"layout=1;tables=no", "layout", grade::kept, "no such tables yet"},
          {"layout=1;tables=yes", "layout", grade::kept, "layout 1"},
          {"journal=wal", "journal", grade::kept, "wal"},
          {"journal=a rollback journal", "journal", grade::warning, "a rollback journal"},
          {"tables=yes;damage=ok", "integrity", grade::kept, "no damage"},
          {"tables=yes;damage=row 7 missing", "integrity", grade::broken, "row 7 missing"},
          {"tables=yes", "integrity", grade::unknown, "too large"},
          {"tables=yes;token_ahead_s=0", "wall clock", grade::kept, "no token is ahead"},
          {"tables=yes;token_ahead_s=7", "wall clock", grade::warning, "7 s ahead"},
          {"tables=yes", "wall clock", grade::unknown, "could not be read"},
      });
  expect_each_row(
      folder_conditions(),
      {
          {"above=yes;stranger=yes", "folder", grade::warning, "its owner is neither root"},
          {"above=yes;stranger=no;sticky=no;everybody=yes", "folder", grade::warning, "everybody may rename"},
          {"above=yes;stranger=no;sticky=no;group=yes", "folder", grade::warning, "its group may rename"},
          {"above=no;everybody=yes", "folder", grade::warning, "everybody may write it"},
          {"above=no;group=yes;sticky=yes", "folder", grade::warning, "sticky"},
          {"above=no;group=yes;group_has_file=no", "folder", grade::warning, "may not write the file"},
          {"above=no;group=yes;group_has_file=yes;described=fine", "folder", grade::kept, "fine"},
      });
  std::vector<finding> none;
  doctor::examine(folder_conditions(), test::facts_of("above=yes;stranger=no;sticky=yes;everybody=yes"),
                  none);
  EXPECT_TRUE(none.empty()) << "as of /tmp";
}

}  // namespace
}  // namespace holdfast::sqlite
