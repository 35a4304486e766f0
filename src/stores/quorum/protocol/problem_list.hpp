#pragma once

#include <string>
#include <vector>

namespace holdfast::quorum {

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
