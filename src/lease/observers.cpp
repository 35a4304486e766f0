// SPDX-License-Identifier: Apache-2.0
#include "lease/observers.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <variant>

#include "holdfast/error.hpp"

namespace holdfast::lease_core {

namespace {
constexpr duration between_looks = std::chrono::milliseconds{10};
}  // namespace

observers::~observers() {
  for (const auto& [id, each] : all_) time_.cancel(each.next);
}

observers::observer_id observers::add(std::string name, on_report report) {
  const observer_id id = ++last_;
  all_.emplace(id, observer{std::move(name), std::move(report)});
  look(id);
  return id;
}

void observers::look(observer_id id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  observer& o = found->second;
  const auto now = time_.now();
  const auto soon = o.last_look + between_looks;
  if (!o.flight.is_in_flight() && o.last_look != store::time_point{} && now < soon)
    return look_at(id, o, soon);
  if (!o.flight.start()) return;
  time_.cancel(std::exchange(o.next, 0));
  o.last_look = now;
  port_.inspect(o.name, 0, now + patience_,
                [this, id](const store::inspected& answer) { on_state(id, answer); });
}

void observers::look_at(observer_id id, observer& o, store::time_point when) {
  time_.cancel(o.next);
  o.next = time_.at(when, [this, id] { look(id); });
}

void observers::on_state(observer_id id, const store::inspected& answer) {
  const auto found = all_.find(id);
  if (found == all_.end()) return;
  observer& o = found->second;
  const auto now = time_.now();
  const auto* const reason = std::get_if<failure>(&answer);
  auto report = reason != nullptr ? o.tracker.failed(*reason)
                                  : o.tracker.looked(now, std::get<std::optional<lock_state>>(answer));
  const bool again = o.flight.finish();
  look_at(id, o, again ? std::max(now, o.last_look + between_looks) : o.tracker.next_look(now));
  if (!report) return;
  const on_report report_to = o.report;  // which may remove the observer
  report_to(std::move(*report));
}

void observers::remove(observer_id id) {
  if (const auto removed = all_.extract(id)) time_.cancel(removed.mapped().next);
}

void observers::close() {
  for (auto& [id, each] : std::exchange(all_, {})) {
    time_.cancel(each.next);
    if (auto report = each.tracker.failed({errc::closed, "the client was closed"})) {
      each.report(std::move(*report));
    }
  }
}

}  // namespace holdfast::lease_core
