#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/failure.hpp"
#include "core/machine.hpp"

namespace holdfast::quorum {

/// A text about a server with its place before it, "a:6379: gone", unless it begins so. \param place empty:
/// not known, and the text stays.
[[nodiscard]] std::string with_place(std::string_view place, std::string text);
/// The text without the place of the server with which it may begin.
[[nodiscard]] std::string without_place(std::string_view place, std::string text);

/// Begins a reason with the place of its server. Without `places` it stays as it is.
void name_place(failure& reason, std::span<const std::string> places, std::size_t server);
/// The server has not answered within the time limit.
[[nodiscard]] store::request_error no_answer_of(std::span<const std::string> places, std::size_t server);

/// What several servers have said, for people. Servers that say the same are named together.
class problem_list {
 public:
  /// \param place of the server, with which its message may begin; empty: not known.
  void add(const std::string& place, const std::string& message);
  /// "; a:1 and b:1: gone; c:1 does not answer": the first three reasons, or nothing.
  [[nodiscard]] std::string text() const;

 private:
  struct reason {
    std::vector<std::string> places;  // empty: the text names the server, or nothing does
    std::string text;
  };
  std::vector<reason> reasons_;
};

}  // namespace holdfast::quorum
