// SPDX-License-Identifier: Apache-2.0
#include "core/describe.hpp"

#include <array>
#include <fmt/format.h>
#include <string_view>

#include "support/request_form.hpp"

namespace holdfast::test {

namespace {

std::string describe(const claim_state& c) {
  const auto& request = c.claimant.release_request;
  return fmt::format("{} #{} {} {} age {} left {} by {}{}", c.owner.substr(0, 4), c.token.value(),
                     to_string(c.mode), c.permits, c.age.count(), c.expires_in.count(), c.claimant.label,
                     request ? ", asked: " + *request : "");
}

std::string describe(const lock_summary& s) {
  return fmt::format("{} {} of {}: {} hold, {} wait, last #{}, for {} by {}; ", s.name, to_string(s.mode),
                     s.capacity, s.holders, s.waiters, s.last_token.value(), s.held_for.count(),
                     s.holder.label);
}

struct reply_text {
  std::string operator()(const tickets::nothing&) const { return "nothing"; }
  std::string operator()(const tickets::done&) const { return "done"; }
  std::string operator()(const tickets::refused&) const { return "refused"; }
  std::string operator()(const tickets::paused& p) const { return "paused: " + p.reason.message; }
  std::string operator()(const tickets::other_capacity& o) const {
    return fmt::format("in use with {}", o.capacity);
  }
  std::string operator()(const tickets::place& at) const {
    return fmt::format("#{}{}{}, holder left {}", at.token.value(), at.granted ? " granted" : "",
                       at.head ? " head" : "", at.holder_left.value_or(duration{-1}).count());
  }
  std::string operator()(const tickets::kept& k) const {
    std::string text = "kept";
    for (const bool yes : k.each) text += yes ? " yes" : " no";
    return text;
  }
  std::string operator()(const tickets::count& c) const { return fmt::format("count {}", c.value); }
  std::string operator()(const tickets::more& m) const {
    return m.progress ? "more" : "more, without progress";
  }
  std::string operator()(const tickets::several& all) const {
    std::string text = "several:";
    for (const auto& each : all.each) {
      const auto* const at = std::get_if<tickets::place>(&each);
      text += at == nullptr ? " " + std::visit(*this, each)
                            : fmt::format(" #{}{}", at->token.value(), at->granted ? " granted" : "");
    }
    return text;
  }
  std::string operator()(const std::optional<lock_state>& s) const { return test::describe(s); }
  std::string operator()(const std::vector<lock_summary>& all) const {
    std::string text;
    for (const lock_summary& s : all) text += describe(s);
    return text;
  }
};

}  // namespace

std::string describe(const tickets::reply& r) { return std::visit(reply_text{}, r); }

std::string describe(const tickets::request& request) {
  const request_form r = form_of(request);
  std::string text = fmt::format("{} {} owner {} #{} weight {} of {} ttl {}{}{}", name_of_task(request),
                                 r.name, r.owner.hex().substr(0, 4), r.token.value(), r.weight, r.capacity,
                                 r.ttl.count(), r.wait ? " waits" : "", r.idle ? " idle" : "");
  for (const std::string_view name : names_of(request)) text.append(" ").append(name);
  for (const store::hold& h : r.holds)
    text += fmt::format(" [{} #{}]", h.owner.hex().substr(0, 4), h.token.value());
  return text;
}

std::string describe(const std::optional<lock_state>& s) {
  if (!s) return "never used";
  std::string text = fmt::format("{} of {} last #{}", s->name, s->capacity, s->last_token.value());
  for (const claim_state& c : s->holders) text += "\n  holds " + describe(c);
  for (const claim_state& c : s->waiters) text += "\n  waits " + describe(c);
  return text;
}

}  // namespace holdfast::test
