#pragma once

/// Marks what the shared library shows; everything else in it is hidden.
#if defined(__GNUC__)
#define HOLDFAST_EXPORT __attribute__((visibility("default")))
#else
#define HOLDFAST_EXPORT
#endif
