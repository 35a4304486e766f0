// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast::mariadb {

#ifdef HOLDFAST_LOADED_CLIENTS
/// Loads libmariadb unless it is. To be called before any of its functions.
/// \throws error unavailable: it is not installed.
void load_libmariadb();
#else
inline void load_libmariadb() {}  // the library is linked with it
#endif

}  // namespace holdfast::mariadb
