// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <system_error>

#include "holdfast/export.hpp"

namespace holdfast {

/// The failures of this library, in its one category; docs/errors.md says what to do about each.
///
/// Calls that block throw `holdfast::error`; asynchronous ones complete with the code. Try and timed calls
/// report no error when another claim holds the name: they return empty, or false.
enum class errc {
  timeout = 1,        ///< the wait limit passed while another held the name
  lost,               ///< the lease ended before its holder released it
  not_owner,          ///< the handle holds nothing that could be released, renewed or asked
  unavailable,        ///< the store cannot be reached, or answers that it cannot serve now
  unknown_outcome,    ///< the request may have been carried out; the store could not be asked again in time
  invalid_name,       ///< a name is 1 to 512 bytes of UTF-8 without control characters
  invalid_argument,   ///< an option, a limit or a count out of its range
  invalid_url,        ///< a store URL that cannot be read; unknown schemes and options too
  wrong_type,         ///< the name is in use as another kind of lock, or with another capacity
  foreign_store,      ///< the file, table or key there is not Holdfast's; it is left untouched
  corrupt_store,      ///< the store's file or answer is damaged
  permission_denied,  ///< the store or the file system refuses this user
  exhausted,          ///< out of descriptors, threads or disk, or the store of memory
  cancelled,          ///< the operation was cancelled by its caller
  closed,             ///< the client was closed, or this process is a fork of its owner
};

/// The category of `errc`, named "holdfast". Its codes compare equal to those of `std::errc`: errc::timeout
/// to timed_out, errc::cancelled to operation_canceled, errc::permission_denied to permission_denied,
/// errc::not_owner to operation_not_permitted, the invalid ones to invalid_argument.
[[nodiscard]] HOLDFAST_EXPORT const std::error_category& category() noexcept;

/// Found by std::error_code's constructor: `std::error_code code = errc::lost`.
[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), category()};
}

/// A failed call: `code()` for programs; `what()` names the operation, the lock, the store and what to
/// do about it. It contains no secret: passwords of store URLs are masked.
class HOLDFAST_EXPORT error : public std::system_error {
 public:
  /// \param message the sentence, which `what()` shows before the code's own text.
  error(std::error_code code, const std::string& message);
  /// Virtual, as that of every exception. Does not throw.
  ~error() override;
  error(const error&) = default;
  error& operator=(const error&) = default;

  /// The sentence without the code's own text.
  [[nodiscard]] const std::string& detail() const noexcept { return detail_; }

 private:
  std::string detail_;
};

}  // namespace holdfast

/// Lets an `errc` become and compare with a std::error_code.
template <>
struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
