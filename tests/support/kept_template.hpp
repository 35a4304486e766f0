#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// Data of a server that has never run: seconds to make, a moment to copy. The first of several programs at
/// once makes it and leaves it in the build folder, of this user, for the others and for the runs after.
/// \param make in a folder of its own. \return the data's folder there.
/// \throws std::filesystem::filesystem_error where we may not write to the build folder.
std::filesystem::path kept_template(const std::string& name,
                                    const std::function<std::filesystem::path(const scratch_folder&)>& make);

}  // namespace holdfast::test
