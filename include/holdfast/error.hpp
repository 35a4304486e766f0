#pragma once

#include <string>
#include <system_error>

#include "holdfast/export.hpp"

namespace holdfast {

/// What can go wrong, in the one category of this library; docs/errors.md says what to do about each.
///
/// Synchronous calls throw `holdfast::error`; asynchronous ones complete with the code. Being held by
/// another is not an error for a try or timed call: those answer empty.
enum class errc {
  timeout = 1,        ///< the wait limit passed while another held the name
  lost,               ///< the lease ended before its holder released it
  not_owner,          ///< the handle holds nothing that could be released, renewed or asked
  unavailable,        ///< the store cannot be reached, or answers that it cannot serve now
  unknown_outcome,    ///< it may have happened; the store could not be asked again in time
  invalid_name,       ///< a name is 1 to 512 bytes of UTF-8 without control characters
  invalid_argument,   ///< an option, a limit or a count out of its range
  invalid_url,        ///< a store URL that cannot be read; unknown schemes and options too
  wrong_type,         ///< the name is in use as another kind of lock, or with another capacity
  foreign_store,      ///< what is at that place is not ours; it is left untouched
  corrupt_store,      ///< the store's file or answer is damaged
  permission_denied,  ///< the store or the file system refuses this user
  exhausted,          ///< out of descriptors, memory or disk
  cancelled,          ///< the operation was cancelled by its caller
  closed,             ///< the client was closed, or this process is a fork of its owner
};

[[nodiscard]] HOLDFAST_EXPORT const std::error_category& category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc code) noexcept {
  return {static_cast<int>(code), category()};
}

/// A failed call: `code()` for programs; `what()` names the operation, the lock, the store and what to
/// do about it. No secret ever stands in it: passwords of store URLs are masked before they get here.
class HOLDFAST_EXPORT error : public std::system_error {
 public:
  error(std::error_code code, const std::string& message);
  ~error() override;
  error(const error&) = default;
  error& operator=(const error&) = default;

  /// The sentence without the code's own text.
  [[nodiscard]] const std::string& detail() const noexcept { return detail_; }

 private:
  std::string detail_;
};

}  // namespace holdfast

template <>
struct std::is_error_code_enum<holdfast::errc> : std::true_type {};
