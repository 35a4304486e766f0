#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/link.hpp"
#include "core/request.hpp"

namespace holdfast::sim {

/// A link around a link, for those who watch, or spoil, some of its functions.
class link_shell : public tickets::link {
 public:
  explicit link_shell(tickets::link& inner) : inner_{inner} {}

  void send(tickets::request request, on_reply done) override {
    inner_.send(std::move(request), std::move(done));
  }
  void on_notifications(on_notification handler) override { inner_.on_notifications(std::move(handler)); }
  void on_gap(const std::function<void()>& missed) override { inner_.on_gap(missed); }
  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override {
    return inner_.watch(std::move(target), std::move(changed));
  }
  [[nodiscard]] std::optional<store::time_point> session_until() const override {
    return inner_.session_until();
  }
  void on_session(const std::function<void()>& extended) override { inner_.on_session(extended); }
  bool drive() override { return inner_.drive(); }
  void kick() override { inner_.kick(); }
  void help(store::caller& caller) override { inner_.help(caller); }

 protected:
  tickets::link& inner_;
};

}  // namespace holdfast::sim
