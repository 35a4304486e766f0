// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <pthread.h>
#include <stdexcept>

#include "holdfast/error.hpp"

namespace holdfast::test {

/// While this lives, the system makes no thread for this process: each would need more memory for its stack
/// than there are addresses.
class no_threads {
 public:
  no_threads() {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &before_);
    set(std::size_t{1} << 47U);
    pthread_attr_destroy(&attributes);
  }
  ~no_threads() { set(before_); }
  no_threads(const no_threads&) = delete;
  no_threads& operator=(const no_threads&) = delete;

 private:
  static void set(std::size_t size) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }

  std::size_t before_ = 0;
};

}  // namespace holdfast::test
