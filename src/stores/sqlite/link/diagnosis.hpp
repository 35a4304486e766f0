// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/sql/protocol/text.hpp"

namespace holdfast::sqlite {

/// How clients use the path.
struct place_options {
  bool accepts_network = false;  // network_fs=1
  bool makes_folders = false;    // the folder, before the first claim
};

/// Looks at a store's file and what is around it. Makes nothing: no file, no folder, and no -wal or -shm.
/// Blocks for at most `limit` while another process keeps the file locked, and as long for its content.
/// \throws holdfast::error errc::foreign_store, errc::corrupt_store.
[[nodiscard]] std::vector<finding> diagnose(const std::string& path, const sql::naming& names,
                                            place_options options, std::chrono::milliseconds limit);

}  // namespace holdfast::sqlite
