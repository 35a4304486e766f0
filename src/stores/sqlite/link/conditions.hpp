// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "stores/doctor/examination.hpp"

/// What a file has to keep for locks to exclude one another: see docs/stores/sqlite.md.
namespace holdfast::sqlite::conditions {

using doctor::condition;
using doctor::grade;

inline constexpr std::string_view can_take = "everybody on this host can take and end every lock";

inline constexpr condition file_conditions[]{
    {"file", grade::kept, "file", "{file}"},
    {"file", grade::unknown, "", "{read_problem}",
     "its layout, journal and tokens were not examined; locks meet the same", "fuser -v {'path'}"},
    // What clients refuse.
    {"place", grade::kept, "!place_problem", "uid {user} may read and write the file and its folder"},
    {"place", grade::broken, "place_problem folder=missing", "{place_problem}", "this user can take no lock",
     "a folder of uid {user} for the store, in the URL: mkdir -p {'folder_path'} && chown {user} "
     "{'folder_path'}"},
    {"place", grade::broken, "", "{place_problem}", "this user can take no lock",
     "with all clients closed, change that (find / -samefile {'path'} names hard links), or choose another "
     "path"},
    {"file system", grade::kept, "!network", "it is a local one"},
    {"file system", grade::warning, "", "{nearest} is on a network file system ({network})",
     "SQLite's locks do not reach other hosts reliably: two may hold",
     "choose a local folder, or a store with a server for locks between hosts"},
    // A client leaves the times of the -shm as they are while it uses it, so that to a cleaner it grows old.
    {"cleaners", grade::warning, "temporary=yes", "the file is in a folder for temporary files",
     "programs that remove old files there (systemd-tmpfiles, tmpreaper) may remove the -shm of a running "
     "client: two may hold, and the file is damaged",
     "with all clients closed: move the store to another folder, such as one below /var/lib"},
    {"permissions", grade::warning, "file_everybody=yes", "{file_mode}: everybody may write it", can_take,
     "chmod o-w {'path'}"},
    {"permissions", grade::warning, "file_group=yes folder_group=no",
     "{file_mode}: its group may write it, and not its folder",
     "members of the group cannot make the -wal and -shm files: their locks fail",
     "chgrp {file_gid} {'folder_path'} && chmod 2770 {'folder_path'}, or chmod g-w {'path'}"},
    {"permissions", grade::warning, "readers", "{file_mode}: {readers} may read it, and not write it",
     "who may read it can keep all clients out, by a lock on a part of the -shm: leases are lost",
     "chmod {readers_mode} {'path'} ; with all clients closed, the same for its -wal and -shm, if they are "
     "there"},
    {"permissions", grade::kept, "file_mode", "{file_mode}"},
    {"neighbours", grade::kept, "!neighbour", "-wal, -shm and -journal are the database's own, or not there"},
    // The index can be made again from the -wal. The others have commits that are nowhere else.
    {"neighbours", grade::broken, "neighbour_is_index=yes", "{neighbour} {neighbour_problem}",
     "another user could bring content into the database; clients refuse the file",
     "with all clients closed: rm {'neighbour'}"},
    {"neighbours", grade::broken, "", "{neighbour} {neighbour_problem}",
     "another user could bring content into the database; clients refuse the file",
     "with all clients closed: move it aside together with the database: commits in it are lost, and tokens "
     "may fall: mkdir DIR && mv {'neighbour'} {'path'} DIR"},
    {"lease clock", grade::kept, "proc=yes", "the offset of a time namespace can be read"},
    {"lease clock", grade::warning, "", "/proc is not mounted",
     "in a time namespace this process has another lease clock than the others: two may hold",
     "mount -t proc proc /proc"},
    {"layout", grade::broken, "newer_layout=yes",
     "the file has the layout {layout}, and this Holdfast knows {known_layout}",
     "this Holdfast refuses the file", "update Holdfast on this host, or choose another path"},
    {"layout", grade::kept, "tables=no", "it has no such tables yet; the first lock makes them"},
    {"layout", grade::kept, "layout", "layout {layout}"},
    {"journal", grade::kept, "journal=wal", "the journal mode is wal"},
    {"journal", grade::warning, "journal", "the journal mode is {journal}",
     "another program writes the file, which has to be left alone; the next client sets wal again",
     "find that program: fuser -v {'path'}"},
    // Tokens of a busy name run ahead of the clock.
    {"wall clock", grade::warning, "token_ahead_s>=1",
     "the newest token is {token_ahead_s} s ahead of this host's wall clock",
     "tokens of a name that is forgotten, and of a new file, may fall below the old ones",
     "timedatectl set-ntp true; leave the file in place until the clock has passed the token"},
    {"wall clock", grade::kept, "token_ahead_s", "no token is ahead of this host's wall clock"},
};

/// The conditions of the file's folder and of each folder above it: who writes there could put another file
/// in its place.
inline constexpr condition folder_conditions[]{
    {"folder", grade::warning, "stranger=yes",
     "{described}: its owner is neither root, nor uid {user}, nor the owner of the file",
     "its owner can put another store in the place of this one: two may hold",
     "with all clients closed: move the store to where all folders above are of root or of its users"},
    {"folder", grade::warning, "above=yes sticky=no writers",
     "{described}: {writers} may rename what is in it",
     "{writers} can put another store in the place of this one: two may hold",
     "chmod {writers_mode} {'path'}"},
    {"folder", grade::warning, "above=no writers=everybody", "{described}: everybody may write it", can_take,
     "move the store into a folder of its own: install -d -m 0700 DIR, or -m 2770 -g GROUP"},
    {"folder", grade::warning, "above=no writers sticky=yes", "{described}: it is sticky",
     "if fs.protected_regular is set, SQLite cannot open a -wal of another user: locks fail",
     "chmod -t {'path'}"},
    {"folder", grade::warning, "above=no writers group_has_file=no",
     "{described}: its group may write it, and may not write the file",
     "members of the group can replace the file, and so take and end every lock",
     "chgrp {gid} {'file'} && chmod g+rw {'file'}, or chmod g-w {'path'}"},
    {"folder", grade::kept, "above=no", "{described}"},
};

}  // namespace holdfast::sqlite::conditions
