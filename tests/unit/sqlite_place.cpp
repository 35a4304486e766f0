// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "holdfast/error.hpp"
#include "stores/sqlite/link/place.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::sqlite {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class sqlite_place : public testing::Test {
 protected:
  test::scratch_folder scratch_;
  const fs::path folder_ = fs::canonical(scratch_.path());
};

TEST(network_filesystem, is_known_by_its_magic_number) {
  EXPECT_STREQ(network_filesystem(0x6969), "NFS");
  EXPECT_STREQ(network_filesystem(0xFF534D42), "CIFS");
  EXPECT_STREQ(network_filesystem(static_cast<std::int32_t>(0xFF534D42)), "CIFS")
      << "sign-extended by statfs";
  EXPECT_EQ(network_filesystem(0xEF53), nullptr) << "ext4";
  EXPECT_EQ(network_filesystem(0x01021994), nullptr) << "tmpfs";
  EXPECT_EQ(network_filesystem(0x9123683E), nullptr) << "btrfs";
}

TEST(boottime_offset, is_read_from_the_kernels_text) {
  EXPECT_EQ(boottime_offset_in("monotonic           0         0\nboottime            0         0\n"), 0s);
  EXPECT_EQ(boottime_offset_in("monotonic  5 0\nboottime   1000000  250000000\n"), 1'000'000s + 250ms);
  EXPECT_EQ(boottime_offset_in("1 5 0\n7 -3 0\n"), -3s);
  EXPECT_EQ(boottime_offset_in(""), 0s);
}

TEST_F(sqlite_place, is_one_name_whichever_way_it_is_reached) {
  const fs::path file = folder_ / "real" / "locks.db";
  fs::create_directory(folder_ / "real");
  std::ofstream{file} << "";
  fs::create_symlink(folder_ / "real", folder_ / "folder_link");
  fs::create_symlink(file, folder_ / "file_link.db");
  EXPECT_EQ(resolved(file), file);
  EXPECT_EQ(resolved(folder_ / "folder_link" / "locks.db"), file);
  EXPECT_EQ(resolved(folder_ / "file_link.db"), file);
  EXPECT_EQ(resolved(folder_ / "real" / ".." / "real" / "locks.db"), file);
  EXPECT_EQ(resolved("locks.db"), fs::current_path() / "locks.db") << "also what does not exist yet";
}

TEST_F(sqlite_place, behind_a_folder_that_is_closed_is_a_matter_of_rights) {
  fs::create_directory(folder_ / "closed");
  fs::permissions(folder_ / "closed", fs::perms::none);
  const ::pid_t nobody = ::fork();
  if (nobody == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(3);  // to root nothing is closed
    try {
      static_cast<void>(resolved(folder_ / "closed" / "inner" / "locks.db"));
    } catch (const error& refused) {
      ::_exit(refused.code() == errc::permission_denied ? 0 : 1);
    }
    ::_exit(2);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(nobody, &status, 0), nobody);
  EXPECT_EQ(status, 0);
}

TEST_F(sqlite_place, is_no_folder) {
  try {
    prepare_place(folder_, false, false);
    FAIL() << "a folder was taken for a file";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::foreign_store);
    EXPECT_NE(e.detail().find(folder_.string()), std::string::npos) << e.detail();
  }
}

TEST_F(sqlite_place, has_an_identity_that_a_replaced_file_loses) {
  const fs::path file = folder_ / "locks.db";
  std::ofstream{file} << "one";
  const file_identity first = file_identity::of(file.c_str());
  EXPECT_EQ(file_identity::of(file.c_str()), first);
  fs::rename(file, folder_ / "kept.db");  // so that its inode is not given out again
  EXPECT_EQ(file_identity::of(file.c_str()), file_identity{});
  std::ofstream{file} << "two";
  EXPECT_NE(file_identity::of(file.c_str()), first);
}

}  // namespace
}  // namespace holdfast::sqlite
