// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper {

/// Returns the path of a lock's node: `root/name`, the path that a Curator recipe would use for it. Two names
/// never have the same path. Bytes are escaped as `%XX` in parts that ZooKeeper does not allow (empty parts,
/// `.` and `..`, characters that it refuses), in parts that could be mistaken for nodes of another lock (a
/// last part `locks` or `leases` below another, parts that look like contenders, `zookeeper` at the top), and
/// in `%` itself.
/// \param root empty, or a path that ends in no slash.
[[nodiscard]] std::string path_of(std::string_view root, std::string_view name);

/// The reverse; nothing for a path that no name leads to.
[[nodiscard]] std::optional<std::string> name_of(std::string_view root, std::string_view path);

/// The topmost node of the library.
[[nodiscard]] inline std::string top_of(const std::string& root) { return root.empty() ? "/" : root; }

/// The parent nodes, the topmost first.
[[nodiscard]] std::vector<std::string> parents_of(std::string_view path);

/// The reason why `root` is no path of a node, as a clause; nothing if it is one.
[[nodiscard]] std::optional<std::string> problem_of_root(std::string_view root);

}  // namespace holdfast::zookeeper
