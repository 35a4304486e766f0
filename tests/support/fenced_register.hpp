#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <holdfast/fencing_token.hpp>

namespace holdfast::test {

/// A resource that checks fencing tokens, as docs/guarantees.md has it: a page of a file that several
/// processes map. Check and write are one atomic step.
class fenced_register {
 public:
  /// Creates the file, or joins the processes that have it already.
  explicit fenced_register(const std::string& path);
  ~fenced_register();
  fenced_register(const fenced_register&) = delete;
  fenced_register& operator=(const fenced_register&) = delete;

  /// Returns false, and changes nothing, if a larger token has been here.
  bool write(fencing_token token);
  [[nodiscard]] fencing_token last() const noexcept { return fencing_token{page_->last}; }
  [[nodiscard]] std::int64_t refused() const noexcept { return page_->refused; }

 private:
  struct page {
    std::atomic<std::uint64_t> last;
    std::atomic<std::int64_t> refused;
  };

  page* page_;
};

}  // namespace holdfast::test
