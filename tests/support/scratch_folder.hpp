// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdlib.h>
#include <string>
#include <string_view>

namespace holdfast::test {

/// A new empty folder, removed with everything in it.
class scratch_folder {
 public:
  scratch_folder() : scratch_folder{std::filesystem::temp_directory_path()} {}
  explicit scratch_folder(const std::filesystem::path& in) {
    std::string pattern = (in / "holdfast-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::filesystem::filesystem_error{"mkdtemp", pattern,
                                              std::error_code{errno, std::generic_category()}};
    }
    path_ = pattern;
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// The bytes of a file. One of /proc cannot be read any more when its process ends: then there is nothing in
/// it.
[[nodiscard]] inline std::string contents(const std::string& path) {
  const std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace holdfast::test
