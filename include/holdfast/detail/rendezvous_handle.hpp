#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "holdfast/arrivals.hpp"
#include "holdfast/client.hpp"
#include "holdfast/detail/handle.hpp"
#include "holdfast/export.hpp"
#include "holdfast/options.hpp"

namespace holdfast::detail {

/// One call of a latch or a barrier.
struct rendezvous_request {
  std::ptrdiff_t count = 0;  ///< of a latch: to count down first
  bool waits = true;         ///< of a latch: then to wait until it is open
  /// Empty: as the options say. Zero: one look.
  std::optional<duration> limit{};
  /// Ends the wait. Of calls that block.
  std::stop_token stop{};
};

/// A latch, or one party of a barrier, on one client. Not for users: names and shapes here may change with
/// any version.
class HOLDFAST_EXPORT rendezvous_handle {
 public:
  enum class type : std::uint8_t { latch, barrier };

  /// \throws holdfast::error errc::invalid_name, errc::invalid_argument.
  rendezvous_handle(type kind, client& locks, std::string_view name, std::ptrdiff_t expected,
                    const std::optional<lock_options>& options);
  ~rendezvous_handle();
  rendezvous_handle(const rendezvous_handle&) = delete;
  rendezvous_handle& operator=(const rendezvous_handle&) = delete;

  /// \return the phase that is complete, zero of a latch; empty only when a request with a limit of its own
  ///         ended before, or was stopped.
  std::optional<std::uint64_t> meet(const rendezvous_request& request) const;
  pending async_meet(const rendezvous_request& request, std::unique_ptr<completion> handler) const;
  [[nodiscard]] arrivals inspect() const;
  [[nodiscard]] const std::string& name() const noexcept;
  [[nodiscard]] std::ptrdiff_t expected() const noexcept;

 private:
  struct state;
  std::shared_ptr<const state> state_;
};

}  // namespace holdfast::detail
