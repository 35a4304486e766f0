#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::redis {

/// A script that the server carries out for a request.
struct script {
  std::string_view sha1;
  std::string_view text;
};

/// Appends the head of a command that calls a script. `append_keys` has to follow for each name, then the
/// arguments.
/// \param in_full with the text of the script, not with its digest.
void begin_call(std::string& out, const script& s, bool in_full, std::size_t names, std::size_t arguments);
void append_keys(std::string& out, std::string_view prefix, std::string_view name);
void append_number(std::string& out, std::int64_t n);

}  // namespace holdfast::redis
