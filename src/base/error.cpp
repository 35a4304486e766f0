// SPDX-License-Identifier: Apache-2.0
#include "holdfast/error.hpp"

namespace holdfast {

namespace {

class errc_category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "holdfast"; }
  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::timeout: return "timed out waiting for the lock";
      case errc::lost: return "the lease was lost";
      case errc::not_owner: return "the lock is not held through this handle";
      case errc::unavailable: return "the store is unavailable";
      case errc::unknown_outcome: return "the outcome is unknown";
      case errc::invalid_name: return "invalid lock name";
      case errc::invalid_argument: return "invalid argument";
      case errc::invalid_url: return "invalid store URL";
      case errc::wrong_type: return "in use as another kind of lock, or with another number";
      case errc::foreign_store: return "not a Holdfast store";
      case errc::corrupt_store: return "the store is damaged";
      case errc::permission_denied: return "permission denied";
      case errc::exhausted: return "out of resources";
      case errc::cancelled: return "cancelled";
      case errc::closed: return "the client is closed";
    }
    return "unknown error " + std::to_string(value);
  }
  /// Lets programs compare with the standard's conditions, as in `code == std::errc::timed_out`.
  [[nodiscard]] std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<errc>(value)) {
      case errc::timeout: return std::errc::timed_out;
      case errc::not_owner: return std::errc::operation_not_permitted;
      case errc::invalid_name:
      case errc::invalid_argument:
      case errc::invalid_url: return std::errc::invalid_argument;
      case errc::permission_denied: return std::errc::permission_denied;
      case errc::cancelled: return std::errc::operation_canceled;
      default: return {value, *this};
    }
  }
};

/// A message that was made of what() of another error of the same code ends with its text, which
/// std::system_error would append once more.
std::string without_text_of(const std::error_code& code, std::string message) {
  const std::string text = ": " + code.message();
  if (message.ends_with(text)) message.resize(message.size() - text.size());
  return message;
}

}  // namespace

const std::error_category& category() noexcept {
  static const errc_category instance;
  return instance;
}

error::error(std::error_code code, const std::string& message)
    : std::system_error{code, without_text_of(code, message)}, detail_{without_text_of(code, message)} {}

error::~error() = default;

}  // namespace holdfast
