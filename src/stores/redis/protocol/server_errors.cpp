#include "stores/redis/protocol/server_errors.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace holdfast::redis {

store::request_error request_error_of(const std::string& error) {
  struct known {
    std::string_view code;
    errc as;
    bool retryable;
    std::string_view advice{};
  };
  constexpr std::array<known, 17> all{{
      {"WRONGTYPE", errc::wrong_type, false},
      {"NOAUTH", errc::permission_denied, false,
       "; give the password, and the user in the store's URL if it is not 'default'"},
      {"WRONGPASS", errc::permission_denied, false, "; check the user in the store's URL, and the password"},
      {"NOPERM", errc::permission_denied, false,
       "; 'holdfast doctor' names all rights that are missing, docs/stores/redis.md has the line that gives "
       "them"},
      {"OOM", errc::exhausted, true,
       "; the server's memory is full: raise its maxmemory, or give locks a server of their own"},
      {"LOADING", errc::unavailable, true},
      {"BUSY", errc::unavailable, true},
      {"READONLY", errc::unavailable, true},  // a failover may be under way
      {"MASTERDOWN", errc::unavailable, true},
      {"NOREPLICAS", errc::unavailable, true},
      {"MISCONF", errc::unavailable, true},
      {"CLUSTERDOWN", errc::unavailable, true},
      {"TRYAGAIN", errc::unavailable, true},
      {"NOMASTERLINK", errc::unavailable, true},
      {"UNBLOCKED", errc::unavailable, true},
      {"MOVED", errc::unavailable, true},  // slots of a cluster move
      {"ASK", errc::unavailable, true},
  }};
  // Redis 6 wraps what goes wrong in a script: "ERR Error running script (...): @user_script:12: WRONGTYPE
  // ...".
  const bool wrapped = error.starts_with("ERR Error running script");
  const auto is = [&](std::string_view code) {
    const std::string prefix = std::string{code} + ' ';
    return error.starts_with(prefix) || (wrapped && (error.find(": " + prefix) != std::string::npos ||
                                                     error.find(": -" + prefix) != std::string::npos));
  };
  // While a slot moves, a script may lose a key on the way, and stop there. What it has written stays.
  if (error.find("Script attempted to access") != std::string::npos) {
    return {{errc::unavailable, "the server answers: " + error}, true, true};
  }
  // An error names the place in the script. What the script has written before that stays, with the
  // exceptions below: a script that may meet a key of another type reads it before it writes, and a server
  // without memory, or that takes no writes, refuses the first one alone.
  const bool in_script = error.find("@user_script") != std::string::npos;
  if (error.starts_with("ERR The user executing the script") ||
      error.starts_with("ERR ACL failure in script") || (in_script && is("NOPERM"))) {
    return {{errc::permission_denied,
             "the user lacks a right that a script needs, which holdfast doctor names; the server answers: " +
                 error},
            false,
            true};
  }
  const auto found = std::find_if(all.begin(), all.end(), [&](const known& k) { return is(k.code); });
  if (found == all.end()) return {{errc::unavailable, "the server answers: " + error}, false, in_script};
  if (found->as == errc::wrong_type) {
    return {{errc::wrong_type,
             "a key contains something that is no lock; Holdfast leaves it untouched (" + error + ")"}};
  }
  return {{found->as, "the server answers: " + error + std::string{found->advice}}, found->retryable, false};
}

}  // namespace holdfast::redis
