// SPDX-License-Identifier: Apache-2.0
// A process that uses the library as the lines on its standard input tell it, and answers each with one
// line. It ends with its input.
//
//   open URL [ttl=MS] [retry=MS] [flush=MS]  -> open | failed CODE TEXT     one client; later ones replace it
//   hold NAME [OPTION…]                      -> held TOKEN | refused | failed CODE TEXT
//   release                                  -> released | failed CODE TEXT      waits for the store
//   drop                                     -> dropped                          does not
//   end drop | end release | end close       -> (nothing)         does that, and becomes another program at once
//   report                                   -> holding | lost                   by lease::held() and lost()
//   claim                                    -> claimed NANOSECONDS    asks held() until it says no; when it
//                                               said yes last, by CLOCK_BOOTTIME
//   contend NAME WITNESS TURNS [OPTION…]       -> contended | failed CODE TEXT       lock, visit, unlock
//   visit WITNESS                            -> visited            once, with the token in HOLDFAST_TOKEN
//   cycle NAME TURNS [OPTION…]               -> cycled | failed CODE TEXT        lock, unlock
//   clients URL TURNS                        -> cycled | failed CODE TEXT        open, lock, close
//   inspect NAME                             -> holders N waiters N | failed CODE TEXT
//   close                                    -> closed
//   usage                                    -> usage RESIDENT_KIB DESCRIPTORS THREADS
//   limit files NUMBER | limit files         -> limited    so many descriptors; as many as at first
//   limit size BYTES | limit size            -> limited    of any file that is written; any
//   disk FOLDER KIB                          -> disk       of that size; this process alone sees it there
//   fill FOLDER | clear FOLDER               -> filled | cleared    to the last byte
//   user NUMBER [group=NUMBER]               -> user       gives up being root, and all groups but one
//   wall                                     -> wall SECONDS    by the wall clock
//
// OPTION: shared, permits=N/CAPACITY, ttl=MS, grace=MS, retry=MS (50 s), fixed, within=MS, label=TEXT. A
// lease of `hold` that is lost is told at once: lost CODE TEXT.

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <sched.h>
#include <sstream>
#include <string>
#include <sys/mount.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/failing.hpp"
#include "support/witness.hpp"
#include <holdfast/holdfast.hpp>

namespace {

using holdfast::duration;
using holdfast::lease;
using holdfast::mode;
using std::chrono::milliseconds;

void say(std::string line) {
  line += '\n';
  [[maybe_unused]] const auto written = ::write(STDOUT_FILENO, line.data(), line.size());
}

void check(bool good, const char* message) {
  if (!good) throw std::system_error{errno, std::generic_category(), message};
}

std::string failure(const std::error_code& code, const std::string& text) {
  return "failed " + std::to_string(code.value()) + ' ' + text;
}

/// A command's arguments, split into those in order and those of the form KEY=VALUE or a known flag.
class command {
 public:
  explicit command(const std::string& line) {
    std::istringstream fields{line};
    for (std::string field; fields >> field;) arguments_.push_back(field);
  }

  [[nodiscard]] const std::string& at(std::size_t index) const { return arguments_.at(index); }
  [[nodiscard]] std::size_t size() const { return arguments_.size(); }
  [[nodiscard]] bool has(const std::string& flag) const {
    return std::find(arguments_.begin(), arguments_.end(), flag) != arguments_.end();
  }
  [[nodiscard]] std::optional<std::string> option(const std::string& key) const {
    for (const auto& argument : arguments_) {
      if (argument.starts_with(key + '=')) return argument.substr(key.size() + 1);
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<milliseconds> time(const std::string& key) const {
    if (const auto text = option(key)) return milliseconds{std::stoll(*text)};
    return std::nullopt;
  }

 private:
  std::vector<std::string> arguments_;
};

holdfast::lock_options options_of(const command& request) {
  holdfast::lock_options options;
  if (const auto ttl = request.time("ttl")) options.ttl(*ttl);
  if (const auto grace = request.time("grace")) options.grace(*grace);
  // Servers that a test starts anew may take long to come back.
  options.retry(holdfast::retry_policy{}.limit(request.time("retry").value_or(std::chrono::seconds{50})));
  if (const auto label = request.option("label")) options.label(*label);
  options.renewal(!request.has("fixed"));
  return options;
}

/// One name, locked as a command's options say.
class contender {
 public:
  contender(holdfast::client& locks, const std::string& name, const command& request)
      : within_{request.time("within")}, mode_{request.has("shared") ? mode::shared : mode::exclusive} {
    const auto options = options_of(request);
    if (const auto permits = request.option("permits")) {
      mode_ = mode::permits;
      permits_ = std::stoll(*permits);
      capacity_ = std::stoll(permits->substr(permits->find('/') + 1));
      semaphore_.emplace(locks, name, capacity_, options);
    } else {
      mutex_.emplace(locks, name, options);
    }
  }

  std::optional<lease> acquire() {
    if (mode_ == mode::permits) {
      return within_ ? semaphore_->try_acquire_permits_for(permits_, *within_)
                     : semaphore_->acquire_permits(permits_);
    }
    if (mode_ == mode::shared) {
      return within_ ? mutex_->try_acquire_shared_for(*within_) : mutex_->acquire_shared();
    }
    return within_ ? mutex_->try_acquire_for(*within_) : mutex_->acquire();
  }

  void visit(holdfast::test::witness& place, const lease& held) const {
    place.visit(mode_, held.token(), permits_, capacity_);
  }

 private:
  std::optional<milliseconds> within_;
  mode mode_;
  std::int64_t permits_ = 1;
  std::int64_t capacity_ = 0;
  std::optional<holdfast::shared_mutex> mutex_;
  std::optional<holdfast::counting_semaphore> semaphore_;
};

std::string usage() {
  const auto entries = [](const char* folder) {
    return std::distance(std::filesystem::directory_iterator{folder}, {});
  };
  // The least of many looks: a thread that has been joined is there until the kernel has done with it.
  auto threads = entries("/proc/self/task");
  for (int looks = 50; looks > 0; --looks) {
    std::this_thread::sleep_for(milliseconds{2});
    threads = std::min(threads, entries("/proc/self/task"));
  }
  std::ifstream memory{"/proc/self/statm"};
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  memory >> size_pages >> resident_pages;
  const auto kib = resident_pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  return "usage " + std::to_string(kib) + ' ' + std::to_string(entries("/proc/self/fd")) + ' ' +
         std::to_string(threads);
}

class actor {
 public:
  std::string perform(const command& request) {
    static const std::map<std::string, std::string (actor::*)(const command&)> verbs{
        {"open", &actor::open},       {"hold", &actor::hold},       {"release", &actor::release},
        {"end", &actor::end},         {"drop", &actor::drop},       {"report", &actor::report},
        {"claim", &actor::claim},     {"contend", &actor::contend}, {"cycle", &actor::cycle},
        {"clients", &actor::clients}, {"close", &actor::close},     {"inspect", &actor::inspect},
        {"usage", &actor::resources}, {"limit", &actor::limit},     {"user", &actor::user},
        {"wall", &actor::wall},       {"disk", &actor::disk},       {"fill", &actor::fill},
        {"clear", &actor::clear},     {"visit", &actor::visit},
    };
    try {
      return (this->*verbs.at(request.at(0)))(request);
    } catch (const std::system_error& failed) {
      return failure(failed.code(), failed.what());
    }
  }

 private:
  std::string open(const command& request) {
    holdfast::client_options options;
    holdfast::lock_options locks;
    if (const auto ttl = request.time("ttl")) locks.ttl(*ttl);
    if (const auto limit = request.time("retry")) locks.retry(holdfast::retry_policy{}.limit(*limit));
    if (const auto limit = request.time("flush")) options.flush_limit(*limit);
    locks_.reset();
    locks_.emplace(request.at(1), options.locks(locks));
    return "open";
  }

  std::string hold(const command& request) {
    contender by{locks_.value(), request.at(1), request};
    auto held = by.acquire();
    if (!held) return "refused";
    held_ = std::move(*held);
    say("held " + std::to_string(held_.token().value()));
    held_.on_lost([](std::error_code reason) {
      say("lost " + std::to_string(reason.value()) + ' ' + reason.message());
    });
    return {};
  }

  std::string release(const command&) {
    if (const auto code = held_.release()) return failure(code, code.message());
    return "released";
  }

  std::string drop(const command&) {
    held_ = lease{};
    return "dropped";
  }

  std::string end(const command& request) {
    if (request.at(1) == "drop") held_ = lease{};
    if (request.at(1) == "release") static_cast<void>(held_.release());
    if (request.at(1) == "close") {
      held_ = lease{};
      locks_->close();
    }
    ::execl("/bin/true", "true", static_cast<char*>(nullptr));
    return failure(std::error_code{errno, std::generic_category()}, "execl");
  }

  std::string report(const command&) {
    return held_.held() && !held_.lost().stop_requested() ? "holding" : "lost";
  }

  std::string claim(const command&) {
    auto claimed = holdfast::boot_clock::time_point{};
    for (;;) {
      const auto now = holdfast::boot_clock::now();
      if (!held_.held()) break;
      claimed = now;
    }
    return "claimed " + std::to_string(claimed.time_since_epoch().count());
  }

  std::string contend(const command& request) {
    contender by{locks_.value(), request.at(1), request};
    holdfast::test::witness place{request.at(2)};
    for (auto turn = std::stoll(request.at(3)); turn > 0; --turn) {
      if (const auto held = by.acquire()) by.visit(place, *held);
    }
    return "contended";
  }

  std::string visit(const command& request) {
    const char* token = std::getenv("HOLDFAST_TOKEN");
    check(token != nullptr, "HOLDFAST_TOKEN");
    holdfast::test::witness{request.at(1)}.visit(mode::exclusive,
                                                 holdfast::fencing_token{std::stoull(token)});
    return "visited";
  }

  std::string cycle(const command& request) {
    contender by{locks_.value(), request.at(1), request};
    for (auto turn = std::stoll(request.at(2)); turn > 0; --turn) {
      try {
        by.acquire();
      } catch (const holdfast::error& failed) {
        // A brief limit may end before the store has answered.
        if (!request.time("within") || !holdfast::test::is_unanswered(failed.code())) throw;
      }
    }
    return "cycled";
  }

  std::string clients(const command& request) {
    for (auto turn = std::stoll(request.at(2)); turn > 0; --turn) {
      holdfast::client locks{request.at(1)};
      holdfast::mutex lock{locks, "clients"};
      const std::scoped_lock held{lock};
    }
    return "cycled";
  }

  std::string inspect(const command& request) {
    const auto state = locks_.value().inspect(request.at(1)).value_or(holdfast::lock_state{});
    return "holders " + std::to_string(state.holders.size()) + " waiters " +
           std::to_string(state.waiters.size());
  }

  std::string close(const command&) {
    locks_.reset();
    return "closed";
  }

  std::string resources(const command&) { return usage(); }

  std::string limit(const command& request) {
    // A write beyond the limit then fails, instead of ending the process.
    std::signal(SIGXFSZ, SIG_IGN);
    const auto resource = request.at(1) == "files" ? RLIMIT_NOFILE : RLIMIT_FSIZE;
    ::rlimit limits{};
    ::getrlimit(resource, &limits);
    limits.rlim_cur = request.size() > 2 ? std::stoull(request.at(2)) : limits.rlim_max;
    check(::setrlimit(resource, &limits) == 0, "setrlimit");
    return "limited";
  }

  std::string disk(const command& request) {
    const std::string size = "size=" + request.at(2) + 'k';
    check(::unshare(CLONE_NEWNS) == 0, "unshare");
    check(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "mount private");
    check(::mount("none", request.at(1).c_str(), "tmpfs", 0, size.c_str()) == 0, "mount tmpfs");
    return "disk";
  }

  std::string fill(const command& request) {
    const int file =
        ::open((request.at(1) + "/filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    check(file >= 0, "open");
    const std::string page(4096, 'x');
    while (::write(file, page.data(), page.size()) > 0) {
    }
    ::close(file);
    return "filled";
  }

  std::string clear(const command& request) {
    std::filesystem::remove(request.at(1) + "/filler");
    return "cleared";
  }

  std::string user(const command& request) {
    const auto id = static_cast<::uid_t>(std::stoul(request.at(1)));
    const auto group = static_cast<::gid_t>(std::stoul(request.option("group").value_or(request.at(1))));
    check(::setgroups(0, nullptr) == 0 && ::setgid(group) == 0 && ::setuid(id) == 0, "setuid");
    return "user";
  }

  std::string wall(const command&) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return "wall " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(now).count());
  }

  std::optional<holdfast::client> locks_;
  lease held_;
};

}  // namespace

int main() {
  actor self;
  for (std::string line; std::getline(std::cin, line);) {
    if (const auto answer = self.perform(command{line}); !answer.empty()) say(answer);
  }
}
