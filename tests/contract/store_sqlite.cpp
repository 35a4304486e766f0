// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>
#include <stdexcept>

#include "contract/stores.hpp"
#include "support/scratch_folder.hpp"

namespace {

class sqlite_store final : public holdfast::contract::store {
 public:
  ~sqlite_store() override { ::sqlite3_close(intruder_); }

  [[nodiscard]] std::string url() const override { return "sqlite:" + file(); }

  // Somebody else's transaction that does not end: nobody can write, and so nobody can lock.
  void stop_answering() override {
    check(::sqlite3_open(file().c_str(), &intruder_));
    ::sqlite3_busy_timeout(intruder_, 10'000);
    check(::sqlite3_exec(intruder_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr));
  }

  void answer_again() override {
    check(::sqlite3_exec(intruder_, "ROLLBACK", nullptr, nullptr, nullptr));
    ::sqlite3_close(intruder_);
    intruder_ = nullptr;
  }

 private:
  [[nodiscard]] std::string file() const { return folder_.file("locks.db"); }
  void check(int result) {
    if (result != SQLITE_OK) throw std::runtime_error{::sqlite3_errmsg(intruder_)};
  }

  holdfast::test::scratch_folder folder_;
  ::sqlite3* intruder_ = nullptr;
};

const holdfast::contract::test_on sqlite{
    {.name = "sqlite", .scheme = "sqlite", .across_processes = true, .breakable = true, .start = [] {
       return std::make_unique<sqlite_store>();
     }}};

}  // namespace
