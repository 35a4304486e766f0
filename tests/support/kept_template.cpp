// SPDX-License-Identifier: Apache-2.0
#include "support/kept_template.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;

/// Held by one process at a time, and let go by the kernel where that one dies.
class folder_lock {
 public:
  explicit folder_lock(const fs::path& file)
      : file_{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)} {
    if (file_ < 0 || ::flock(file_, LOCK_EX) != 0) {
      throw fs::filesystem_error{"flock", file, std::error_code{errno, std::generic_category()}};
    }
  }
  ~folder_lock() { ::close(file_); }
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int file_;
};

using maker = std::function<fs::path(const scratch_folder&)>;

fs::path kept(const std::string& name, const maker& make) {
  const fs::path path = fs::path{HOLDFAST_TEST_TEMPLATES} / (name + '-' + std::to_string(::geteuid()));
  fs::create_directories(path.parent_path());
  const folder_lock one_at_a_time{path.string() + ".lock"};
  if (!fs::exists(path)) {
    const scratch_folder workshop;
    const auto partial = path.string() + ".partial";
    fs::remove_all(partial);
    fs::copy(make(workshop), partial, fs::copy_options::recursive);
    fs::rename(partial, path);
  }
  return path;
}

}  // namespace

void copy_template(const std::string& name, const maker& make, const fs::path& to) {
  try {
    fs::copy(kept(name, make), to, fs::copy_options::recursive);
  } catch (const fs::filesystem_error&) {
    fs::remove_all(to);
    const scratch_folder workshop;
    fs::copy(make(workshop), to, fs::copy_options::recursive);
  }
}

}  // namespace holdfast::test
