// SPDX-License-Identifier: Apache-2.0
#include "support/zookeeper_ensemble.hpp"

#include <stdexcept>
#include <thread>

namespace holdfast::test {

using namespace std::chrono_literals;

zookeeper_ensemble::zookeeper_ensemble(const std::array<zookeeper_server::settings, size>& settings) {
  launch(settings);
  for (const auto& each : members_) each->expect_service();
}

void zookeeper_ensemble::launch(std::array<zookeeper_server::settings, size> settings) {
  std::vector<std::string> lines;
  for (auto& each : settings) {
    each.number = static_cast<int>(lines.size()) + 1;
    const auto followers = between_.emplace_back().number();
    const auto elections = between_.emplace_back().number();
    lines.push_back("server." + std::to_string(each.number) + '=' + each.host + ':' +
                    std::to_string(followers) + ':' + std::to_string(elections) +
                    (each.observes ? ":observer" : ""));
    if (each.observes) each.lines.emplace_back("peerType=observer");
  }
  for (std::size_t i = 0; i < size; ++i) {
    settings[i].lines.insert(settings[i].lines.end(), lines.begin(), lines.end());
    members_[i] = std::make_unique<zookeeper_server>(settings[i]);
  }
}

std::string zookeeper_ensemble::addresses() const {
  std::string all;
  for (const auto& each : members_) all.append(all.empty() ? "" : ",").append(each->address());
  return all;
}

std::string zookeeper_ensemble::url(std::string_view rest) const {
  return "zk://" + addresses() + std::string{rest};
}

void zookeeper_ensemble::start(std::initializer_list<zookeeper_server*> killed) {
  for (auto* each : killed) each->launch();
  for (auto* each : killed) each->expect_service();
}

zookeeper_server& zookeeper_ensemble::in_mode(std::string_view mode) {
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < deadline) {
    for (auto& each : members_) {
      if (each->mode() == mode) return *each;
    }
    std::this_thread::sleep_for(10ms);  // a poll: an election tells nobody outside
  }
  throw std::runtime_error{"the ensemble has no " + std::string{mode}};
}

}  // namespace holdfast::test
