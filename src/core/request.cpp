// SPDX-License-Identifier: Apache-2.0
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

bool is_release(const request& r) { return is_one_of<release, withdraw, release_all>(r); }
bool is_read_only(const request& r) { return is_one_of<inspect, list, find>(r); }

bool is_too_late(const request& r, store::time_point now) {
  const auto* const renewal = std::get_if<renew>(&r);
  return renewal != nullptr && now >= renewal->send_by;
}

duration longest_ttl(const request& r) {
  struct of_each {
    duration operator()(const store::hold& of) const { return of.ttl; }
    duration operator()(const acquire& of) const { return store::store_ttl(*of.claim); }
    duration operator()(const renew& of) const { return longest_of(of.holds); }
    duration operator()(const release_all& of) const { return longest_of(of.holds); }
    duration operator()(const acquire_all& of) const {
      duration longest{};
      for (const store::claim_ptr& each : of.claims) longest = std::max(longest, store::store_ttl(*each));
      return longest;
    }
    duration operator()(const force_release& /*of*/) const { return {}; }
    duration operator()(const request_release& /*of*/) const { return {}; }
    duration operator()(const inspect& /*of*/) const { return {}; }
    duration operator()(const list& /*of*/) const { return {}; }

   private:
    static duration longest_of(const std::vector<store::hold>& holds) {
      duration longest{};
      for (const store::hold& each : holds) longest = std::max(longest, each.ttl);
      return longest;
    }
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

std::vector<std::string_view> names_of(const request& r) {
  std::vector<std::string_view> names;
  if (const auto* const all = std::get_if<acquire_all>(&r)) {
    for (const store::claim_ptr& each : all->claims) names.push_back(each->name);
  } else if (const auto* const ended = std::get_if<release_all>(&r)) {
    for (const store::hold& each : ended->holds) names.push_back(each.name);
  } else {
    names.push_back(name_of(r));
  }
  return names;
}

bool append(several& answers, const reply& next) {
  return std::visit(
      [&]<class Answer>(const Answer& of_part) {
        constexpr bool is_answer = std::is_constructible_v<several::answer, const Answer&>;
        if constexpr (is_answer) answers.each.emplace_back(of_part);
        return is_answer && !std::is_same_v<Answer, refused>;
      },
      next);
}

}  // namespace holdfast::tickets
