// SPDX-License-Identifier: Apache-2.0
// A file of several users: what those who may write its folder can do to the others, root among them.

#include <atomic>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <grp.h>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "faults/sqlite/on_a_file.hpp"

namespace holdfast::faults {
namespace {

constexpr ::gid_t members = 64'201;  // of the group that may write the folder
constexpr ::uid_t attacker = 64'202;
constexpr ::uid_t user = 64'203;

void become(::uid_t id, ::gid_t group) {
  if (::setgroups(0, nullptr) != 0 || ::setgid(group) != 0 || ::setuid(id) != 0) ::_exit(99);
}

/// A process of another user, which does the same again and again until it is ended.
class opponent {
 public:
  opponent(::uid_t id, ::gid_t group, const std::function<int()>& act)
      : successes_{::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0)} {
    auto* const count = new (successes_) std::atomic<int>{0};
    pid_ = ::fork();
    if (pid_ != 0) return;
    become(id, group);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) *count += act();
  }
  ~opponent() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(successes_, sizeof(std::atomic<int>));
  }
  opponent(const opponent&) = delete;
  opponent& operator=(const opponent&) = delete;

  [[nodiscard]] int successes() const { return *static_cast<const std::atomic<int>*>(successes_); }

 private:
  void* successes_;
  ::pid_t pid_ = -1;
};

/// What a process of another user does once. \return its exit status.
int as_user(::uid_t id, ::gid_t group, const std::function<int()>& act) {
  const ::pid_t child = ::fork();
  if (child == 0) {
    become(id, group);
    ::_exit(act());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class shared_files : public on_a_file {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can be several users";
    file_ = shared_ + "/locks.db";
    // As docs/stores/sqlite.md has an administrator make a store of several users.
    ::chmod(folder_.path().c_str(), 0711);
    std::filesystem::create_directory(shared_);
    own(shared_, 0, members, 02770);
    write_bytes(file_, "");
    own(file_, 0, members, 0660);
    write_bytes(secret_, "secret");
    ::chmod(secret_.c_str(), 0600);
  }
  static void own(const std::string& path, ::uid_t id, ::gid_t group, ::mode_t mode) {
    EXPECT_EQ(::lchown(path.c_str(), id, group), 0) << path;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0) << path;
  }
  static struct ::stat look_at(const std::string& path) {
    struct ::stat info{};
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info;
  }
  void expect_secret_kept() const {
    const struct ::stat info = look_at(secret_);
    EXPECT_EQ(info.st_mode & 07777U, 0600U);
    EXPECT_EQ(info.st_uid, 0U);
    EXPECT_EQ(info.st_gid, 0U);
    EXPECT_EQ(bytes_of(secret_), "secret");
  }
  std::unique_ptr<actor> start_as(::uid_t id, ::gid_t group) const {
    auto other = std::make_unique<actor>();
    EXPECT_EQ(other->ask("user " + std::to_string(id) + " group=" + std::to_string(group)), "user");
    return other;
  }
  void expect_planted_journals_refused(::gid_t group_of_attacker) const {
    for (const char* suffix : {"-journal", "-wal", "-shm"}) {
      const std::string planted = file_ + suffix;
      const int made = as_user(attacker, group_of_attacker, [&] {
        return ::open(planted.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666) >= 0 ? 0 : 1;
      });
      ASSERT_EQ(made, 0);
      const auto other = start_as(user, members);
      ASSERT_EQ(other->ask("open " + url()), "open");
      const auto answer = other->ask("hold stock");
      EXPECT_EQ(code_in(answer), errc::permission_denied) << answer;
      EXPECT_THAT(answer, testing::HasSubstr(planted));
      std::filesystem::remove(planted);
    }
  }
  std::vector<std::string> mailboxes() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{wake_}) names.push_back(entry.path());
    return names;
  }

  const std::string shared_ = folder_.file("shared");
  const std::string wake_ = shared_ + "/locks.db-wake";
  const std::string secret_ = folder_.file("secret");
};

// A folder from before FIFOs were kept apart there, made by the attacker: it can rename what others make.
TEST_F(shared_files, keep_their_owners_when_a_link_takes_the_place_of_a_fifo) {
  std::filesystem::create_directory(wake_);
  own(wake_, attacker, members, 0770);
  const std::string link = shared_ + "/link";
  const opponent racer{attacker, members, [&] {
                         int swaps = 0;
                         ::DIR* entries = ::opendir(wake_.c_str());
                         while (const ::dirent* entry = ::readdir(entries)) {
                           const std::string name{entry->d_name};
                           if (!name.ends_with(".new") || entry->d_type != DT_FIFO) continue;
                           if (::symlink(secret_.c_str(), link.c_str()) != 0) continue;
                           const std::string place = wake_ + '/' + name;
                           if (::rename(link.c_str(), place.c_str()) == 0) ++swaps;
                           ::unlink(link.c_str());
                         }
                         ::closedir(entries);
                         return swaps;
                       }};
  await(
      [&] {
        make_store();
        return racer.successes() >= 10;
      },
      "the links are never in time");
  expect_secret_kept();
}

TEST_F(shared_files, keep_their_owners_when_a_link_takes_the_place_of_the_folder) {
  const std::string private_folder = folder_.file("private");
  std::filesystem::create_directory(private_folder);
  own(private_folder, 0, 0, 0700);
  const opponent racer{attacker, members, [&] {
                         // Only an empty folder goes: before the first FIFO is made in it.
                         if (::rmdir(wake_.c_str()) != 0) return 0;
                         return ::symlink(private_folder.c_str(), wake_.c_str()) == 0 ? 1 : 0;
                       }};
  await(
      [&] {
        make_store();
        std::error_code raced;  // with the other one, who may have removed it
        std::filesystem::remove_all(wake_, raced);
        return racer.successes() >= 5;
      },
      "the links are never in time");
  const struct ::stat info = look_at(private_folder);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
  EXPECT_EQ(info.st_gid, 0U);
  EXPECT_TRUE(std::filesystem::is_empty(private_folder));
}

TEST_F(shared_files, wake_their_clients_through_fifos_that_other_users_cannot_remove) {
  client locks = open(patient());
  const auto held = mutex{locks, "first"}.acquire();
  const auto other = start_as(user, members);
  ASSERT_EQ(other->ask("open " + url()), "open");
  EXPECT_TRUE(other->hold("second"));
  EXPECT_EQ(look_at(wake_).st_mode & 07777U, 01770U);
  EXPECT_EQ(look_at(wake_).st_gid, members);
  const auto all = mailboxes();
  ASSERT_EQ(all.size(), 2U);
  for (const std::string& each : all) {
    EXPECT_TRUE(S_ISFIFO(look_at(each).st_mode));
    EXPECT_EQ(look_at(each).st_mode & 07777U, 0660U);
    EXPECT_EQ(look_at(each).st_gid, members);
  }
  const int kept = as_user(attacker, members, [&] {
    return std::all_of(all.begin(), all.end(), [](const std::string& f) { return ::unlink(f.c_str()) != 0; })
               ? 0
               : 1;
  });
  EXPECT_EQ(kept, 0);
  EXPECT_EQ(as_user(attacker, members, [&] { return ::access(all.front().c_str(), W_OK) == 0 ? 0 : 1; }), 0)
      << "who may write the database may wake its clients";
}

TEST_F(shared_files, write_letters_into_nothing_but_fifos) {
  client locks = open(patient());
  auto held = mutex{locks, "stock"}.acquire();
  const auto waiter = start_as(user, members);
  ASSERT_EQ(waiter->ask("open " + url()), "open");
  EXPECT_TRUE(waiter->hold("other"));
  EXPECT_EQ(waiter->ask("release"), "released");
  // A FIFO was there for each client; another file stands in the waiter's place by now.
  for (const std::string& each : mailboxes()) {
    if (look_at(each).st_uid != user) continue;
    std::filesystem::remove(each);
    write_bytes(each, "");
  }
  waiter->tell("hold stock");
  expect_waiter(locks);
  EXPECT_FALSE(held.release());
  EXPECT_TRUE(token_in(waiter->hear())) << "it finds its turn by looking";
  for (const std::string& each : mailboxes()) EXPECT_EQ(look_at(each).st_size, 0) << each;
}

TEST_F(shared_files, have_nothing_removed_behind_a_link_in_place_of_the_folder) {
  // Of another program, at which nobody listens just now; its name is as long as that of a FIFO.
  const std::string sockets = folder_.file("sockets");
  std::filesystem::create_directory(sockets);
  const std::string name = std::string(32, 'a');
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = sockets + '/' + name;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(static_cast<char*>(address.sun_path), path.size());
  const int bound = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(bound, reinterpret_cast<::sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(as_user(attacker, members, [&] { return ::symlink(sockets.c_str(), wake_.c_str()); }), 0);
  client locks = open(patient());
  EXPECT_TRUE(mutex(locks, "stock").acquire().held()) << "without a FIFO it finds its turns by looking";
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator{sockets}, {}), 1);

  // And the same where the folder itself has been put there.
  std::filesystem::remove(wake_);
  std::filesystem::rename(sockets, wake_);
  make_store();
  EXPECT_TRUE(std::filesystem::exists(wake_ + '/' + name));
  ::close(bound);
}

TEST_F(shared_files, have_their_fifos_in_no_folder_of_somebody_who_may_not_write_them) {
  own(file_, user, 0, 0600);
  std::filesystem::create_directory(wake_);
  own(wake_, attacker, members, 0777);
  const auto other = start_as(user, members);
  ASSERT_EQ(other->ask("open " + url()), "open");
  EXPECT_TRUE(other->hold("stock"));
  EXPECT_TRUE(std::filesystem::is_empty(wake_));
}

TEST_F(shared_files, are_not_reached_through_links_of_other_users) {
  const std::string elsewhere = folder_.file("elsewhere.db");
  const std::string folder = folder_.file("folder");
  std::filesystem::create_directory(folder);
  std::filesystem::remove(file_);
  for (const std::string& target : {elsewhere, folder}) {
    ASSERT_EQ(as_user(attacker, members, [&] { return ::symlink(target.c_str(), file_.c_str()); }), 0);
    for (const std::string& way : {file_, file_ + "/locks.db"}) {
      const auto failed = failure_of([&] { const client locks{"sqlite:" + way}; });
      EXPECT_EQ(failed.code, errc::permission_denied) << failed.text;
      EXPECT_THAT(failed.text, testing::HasSubstr(file_));
    }
    std::filesystem::remove(file_);
  }
  EXPECT_FALSE(std::filesystem::exists(elsewhere));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::create_symlink(elsewhere, file_);
  make_store();
  EXPECT_TRUE(std::filesystem::exists(elsewhere)) << "one's own links, and those of root, are followed";
}

TEST_F(shared_files, are_not_found_behind_a_link_that_took_their_place) {
  client locks = open(patient());
  {
    const auto used = mutex{locks, "stock"}.acquire();
  }
  const std::string private_file = folder_.file("private.db");
  {
    client other{"sqlite:" + private_file};
    mutex{other, "kept"}.lock();
  }
  const int swapped = as_user(attacker, members, [&] {
    return ::unlink(file_.c_str()) == 0 ? ::symlink(private_file.c_str(), file_.c_str()) : 1;
  });
  ASSERT_EQ(swapped, 0);
  const auto failed = failure_of([&] { static_cast<void>(mutex(locks, "stock").try_acquire()); });
  EXPECT_EQ(failed.code, errc::permission_denied) << failed.text;
  const client other{"sqlite:" + private_file};
  EXPECT_EQ(other.list(true).size(), 1U) << "it locked in another file";
}

// SQLite takes over what it finds there: into a database that its maker cannot write.
TEST_F(shared_files, are_not_opened_beside_journals_of_those_who_may_not_write_them) {
  own(file_, user, 0, 0600);
  expect_planted_journals_refused(members);
}

// A set-group-ID folder gives the group to what anybody makes in it.
TEST_F(shared_files, are_not_opened_beside_journals_that_have_their_group_from_an_open_folder) {
  own(shared_, 0, members, 02777);
  expect_planted_journals_refused(attacker);
}

}  // namespace
}  // namespace holdfast::faults
