#include "stores/redis/link/conditions.hpp"

namespace holdfast::redis {

namespace {

using doctor::condition;
using doctor::grade;

constexpr std::string_view not_examined = "this was not examined";
constexpr std::string_view by_hand = "look at the server by hand";
constexpr std::string_view no_writes = "it takes no writes: no lock can be acquired or renewed";
constexpr std::string_view forgets = "a restart forgets locks that are held, and they are granted again";
constexpr std::string_view keep_writes =
    "remove {guard_option}=0 from the store's URL, or: CONFIG SET appendonly yes; CONFIG SET appendfsync "
    "always; CONFIG SET no-appendfsync-on-rewrite no; CONFIG REWRITE";
constexpr std::string_view no_lock = "locks fail with errc::permission_denied";
constexpr std::string_view start =
    "start the Sentinels that are away; if one is gone for good: SENTINEL RESET {primary} at each other one, "
    "one after the other";
constexpr std::string_view same_time = "timedatectl set-ntp true on each host (NTP)";

constexpr condition of_server[]{
    {"answer", grade::broken, "obstacle", "it serves nobody now: {obstacle}",
     "no lock can be acquired or renewed until that is over",
     "look at INFO persistence and SLOWLOG GET; for a script that runs too long: SCRIPT KILL"},
    {"information", grade::unknown, "info_error", "INFO is answered with {info_error}",
     "persistence, eviction and replicas were not examined", "if the user may not: ACL SETUSER {user} +info"},
    {"version", grade::kept, "is_old=no", "{redis_version}"},
    {"version", grade::warning, "is_old=yes", "{redis_version} is an old version",
     "it has no CLIENT INFO: behind a proxy or a NAT a request of a broken connection may be carried out "
     "late",
     "update to Redis 6.2 or newer, or to Valkey"},
    {"role", grade::kept, "role=master", "it is a primary"},
    {"role", grade::broken, "role", "it is a replica of {master_host}", no_writes,
     "let the store's URL lead to the primary; with Sentinels, write redis+sentinel://"},
    {"role", grade::unknown, "!info_error", "it does not say whether it is a primary", not_examined, by_hand},

    // It keeps what it has answered, or the guard is on.
    {"persistence", grade::kept, "aof_enabled=1 keeps_writes=yes", "{file}"},
    {"persistence", grade::kept, "!info_error guard>=1",
     "{file}; after a restart that may forget, nothing is granted for the {guard_option} of {guard:ms}"},
    {"persistence", grade::unknown, "aof_enabled=1 !appendfsync", "{file}, and the guard is off",
     "unless it is always, a restart forgets locks that are held, and they are granted again", keep_writes},
    {"persistence", grade::broken, "!info_error", "{file}, and the guard is off", forgets, keep_writes},

    // It evicts no key of Holdfast.
    {"eviction", grade::unknown, "!info_error !maxmemory_policy", "it does not say its maxmemory-policy",
     not_examined, by_hand},
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
    {"replicas", grade::warning, "votes=yes connected_slaves>=1", "it has replicas",
     "a replica that is promoted in its place has forgotten its last votes; the guard covers that only if "
     "its address becomes the replica's",
     "let a server that fails come back by itself: the others are a majority without it"},
    {"replicas", grade::kept, "!info_error votes=yes", "it has no replica that could take its vote"},
    {"replicas", grade::kept, "connected_slaves<1 has_failover=no", "no replica is connected to it"},
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
    {"access", grade::unknown, "is_local=yes settings=no",
     "it does not say to this user whether other hosts reach it; it asks for no password", not_examined,
     by_hand},
    {"access", grade::kept, "is_local=yes is_reached=no",
     "it asks for no password, and is reached from this host alone"},
    {"access", grade::warning, "", "it takes commands of everybody who reaches it",
     "whoever may write its keys may end everybody's locks",
     "ACL SETUSER locks on >SECRET ... as in docs/stores/redis.md, and ACL SETUSER default off"},
    // Without a password of its own a user is let in with any.
    {"password", grade::warning, "gives_password=yes is_open=yes",
     "the client gives a password, and the server asks for none",
     "a wrong one is let in, too, until the day on which the server gets a password",
     "CONFIG SET requirepass SECRET; CONFIG REWRITE; or give no password"},
    {"rights", grade::broken, "lacks", "the user {user} lacks {lacks}", no_lock,
     "ACL SETUSER {user} {lacks}"},
    {"rights", grade::unknown, "is_denied=no obstacle", "it does not say which rights this user has",
     not_examined, by_hand},
    {"rights", grade::kept, "is_denied=no", "the user {user} has all that are needed"},

    {"cluster state", grade::unknown, "cluster_error", "CLUSTER INFO is answered with {cluster_error}",
     "whether this node serves its slots was not examined",
     "if the user may not: ACL SETUSER {user} +cluster|info"},
    {"cluster state", grade::broken, "cluster_state!=ok", "cluster_state is {cluster_state}",
     "it reaches no majority, or a slot is not served: names in its slots cannot be locked",
     "start the nodes that are away; redis-cli --cluster check {place}"},
    {"cluster state", grade::warning, "slots_away>=1",
     "cluster_state is ok, and the primary of {slots_away} slots does not answer it",
     "names in those slots cannot be locked until a replica has taken over",
     "start the nodes that are away; redis-cli --cluster check {place}"},
    {"cluster state", grade::kept, "cluster_state", "cluster_state is ok"},
};

constexpr condition of_right[]{
    {"rights", grade::warning, "", "the user {user} lacks {grant}", "{consequence}",
     "ACL SETUSER {user} {grant}"},
};

constexpr condition of_fences[]{
    {"fences", grade::unknown, "refusal", "its keys cannot be looked at: {refusal}",
     "whether tokens are kept was not examined",
     "if the user may not: ACL SETUSER {user} +scan +eval +get +pttl"},
    // A name that looks like an option is none that a command line takes there.
    {"fences", grade::warning, "endless_name is_option=yes",
     "fences{range} without an end: {endless} of {count}, that of '{endless_name}' for one",
     "somebody else has removed it: such a key stays for ever, and takes memory",
     "the next grant of that name gives it an end"},
    {"fences", grade::warning, "endless_name",
     "fences{range} without an end: {endless} of {count}, that of '{endless_name}' for one",
     "somebody else has removed it: such a key stays for ever, and takes memory",
     "the next grant gives it an end: holdfast run {'endless_name'} -- true"},
    {"fences", grade::warning, "short_name",
     "the fence of '{short_name}', which is held, ends in {short_left} s, and keep_idle of this URL is "
     "{keep} s",
     "its holder has a shorter keep_idle: when it has released, the last token is forgotten sooner, and "
     "tokens fall if the server's clock was set back meanwhile",
     "the same keep_idle in the URLs of all clients"},
    {"fences", grade::kept, "count=0", "there are none{range}"},
    {"fences", grade::kept, "", "fences{range}, each with an end: {count}"},
};

constexpr std::string_view another_login =
    "give the user and the password of the store's URL to this server, or correct the URL's";
constexpr std::string_view start_it = "start the server, or look at its network and its log";
constexpr condition of_answer[]{
    {"answer", grade::warning, "votes=yes is_refused=yes", "{problem}",
     "it has no vote; the others have to be a majority", another_login},
    {"answer", grade::warning, "votes=yes", "{problem}", "it has no vote; the others have to be a majority",
     start_it},
    {"answer", grade::broken, "is_refused=yes", "{problem}", "{meaning}", another_login},
    {"answer", grade::broken, "", "{problem}", "{meaning}", start_it},
};

constexpr condition of_sentinel[]{
    {"sentinel", grade::warning, "problem", "{problem}",
     "a majority of the others has to agree on a failover without it", "start the Sentinel"},
    {"sentinel", grade::warning, "!address", "it does not know the primary '{primary}'",
     "it takes no part in a failover, and clients that ask it lose time",
     "SENTINEL MONITOR {primary} HOST PORT QUORUM"},
    {"sentinel", grade::kept, "", "it says that '{primary}' is at {address}"},
};

constexpr condition of_primary[]{
    {"primary", grade::broken, "!address", "no Sentinel names a primary",
     "no client finds the server of the locks",
     "SENTINEL MONITOR {primary} HOST PORT QUORUM at each Sentinel"},
    {"primary", grade::kept, "!others", "the Sentinels that answer say that it is at {address}"},
    // SENTINEL RESET would make a Sentinel forget the others, and keep the
    // primary that it has.
    {"primary", grade::broken, "", "most Sentinels say that it is at {address}{others}",
     "that is so for a moment in a failover; otherwise clients may use different ones, and two may hold",
     "if the others are right, at {wrong}: SENTINEL REMOVE {primary}; SENTINEL MONITOR {primary} {host} "
     "{port} {quorum}; and its other settings anew (SENTINEL SET {primary} OPTION VALUE)"},
    {"quorum", grade::broken, "knowing knowing<majority",
     "{knowing} of {count} Sentinels of the URL know the primary",
     "no failover can be decided: when the primary fails, no lock can be acquired or renewed", start},
    {"quorum", grade::broken, "unable able=0", "{unable} says: {check}",
     "no failover can be decided: when the primary fails, no lock can be acquired or renewed", start},
    {"quorum", grade::warning, "unable", "{unable} says: {check}",
     "that Sentinel reaches too few others, and decides on no failover", start},
    {"quorum", grade::kept, "able>=1", "Sentinels say: {check}"},
    {"quorum", grade::unknown, "refusal", "{refusal}", "whether a failover could be decided was not examined",
     "ACL SETUSER {user} +sentinel|ckquorum +sentinel|master at each Sentinel"},
};

constexpr condition of_slots[]{
    {"slots", grade::kept, "without=0", "each slot has a primary"},
    {"slots", grade::broken, "", "{without} slots have no primary", "names in these slots cannot be locked",
     "redis-cli --cluster fix HOST:PORT"},
    {"primaries", grade::unknown, "most<primaries", "there are {primaries} primaries",
     "the first {most} alone were examined", "examine the others as stores of their own"},
};

constexpr std::string_view twice =
    "clients of another set of servers are not refused there, and a lock may be held twice";
constexpr std::string_view observed_set = "which servers its clients name is answered with {set_error}";
constexpr condition of_voter[]{
    {"set", grade::broken, "other_set",
     "it keeps '{other_set}' as the servers of its clients, and this URL names '{own_set}'",
     "it refuses each client of this URL as a whole (errc::foreign_store): nothing is acquired",
     "if this URL is wrong, name those servers; if it is right, end all clients of the other set, and: "
     "{deletion}"},
    {"set", grade::warning, "set_problem=type", observed_set, twice, "{deletion}"},
    {"set", grade::unknown, "set_problem=denial", observed_set, twice, "ACL SETUSER {user} +get {key_grant}"},
    {"set", grade::unknown, "set_problem=obstacle", observed_set,
     "whether it keeps another set was not examined", "run holdfast doctor again when that is over"},
    {"set", grade::unknown, "set_problem", observed_set, twice,
     "let the server answer GET as Redis does, and run holdfast doctor again"},
    {"vote", grade::broken, "twin", "it is the same server as {twin}",
     "it would vote twice: clients refuse this URL (errc::invalid_argument)", "name each server once"},
    {"vote", grade::warning, "run_id keeps_writes=no guard>=1 up<guard",
     "it began {up:ms} ago, and may have forgotten its votes", "it has no vote until {guard_option} is over",
     "wait; a server votes as soon as it starts if its file has appendonly yes, appendfsync always and "
     "no-appendfsync-on-rewrite no"},
};

constexpr condition of_set[]{
    {"majority", grade::kept, "answers>=majority", "{answers} of {count} servers answer"},
    {"majority", grade::broken, "", "{answers} of {count} servers answer",
     "no lock can be acquired or renewed", "start the servers that do not answer"},
    {"set", grade::kept, "others=0 answers>=count", "no server keeps another set of servers for its clients"},
    {"set", grade::kept, "others=0", "no server that answers keeps another set of servers for its clients"},
    // A server accepts a number as token only near its clock: see
    // lua/quorum/grant.lua. That keeps the order of the tokens whatever the
    // clocks are, so clocks that are far apart cost votes alone.
    {"clocks", grade::kept, "apart<furthest", "the servers' clocks agree"},
    {"clocks", grade::broken, "guard>=1 apart>=guard",
     "the clocks of {first} and {last} are {apart} ms apart",
     "a server accepts a number as fencing token only near its clock, and these two accept none in common: a "
     "claim has the vote of one of them at most; where the servers whose clocks agree are no majority any "
     "more, nothing is acquired; tokens rise all the same",
     same_time},
    {"clocks", grade::warning, "apart", "the clocks of {first} and {last} are {apart} ms apart",
     "the number of a new claim is the time, and becomes its fencing token: a server whose clock is more "
     "than a second behind the others grants the claim, but does not accept the number until its clock has "
     "come there, and its vote does not count before; where the servers whose clocks agree are no majority "
     "any more, a free lock waits for as long as that clock is behind, and a try fails",
     same_time},
};

}  // namespace

std::span<const condition> server_conditions() { return of_server; }
std::span<const condition> right_conditions() { return of_right; }
std::span<const condition> fence_conditions() { return of_fences; }
std::span<const condition> answer_conditions() { return of_answer; }
std::span<const condition> sentinel_conditions() { return of_sentinel; }
std::span<const condition> primary_conditions() { return of_primary; }
std::span<const condition> slot_conditions() { return of_slots; }
std::span<const condition> voter_conditions() { return of_voter; }
std::span<const condition> set_conditions() { return of_set; }

}  // namespace holdfast::redis
