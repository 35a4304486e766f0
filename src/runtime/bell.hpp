#pragma once

namespace holdfast::runtime {

/// A descriptor that becomes readable when somebody rings, to end a wait for others.
class bell {
 public:
  /// \throws holdfast::error errc::exhausted.
  bell();
  ~bell();
  bell(const bell&) = delete;
  bell& operator=(const bell&) = delete;

  [[nodiscard]] int descriptor() const { return fd_; }
  /// Any thread.
  void ring() const;
  void drain() const;

 private:
  int fd_;
};

}  // namespace holdfast::runtime
