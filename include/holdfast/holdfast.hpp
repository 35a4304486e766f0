// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything but <holdfast/async.hpp>, which needs the Boost.Asio of the program that includes it.

#include "holdfast/boot_clock.hpp"          // IWYU pragma: export
#include "holdfast/candidate.hpp"           // IWYU pragma: export
#include "holdfast/client.hpp"              // IWYU pragma: export
#include "holdfast/counting_semaphore.hpp"  // IWYU pragma: export
#include "holdfast/diagnosis.hpp"           // IWYU pragma: export
#include "holdfast/election.hpp"            // IWYU pragma: export
#include "holdfast/error.hpp"               // IWYU pragma: export
#include "holdfast/event.hpp"               // IWYU pragma: export
#include "holdfast/fence.hpp"               // IWYU pragma: export
#include "holdfast/fencing_token.hpp"       // IWYU pragma: export
#include "holdfast/lease.hpp"               // IWYU pragma: export
#include "holdfast/lease_set.hpp"           // IWYU pragma: export
#include "holdfast/lock_set.hpp"            // IWYU pragma: export
#include "holdfast/lock_spec.hpp"           // IWYU pragma: export
#include "holdfast/mutex.hpp"               // IWYU pragma: export
#include "holdfast/options.hpp"             // IWYU pragma: export
#include "holdfast/recursive_mutex.hpp"     // IWYU pragma: export
#include "holdfast/schema.hpp"              // IWYU pragma: export
#include "holdfast/shared_mutex.hpp"        // IWYU pragma: export
#include "holdfast/state.hpp"               // IWYU pragma: export
#include "holdfast/statistics.hpp"          // IWYU pragma: export
#include "holdfast/term.hpp"                // IWYU pragma: export
#include "holdfast/version.hpp"             // IWYU pragma: export
