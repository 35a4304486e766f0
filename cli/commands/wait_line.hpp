#pragma once

#include <memory>
#include <string>

#include "descriptor.hpp"
#include "output/terminal.hpp"
#include <holdfast/client.hpp>

namespace holdfast::cli {

/// Shows on a terminal who holds the lock, since when, and how many waiters are ahead.
class wait_line {
 public:
  wait_line(const client& locks, std::string name);

  /// Becomes readable when the line should be drawn again; -1 without a terminal.
  [[nodiscard]] int get() const noexcept;
  void draw();
  void clear() noexcept { line_.clear(); }

 private:
  [[nodiscard]] std::string text() const;

  const client& locks_;
  std::string name_;
  boot_clock::time_point since_ = boot_clock::now();
  status_line line_;
  std::shared_ptr<event> changed_ = std::make_shared<event>();
  std::shared_ptr<void> watch_;
};

/// Whether this process made the claim: by host and process id, because the claim has no other mark.
[[nodiscard]] bool is_own(const claim_state& claim);

/// `held by backup on alpha, pid 4711 (nightly), for 2m05s`, and how many others hold it too.
[[nodiscard]] std::string holders_text(const lock_state& lock);

}  // namespace holdfast::cli
