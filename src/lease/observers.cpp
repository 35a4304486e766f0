#include "lease/observers.hpp"

#include <utility>
#include <variant>

#include "holdfast/error.hpp"

namespace holdfast::lease_core {

observers::observer_id observers::add(std::string name, on_report report) {
  const observer_id id = ++last_;
  auto looks = std::make_unique<repeated_look>(
      time_, port_, std::move(name), patience_,
      [this, id](const store::inspected& answer) { return on_state(id, answer); });
  all_.emplace(id, observer{std::move(report), {}, std::move(looks)});
  look(id);
  return id;
}

void observers::look(observer_id id) {
  const auto found = all_.find(id);
  if (found != all_.end()) found->second.looks->look();
}

store::time_point observers::on_state(observer_id id, const store::inspected& answer) {
  observer& o = all_.at(id);
  const auto now = time_.now();
  const auto* const reason = std::get_if<failure>(&answer);
  auto report = reason != nullptr ? o.tracker.failed(*reason)
                                  : o.tracker.looked(now, std::get<std::optional<lock_state>>(answer));
  const auto next = o.tracker.next_look(now);
  if (report) o.report(std::move(*report));
  return next;
}

void observers::remove(observer_id id) { all_.erase(id); }

void observers::close() {
  auto ended = std::exchange(all_, {});
  for (auto& [id, each] : ended) {
    each.looks.reset();
    if (auto report = each.tracker.failed({errc::closed, "the client was closed"})) {
      each.report(std::move(*report));
    }
  }
}

}  // namespace holdfast::lease_core
