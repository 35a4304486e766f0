#pragma once

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <memory>
#include <string>

#include "support/actor.hpp"
#include "support/scratch_folder.hpp"
#include <holdfast/holdfast.hpp>

namespace holdfast::weather {

using namespace std::chrono_literals;
using test::actor;
using test::code_in;
using test::token_in;

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

}  // namespace holdfast::weather
