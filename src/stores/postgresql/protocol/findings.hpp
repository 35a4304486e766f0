#pragma once

#include <string>
#include <string_view>

#include "stores/postgresql/protocol/server_facts.hpp"
#include "stores/sql/protocol/report.hpp"

namespace holdfast::sql::postgresql {

/// Parts of `findings_of`: what a server keeps, and who has which rights.
void examine_persistence(const server_facts& facts, const expectation& of, report& to);
void examine_replicas(const server_facts& facts, report& to);
void examine_rights(const server_facts& facts, const expectation& of, report& to);
void examine_access(const server_facts& facts, const expectation& of, report& to);

/// For a statement: in quotes, which are doubled within.
[[nodiscard]] std::string quoted(std::string_view name, char quote);
[[nodiscard]] std::string role_name(const std::string& role);
/// "own_evict(text, bigint, bigint)"
[[nodiscard]] std::string plain_signature(const routine& each, const naming& names);

}  // namespace holdfast::sql::postgresql
