// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// Data of a server that has never run: seconds to make, a moment to copy. The first of several programs at
/// once makes it and leaves it in the build folder, of this user, for the others and for the runs after.
/// Where we may not write there, it is made anew.
/// \param name of the template.
/// \param make makes it in a folder of its own, and returns the data's folder there.
/// \param to where the copy goes; there is nothing yet.
void copy_template(const std::string& name,
                   const std::function<std::filesystem::path(const scratch_folder&)>& make,
                   const std::filesystem::path& to);

}  // namespace holdfast::test
