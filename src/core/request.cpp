#include "core/request.hpp"

#include <algorithm>
#include <type_traits>

namespace holdfast::tickets {

namespace {

template <class... Kinds>
bool is_one_of(const request& r) {
  return (std::holds_alternative<Kinds>(r) || ...);
}

}  // namespace

bool is_release(const request& r) { return is_one_of<release, withdraw, retract>(r); }
bool is_read_only(const request& r) { return is_one_of<inspect, list, find>(r); }

bool is_too_late(const request& r, store::time_point now) {
  const auto* const renewal = std::get_if<renew>(&r);
  return renewal != nullptr && now >= renewal->send_by;
}

duration longest_ttl(const request& r) {
  return std::visit(
      [](const auto& of) {
        duration longest{};
        if constexpr (requires { of.ttl; }) longest = of.ttl;
        if constexpr (requires { of.hold; }) longest = of.hold.ttl;
        if constexpr (requires { of.claim; }) longest = store::store_ttl(*of.claim);
        if constexpr (requires { of.holds; })
          for (const store::hold& each : of.holds) longest = std::max(longest, each.ttl);
        return longest;
      },
      r);
}

std::shared_ptr<listing_state>* listed_in(request& r) {
  if (auto* const all = std::get_if<list>(&r)) return &all->listed;
  if (auto* const one = std::get_if<inspect>(&r)) return &one->listed;
  return nullptr;
}

std::string_view name_of(const request& r) {
  return std::visit(
      [](const auto& of) -> std::string_view {
        if constexpr (requires { of.name; }) return of.name;
        if constexpr (requires { of.hold; }) return of.hold.name;
        if constexpr (requires { of.claim; }) return of.claim->name;
        return {};
      },
      r);
}

}  // namespace holdfast::tickets
