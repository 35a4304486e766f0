// SPDX-License-Identifier: Apache-2.0
// Where the file is, and who may read and write it.

#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

#include "faults/sqlite/on_a_file.hpp"

namespace holdfast::faults {
namespace {

class places : public on_a_file {
 protected:
  /// Root is refused nothing: another process gives that up, and is refused what any user would be.
  static std::unique_ptr<actor> somebody() {
    auto other = std::make_unique<actor>();
    if (::geteuid() == 0) {
      EXPECT_EQ(other->ask("user 65534"), "user");
    }
    return other;
  }
  void set_modes(::mode_t folder, ::mode_t files) const {
    for (const auto& entry : std::filesystem::directory_iterator{folder_.path()}) {
      ::chmod(entry.path().c_str(), files);
    }
    ::chmod(folder_.path().c_str(), folder);
  }
};

TEST_F(places, are_made_for_this_user_alone) {
  actor other{{"XDG_STATE_HOME=" + folder_.file("state")}};
  EXPECT_EQ(other.ask("open sqlite:"), "open");
  EXPECT_TRUE(other.hold("stock"));
  const auto mode_of = [&](const std::string& name) {
    struct ::stat found{};
    EXPECT_EQ(::stat(folder_.file("state/holdfast" + name).c_str(), &found), 0) << name;
    return found.st_mode & 0777U;
  };
  EXPECT_EQ(mode_of(""), 0700U);
  for (const auto* file : {"/locks.db", "/locks.db-wal", "/locks.db-shm"})
    EXPECT_EQ(mode_of(file), 0600U) << file;
}

// A mistyped path would be a store of its own, beside that of all others.
TEST_F(places, whose_folder_is_not_there_are_not_made) {
  file_ = folder_.file("typo/locks.db");
  client locks = open(lock_options{}.retry(retry_policy{}.limit(0s)));
  EXPECT_THAT(locks.list(), testing::IsEmpty());
  const auto refused = failure_of([&] { mutex{locks, "stock"}.lock(); });
  EXPECT_EQ(refused.code, errc::unavailable);
  EXPECT_THAT(refused.text, testing::HasSubstr("mkdir -p -m 700 " + folder_.file("typo")));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  std::filesystem::create_directory(folder_.file("typo"));
  EXPECT_TRUE(mutex(locks, "stock").try_lock());
}

TEST_F(places, that_are_no_paths_are_refused) {
  const auto refused = [](const std::string& url) { return failure_of([&] { client{"sqlite:" + url}; }); };
  for (const char* path :
       {"~/locks.db", "~app/locks.db", "$HOME/locks.db", "${HOME}/locks.db", "///$HOME/locks.db"}) {
    EXPECT_EQ(refused(path).code, errc::invalid_url) << path;
    EXPECT_THAT(refused(path).text, testing::HasSubstr("write the path in full")) << path;
  }
  for (const char* path : {":memory:", "///:memory:"}) {
    EXPECT_EQ(refused(path).code, errc::invalid_url) << path;
    EXPECT_THAT(refused(path).text, testing::HasSubstr("write memory:")) << path;
  }
  EXPECT_EQ(refused("file:locks.db").code, errc::invalid_url);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  EXPECT_FALSE(refused("./~locks.db").code);
  std::filesystem::current_path(before);
}

// A mistyped path would look like a store in which nothing is held, and be one from then on.
TEST_F(places, that_are_only_looked_at_are_not_made) {
  file_ = folder_.file("typo/deep/locks.db");
  client locks = open();
  std::atomic<int> changes = 0;
  const auto watched = locks.watch([&] { ++changes; });
  EXPECT_THAT(locks.list(true), testing::IsEmpty());
  EXPECT_FALSE(locks.inspect("stock"));
  EXPECT_EQ(locks.force_release("stock"), 0U);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));

  file_ = folder_.file("empty.db");
  write_bytes(file_, "");
  {
    EXPECT_THAT(open().list(true), testing::IsEmpty());
  }
  EXPECT_EQ(bytes_of(file_), "");
  EXPECT_FALSE(std::filesystem::exists(file_ + "-wake"));

  file_ = folder_.file("typo/deep/locks.db");
  std::filesystem::create_directories(folder_.file("typo/deep"));
  client others = open();
  const auto held = mutex{others, "stock"}.acquire();
  EXPECT_EQ(locks.list().size(), 1U) << "by now it is there";
  await([&] { return changes > 0; }, "who watches does not hear of it");
}

TEST_F(places, that_cannot_be_written_are_refused_as_such) {
  const auto expect_refusal = [&](const std::string& names) {
    const auto answer = somebody()->ask("open " + url());
    EXPECT_EQ(code_in(answer), errc::permission_denied) << answer;
    EXPECT_THAT(answer, testing::HasSubstr(names));
    set_modes(0755, 0644);
  };
  set_modes(0555, 0444);
  expect_refusal(folder_.path().string());
  make_store();
  set_modes(0777, 0444);
  expect_refusal(file_);
  set_modes(0555, 0666);
  expect_refusal("");
}

TEST_F(places, that_are_folders_or_behind_files_are_refused) {
  std::filesystem::create_directory(file_);
  EXPECT_TRUE(failure_of([&] { open(); }).code);
  EXPECT_TRUE(std::filesystem::is_directory(file_));
  write_bytes(folder_.file("plain"), "not a folder");
  file_ = folder_.file("plain/locks.db");
  EXPECT_TRUE(failure_of([&] { open(); }).code);
  EXPECT_EQ(bytes_of(folder_.file("plain")), "not a folder");
}

// Those who reach it by its folder find another -wal and -shm beside it.
TEST_F(places, that_are_mounted_without_their_folder_are_refused) {
  make_store();
  const std::string there = "unshare --map-root-user --mount ";
  if (std::system((there + "true 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "a mount namespace is not permitted here";
  actor inside{{"sh", "-c",
                "exec " + there + "sh -c 'mount --bind \"$0\" \"$0\" && exec \"$1\"' " + file_ + " " +
                    HOLDFAST_TEST_ACTOR},
               {}};
  const auto answer = inside.ask("open " + url());
  EXPECT_EQ(code_in(answer), errc::unavailable) << answer;
  EXPECT_THAT(answer, testing::HasSubstr("mount its folder"));
}

TEST_F(places, with_odd_names_are_found_again) {
  for (const auto* name :
       {"with space.db", "quo'te.db", "per%25cent.db", "ques%3Ftion.db", "\u00fcml\u00e4ut.db"}) {
    file_ = folder_.file(name);
    client first = open();
    client second = open();
    const auto held = mutex{first, "stock"}.acquire();
    EXPECT_FALSE(mutex(second, "stock").try_lock()) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(folder_.file("per%cent.db")));
  EXPECT_TRUE(std::filesystem::exists(folder_.file("ques?tion.db")));
}

}  // namespace
}  // namespace holdfast::faults
