#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "link/memory/table.hpp"
#include "link/sqlite/database.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// The model and the real SQL text, given the same requests at the same times.
class twin_stores {
 public:
  struct answer {
    tickets::reply reply;
    std::vector<memory::word> words;
  };
  struct pair {
    answer model;
    answer real;
  };

  twin_stores();

  [[nodiscard]] pair carry_out(const tickets::request& asked, const owner_id& client);

  store::time_point now{std::chrono::hours{1}};
  std::chrono::system_clock::time_point wall{std::chrono::hours{24 * 365 * 50}};

 private:
  answer ask_model(const tickets::request& asked, const owner_id& client);
  answer ask_real(const tickets::request& asked, const owner_id& client);

  scratch_folder folder_;
  memory::table model_;
  sqlite::database real_;
};

}  // namespace holdfast::test
