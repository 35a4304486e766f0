// SPDX-License-Identifier: Apache-2.0
#include "holdfast/fence.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "api/fence_file.hpp"
#include "holdfast/error.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr fencing_token operator""_t(unsigned long long value) { return fencing_token{value}; }

template <class Call>
std::error_code error_of(Call call) {
  try {
    call();
  } catch (const error& refused) {
    return refused.code();
  }
  return {};
}

TEST(fence_in_memory, admits_tokens_that_are_not_older_than_the_largest) {
  fence stock;
  EXPECT_EQ(stock.largest("a"), 0_t);
  EXPECT_TRUE(stock.admit("a", 5_t));
  EXPECT_TRUE(stock.admit("a", 5_t)) << "the holder writes again";
  EXPECT_FALSE(stock.admit("a", 4_t));
  EXPECT_TRUE(stock.admit("a", 7_t));
  EXPECT_FALSE(stock.admit("a", 5_t));
  EXPECT_TRUE(stock.admit("b", 1_t)) << "each resource has its own";
  EXPECT_EQ(stock.largest("a"), 7_t);
  EXPECT_EQ(stock.largest("b"), 1_t);
}

TEST(fence_in_memory, refuses_no_grant_and_invalid_arguments) {
  fence stock;
  EXPECT_FALSE(stock.admit("a", fencing_token{}));
  EXPECT_EQ(error_of([&] { static_cast<void>(stock.admit("", 1_t)); }), errc::invalid_name);
  EXPECT_EQ(error_of([&] { static_cast<void>(stock.admit("a\nb", 1_t)); }), errc::invalid_name);
  EXPECT_EQ(error_of([] { const fence none{std::size_t{0}}; }), errc::invalid_argument);
}

TEST(fence_in_memory, forgets_the_smallest_tokens_and_refuses_what_is_not_above_them) {
  fence stock{2};
  EXPECT_TRUE(stock.admit("a", 10_t));
  EXPECT_TRUE(stock.admit("b", 20_t));
  EXPECT_TRUE(stock.admit("a", 30_t)) << "b has the smallest now";
  EXPECT_TRUE(stock.admit("c", 40_t));
  EXPECT_EQ(stock.largest("b"), 0_t) << "forgotten";
  EXPECT_FALSE(stock.admit("b", 19_t)) << "it was refused before b was forgotten";
  EXPECT_FALSE(stock.admit("d", 20_t));
  EXPECT_FALSE(stock.admit("a", 29_t)) << "known: above the floor, and older";
  EXPECT_TRUE(stock.admit("d", 21_t));
  EXPECT_TRUE(stock.admit("d", 21_t)) << "its holder writes again";
  EXPECT_EQ(stock.largest("a"), 0_t) << "it had the smallest of the others";
  EXPECT_TRUE(stock.admit("e", 50_t));
  EXPECT_EQ(stock.largest("d"), 0_t);
  EXPECT_FALSE(stock.admit("f", 30_t)) << "a was forgotten";
}

TEST(fence_in_memory, serves_threads_and_never_goes_back) {
  fence stock;
  constexpr std::uint64_t count = 4;
  constexpr std::uint64_t each = 2000;
  std::vector<std::jthread> writers;
  for (std::uint64_t writer = 0; writer < count; ++writer) {
    writers.emplace_back([&, writer] {
      for (std::uint64_t i = 1; i <= each; ++i) {
        const fencing_token token{i * count + writer};
        const bool admitted = stock.admit("a", token);
        EXPECT_GE(stock.largest("a"), token) << "either it was admitted, or a newer one before";
        EXPECT_TRUE(admitted || stock.largest("a") > token);
      }
    });
  }
  writers.clear();
  EXPECT_EQ(stock.largest("a").value(), each * count + count - 1);
}

TEST(fence_in_memory, is_closed_in_a_child) {
  fence stock;
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::_exit(error_of([&] { static_cast<void>(stock.admit("a", 1_t)); }) == errc::closed ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class fence_with_file : public testing::Test {
 protected:
  [[nodiscard]] std::error_code opening_fails_with() const {
    return error_of([&] { const fence opened{path_}; });
  }
  void put(std::string_view text) const { std::ofstream{path_, std::ios::binary} << text; }
  [[nodiscard]] std::string content() const { return test::contents(path_.string()); }
  [[nodiscard]] int mode() const { return static_cast<int>(fs::status(path_).permissions()); }

  test::scratch_folder scratch_;
  const fs::path path_ = scratch_.path() / "stock.fence";
};

TEST_F(fence_with_file, remembers_over_a_restart) {
  {
    fence stock{path_};
    EXPECT_TRUE(stock.admit("a", 5_t));
    EXPECT_TRUE(stock.admit("a name with spaces", 6_t));
    EXPECT_TRUE(stock.admit("a", 7_t));
  }
  fence stock{path_};
  EXPECT_FALSE(stock.admit("a", 6_t));
  EXPECT_TRUE(stock.admit("a", 7_t));
  EXPECT_FALSE(stock.admit("a name with spaces", 5_t));
  EXPECT_EQ(stock.largest("a name with spaces"), 6_t);
}

TEST_F(fence_with_file, has_written_a_token_before_it_admits_it) {
  fence stock{path_};
  EXPECT_TRUE(stock.admit("a", 5_t));
  EXPECT_TRUE(content().ends_with(line_of({"a", 5})));
  const auto before = content();
  EXPECT_TRUE(stock.admit("a", 5_t));
  EXPECT_FALSE(stock.admit("a", 4_t));
  EXPECT_EQ(content(), before);
}

TEST_F(fence_with_file, is_private) {
  const fence stock{path_};
  EXPECT_EQ(mode(), 0600);
}

TEST_F(fence_with_file, becomes_private) {
  {
    const fence made{path_};
  }
  fs::permissions(path_, fs::perms{0644});
  const fence stock{path_};
  EXPECT_EQ(mode(), 0600);
}

/// With few resources and many restarts it answers like one in memory that is never restarted.
TEST_F(fence_with_file, loses_nothing_by_restarts) {
  constexpr std::size_t most = 4;
  std::mt19937 random{42};  // NOLINT(cert-msc*): the same in each run
  const auto below = [&](unsigned bound) { return static_cast<std::uint64_t>(random() % bound); };
  fence reference{most};
  std::optional<fence> tested{std::in_place, path_, duration::zero(), most};
  for (std::uint64_t step = 0; step < 3000; ++step) {
    if (below(20) == 0) {
      tested.reset();
      tested.emplace(path_, duration::zero(), most);
    }
    const std::string resource(1, static_cast<char>('a' + below(8)));
    const fencing_token token{step + below(20)};
    ASSERT_EQ(tested->admit(resource, token), reference.admit(resource, token)) << step;
    ASSERT_EQ(tested->largest(resource), reference.largest(resource)) << step;
  }
  EXPECT_LT(std::ranges::count(content(), '\n'), 1100) << "it was not rewritten";
}

TEST_F(fence_with_file, that_is_rewritten_stays_locked_and_private) {
  fence stock{path_};
  struct stat first{};
  ASSERT_EQ(::stat(path_.c_str(), &first), 0);
  for (std::uint64_t token = 1; token <= 1002; ++token) EXPECT_TRUE(stock.admit("a", fencing_token{token}));
  struct stat second{};
  ASSERT_EQ(::stat(path_.c_str(), &second), 0);
  EXPECT_NE(first.st_ino, second.st_ino) << "it was not rewritten";
  EXPECT_EQ(second.st_mode & 0777U, 0600U);
  EXPECT_TRUE(content().ends_with(line_of({"a", 1001}) + line_of({"a", 1002})));
  EXPECT_EQ(std::ranges::count(content(), '\n'), 3);
  EXPECT_EQ(opening_fails_with(), errc::timeout);
  EXPECT_FALSE(fs::exists(path_.string() + ".new"));
}

/// A folder with the name of the second file stands for a folder that cannot be written.
TEST_F(fence_with_file, grows_while_it_cannot_be_rewritten) {
  fence stock{path_};
  const fs::path beside = path_.string() + ".new";
  fs::create_directory(beside);
  for (std::uint64_t token = 1; token <= 1002; ++token) EXPECT_TRUE(stock.admit("a", fencing_token{token}));
  EXPECT_TRUE(content().ends_with(line_of({"a", 1002})));
  EXPECT_EQ(std::ranges::count(content(), '\n'), 1003);
  fs::remove(beside);
  EXPECT_TRUE(stock.admit("a", 1003_t));
  EXPECT_EQ(std::ranges::count(content(), '\n'), 3) << "it was not rewritten";
}

TEST_F(fence_with_file, ignores_a_last_line_that_was_not_completed) {
  {
    fence stock{path_};
    EXPECT_TRUE(stock.admit("a", 5_t));
  }
  const auto whole = content();
  const auto next = line_of({"a", 6});
  for (std::size_t length = 0; length < next.size(); ++length) {
    put(whole + next.substr(0, length));
    fence stock{path_};
    EXPECT_EQ(stock.largest("a"), 5_t) << length;
    EXPECT_TRUE(stock.admit("a", 6_t));
    EXPECT_EQ(content(), whole + next);
  }
  // A block of zeros in place of the end of the line before it, as after a loss of power.
  put(whole + std::string(20, '\0') + "6 a\n");
  const fence stock{path_};
  EXPECT_EQ(stock.largest("a"), 5_t);
}

TEST_F(fence_with_file, reports_damage_before_the_last_line) {
  {
    fence stock{path_};
    EXPECT_TRUE(stock.admit("a", 5_t));
    EXPECT_TRUE(stock.admit("a", 6_t));
  }
  auto damaged = content();
  damaged[damaged.find("5 a")] = '4';
  put(damaged);
  EXPECT_EQ(opening_fails_with(), errc::corrupt_store);
  EXPECT_EQ(content(), damaged);
}

TEST_F(fence_with_file, leaves_other_files_as_they_are) {
  for (const std::string_view text : {"hello\n", "holdfast fence 2\n", "holdfast", "\n"}) {
    put(text);
    fs::permissions(path_, fs::perms{0644});
    EXPECT_EQ(opening_fails_with(), errc::foreign_store) << text;
    EXPECT_EQ(mode(), 0644);
    EXPECT_EQ(content(), text);
  }
}

TEST_F(fence_with_file, takes_an_empty_file) {
  put("");
  fence stock{path_};
  EXPECT_TRUE(stock.admit("a", 5_t));
}

TEST_F(fence_with_file, follows_no_link) {
  const fs::path real = scratch_.path() / "real";
  {
    const fence made{real};
  }
  fs::create_symlink(real, path_);
  EXPECT_EQ(opening_fails_with(), errc::foreign_store);
  fs::remove(path_);
  fs::create_hard_link(real, path_);
  EXPECT_EQ(opening_fails_with(), errc::foreign_store);
  fs::remove(path_);
  fs::create_symlink(scratch_.path() / "nothing", path_);
  EXPECT_EQ(opening_fails_with(), errc::foreign_store);
  EXPECT_FALSE(fs::exists(scratch_.path() / "nothing"));
}

TEST_F(fence_with_file, is_a_plain_file_in_a_folder_that_exists) {
  fs::create_directory(path_);
  EXPECT_EQ(opening_fails_with(), errc::foreign_store);
  fs::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(opening_fails_with(), errc::foreign_store);
  EXPECT_EQ(error_of([&] { const fence f{scratch_.path() / "none" / "x"}; }), errc::unavailable);
  EXPECT_EQ(error_of([&] { const fence f{scratch_.path() / ""}; }), errc::foreign_store);
}

TEST_F(fence_with_file, of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  {
    const fence made{path_};
  }
  ASSERT_EQ(::chown(path_.c_str(), 65534, 65534), 0);
  EXPECT_EQ(opening_fails_with(), errc::permission_denied);
}

TEST_F(fence_with_file, serves_one_process_at_a_time) {
  std::optional<fence> first{std::in_place, path_};
  try {
    const fence second{path_};
    FAIL() << "two fences have the file";
  } catch (const error& refused) {
    EXPECT_EQ(refused.code(), errc::timeout);
    EXPECT_NE(refused.detail().find(path_.string()), std::string::npos) << refused.detail();
  }
  EXPECT_TRUE(first->admit("a", 5_t));
  auto waiting = std::async(std::launch::async, [&] {
    fence second{path_, duration::max()};
    return second.largest("a");
  });
  EXPECT_EQ(waiting.wait_for(50ms), std::future_status::timeout);
  first.reset();
  EXPECT_EQ(waiting.get(), 5_t);
}

TEST_F(fence_with_file, is_released_although_a_child_has_its_descriptor) {
  std::optional<fence> stock{std::in_place, path_};
  EXPECT_EQ(::fcntl(stock->native_handle(), F_GETFD), FD_CLOEXEC);
  EXPECT_LT(fence{}.native_handle(), 0);
  const ::pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  EXPECT_EQ(opening_fails_with(), errc::timeout);
  stock.reset();
  EXPECT_EQ(opening_fails_with(), std::error_code{});
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(fence_with_file, stays_locked_when_a_fork_destroys_it) {
  std::optional<fence> stock{std::in_place, path_};
  const ::pid_t child = ::fork();
  if (child == 0) {
    stock.reset();
    ::_exit(0);
  }
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(opening_fails_with(), errc::timeout);
}

TEST_F(fence_with_file, that_was_removed_admits_nothing) {
  fence stock{path_};
  EXPECT_TRUE(stock.admit("a", 5_t));
  fs::rename(path_, scratch_.path() / "moved");
  EXPECT_EQ(error_of([&] { static_cast<void>(stock.admit("a", 6_t)); }), errc::unavailable);
  fence other{path_};
  EXPECT_EQ(error_of([&] { static_cast<void>(stock.admit("a", 6_t)); }), errc::unavailable);
  EXPECT_TRUE(other.admit("a", 7_t));
  EXPECT_EQ(error_of([&] { static_cast<void>(stock.admit("a", 5_t)); }), errc::unavailable);
  EXPECT_EQ(stock.largest("a"), 5_t);
}

/// A limit of the file's size stands for a full disk: a part of the line is written.
TEST_F(fence_with_file, admits_nothing_that_it_cannot_write_and_recovers) {
  fence stock{path_};
  EXPECT_TRUE(stock.admit("a", 5_t));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{.rlim_cur = fs::file_size(path_) + 9, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto first = error_of([&] { static_cast<void>(stock.admit("a", 6_t)); });
  const auto second = error_of([&] { static_cast<void>(stock.admit("another", 7_t)); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(fs::exists(path_.string() + ".new"));
  EXPECT_EQ(first, errc::unavailable);
  EXPECT_EQ(second, errc::unavailable);
  EXPECT_EQ(stock.largest("a"), 5_t);
  EXPECT_TRUE(stock.admit("a", 8_t));
  EXPECT_TRUE(content().ends_with(line_of({"a", 5}) + line_of({"a", 8}))) << content();
}

TEST(fence_line, is_read_back) {
  for (const fence_record& each :
       {fence_record{"a b  c", 7}, fence_record{"", UINT64_MAX}, fence_record{"1", 1}}) {
    auto line = line_of(each);
    ASSERT_TRUE(line.ends_with('\n'));
    line.pop_back();
    EXPECT_EQ(record_of(line), each);
    for (std::size_t at = 0; at < line.size(); ++at) {
      auto wrong = line;
      wrong[at] = static_cast<char>(wrong[at] ^ 1);
      EXPECT_EQ(record_of(wrong), std::nullopt) << at;
    }
  }
}

}  // namespace
}  // namespace holdfast
