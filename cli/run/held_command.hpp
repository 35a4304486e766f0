// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "run/child.hpp"
#include "run/hold.hpp"
#include "run/program.hpp"
#include "run/supervisor.hpp"
#include "signal_inbox.hpp"
#include <holdfast/client.hpp>
#include <holdfast/lease.hpp>

namespace holdfast::cli {

/// Takes what a program under a hold needs of this process: a parent may have left SIGCHLD ignored, and
/// SIGPIPE must not end it.
/// \return the disposition of SIGPIPE before.
void (*take_over_signals() noexcept)(int);

/// What a command under a hold does when somebody asks for the release.
struct request_response {
  std::optional<int> signal;  ///< for the command; empty: a message on stderr, unless `in_json`
  bool in_json = false;       ///< stderr is for JSON
};

/// Runs the command under the hold, to its end. The hold is not released.
/// \param ttl of the hold, which decides how long the command has to end.
/// \param shares_terminal whether the command gets the terminal from the start (see job_control).
/// \throws failure where the command cannot be executed.
[[nodiscard]] ending run_under(const hold& held, duration ttl, const program& command, signal_inbox& signals,
                               const inherited_signals& inherited, bool shares_terminal,
                               const request_response& on_request);

/// Whether the store reports that the hold had ended before its release. A store that does not answer causes
/// a warning only, after a short wait: the command has ended under a valid lease, which ends by itself. The
/// client is closed then.
/// \param clients of the hold, in the order in which they release it.
/// \param subject of the warning, such as "the lock 'x'". \param warns whether there is a warning.
[[nodiscard]] bool lost_at_release(const std::vector<client*>& clients,
                                   const std::function<std::error_code()>& release,
                                   const std::string& subject, bool warns);

/// `was lost while 'job' ran; 'job' was ended`. A loss that the release alone has noticed may also have come
/// after the command's end.
/// \param ended whether the command was made to end, and did not end by itself.
[[nodiscard]] std::string loss_text(const std::string& command, const ending& end, bool ended);

/// For people, as a sentence.
[[nodiscard]] std::string_view sentence_of(loss_reason reason);

}  // namespace holdfast::cli
