// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine.hpp"

namespace holdfast::quorum {

/// A text about a server with its place before it, "a:6379: gone", unless it begins so.
[[nodiscard]] std::string with_place(std::string_view place, std::string text);
/// The text without the place of the server with which it may begin.
[[nodiscard]] std::string without_place(std::string_view place, std::string text);
/// The server has not answered within the time limit.
[[nodiscard]] store::request_error no_answer_of(std::string_view place);

/// What several servers have said, for people. Servers that say the same are named together.
class problem_list {
 public:
  /// \param place of the server, with which its message may begin.
  void add(const std::string& place, const std::string& message);
  void add(const std::string& place, const store::request_error& problem);
  /// "; a:1 and b:1: gone; c:1 does not answer": the first three reasons, or nothing.
  [[nodiscard]] std::string text() const;
  /// The error of a request that too few servers have carried out. What no other try would change counts if
  /// it is true of so many.
  [[nodiscard]] store::request_error of_majority(std::size_t servers) const;

 private:
  struct reason {
    std::vector<std::string> places;  // empty: the text names the server, or nothing does
    std::string text;
  };
  std::vector<reason> reasons_;
  std::vector<store::request_error> problems_;
};

}  // namespace holdfast::quorum
