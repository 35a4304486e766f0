#include "core/translation.hpp"

#include <utility>
#include <variant>

namespace holdfast::tickets {

namespace {

request about(const store::hold& h, task kind) {
  request r;
  r.kind = kind;
  r.name = h.name;
  r.owner = h.owner;
  r.token = h.token;
  r.ttl = h.ttl;
  return r;
}

}  // namespace

request renew_request(std::vector<store::hold> holds) {
  request r;
  r.kind = task::renew;
  r.batch = std::move(holds);
  return r;
}

request release_request(const store::hold& h) { return about(h, task::release); }

request downgrade_request(const store::hold& h) {
  request r = about(h, task::downgrade);
  r.weight = 1;
  return r;
}

request annotate_request(const store::hold& h, std::shared_ptr<const std::string> metadata) {
  request r = about(h, task::annotate);
  r.metadata = std::move(metadata);
  return r;
}

request inspect_request(std::string name, std::size_t most_waiters) {
  request r;
  r.kind = task::inspect;
  r.waiters_read = most_waiters;
  r.name = std::move(name);
  return r;
}

request list_request(bool idle) {
  request r;
  r.kind = task::list;
  r.idle = idle;
  return r;
}

request force_release_request(std::string name, fencing_token first, fencing_token last) {
  request r;
  r.kind = task::force_release;
  r.name = std::move(name);
  r.token = first;
  r.last = last;
  return r;
}

request request_release_request(std::string name, fencing_token token,
                                std::shared_ptr<const std::string> reason) {
  request r;
  r.kind = task::request_release;
  r.name = std::move(name);
  r.token = token;
  if (token) r.last = token;
  r.metadata = std::move(reason);
  return r;
}

std::vector<store::renewed> renew_results(const reply& r) {
  std::vector<store::renewed> each;
  for (const bool yes : std::get<kept>(r).each) {
    each.push_back(yes ? store::renewed::yes : store::renewed::lost);
  }
  for (const std::size_t i : std::get<kept>(r).unsure) each.at(i) = store::renewed::unknown;
  return each;
}

store::released release_result(const reply& r, bool doubted) {
  const bool gone = std::holds_alternative<nothing>(r) && !doubted;
  return gone ? store::released::was_gone : store::released::done;
}

store::lowered downgrade_result(const reply& r) {
  if (std::holds_alternative<done>(r)) return std::nullopt;
  return failure{errc::lost, "the lease ended before it was downgraded"};
}

store::annotated annotate_result(const reply& r) {
  if (std::holds_alternative<done>(r)) return std::nullopt;
  return failure{errc::lost, "the term ended before its value was replaced"};
}

std::optional<lock_state> inspect_result(const reply& r) { return std::get<std::optional<lock_state>>(r); }

std::vector<lock_summary> list_result(const reply& r) { return std::get<std::vector<lock_summary>>(r); }

std::optional<store::continuation<request>> next_list_request(const reply& r, bool idle) {
  const auto* const part = std::get_if<more>(&r);
  if (part == nullptr) return std::nullopt;
  store::continuation<request> next{list_request(idle), part->progress};
  next.request.listed = part->listed;
  return next;
}

std::optional<store::continuation<request>> next_inspect_request(const reply& r, const std::string& name,
                                                                 std::size_t most_waiters) {
  const auto* const part = std::get_if<more>(&r);
  if (part == nullptr) return std::nullopt;
  store::continuation<request> next{inspect_request(name, most_waiters), part->progress};
  next.request.listed = part->listed;
  return next;
}

std::size_t count_result(const reply& r) { return std::get<count>(r).value; }

}  // namespace holdfast::tickets
