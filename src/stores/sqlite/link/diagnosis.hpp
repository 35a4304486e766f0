#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "holdfast/diagnosis.hpp"
#include "stores/sqlite/protocol/script.hpp"

namespace holdfast::sqlite {

/// Looks at a store's file and what is around it. Makes nothing: no file, no folder, and no -wal or -shm.
/// Blocks for at most `limit` while another process keeps the file locked, and as long for its content.
/// \param accepts_network network_fs=1.
/// \throws holdfast::error errc::foreign_store, errc::corrupt_store.
[[nodiscard]] std::vector<finding> diagnose(const std::string& path, const sql::tables& names,
                                            bool accepts_network, std::chrono::milliseconds limit);

}  // namespace holdfast::sqlite
