// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __cplusplus <= 201703L
#error "Holdfast needs C++20: compile with -std=c++20 or newer"
#endif

/// Marks what the shared library shows; everything else in it is hidden.
#if defined(__GNUC__)
#define HOLDFAST_EXPORT __attribute__((visibility("default")))
#else
#define HOLDFAST_EXPORT
#endif
