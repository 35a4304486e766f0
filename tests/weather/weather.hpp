#pragma once

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <memory>
#include <sqlite3.h>
#include <string>

#include "support/actor.hpp"
#include "support/scratch_folder.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::weather {

using namespace std::chrono_literals;
using test::actor;
using test::code_in;
using test::token_in;

/// Somebody else's connection to a file of SQLite.
class other_connection {
 public:
  explicit other_connection(const std::string& file) {
    EXPECT_EQ(::sqlite3_open(file.c_str(), &database_), SQLITE_OK) << file;
    ::sqlite3_busy_timeout(database_, 10'000);
  }
  ~other_connection() { ::sqlite3_close(database_); }
  other_connection(const other_connection&) = delete;
  other_connection& operator=(const other_connection&) = delete;

  void run(const std::string& statements) {
    EXPECT_EQ(::sqlite3_exec(database_, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << ::sqlite3_errmsg(database_);
  }

  /// The first column of the first row.
  std::string value(const std::string& query) {
    ::sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(::sqlite3_prepare_v2(database_, query.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << ::sqlite3_errmsg(database_);
    std::string result;
    if (::sqlite3_step(statement) == SQLITE_ROW) {
      const auto* text = ::sqlite3_column_text(statement, 0);
      if (text != nullptr) result = reinterpret_cast<const char*>(text);
    }
    ::sqlite3_finalize(statement);
    return result;
  }

 private:
  ::sqlite3* database_ = nullptr;
};

inline std::string bytes_of(const std::string& file) {
  std::ifstream stream{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

inline void write_bytes(const std::string& file, const std::string& bytes) {
  std::ofstream{file, std::ios::binary | std::ios::trunc} << bytes;
}

/// What a failing call says: its code, and its sentence for the test's own message.
struct failing {
  std::error_code code;
  std::string text;
};
template <class Call>
failing failure_of(Call call) {
  try {
    call();
  } catch (const error& failed) {
    return {failed.code(), failed.what()};
  }
  return {{}, "it did not fail"};
}

/// Patience for tests that want to see a failure soon.
inline lock_options hasty() { return lock_options{}.retry(retry_policy{}.limit(300ms).longest(50ms)); }

/// What it says next but for "lost CODE TEXT", which may come in between at any time.
inline std::string hear_answer(actor& other) {
  std::string line = other.hear();
  while (line.starts_with("lost ")) line = other.hear();
  return line;
}

/// A place for a store of its own.
class on_a_file : public testing::Test {
 protected:
  std::string url() const { return "sqlite:" + file_; }
  /// A client, open in this process.
  client open(const lock_options& locks = {}) { return client{url(), client_options{}.locks(locks)}; }
  /// Another process with a client.
  std::unique_ptr<actor> start() {
    auto other = std::make_unique<actor>();
    EXPECT_EQ(other->ask("open " + url()), "open");
    return other;
  }

  test::scratch_folder folder_;
  std::string file_ = folder_.file("locks.db");
};

}  // namespace holdfast::weather
