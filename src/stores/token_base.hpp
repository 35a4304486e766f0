// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/url.hpp"
#include "core/link.hpp"

namespace holdfast::stores {

/// Takes the option `token_base`. \throws holdfast::error errc::invalid_url.
[[nodiscard]] std::uint64_t take_token_base(store_url& url);

/// Adds a number to every fencing token that a store grants, so that they exceed those of the store that was
/// in use before. Above this link are tokens with it, below it those of the store. A zero token, which means
/// none, stays zero.
class token_base_link final : public tickets::link {
 public:
  /// \param base not zero, at most `largest_token_base`.
  token_base_link(std::unique_ptr<tickets::link> of_store, std::uint64_t base);

  void send(tickets::request request, on_reply done) override;
  void take_back(std::uint64_t request) override { store_->take_back(request); }
  [[nodiscard]] bool joins(const std::vector<std::string_view>& names) const override {
    return store_->joins(names);
  }
  void on_notifications(on_notification handler) override;
  void on_gap(const std::function<void()>& missed) override { store_->on_gap(missed); }
  std::shared_ptr<void> watch(store::watched target, std::function<void()> changed) override {
    return store_->watch(std::move(target), std::move(changed));
  }
  void when_delivered(std::function<void()> action) override { store_->when_delivered(std::move(action)); }
  [[nodiscard]] std::optional<store::time_point> session_until() const override {
    return store_->session_until();
  }
  void on_session(const std::function<void()>& extended) override { store_->on_session(extended); }
  void help(store::caller& caller) override { store_->help(caller); }
  bool drive() override { return store_->drive(); }
  void kick() override { store_->kick(); }
  void shut() override { store_->shut(); }

 private:
  const std::unique_ptr<tickets::link> store_;
  const std::uint64_t base_;
};

}  // namespace holdfast::stores
