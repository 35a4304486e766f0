// SPDX-License-Identifier: Apache-2.0
#include "routines/tasks.hpp"

namespace holdfast::test {

namespace {

request_form about(const std::string& name, task kind, std::uint8_t owner) {
  request_form r;
  r.kind = kind;
  r.name = name;
  r.owner = id(owner);
  r.token = fencing_token{7};
  r.ttl = 30s;
  r.metadata = std::make_shared<const std::string>("{}");
  return r;
}

request_form acquire(const std::string& name, std::uint8_t owner, bool wait) {
  request_form r = about(name, task::acquire, owner);
  r.wait = wait;
  return r;
}

request_form renew(const std::string& name) {
  request_form r;
  r.kind = task::renew;
  for (std::uint8_t owner = 1; owner <= 3; ++owner)
    r.holds.push_back({name, id(owner), fencing_token{7}, 30s});
  r.holds.push_back({name + " and another", id(1), fencing_token{7}, 30s});
  return r;
}

request_form request_release(const std::string& name) {
  request_form r = about(name, task::request_release, 1);
  r.metadata = std::make_shared<const std::string>("a reason");
  return r;
}

}  // namespace

std::vector<request_form> tasks_about(const std::string& name) {
  return {acquire(name, 1, false),
          acquire(name, 2, true),
          acquire(name, 3, true),
          acquire(name, 4, false),
          about(name, task::find, 2),
          about(name, task::look, 2),
          about(name, task::annotate, 1),
          about(name, task::downgrade, 1),
          renew(name),
          about(name, task::inspect, 1),
          about(name, task::release, 1),
          about(name, task::withdraw, 3),
          about(name, task::withdraw, 1),
          about(name, task::force_release, 1),
          request_release(name),
          about(name, task::withdraw, 2)};
}

std::vector<tickets::request> joint_tasks(const std::vector<std::string>& names) {
  tickets::acquire_all claims;
  tickets::release_all ends;
  for (const std::string& each : names) {
    const request_form claim = acquire(each, 5, false);
    claims.claims.push_back(claim.claim());
    ends.holds.push_back(claim.hold());
  }
  return {claims, ends};
}

std::int64_t number_in(routine_caller& real, const std::string& routine) {
  return sql::number_at(rows_of(real.call({routine, {}}, id(200))).at(0), 0);
}

}  // namespace holdfast::test
