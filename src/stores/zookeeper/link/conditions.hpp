// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "stores/doctor/examination.hpp"

/// What servers have to keep for locks to exclude one another: see docs/stores/zookeeper.md.
namespace holdfast::zookeeper::conditions {

using doctor::condition;
using doctor::grade;

inline constexpr std::string_view bounds =
    "minSessionTimeout is {minSessionTimeout} ms, at a tick of {tickTime} ms";
inline constexpr std::string_view own_bounds =
    "session_timeout within the bounds of the servers, or other bounds: minSessionTimeout, maxSessionTimeout";
inline constexpr std::string_view granted =
    "a session of {timeout:ms} was granted, and {requested:ms} requested";
inline constexpr std::string_view set_acl =
    "setAcl {root} (zkCli.sh), or auth=digest:USER:PASSWORD in the URL";
inline constexpr std::string_view grep =
    "grep forceSync in zoo.cfg and in the server's Java options (zookeeper.forceSync), and restart without "
    "it";
inline constexpr std::string_view world = "new nodes are everybody's (acl=world)";
inline constexpr condition server_conditions[]{
    {"answer", grade::warning, "problem", "{problem}",
     "the others have to be a majority without it; clients lose time at connecting",
     "start the server, or look at its network and its log"},
    {"role", grade::broken, "state=waiting", "it serves nobody, because it knows no leader",
     "clients connected to it lose their locks at the deadlines",
     "start a majority of the servers; look at this one's log for its election"},
    {"role", grade::kept, "Mode=standalone", "its mode is standalone: no other server has the locks"},
    {"role", grade::kept, "Mode", "its mode is {Mode}"},
    {"information", grade::unknown, "missing", "it does not answer to {missing}",
     "its session bounds and forced writes were not all examined",
     "4lw.commands.whitelist=srvr,conf,mntr in its configuration, and a restart"},
    {"information", grade::kept, "state=serving !problem", "it answers to srvr, conf and mntr"},
    {"session bounds", grade::kept, "minSessionTimeout>=two_ticks", bounds},
    {"session bounds", grade::broken, "minSessionTimeout tickTime", bounds,
     "a session shorter than two ticks may end before its client's deadline: two may hold",
     "minSessionTimeout={two_ticks} in the configuration of all servers"},
    {"local sessions", grade::kept, "zk_local_sessions=0", "there are none"},
    {"local sessions", grade::broken, "zk_local_sessions", "{zk_local_sessions} sessions are local",
     "the leader does not hear of a session that stays local, and ends it under its client: two may hold",
     "localSessionsEnabled=false in the configuration of all servers"},
    // mntr counts forced writes, and the groups of transactions that were written: the session that looks is
    // one. The first group is counted before it is forced.
    {"forceSync", grade::kept, "zk_cnt_fsynctime>=1",
     "it forced writes to its disk {zk_cnt_fsynctime} times since its start"},
    {"forceSync", grade::broken, "zk_cnt_fsynctime=0 zk_cnt_sync_processor_batch_size>=2",
     "it wrote {zk_cnt_sync_processor_batch_size} times since its start, and forced none to its disk",
     "a power cut loses locks that were granted: two may hold, and tokens fall", grep},
    {"forceSync", grade::unknown, "state=serving",
     "the server does not tell whether it forces writes to its disk",
     "without that a power cut loses locks that were granted, and tokens fall", grep},
};

inline constexpr condition ensemble_conditions[]{
    {"leader", grade::broken, "mixed=yes", "the servers of the URL are not of one ensemble",
     "clients that reach different ones exclude nobody: two may hold",
     "name the servers of one ensemble, as /zookeeper/config has them"},
    {"leader", grade::kept, "!session_problem", "the servers have granted a session"},
    {"leader", grade::broken, "", "no session: {session_problem}",
     "no lock can be acquired or renewed, as long as no majority has a leader",
     "start a majority of the servers; look at their logs for the election"},
    {"same bounds", grade::kept, "kinds_of_bounds=1", "the servers bound sessions alike"},
    {"same bounds", grade::broken, "kinds_of_bounds>=2", "the servers bound sessions differently: {bounds}",
     "a session made shorter at a reconnection may end before its client's deadline: two may hold",
     "the same minSessionTimeout and maxSessionTimeout in the configuration of all servers"},
    {"session", grade::warning, "requested<timeout", granted,
     "what a crashed client held stays locked for longer", own_bounds},
    {"session", grade::warning, "timeout<requested", granted,
     "leases end sooner than their ttl when servers do not answer", own_bounds},
    {"session", grade::warning, "timeout<safe_timeout", "a session of {timeout:ms}, at a tick of {tick} ms",
     "while a leader is cut off from the majority, two may hold", "session_timeout={safe_timeout}ms or more"},
    {"session", grade::kept, "timeout", "a session of {timeout:ms}, as requested"},
    {"access", grade::kept, "makes_world=yes asks_for_world=yes", world},
    {"access", grade::kept, "makes_world=yes is_local=yes", world},
    {"access", grade::warning, "makes_world=yes timeout", world,
     "whoever reaches the servers may take and end every lock",
     "acl=auth and auth=digest:USER:PASSWORD in the URLs of all clients; acl=world where it is meant"},
    {"access", grade::warning, "is_open=yes", "everybody may create or delete nodes below {root}",
     "anybody can make a lock's node first, and keep the clients out",
     "setAcl {root} with the rights of that user alone (zkCli.sh)"},
    {"access", grade::kept, "timeout", "new nodes are for one user, who may end locks"},
    {"rights", grade::broken, "may_read=no", "{client} may not read {root}",
     "it can list no queue, and so take no lock", set_acl},
    {"rights", grade::broken, "may_create=no", "{client} may not create below {root}",
     "it can lock no name that has no node yet", set_acl},
    {"rights", grade::unknown, "rights_problem", "they were not all examined: {rights_problem}",
     "locks may fail with errc::permission_denied", "look at the servers' logs, and examine them again"},
    {"rights", grade::kept, "may_create=yes has_root=no",
     "{client} may create below {root}; the root is not there yet, and the first lock makes it"},
    {"rights", grade::kept, "may_create=yes", "{client} may create below {root}"},
};

}  // namespace holdfast::zookeeper::conditions
