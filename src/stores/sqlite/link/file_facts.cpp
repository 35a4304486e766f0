#include "stores/sqlite/link/file_facts.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace holdfast::sqlite {

namespace {

using grade = finding::grade;

constexpr std::uint64_t mib = 1024ULL * 1024;
constexpr std::uint64_t little_space = 16 * mib;
constexpr std::uint64_t few_inodes = 64;         // each open client needs one, for its FIFO
constexpr std::uint32_t many_pages = 4000;       // SQLite begins a checkpoint at 1000
constexpr std::int64_t ahead_limit = 1'000'000;  // µs: tokens of a busy name run ahead of the clock

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777U));
  return text.data();
}

/// For a shell: a path may have spaces and quotes.
std::string quoted(const std::string& path) {
  std::string text = "'";
  for (const char c : path) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + '\'';
}

std::string in_mib(std::uint64_t bytes) { return std::to_string(bytes / mib) + " MiB"; }

std::string size_text(std::uint64_t bytes) {
  return bytes < mib ? std::to_string(bytes / 1024) + " KiB" : in_mib(bytes);
}

std::string described(const file_facts::entry& one) {
  return one.path + " has the mode " + octal(one.mode) + ", and belongs to uid " + std::to_string(one.owner) +
         ", gid " + std::to_string(one.group);
}

/// The conditions of one file, each with its finding.
class examination {
 public:
  explicit examination(const file_facts& facts) : facts_{facts} {}

  std::vector<finding> run() && {
    examine_file();
    examine_file_system();
    examine_cleaners();
    examine_mount();
    examine_names();
    examine_access();
    examine_folder();
    examine_permissions();
    examine_neighbours();
    examine_wake_folder();
    examine_space();
    examine_lease_clock();
    if (facts_.database) {
      examine_layout(*facts_.database);
      if (facts_.database->has_tables) {
        examine_journal(*facts_.database);
        examine_checkpoint(*facts_.database);
        examine_integrity(*facts_.database);
        examine_wall_clock(*facts_.database);
      }
    }
    return std::move(found_);
  }

 private:
  void add(std::string condition, grade result, std::string observed, std::string meaning = {},
           std::string remedy = {}) {
    found_.push_back({facts_.path, std::move(condition), result, std::move(observed), std::move(meaning),
                      std::move(remedy)});
  }

  void examine_file() {
    if (!facts_.file) return add("file", grade::kept, "it is not there yet; the first lock makes it");
    if (facts_.database)
      return add("file", grade::kept, "it can be read, and has " + size_text(facts_.file->bytes));
    if (facts_.read_problem.empty())
      return add("file", grade::kept, "it is empty; the first lock makes its tables");
    add("file", grade::unknown, facts_.read_problem,
        "its layout, journal, checkpoint, integrity and tokens were not examined; locks meet the same",
        "fuser -v " + quoted(facts_.path));
  }

  void examine_file_system() {
    if (facts_.network == nullptr) return add("file system", grade::kept, "it is a local one");
    const std::string observed =
        facts_.nearest_folder + " is on a network file system (" + facts_.network + ")";
    const std::string meaning = "SQLite's locks do not reach other hosts reliably: two may hold";
    if (facts_.accepts_network) {
      return add("file system", grade::warning, observed + ", and network_fs=1 accepts it", meaning,
                 "choose a local folder, or a store with a server for locks between hosts");
    }
    add("file system", grade::broken, observed, meaning + ", and clients refuse the file",
        "choose a local folder, or a store with a server for locks between hosts");
  }

  /// A client leaves the times of the -shm as they are while it uses it, so that to a cleaner it grows old.
  void examine_cleaners() {
    const auto is_below = [&](std::string_view folder) { return facts_.path.starts_with(folder); };
    if (!is_below("/tmp/") && !is_below("/var/tmp/")) return;
    add("cleaners", grade::warning, "the file is in a folder for temporary files",
        "programs that remove old files there (systemd-tmpfiles, tmpreaper) may remove the -shm of a running "
        "client: two may hold, and the file is damaged",
        "with all clients closed: move the store to another folder, such as one below /var/lib");
  }

  void examine_mount() {
    if (!facts_.is_mounted_alone) return;
    add("mount", grade::broken, "the file itself is a mount point",
        "processes that reach it by another folder have another -wal and -shm: two may hold, and the file is "
        "damaged",
        "mount the folder instead of the file");
  }

  void examine_names() {
    if (!facts_.file) return;
    if (facts_.file->names <= 1) return add("names", grade::kept, "the file has one name");
    add("names", grade::broken, "the file has " + std::to_string(facts_.file->names) + " names (hard links)",
        "processes that use another name have another -wal and -shm; clients refuse the file",
        "find " + quoted(facts_.mount_point) + " -xdev -samefile " + quoted(facts_.path) +
            "; remove all names but one");
  }

  void examine_access() {
    if (facts_.access_problem.empty()) {
      return add("rights", grade::kept,
                 "uid " + std::to_string(facts_.user) + " may read and write the file and its folder");
    }
    if (!facts_.file) {  // what is there may be a folder of the system, which is not to be opened
      const std::string owner = std::to_string(facts_.user);
      const std::string folder = quoted(facts_.folder ? "FOLDER" : facts_.wanted_folder);
      return add("rights", grade::broken, facts_.access_problem, "this user can take no lock",
                 "a folder of uid " + owner + " for the store, in the URL: mkdir -p " + folder +
                     " && chown " + owner + ' ' + folder);
    }
    add("rights", grade::broken, facts_.access_problem, "this user can take no lock",
        "give the user read and write permission for " + quoted(facts_.path) +
            ", and read, write and search permission for " + quoted(facts_.nearest_folder));
  }

  /// Its owner may rename what is in it, whatever its mode.
  void examine_owner(const file_facts::entry& folder) {
    const uid_t owner = folder.owner;
    if (owner == 0 || owner == facts_.user || (facts_.file && owner == facts_.file->owner)) return;
    add("folder", grade::warning,
        described(folder) + ": its owner is neither root, nor uid " + std::to_string(facts_.user) +
            (facts_.file ? ", nor the owner of the file" : ""),
        "its owner can put another store in the place of this one: two may hold",
        "with all clients closed: move the store to where all folders above are of root or of its users");
  }

  void examine_above(const file_facts::entry& folder) {
    examine_owner(folder);
    if (folder.has(S_ISVTX)) return;
    const bool everybody = folder.has(S_IWOTH);
    if (!everybody && !folder.has(S_IWGRP)) return;
    const std::string writers = everybody ? "everybody" : "its group";
    add("folder", grade::warning, described(folder) + ": " + writers + " may rename what is in it",
        (everybody ? "everybody on this host" : "each member of the group") +
            std::string{" can put another store in the place of this one: two may hold"},
        std::string{"chmod "} + (everybody ? "o-w " : "g-w ") + quoted(folder.path));
  }

  /// A user who may write the folder can replace the database and its -wal.
  void examine_folder() {
    const std::size_t before = found_.size();
    for (const file_facts::entry& each : facts_.above) examine_above(each);
    const bool is_safe_above = found_.size() == before;
    if (!facts_.folder) {
      if (is_safe_above && facts_.access_problem.empty()) {
        add("folder", grade::kept,
            "the folder " + facts_.wanted_folder + " is not there; the first lock makes it");
      }
      return;
    }
    examine_owner(*facts_.folder);
    const bool is_safe = found_.size() == before;
    const file_facts::entry& folder = *facts_.folder;
    if (folder.has(S_IWOTH)) {
      return add("folder", grade::warning, described(folder) + ": everybody may write it",
                 "everybody on this host can take and end every lock",
                 "move the store into a folder of its own: install -d -m 0700 DIR, or -m 2770 -g GROUP");
    }
    if (folder.has(S_ISVTX) && folder.has(S_IWGRP)) {
      return add("folder", grade::warning, described(folder) + ": it is sticky",
                 "where fs.protected_regular is set, SQLite cannot open a -wal of another user: locks fail",
                 "chmod -t " + quoted(folder.path));
    }
    if (facts_.file && folder.has(S_IWGRP) &&
        (!facts_.file->has(S_IWGRP) || folder.group != facts_.file->group)) {
      return add("folder", grade::warning,
                 described(folder) + ": its group may write it, and may not write the file",
                 "members of the group can replace the file, and so take and end every lock",
                 "chgrp " + std::to_string(folder.group) + ' ' + quoted(facts_.path) + " && chmod g+rw " +
                     quoted(facts_.path) + ", or chmod g-w " + quoted(folder.path));
    }
    if (is_safe) add("folder", grade::kept, described(folder));
  }

  void examine_permissions() {
    if (!facts_.file) return;
    const file_facts::entry& file = *facts_.file;
    if (file.has(S_IWOTH)) {
      return add("permissions", grade::warning, described(file) + ": everybody may write it",
                 "everybody on this host can take and end every lock", "chmod o-w " + quoted(file.path));
    }
    const bool is_shared = file.has(S_IWGRP) && facts_.folder.has_value();
    if (is_shared && !facts_.folder->has(S_IWGRP | S_IWOTH)) {
      return add("permissions", grade::warning,
                 described(file) + ": its group may write it, and not its folder",
                 "members of the group cannot make the -wal and -shm files: their locks fail",
                 "chgrp " + std::to_string(file.group) + ' ' + quoted(facts_.folder->path) +
                     " && chmod 2770 " + quoted(facts_.folder->path) + ", or chmod g-w " + quoted(file.path));
    }
    if (const std::string readers = mere_readers(file); !readers.empty()) {
      return add("permissions", grade::warning,
                 described(file) + ": " + readers + " may read it, and not write it",
                 "who may read it can keep all clients out, by a lock on a part of the -shm: leases are lost",
                 "chmod " + std::string{readers == "everybody" ? "o-r " : "g-r "} + quoted(file.path) +
                     " ; with all clients closed, the same for its -wal and -shm, if they are there");
    }
    add("permissions", grade::kept, described(file));
  }

  /// Who may read the file, and nothing else, and reaches it.
  [[nodiscard]] std::string mere_readers(const file_facts::entry& file) const {
    const auto is_reached_by = [&](mode_t search) {
      const auto lets_in = [&](const file_facts::entry& folder) { return folder.has(search); };
      return facts_.folder && lets_in(*facts_.folder) &&
             std::all_of(facts_.above.begin(), facts_.above.end(), lets_in);
    };
    if (file.has(S_IROTH) && is_reached_by(S_IXOTH)) return "everybody";
    if (file.has(S_IRGRP) && !file.has(S_IWGRP) && is_reached_by(S_IXGRP | S_IXOTH)) return "its group";
    return {};
  }

  void examine_neighbours() {
    if (!facts_.wrong)
      return add("neighbours", grade::kept, "-wal, -shm and -journal are the database's own, or not there");
    // The index can be made again from the -wal. The others have commits that are nowhere else.
    const std::string& wrong = facts_.wrong->path;
    const bool is_index = wrong.ends_with("-shm");
    add("neighbours", grade::broken, wrong + ' ' + facts_.wrong->problem,
        "another user could bring content into the database; clients refuse the file",
        is_index
            ? "with all clients closed: rm " + quoted(wrong)
            : "with all clients closed: move it aside together with the database: commits in it are lost, "
              "and tokens may fall: mkdir DIR && mv " +
                  quoted(wrong) + ' ' + quoted(facts_.path) + " DIR");
  }

  void examine_wake_folder() {
    if (facts_.wake_problem.empty())
      return add("notifications", grade::kept, "the -wake folder can be used, or is not there yet");
    add("notifications", grade::warning, facts_.wake_problem,
        "it is not used: waiters find their grant by polling, up to a third of their ttl late",
        "with all clients closed: rm -r " + quoted(facts_.path + "-wake"));
  }

  void examine_space() {
    const std::string observed =
        in_mib(facts_.free_bytes) + " are free" +
        (facts_.counts_inodes ? ", and " + std::to_string(facts_.free_inodes) + " inodes" : std::string{});
    if (facts_.free_bytes >= little_space && (!facts_.counts_inodes || facts_.free_inodes >= few_inodes))
      return add("space", grade::kept, observed);
    add("space", grade::warning, observed,
        "on a full disk locks fail, and held ones are lost at their deadlines",
        "free space: df -h " + quoted(facts_.nearest_folder) + " ; df -i " + quoted(facts_.nearest_folder));
  }

  void examine_lease_clock() {
    if (facts_.has_proc) return add("lease clock", grade::kept, "the offset of a time namespace can be read");
    add("lease clock", grade::warning, "/proc is not mounted",
        "in a time namespace this process has another lease clock than the others: two may hold",
        "mount -t proc proc /proc");
  }

  void examine_layout(const file_facts::content& in) {
    if (in.layout > in.known_layout) {
      return add("layout", grade::broken,
                 "the file has the layout " + std::to_string(in.layout) + ", and this Holdfast knows " +
                     std::to_string(in.known_layout),
                 "this Holdfast refuses the file", "update Holdfast on this host, or choose another path");
    }
    add("layout", grade::kept,
        in.has_tables ? "layout " + std::to_string(in.layout)
                      : "it has no such tables yet; the first lock makes them");
  }

  void examine_journal(const file_facts::content& in) {
    if (in.journal_mode == "wal") return add("journal", grade::kept, "the journal mode is wal");
    add("journal", grade::warning, "the journal mode is " + in.journal_mode,
        "another program writes the file, which has to be left alone; the next client sets wal again",
        "find that program: fuser -v " + quoted(facts_.path));
  }

  /// A reader that never ends its transaction keeps the -wal from being emptied.
  void examine_checkpoint(const file_facts::content& in) {
    const std::string observed = std::to_string(in.pages_in_wal) +
                                 " pages wait for a checkpoint, in a -wal of " + in_mib(facts_.wal_bytes);
    if (in.pages_in_wal < many_pages) return add("checkpoint", grade::kept, observed);
    add("checkpoint", grade::warning, observed,
        "a reader starves the checkpoint: the -wal grows until the disk is full, and requests slow down",
        "end the process with the open transaction: fuser -v " + quoted(facts_.path) + " ; then sqlite3 " +
            quoted(facts_.path) + " 'PRAGMA wal_checkpoint(TRUNCATE)'");
  }

  void examine_integrity(const file_facts::content& in) {
    const std::string check = "sqlite3 " + quoted(facts_.path) + " 'PRAGMA integrity_check'";
    if (!in.damage) {
      return add("integrity", grade::unknown, "the file is too large to be examined in the time for it",
                 "damage would make locks fail", check);
    }
    if (*in.damage == "ok") return add("integrity", grade::kept, "quick_check finds no damage");
    add("integrity", grade::broken, "quick_check says: " + *in.damage,
        "locks fail, or do not exclude one another",
        "with all clients closed: move the file away with its -wal and -shm");
  }

  void examine_wall_clock(const file_facts::content& in) {
    if (!in.newest_token) {
      return add("wall clock", grade::unknown, "the newest token could not be read",
                 "a clock that was set back would not be noticed",
                 "mend the file's integrity first; look again when the host is less busy");
    }
    const std::int64_t ahead = std::max<std::int64_t>(*in.newest_token, 0) - in.wall_clock_us;
    if (ahead <= ahead_limit)
      return add("wall clock", grade::kept, "no token is ahead of this host's wall clock");
    add("wall clock", grade::warning,
        "the newest token is " + std::to_string(ahead / 1'000'000) + " s ahead of this host's wall clock",
        "tokens of a name that is forgotten, and of a new file, may fall below the old ones",
        "timedatectl set-ntp true; leave the file in place until the clock has passed the token");
  }

  const file_facts& facts_;
  std::vector<finding> found_;
};

}  // namespace

std::optional<file_facts::entry> file_facts::entry::of(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;
  return entry{path,         info.st_uid,   info.st_gid,
               info.st_mode, info.st_nlink, static_cast<std::uint64_t>(info.st_size)};
}

std::vector<finding> findings_of(const file_facts& facts) { return examination{facts}.run(); }

}  // namespace holdfast::sqlite
