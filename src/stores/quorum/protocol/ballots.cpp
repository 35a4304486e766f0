// SPDX-License-Identifier: Apache-2.0
#include "stores/quorum/protocol/ballots.hpp"

namespace holdfast::ballots {

bool is_release(const request& r) {
  const auto* const plain = std::get_if<tickets::request>(&r);
  return plain != nullptr ? tickets::is_release(*plain) : std::holds_alternative<retract>(r);
}

bool is_too_late(const request& r, store::time_point now) {
  const auto* const plain = std::get_if<tickets::request>(&r);
  return plain != nullptr && tickets::is_too_late(*plain, now);
}

duration longest_ttl(const request& r) {
  if (const auto* const plain = std::get_if<tickets::request>(&r)) return tickets::longest_ttl(*plain);
  return std::visit(
      [](const auto& of) -> duration {
        if constexpr (requires { of.hold; }) return of.hold.ttl;
        if constexpr (requires { of.claim; }) return store::store_ttl(*of.claim);
        return {};
      },
      r);
}

std::string_view name_of(const request& r) {
  if (const auto* const plain = std::get_if<tickets::request>(&r)) return tickets::name_of(*plain);
  return std::visit(
      [](const auto& of) -> std::string_view {
        if constexpr (requires { of.hold; }) return of.hold.name;
        if constexpr (requires { of.claim; }) return of.claim->name;
        if constexpr (requires { of.name; }) return of.name;
        return {};
      },
      r);
}

}  // namespace holdfast::ballots
