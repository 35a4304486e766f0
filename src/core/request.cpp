#include "core/request.hpp"

#include <algorithm>

namespace holdfast::tickets {

namespace {

template <class... Kinds>
bool is_one_of(const request& r) {
  return (std::holds_alternative<Kinds>(r) || ...);
}

}  // namespace

bool is_release(const request& r) { return is_one_of<release, withdraw>(r); }
bool is_read_only(const request& r) { return is_one_of<inspect, list, find>(r); }

bool is_too_late(const request& r, store::time_point now) {
  const auto* const renewal = std::get_if<renew>(&r);
  return renewal != nullptr && now >= renewal->send_by;
}

duration longest_ttl(const request& r) {
  struct of_each {
    duration operator()(const store::hold& of) const { return of.ttl; }
    duration operator()(const acquire& of) const { return store::store_ttl(*of.claim); }
    duration operator()(const renew& of) const {
      duration longest{};
      for (const store::hold& each : of.holds) longest = std::max(longest, each.ttl);
      return longest;
    }
    duration operator()(const force_release& /*of*/) const { return {}; }
    duration operator()(const request_release& /*of*/) const { return {}; }
    duration operator()(const inspect& /*of*/) const { return {}; }
    duration operator()(const list& /*of*/) const { return {}; }
  };
  return std::visit(of_each{}, r);
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
        if constexpr (requires { of.claim; }) return of.claim->name;
        return {};
      },
      r);
}

}  // namespace holdfast::tickets
