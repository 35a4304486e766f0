// SPDX-License-Identifier: Apache-2.0
#include "support/redis_quorum.hpp"

#include <utility>

namespace holdfast::test {

redis_quorum::redis_quorum(settings options) : settings_{std::move(options)} {
  if (settings_.tls) authority_.emplace(folder_);
  for (std::size_t i = 0; i < settings_.servers; ++i) {
    servers_.push_back(std::make_unique<redis_server>(
        redis_server::settings{.lines = settings_.lines,
                               .password = settings_.password,
                               .tls = settings_.tls,
                               .authority = settings_.tls ? &*authority_ : nullptr,
                               .append_only = settings_.append_only,
                               .own_clock = settings_.own_clock}));
    if (!settings_.on_lines) continue;
    const redis_server& last = *servers_.back();
    lines_.push_back(std::make_unique<fault_proxy>(settings_.tls ? last.tls_port() : last.port()));
  }
}

std::uint16_t redis_quorum::port(std::size_t index) const {
  if (settings_.on_lines) return lines_.at(index)->port();
  return settings_.tls ? servers_.at(index)->tls_port() : servers_.at(index)->port();
}

std::string redis_quorum::url(std::string_view rest) const {
  const bool more = rest.find('?') != std::string_view::npos;
  return guarded_url(std::string{rest} + (more ? "&restart_guard=0" : "?restart_guard=0"));
}

std::string redis_quorum::guarded_url(std::string_view rest) const {
  std::string url = settings_.tls ? "redlocks://" : "redlock://";
  if (!settings_.password.empty()) url += ':' + settings_.password + '@';
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    if (i != 0) url += ',';
    url += "127.0.0.1:" + std::to_string(port(i));
  }
  url += rest;
  char separator = rest.find('?') == std::string_view::npos ? '?' : '&';
  // A server that a busy machine makes slow does not count as silent.
  if (rest.find("node_timeout=") == std::string_view::npos) {
    url += separator;
    url += "node_timeout=20s";
    separator = '&';
  }
  if (settings_.tls) {
    const certificates::pair& own = servers_.front()->client_pair();
    url += separator;
    url += "ca=" + authority_->authority() + "&cert=" + own.certificate + "&key=" + own.key;
  }
  return url;
}

std::size_t redis_quorum::holds_of(const std::string& name, const std::string& prefix) {
  std::size_t holds = 0;
  for (const auto& each : servers_) holds += each->ask({"EXISTS", prefix + name}) == "1" ? 1 : 0;
  return holds;
}

}  // namespace holdfast::test
