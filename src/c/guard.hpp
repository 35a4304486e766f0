// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>

#include "base/failure.hpp"
#include "holdfast/error.hpp"
#include "holdfast/holdfast.h"
#include "holdfast/options.hpp"
#include "runtime/process.hpp"

// The border of C++ and C: exceptions become codes and texts, pointers and sizes are checked.

namespace holdfast::c {

/// A copy that the caller frees with holdfast_free(); null if memory has run out.
[[nodiscard]] inline char* copy_of(std::string_view text) noexcept {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) return nullptr;
  std::copy(text.begin(), text.end(), copy);
  copy[text.size()] = '\0';
  return copy;
}

inline int fail(char** message, errc code, const char* text) noexcept {
  if (message != nullptr) *message = copy_of(text);
  return static_cast<int>(code);
}

/// Runs `call`. \return its code: HOLDFAST_OK, or that of the exception that it has thrown.
template <class Call>
int guarded(char** message, Call call) noexcept {
  if (message != nullptr) *message = nullptr;
  try {
    call();
    return HOLDFAST_OK;
  } catch (const error& failed) {
    return fail(message, static_cast<errc>(failed.code().value()), failed.what());
  } catch (const std::system_error& failed) {
    return fail(message, code_of(failed.code().value()), failed.what());
  } catch (const std::exception& failed) {  // what is left is memory that has run out
    return fail(message, errc::exhausted, failed.what());
  }
}

/// \throws holdfast::error errc::invalid_argument for a null pointer; `name` is that of the parameter.
template <class T>
[[nodiscard]] T& required(T* pointer, const char* name) {
  if (pointer == nullptr) throw error{errc::invalid_argument, std::string{name} + " is NULL"};
  return *pointer;
}

[[nodiscard]] inline std::string_view text_of(const char* text, const char* name) {
  return &required(text, name);
}
[[nodiscard]] inline std::string_view text_or_empty(const char* text) {
  return text == nullptr ? std::string_view{} : std::string_view{text};
}

/// A value of `size` bytes of any kind; none may be null.
[[nodiscard]] inline std::string_view bytes_of(const void* value, std::size_t size) {
  if (size == 0) return {};
  return {static_cast<const char*>(&required(static_cast<const char*>(value), "value")), size};
}

/// Empties the caller's variable, so that it is null if the call fails.
template <class T>
T*& cleared(T** out, const char* name) {
  T*& place = required(out, name);
  place = nullptr;
  return place;
}

/// A struct of a caller that may be compiled with a header older than this library, or newer: what the older
/// one lacks is zero. A struct grows behind the padding at its end, and has no padding behind a new member.
/// \param first_size of the first version of the struct.
/// \throws holdfast::error errc::invalid_argument if it was not initialised, or if a newer header has a
///         member that is set and that this library does not know.
template <class Struct>
[[nodiscard]] Struct versioned(const Struct& given, std::size_t first_size, const char* name) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  const std::size_t size = given.struct_size;
  // No version will be as large: the struct was not initialised.
  if (size < first_size || size > 4096)
    throw error{errc::invalid_argument, std::string{name} + " was not initialised with its _INIT macro"};
  if (size > sizeof(Struct) &&
      std::any_of(bytes + sizeof(Struct), bytes + size, [](unsigned char each) { return each != 0; }))
    throw error{errc::invalid_argument, std::string{name} + " has members that this version does not know"};
  Struct known{};
  std::memcpy(&known, bytes, std::min(size, sizeof(Struct)));
  return known;
}

/// \throws holdfast::error errc::invalid_argument for a negative time other than HOLDFAST_FOREVER.
[[nodiscard]] inline duration wait_of(std::int64_t time_ms, const char* name) {
  using ms = std::chrono::milliseconds;
  if (time_ms == HOLDFAST_FOREVER) return duration::max();
  if (time_ms < 0) throw error{errc::invalid_argument, std::string{name} + " is negative"};
  const auto longest = std::chrono::duration_cast<ms>(duration::max());
  return ms{time_ms} > longest ? duration::max() : duration{ms{time_ms}};
}

[[nodiscard]] inline std::int64_t ms_of(duration time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

/// The lock options that a caller has set; `given` may be null.
[[nodiscard]] lock_options options_of(const holdfast_lock_options* given, const lock_options& otherwise);

/// An object that belongs to the process that made it. A child after fork() lacks the threads of its parent.
class owned {
 public:
  [[nodiscard]] bool is_ours() const noexcept { return generation_ == runtime::process_generation(); }
  /// \throws holdfast::error errc::closed in a child after fork().
  void require_ours() const {
    if (!is_ours()) throw error{errc::closed, "it belongs to the process that this one was forked from"};
  }

 private:
  std::uint32_t generation_ = runtime::process_generation();
};

}  // namespace holdfast::c
