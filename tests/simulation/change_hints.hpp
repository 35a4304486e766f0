#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "simulation/host.hpp"
#include "simulation/scene.hpp"

namespace holdfast::sim {

/// Tells those who watch a name that something has changed there: soon, and not always. A link of the
/// simulator has no watches of its own.
class change_hints {
 public:
  explicit change_hints(scene& in) : in_{in} {}

  /// \return ends the watch, when it is destroyed.
  [[nodiscard]] std::shared_ptr<void> watch(host& at, std::size_t name, std::function<void()> changed);
  void changed(std::size_t name);

 private:
  struct watcher {
    host* at = nullptr;
    std::uint32_t life = 0;
    std::size_t name = 0;
    std::function<void()> changed;
    bool is_told = false;  // a hint is on its way
  };

  scene& in_;
  std::vector<std::weak_ptr<watcher>> watchers_;
};

}  // namespace holdfast::sim
