// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "stores/doctor/examination.hpp"

/// The conditions of docs/stores/redis.md and docs/stores/redlock.md.
namespace holdfast::redis::conditions {

using doctor::condition;
using doctor::grade;

inline constexpr std::string_view not_examined = "this was not examined";
inline constexpr std::string_view by_hand = "look at the server by hand";
inline constexpr std::string_view keep_writes =
    "remove {guard_option}=0 from the store's URL, or: CONFIG SET appendonly yes; CONFIG SET appendfsync "
    "always; CONFIG SET no-appendfsync-on-rewrite no; CONFIG REWRITE";
inline constexpr std::string_view no_failover =
    "no failover can be decided: when the primary fails, no lock can be acquired or renewed";
inline constexpr std::string_view start =
    "start the Sentinels that are away; if one is gone for good: SENTINEL RESET {primary} at each other one, "
    "one after the other";
inline constexpr std::string_view clocks_apart = "the clocks of {first} and {last} are {apart} ms apart";
inline constexpr std::string_view same_time = "timedatectl set-ntp true on each host (NTP)";

inline constexpr condition server_conditions[]{
    {"answer", grade::broken, "obstacle", "it serves nobody now: {obstacle}",
     "no lock can be acquired or renewed until that is over",
     "look at INFO persistence and SLOWLOG GET; for a script that runs too long: SCRIPT KILL"},
    {"information", grade::unknown, "info_error", "INFO is answered with {info_error}",
     "persistence, eviction and replicas were not examined", "if the user may not: ACL SETUSER {user} +info"},
    {"version", grade::kept, "is_old=no", "{redis_version}"},
    {"version", grade::warning, "is_old=yes", "{redis_version} is an old version",
     "behind a proxy or a NAT a request of a broken connection may be carried out late (no CLIENT INFO)",
     "update to Redis 6.2 or newer, or to Valkey"},
    {"role", grade::kept, "role=master", "it is a primary"},
    {"role", grade::broken, "role", "it is a replica of {master_host}",
     "it takes no writes: no lock can be acquired or renewed",
     "let the store's URL lead to the primary; with Sentinels, write redis+sentinel://"},

    // It keeps what it has answered, or the guard is on.
    {"persistence", grade::kept, "aof_enabled=1 keeps_writes=yes", "{file}"},
    {"persistence", grade::kept, "!info_error guard>=1",
     "{file}; after a restart that may forget, nothing is granted for the {guard_option} of {guard:ms}"},
    {"persistence", grade::unknown, "aof_enabled=1 !appendfsync", "{file}, and the guard is off",
     "unless it is always, a restart forgets locks that are held, and they are granted again", keep_writes},
    {"persistence", grade::broken, "!info_error", "{file}, and the guard is off",
     "a restart forgets locks that are held, and they are granted again", keep_writes},

    // It evicts no key of Holdfast.
    {"eviction", grade::kept, "maxmemory=0", "maxmemory is not set"},
    {"eviction", grade::kept, "maxmemory_policy=noeviction", "maxmemory-policy is noeviction"},
    {"eviction", grade::broken, "maxmemory_policy", "maxmemory-policy is {maxmemory_policy}",
     "when its memory is full it may evict a lock that is held, which is then granted again",
     "CONFIG SET maxmemory-policy noeviction; CONFIG REWRITE"},

    // A connection that is subscribed has this limit for all of its answers, of 4 MiB together.
    {"answers", grade::warning, "answers_limit<4194304",
     "client-output-buffer-limit lets {answers_limit} bytes wait for a client that is subscribed",
     "the server closes the connection of a client that lists many locks, and its leases may be lost",
     "CONFIG SET client-output-buffer-limit 'pubsub 33554432 8388608 60'; CONFIG REWRITE"},

    // A former primary takes no writes any more when the guard of the new one is over.
    {"replicas", grade::kept, "connected_slaves<1 has_failover=no", "no replica is connected to it"},
    {"replicas", grade::warning, "connected_slaves votes=yes", "it has {connected_slaves:replica}",
     "one that is promoted has forgotten the last votes; the guard covers that only if the address stays",
     "let a server that fails come back by itself: the others are a majority without it"},
    {"replicas", grade::broken, "connected_slaves guard=0",
     "it has {connected_slaves:replica}, and the guard is off",
     "a replica that is promoted does not know the last grants, and grants them again",
     "remove {guard_option}=0 from the store's URL"},
    {"replicas", grade::unknown, "connected_slaves settings=no",
     "it has {connected_slaves:replica}, and this user may not read its settings",
     "it is not known how long a former primary goes on granting in a partition",
     "ACL SETUSER {user} +config|get"},
    {"replicas", grade::warning, "connected_slaves former_stops=no",
     "it has {connected_slaves:replica}, and min-replicas-to-write or min-replicas-max-lag is 0",
     "after a failover in a partition this server goes on granting beside the new primary",
     "CONFIG SET min-replicas-to-write 1; CONFIG SET min-replicas-max-lag 10; CONFIG REWRITE; and "
     "former_primary=10s in the store's URL"},
    {"replicas", grade::kept, "connected_slaves whole_guard>=needed_guard",
     "it has {connected_slaves:replica}, {former_setting} is {former_end:ms}, and the guard is "
     "{whole_guard:ms}"},
    {"replicas", grade::warning, "connected_slaves",
     "it has {connected_slaves:replica}, {former_setting} is {former_end:ms}, and the guard is "
     "{whole_guard:ms}",
     "after a failover in a partition a former primary may still take writes when the new one grants",
     "{guard_option}={needed_guard}ms in the store's URL, on all clients"},

    // A server that may have forgotten grants makes no new ones for a while.
    {"pause", grade::kept, "pause_s=0", "it grants"},
    {"pause", grade::warning, "pause_s",
     "it has started or was promoted, may have forgotten locks, and grants nothing new for {pause_s} s",
     "holders renew and release; claims wait, and tries fail", "wait for {pause_s} s"},
    {"guard", grade::broken, "guard>=1 guard<longest_ttl",
     "{guard_option} is {guard:ms}, and the ttl with its grace is {longest_ttl:ms}",
     "such locks are refused (errc::invalid_argument): a server that forgot them could grant them again",
     "{guard_option}={longest_ttl}ms in the store's URL, on all clients"},
    // One that another client has asked for counts for all.
    {"longest guard", grade::warning, "guard>=1 whole_guard<longest_guard",
     "a client has asked for a {guard_option} of {longest_guard:ms}, and the store's URL for "
     "{whole_guard:ms}",
     "if the server restarts or another one takes its place, nothing new is granted for {longest_guard:ms}",
     "give all clients the same {guard_option}; the longer one is forgotten when it was not asked for in so "
     "long, or, if no lock with a longer ttl is held, at once: redis-cli DEL {guard_key}"},

    {"access", grade::unknown, "!is_open", "it does not say whether it asks everybody for a password",
     not_examined, by_hand},
    {"access", grade::kept, "is_open=no", "it does nothing for whoever gives no password"},
    {"access", grade::kept, "tls-auth-clients=yes port=0", "it asks for a client's certificate"},
    {"access", grade::kept, "is_protected=yes",
     "it asks for no password, and serves this host alone (protected-mode)"},
    {"access", grade::unknown, "settings=no",
     "it asks for no password, and this user may not read its protected-mode", not_examined,
     "ACL SETUSER {user} +config|get"},
    {"access", grade::warning, "", "it takes commands of everybody who reaches it",
     "whoever may write its keys may end everybody's locks",
     "ACL SETUSER locks on >SECRET ... as in docs/stores/redis.md, and ACL SETUSER default off"},
    // Without a password of its own a user is let in with any.
    {"password", grade::warning, "gives_password=yes is_open=yes",
     "the client gives a password, and the server asks for none",
     "a wrong one is let in, too, until the day on which the server gets a password",
     "CONFIG SET requirepass SECRET; CONFIG REWRITE; or give no password"},
    {"rights", grade::broken, "lacks may_forge=yes",
     "the user {user} lacks {lacks}, but may read the keys of locks and publish on their channels",
     "it cannot lock, but who uses it can make two hold: it can send a claim that waits the secret of its "
     "grant",
     "if it is to look only: ACL SETUSER {user} -publish; if it is to lock: ACL SETUSER {user} {lacks}"},
    {"rights", grade::broken, "lacks", "the user {user} lacks {lacks}",
     "locks fail with errc::permission_denied", "ACL SETUSER {user} {lacks}"},
    {"rights", grade::unknown, "is_denied=no obstacle", "it does not say which rights this user has",
     not_examined, by_hand},
    {"rights", grade::kept, "is_denied=no", "the user {user} has all that are needed"},

    {"cluster state", grade::unknown, "cluster_error", "CLUSTER INFO is answered with {cluster_error}",
     "whether this node serves its slots was not examined",
     "if the user may not: ACL SETUSER {user} +cluster|info"},
    {"cluster state", grade::broken, "cluster_state!=ok", "cluster_state is {cluster_state}",
     "it reaches no majority, or a slot is not served: names in its slots cannot be locked",
     "start the nodes that are away; redis-cli --cluster check {place}"},
    {"cluster state", grade::kept, "cluster_state", "cluster_state is ok"},
};

inline constexpr condition right_conditions[]{
    {"rights", grade::warning, "", "the user {user} lacks {grant}", "{consequence}",
     "ACL SETUSER {user} {grant}"},
};

/// Of a server that does not answer, one of several.
inline constexpr condition answer_conditions[]{
    {"answer", grade::warning, "votes=yes", "{problem}", "it has no vote; the others have to be a majority",
     "{remedy}"},
    {"answer", grade::broken, "", "{problem}", "{meaning}", "{remedy}"},
};

inline constexpr condition sentinel_conditions[]{
    {"sentinel", grade::warning, "problem", "{problem}",
     "a majority of the others has to agree on a failover without it", "start the Sentinel"},
    {"sentinel", grade::warning, "!address", "it does not know the primary '{primary}'",
     "it takes no part in a failover, and clients that ask it lose time",
     "SENTINEL MONITOR {primary} HOST PORT QUORUM"},
    {"sentinel", grade::warning, "verdict=unable", "it says: {check}",
     "it reaches too few others, and decides on no failover", start},
    {"sentinel", grade::unknown, "verdict=refused", "SENTINEL CKQUORUM is answered with {check}",
     "whether a failover could be decided was not examined", "ACL SETUSER {user} +sentinel|ckquorum"},
    {"sentinel", grade::kept, "", "it says that '{primary}' is at {address}"},
};

inline constexpr condition primary_conditions[]{
    {"primary", grade::broken, "!address", "no Sentinel names a primary",
     "no client finds the server of the locks",
     "SENTINEL MONITOR {primary} HOST PORT QUORUM at each Sentinel"},
    {"primary", grade::kept, "!others", "the Sentinels that answer say that it is at {address}"},
    // SENTINEL RESET would make a Sentinel forget the others, and keep the primary that it has.
    {"primary", grade::broken, "", "most Sentinels say that it is at {address}{others}",
     "that is so for a moment in a failover; otherwise clients may use different ones, and two may hold",
     "if the others are right, at {wrong}: SENTINEL REMOVE {primary}; SENTINEL MONITOR {primary} {host} "
     "{port} QUORUM; and its other settings anew (SENTINEL SET {primary} OPTION VALUE)"},
    {"quorum", grade::broken, "knowing knowing<majority",
     "{knowing} of {count} Sentinels of the URL know the primary", no_failover, start},
    {"quorum", grade::broken, "able=0 unable>=1", "no Sentinel of the URL could decide on a failover",
     no_failover, start},
    {"quorum", grade::kept, "able>=1", "{able} of {count} Sentinels of the URL could decide on a failover"},
};

inline constexpr condition slot_conditions[]{
    {"slots", grade::kept, "without=0", "each slot has a primary"},
    {"slots", grade::broken, "", "{without} slots have no primary", "names in these slots cannot be locked",
     "redis-cli --cluster fix HOST:PORT"},
};

inline constexpr std::string_view keeps_no_set =
    "which servers its clients name is answered with {set_error}";
inline constexpr std::string_view held_twice =
    "clients of another set of servers are not refused there, and a lock may be held twice";
inline constexpr condition voter_conditions[]{
    {"set", grade::broken, "other_set",
     "it keeps '{other_set}' as the servers of its clients, and this URL names '{own_set}'",
     "it refuses each client of this URL as a whole (errc::foreign_store): nothing is acquired",
     "if this URL is wrong, name those servers; if it is right, end all clients of the other set, and: "
     "{deletion}"},
    // A key that is not known to be wrong keeps clients of other sets away.
    {"set", grade::warning, "set_type=wrong", keeps_no_set, held_twice, "{deletion}"},
    {"set", grade::unknown, "set_error", keeps_no_set, held_twice,
     "ACL SETUSER {user} +get {key_grant}, if it says NOPERM; else let it answer GET, and examine again"},
    {"vote", grade::broken, "twin", "it is the same server as {twin}",
     "it would vote twice: clients refuse this URL (errc::invalid_argument)", "name each server once"},
    {"vote", grade::warning, "run_id keeps_writes=no guard>=1 up<guard",
     "it began {up:ms} ago, and may have forgotten its votes", "it has no vote until {guard_option} is over",
     "wait; a server votes as soon as it starts if its file has appendonly yes, appendfsync always and "
     "no-appendfsync-on-rewrite no"},
};

inline constexpr condition set_conditions[]{
    {"majority", grade::kept, "answers>=majority", "{answers} of {count} servers answer"},
    {"majority", grade::broken, "", "{answers} of {count} servers answer",
     "no lock can be acquired or renewed", "start the servers that do not answer"},
    {"set", grade::kept, "others=0 answers>=count", "no server keeps another set of servers for its clients"},
    {"set", grade::kept, "others=0", "no server that answers keeps another set of servers for its clients"},
    // A server accepts a number as token only near its clock (lua/quorum/grant.lua): clocks that are far
    // apart cost votes alone.
    {"clocks", grade::kept, "apart<furthest", "the servers' clocks agree"},
    {"clocks", grade::broken, "guard>=1 apart>=guard", clocks_apart,
     "they accept no token in common: without a majority of agreeing clocks nothing is acquired; tokens rise",
     same_time},
    {"clocks", grade::warning, "apart", clocks_apart,
     "without a majority of agreeing clocks a free lock waits for the late one, and a try fails", same_time},
};

}  // namespace holdfast::redis::conditions
