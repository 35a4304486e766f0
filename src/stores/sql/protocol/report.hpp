#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/sql/protocol/server_answers.hpp"

namespace holdfast::sql {

/// "90 s", or "15 min" from ten minutes on.
[[nodiscard]] std::string text_of(std::chrono::seconds length);

/// Whether there is little room left. False where `most` is none.
[[nodiscard]] bool is_nearly_full(std::int64_t used, std::int64_t most);

/// Collects the findings about one database server, with the checks that all database servers have.
class report {
 public:
  explicit report(std::string subject) : subject_{std::move(subject)} {}

  void kept(std::string condition, std::string observed) {
    add(std::move(condition), finding::grade::kept, std::move(observed));
  }
  void add(std::string condition, finding::grade result, std::string observed, std::string meaning = {},
           std::string remedy = {});

  /// \param ahead of this host's clock.
  void add_clock(std::chrono::microseconds ahead);
  void add_round_trip(std::chrono::microseconds length);
  void add_connections(std::int64_t used, std::int64_t most, std::string remedy);
  /// What could not be read.
  void add_unread(const server_answers& from);

  [[nodiscard]] std::vector<finding> take() && { return std::move(found_); }

 private:
  std::string subject_;
  std::vector<finding> found_;
};

}  // namespace holdfast::sql
