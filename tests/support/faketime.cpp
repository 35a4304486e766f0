// SPDX-License-Identifier: Apache-2.0
#include "support/faketime.hpp"

#include <filesystem>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace holdfast::test {

namespace {

std::string faketime_library() {
  for (const auto& folder : std::filesystem::directory_iterator{"/usr/lib"}) {
    const auto file = folder.path() / "faketime" / "libfaketime.so.1";
    if (std::filesystem::exists(file)) return file.string();
  }
  throw std::runtime_error{"libfaketime is not installed"};
}

}  // namespace

std::vector<std::string> faketime_environment(const std::string& file, std::string_view also) {
  return {"LD_PRELOAD=" + faketime_library() + ' ' + std::string{also}, "FAKETIME_TIMESTAMP_FILE=" + file,
          "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"};
}

void set_faketime(const std::string& file, std::chrono::milliseconds ahead) {
  // In one step, so that the program never reads half of it.
  std::ostringstream text;
  text << std::showpos << std::fixed << std::setprecision(3) << std::chrono::duration<double>{ahead}.count()
       << '\n';
  std::ofstream{file + ".new"} << text.str();
  std::filesystem::rename(file + ".new", file);
}

void forget_faketime_files(::pid_t pid) {
  for (const char* name : {"/dev/shm/faketime_shm_", "/dev/shm/sem.faketime_sem_"}) {
    std::filesystem::remove(name + std::to_string(pid));
  }
}

}  // namespace holdfast::test
