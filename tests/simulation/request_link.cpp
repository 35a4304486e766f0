// SPDX-License-Identifier: Apache-2.0
#include "simulation/request_link.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "simulation/is_bent.hpp"
#include "support/joint_requests.hpp"
#include "support/request_form.hpp"

namespace holdfast::sim {

namespace {

bool writes(const tickets::request& request) {
  return !std::holds_alternative<tickets::inspect>(request) &&
         !std::holds_alternative<tickets::list>(request);
}

/// What the mutant of a victim says instead.
std::optional<tickets::reply> nothing_found_by(const tickets::request& request) {
  using test::task;
  switch (test::task_of(request)) {
    case task::acquire: return tickets::refused{};
    case task::acquire_all: return tickets::several{{tickets::refused{}}};
    case task::renew: return tickets::kept{std::vector<bool>(std::get<tickets::renew>(request).holds.size())};
    case task::force_release:
    case task::inspect:
    case task::list:
    case task::release_all: return std::nullopt;
    default: return tickets::nothing{};
  }
}

}  // namespace

void counter::begin_world(scene& in, site& at, ledger& account) {
  this->in = &in;
  this->at = &at;
  this->account = &account;
  careless = true;
  process = 1;
  links.clear();
}

duration counter::admit(const tickets::request& request) const {
  return faults != nullptr && writes(request) ? faults->wait() : duration{0};
}

counter::outcome counter::serve(const tickets::request& request, const owner_id& client, bool late) {
  notifications.clear();
  forgotten.clear();
  outcome answer = carry_out_all(request, client);
  if (std::holds_alternative<store::request_error>(answer)) return answer;
  account->carried_out(request, late, std::get<tickets::reply>(answer), notifications);
  for (const std::size_t name : forgotten) account->forgot(name);
  for (const store::client_notification& n : notifications) {
    const auto to = std::find_if(links.begin(), links.end(),
                                 [&](const request_link* l) { return l->address() == n.client; });
    if (to != links.end()) (*to)->receive(n.message, careless);
  }
  return answer;
}

/// A joint request is carried out at one moment, too.
counter::outcome counter::carry_out_all(const tickets::request& request, const owner_id& client) {
  if (!test::is_joint(request)) return carry_out(request, client, notifications);
  tickets::several answers;
  for (const tickets::request& part : test::parts_of(request)) {
    const bool is_forgotten =
        is_bent(mutant::joint_release_forgets_one) && is_release(request) && answers.each.size() == 1;
    outcome answer =
        is_forgotten ? outcome{tickets::reply{tickets::done{}}} : carry_out(part, client, notifications);
    if (std::holds_alternative<store::request_error>(answer)) return answer;
    if (!append(answers, std::get<tickets::reply>(answer))) break;
  }
  return tickets::reply{std::move(answers)};
}

void counter::notify_all(const store::notification& n) {
  for (request_link* const l : links) l->receive(n, careless);
}

counter::outcome counter::refuse(const tickets::request& request, const owner_id& client,
                                 store::request_error reason) {
  account->refused(test::form_of(request), reason);
  // What it had done until then is undone.
  if (in->chance.one_in(2)) carry_out_in_vain(request, client);
  if (!is_bent(mutant::victim_means_no) || !is_victims(reason)) return reason;
  const auto found = nothing_found_by(request);
  return found ? outcome{*found} : outcome{std::move(reason)};
}

request_link::request_link(counter& to, host& from, line& over, duration reply_limit)
    : line_link{*to.in, from, over, reply_limit}, to_{to} {
  to_.links.push_back(this);
}

request_link::~request_link() { std::erase(to_.links, this); }

std::shared_ptr<line_link::parcel> request_link::pack(tickets::request request) {
  auto l = std::make_shared<request_message>();
  l->request = std::move(request);
  l->from = address();
  return l;
}

void request_link::dispatch(std::shared_ptr<parcel> p) {
  auto l = std::static_pointer_cast<request_message>(std::move(p));
  if (!session_ || session_->connection != over_.connection()) {
    session_ = std::make_shared<session>(session{over_.connection(), {}});
  }
  l->over = session_;
  over_.to_server(arrival{this, &to_, &over_, std::move(l)});
}

void request_link::arrival::operator()() {
  if (l->process != 0 && l->process != to->process) return;  // what was begun ends with its server
  l->process = to->process;
  const instant now = to->in->now;
  if (l->over->busy_until > now) return go_on_at(l->over->busy_until);
  if (!std::exchange(l->admitted, true)) {
    const duration wait = to->admit(l->request);
    l->waited = wait > duration{0};
    l->over->busy_until = now + wait;
    if (l->waited) return go_on_at(l->over->busy_until);
  }
  carry_out();
}

void request_link::arrival::go_on_at(instant when) {
  to->in->agenda.add(when, [at = to->at, a = *this]() mutable { at->enter(std::move(a)); });
}

void request_link::arrival::carry_out() {
  using fate = transaction_faults::fate;
  fate commit = fate::answered;
  if (to->faults != nullptr) {
    if (auto reason = to->faults->refusal(l->waited, writes(l->request))) {
      l->answer = to->refuse(l->request, l->from, std::move(*reason));
      return answer();
    }
    if (writes(l->request)) commit = to->faults->commit();
  }
  if (commit == fate::undone_unheard) {
    to->carry_out_in_vain(l->request, l->from);
    return break_off();
  }
  l->answer = to->serve(l->request, l->from, l->given_up);
  // Carried out, and the client will not know: the worst moment for a connection to break.
  if (commit == fate::committed_unheard || (to->careless && to->in->chance.one_in(100))) break_off();
  answer();
}

void request_link::arrival::answer() const {
  way->to_client(l->over->connection, [link = link, l = l] { link->deliver(l, std::move(l->answer)); });
}

void request_link::arrival::break_off() const {
  if (way->connection() == l->over->connection) way->cut();
}

}  // namespace holdfast::sim
