// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace holdfast::sqlite {

/// Makes the table of fences and its triggers in a file that exists, whoever has made it, or replaces the
/// triggers by those of this version. Waits for other writers for some seconds.
/// \return whether anything was missing or different.
/// \throws holdfast::error errc::unavailable without such a file; errc::foreign_store if another table has
/// that name.
[[nodiscard]] bool provide_fences(const std::string& path);

}  // namespace holdfast::sqlite
