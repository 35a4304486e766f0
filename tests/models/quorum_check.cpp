// SPDX-License-Identifier: Apache-2.0
// The lock of several independent Redis servers (docs/adr/0029), checked in every interleaving of 3 servers
// and 2 or 3 clients with a few faults.
//
// One step: a server carries out one request, a client hears one answer, starts, releases or asks again, or a
// fault. Time is abstract. A vote may lapse for its client at any moment, and at the server only after that.
//
// In every state: no two clients believe that they hold; whoever begins to hold has a larger token than all
// before; and where nothing is under way, fair weather serves every claim.
//
//   quorum_check [option]...
//     --clients N            2 or 3
//     --claims A,B,C         of each client, 1 or 2
//     --numbers L-H,L-H,L-H  that the first claim of each client may have; the second has H more
//     --tries N              the first N clients do not wait
//     --breaks N             connections that break; a request of one may come late
//     --lapses N             votes that lapse for their clients
//     --ends N               grants that end at their servers
//     --left-queues N        places that end
//     --given-up N           claims that are given up
//     --deaths N             servers that die
//     --restarts N KIND      of servers, whole, empty or lossy (the last writes are lost)
//     --numbers-ahead        of the clock of a server that restarts, by as much as it takes
//     --proofs               a claim that waits brings a secret, and the notification of a grant has it
//     --repeats N            such notifications come again, from somebody who has seen them
//     --no-late              no request comes late
//     --late-yields          the lines that break are those with a yield, and it comes late
//     --safety               without the check that all are served
//     --mutant NAME          noyield, noguard, stale (votes never lapse), noserial (a yield names no grant), weakserial (a
//                            refused one makes no new number), revive (a hold that has lapsed), guardvotes (a server in
//                            its guard says that it has granted), oldnumbers (after a guard it accepts numbers from
//                            before), vainyield (a holder renews where a yield is not answered); with --proofs, a
//                            notification is believed: otherline (from another connection), keptsecret (which a grant has
//                            used), toldsecret (which was told when a request was under way), outrun (heard behind a later
//                            answer)
//     --millions N           of states at most; 5 if not given
//     --seconds N
//
// Status 1: there is a fault; its steps are printed. Status 3: the limit was reached without one. With a
// mutant, 0 and 1 are exchanged. States are kept as 64-bit fingerprints.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <span>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "quorum_steps.hpp"

namespace model {

settings chosen;

namespace {

std::size_t most_states = 5'000'000;
long most_seconds = 600;

std::uint64_t fingerprint_of(const state& s) {
  std::uint64_t h = 0x9E3779B97F4A7C15ULL;
  const auto* from = reinterpret_cast<const unsigned char*>(&s);
  for (std::size_t i = 0; i < sizeof s; i += 8) {
    std::uint64_t v = 0;
    std::memcpy(&v, from + i, std::min<std::size_t>(8, sizeof s - i));
    h = (h ^ v) * 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
    h *= 0xc4ceb9fe1a85ec53ULL;
    h ^= h >> 29;
  }
  return h != 0 ? h : 1;
}

/// Most bytes of a state are 0: of these only the number is kept.
std::string packed(const state& s) {
  std::string text;
  const auto* from = reinterpret_cast<const char*>(&s);
  for (std::size_t i = 0; i < sizeof s; ++i) {
    text += from[i];
    if (from[i] != 0) continue;
    char count = 0;
    while (i + 1 < sizeof s && from[i + 1] == 0 && count < 100) ++count, ++i;
    text += count;
  }
  return text;
}

state unpacked(const std::string& text) {
  state s{};
  auto* to = reinterpret_cast<char*>(&s);
  for (std::size_t i = 0; i < text.size(); ++i) {
    *to++ = text[i];
    if (text[i] == 0) to += text[++i];
  }
  return s;
}

class search {
 public:
  search() {
    void* const at = mmap(nullptr, table_size * 8, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    table_ = static_cast<std::uint64_t*>(at);
  }
  ~search() { munmap(table_, table_size * 8); }
  search(const search&) = delete;
  search& operator=(const search&) = delete;

  /// Returns the status.
  int run() {
    const std::time_t begun = std::time(nullptr);
    state s = first_state();
    normalise(s);
    note(s, 0);
    bool is_limited = false;
    for (; !open_.empty() && fault_ == nullptr; ++at_) {
      s = unpacked(open_.front());
      bytes_ -= open_.front().size();
      open_.pop_front();
      if (chosen.checks_progress && is_quiet(s) && !fair_weather_serves(s)) {
        fault_ = "fair weather does not serve every claim";
        print_path(at_, 0);
        break;
      }
      steps{s, false, [&](state& next, const std::string&) { visit(s, next); }}.run();
      if (at_ % 4096 == 0 && (fingerprints_.size() > most_states ||
                              std::time(nullptr) - begun > most_seconds || bytes_ > 3'000'000'000)) {
        is_limited = true;
        break;
      }
    }
    std::printf("%s: %zu states, %zu steps, %zu beyond a bound, %ld s\n",
                fault_ != nullptr ? fault_
                : is_limited      ? "no fault so far"
                                  : "no fault in all states",
                fingerprints_.size(), taken_, beyond_, static_cast<long>(std::time(nullptr) - begun));
    const bool is_wrong = (fault_ != nullptr) != !chosen.mutant.empty();
    return is_limited ? 3 : is_wrong ? 1 : 0;
  }

 private:
  const std::size_t table_size =
      std::bit_ceil(2 * most_states + 100'000);  // the next look at the limit is after 4096 more

  void visit(const state& from, state& next) {
    if (fault_ != nullptr) return;
    ++taken_;
    if (next.is_beyond) {
      ++beyond_;
      return;
    }
    fault_ = fault_of(from, next);
    normalise(next);
    if (fault_ != nullptr) return print_path(at_, fingerprint_of(next));
    note(next, at_);
  }

  void note(const state& s, std::size_t parent) {
    const std::uint64_t h = fingerprint_of(s);
    std::size_t i = h & (table_size - 1);
    for (; table_[i] != 0; i = (i + 1) & (table_size - 1))
      if (table_[i] == h) return;
    table_[i] = h;
    fingerprints_.push_back(h);
    parents_.push_back(static_cast<std::uint32_t>(parent));
    open_.push_back(packed(s));
    bytes_ += open_.back().size();
  }

  /// From the first state to number `last`, and on to the state with that fingerprint.
  void print_path(std::size_t last, std::uint64_t end) const {
    std::printf("FAULT: %s\n", fault_);
    std::vector<std::uint64_t> path;
    if (end != 0) path.push_back(end);
    for (std::size_t i = last; i != 0; i = parents_[i]) path.push_back(fingerprints_[i]);
    std::reverse(path.begin(), path.end());
    state s = first_state();
    normalise(s);
    int number = 0;
    for (const std::uint64_t each : path) {
      bool is_found = false;
      state following{};
      std::string happened;
      steps{s, true,
            [&](state& next, const std::string& text) {
              if (is_found || next.is_beyond) return;
              (void)fault_of(s, next);
              normalise(next);
              if (fingerprint_of(next) != each) return;
              is_found = true;
              following = next;
              happened = text;
            }}
          .run();
      // Servers are sorted anew in each state, so that their places may change from line to line.
      std::printf("  %2d %s\n", ++number, is_found ? happened.c_str() : "(lost)");
      if (!is_found) return;
      s = following;
    }
    print_state(s);
  }

  static void print_state(const state& s) {
    for (int c = 0; c < chosen.clients; ++c)
      std::printf("     %s: phase %d, number %d, token %d, votes %d%s\n", name_of(owner_of(s, c)).c_str(),
                  s.of[c].phase, s.number[owner_of(s, c)], s.of[c].token, votes_of(s, c),
                  believes(s, c) ? ", BELIEVES" : "");
    for (const spot& at : s.at)
      std::printf("     server: holder %s, fence %d%s%s\n", name_of(at.box.now.holder).c_str(),
                  at.box.now.fence, at.box.now.knows_fence ? "" : " (not known)",
                  at.box.is_guarded ? ", guarded" : "");
  }

  std::uint64_t* table_ = nullptr;
  std::vector<std::uint64_t> fingerprints_;
  std::vector<std::uint32_t> parents_;
  std::deque<std::string> open_;
  std::size_t at_ = 0, taken_ = 0, beyond_ = 0, bytes_ = 0;
  const char* fault_ = nullptr;
};

bool read_options(std::span<char*> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = words[i];
    const auto next = [&] { return i + 1 < words.size() ? std::string{words[++i]} : std::string{}; };
    const auto number = [&] { return std::atoi(next().c_str()); };
    const auto count = [&](byte& of) { of = static_cast<byte>(number()); };
    auto& low = chosen.lowest;
    auto& high = chosen.highest;
    if (word == "--clients")
      chosen.clients = number();
    else if (word == "--claims")
      std::sscanf(next().c_str(), "%d,%d,%d", &chosen.claims[0], &chosen.claims[1], &chosen.claims[2]);
    else if (word == "--numbers")
      std::sscanf(next().c_str(), "%d-%d,%d-%d,%d-%d", &low[0], &high[0], &low[1], &high[1], &low[2],
                  &high[2]);
    else if (word == "--tries")
      chosen.tries = number();
    else if (word == "--breaks")
      count(chosen.most.breaks);
    else if (word == "--lapses")
      count(chosen.most.lapses);
    else if (word == "--ends")
      count(chosen.most.ends);
    else if (word == "--left-queues")
      count(chosen.most.left_queues);
    else if (word == "--given-up")
      count(chosen.most.given_up);
    else if (word == "--deaths")
      count(chosen.most.deaths);
    else if (word == "--restarts") {
      count(chosen.most.restarts);
      const std::string kind = next();
      (kind == "whole"   ? chosen.restarts_whole
       : kind == "empty" ? chosen.restarts_empty
                         : chosen.loses_writes) = true;
    } else if (word == "--numbers-ahead")
      chosen.numbers_ahead = true;
    else if (word == "--proofs")
      chosen.proves_grants = true;
    else if (word == "--repeats")
      count(chosen.most.repeats);
    else if (word == "--no-late")
      chosen.requests_come_late = false;
    else if (word == "--late-yields")
      chosen.only_yields_are_late = true;
    else if (word == "--safety")
      chosen.checks_progress = false;
    else if (word == "--mutant")
      chosen.mutant = next();
    else if (word == "--millions")
      most_states = static_cast<std::size_t>(number()) * 1'000'000;
    else if (word == "--seconds")
      most_seconds = number();
    else
      return std::fprintf(stderr, "quorum_check: there is no option %s\n", word.c_str()), false;
  }
  return true;
}

}  // namespace
}  // namespace model

int main(int count, char** words) {
  if (!model::read_options(std::span{words + 1, static_cast<std::size_t>(count - 1)})) return 2;
  return model::search{}.run();
}
