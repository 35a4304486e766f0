// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast::postgresql {

#ifdef HOLDFAST_LOADED_CLIENTS
/// Loads libpq unless it is. To be called before any of its functions.
/// \throws error unavailable: it is not installed.
void load_libpq();
#else
inline void load_libpq() {}  // the library is linked with it
#endif

}  // namespace holdfast::postgresql
