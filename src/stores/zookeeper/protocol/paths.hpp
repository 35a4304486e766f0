#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper {

/// Where the nodes of a lock lie: `root/name`, the path that a recipe of Curator would be given for it. Two
/// names never share one. What ZooKeeper's paths cannot hold (empty parts, `.` and `..`, characters that it
/// refuses) and what could be taken for the nodes of another lock (the last part `locks` or `leases` below
/// another, parts that look like contenders, `zookeeper` at the top) has the offending bytes escaped as
/// `%XX`, and so has `%` itself.
/// \param root empty, or a path that ends in no slash.
[[nodiscard]] std::string path_of(std::string_view root, std::string_view name);

/// The reverse; nothing for a path that no name leads to.
[[nodiscard]] std::optional<std::string> name_of(std::string_view root, std::string_view path);

/// The nodes above, the topmost first.
[[nodiscard]] std::vector<std::string> parents_of(std::string_view path);

/// What keeps `root` from being the path of a node, as a clause; nothing where it is fine.
[[nodiscard]] std::optional<std::string> problem_of_root(std::string_view root);

}  // namespace holdfast::zookeeper
