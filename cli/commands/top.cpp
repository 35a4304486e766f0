// SPDX-License-Identifier: Apache-2.0
#include "commands/top.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "descriptor.hpp"
#include "exit_status.hpp"
#include "failure.hpp"
#include "live/reader.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "release_request.hpp"
#include "signal_inbox.hpp"
#include "top/board.hpp"
#include "top/lock_view.hpp"
#include "top/screen.hpp"

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

/// Of so many queues the first waiter is looked at each time: each costs a request.
constexpr std::size_t most_looks = 20;
/// The table of a busy store changes all the time, and nobody reads faster.
constexpr store_reader::pace pace{.shortest_pause = 500ms, .longest_pause = 2s, .with_headlines = true};
/// A store that has not answered for longer is told.
constexpr auto overdue = 3s;
constexpr std::size_t most_message_lines = 3;
constexpr std::size_t most_headlines = 3;
/// So that the cause of a failure is shown soon, and not after the usual time for retries.
constexpr auto retry_limit = 2s;

constexpr std::string_view keys_of_list =
    "q quit  enter look into  sort: w waiters  t wait  g grants  h held  n name";
constexpr std::string_view keys_of_detail =
    "q quit  esc back  a ask the holder to release  f force its release";
constexpr std::string_view keys_of_question = "y end this hold  any other key: leave it";

/// For the reader alone: nothing is to be flushed when it ends.
client open_for_reading(const store_choice& store) {
  return open_client(store, client_options{}
                                .flush_limit(duration::zero())
                                .locks(lock_options{}.retry(retry_policy{}.limit(retry_limit))));
}

/// At blanks, so that each line fits; the last one is cut.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most_lines) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most_lines) {
    const std::string whole = shortened(text, width);
    const bool is_last = whole == text || lines.size() + 1 == most_lines;
    const std::size_t blank = is_last ? std::string_view::npos : text.substr(0, width + 1).rfind(' ');
    if (blank == std::string_view::npos || blank == 0) {
      lines.push_back(whole);
      break;
    }
    lines.emplace_back(shortened(text.substr(0, blank), width));
    text.remove_prefix(blank + 1);
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

/// The oldest hold of a lock, which a request names by its token, so that no later one is meant.
struct hold_of {
  std::string name;
  fencing_token token;
  std::string holder;  // for people
};

std::optional<hold_of> oldest_hold(const lock_state& lock) {
  for (const claim_state& holder : lock.holders) {
    if (holder.token) return hold_of{lock.name, holder.token, to_text(holder.claimant)};
  }
  return std::nullopt;
}

/// What the line at the bottom says then.
std::string outcome_text(const request_outcome& outcome) {
  if (outcome.rest) return "the holder has released it; it rests for " + to_text(*outcome.rest) + " more";
  if (outcome.holders == 0) return "that hold has ended meanwhile";
  return outcome.asked_before.value_or(0) == 0
             ? "the holder was asked to release"
             : "the holder was asked to release; it was asked before, and hears of the first request only";
}

/// One session at a terminal: the table, or one lock, and a question before a hold is ended by force.
class session {
 public:
  explicit session(const top_command& request)
      : store_{open_for_reading(request.store)}, url_{printable(store_.url())}, reader_{store_, pace} {}

  int run() {
    if (const auto number = serve()) return killed_by_signal + *number;
    return success;
  }

 private:
  /// \return the signal that has ended it; empty: somebody has quit.
  std::optional<int> serve() {
    while (!quits_) {
      take_view();
      draw();
      await_any({signals_.get(), STDIN_FILENO, reader_.get()}, 1s);
      while (const auto number = signals_.take()) {
        if (*number == SIGTSTP) {
          stop();
        } else if (*number == SIGCONT) {
          screen_.enter();  // whoever had the terminal meanwhile may have changed it
        } else if (*number != SIGWINCH) {
          return number;
        }
      }
      press_all(screen::read_keys());
      reader_.want(board_.waits().names_to_look_at(most_looks), detail_, board_.waits().has_unknown());
    }
    return std::nullopt;
  }

  void take_view() {
    if (auto seen = reader_.take()) {
      board_.update(std::move(seen->locks), seen->longest_waits, seen->inspected, seen->when);
      headlines_ = std::move(seen->headlines);
      // It may be of a lock that was looked into before.
      if (seen->detail && seen->detail->name == detail_) state_ = std::move(*seen->detail);
      if (std::exchange(is_error_, false)) message_.clear();
    }
    if (auto news = reader_.take_message()) {
      message_ = printable(without_url(news->text));
      is_error_ = news->is_error;
    }
  }

  /// The head has the URL.
  [[nodiscard]] std::string without_url(const std::string& text) const {
    const std::string prefix = store_.url() + ": ";
    const std::size_t at = text.find(prefix);
    return at == std::string::npos ? text : text.substr(at + prefix.size());
  }

  /// As a shell's other jobs: the terminal is left as it was. The kernel stops no process that no shell would
  /// continue.
  void stop() {
    screen_.leave();
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    ::raise(SIGTSTP);
    ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
    ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    screen_.enter();
  }

  /// What was typed before a question is no answer to it.
  void press_all(const std::vector<key_press>& typed) {
    for (const key_press& each : typed) {
      const bool had_question = question_.has_value();
      press(each);
      if (question_ && !had_question) return screen::forget_keys();
    }
  }

  void press(const key_press& typed) {
    if (typed.pressed == key::end) {
      quits_ = true;  // nobody can type any more
      return;
    }
    if (question_) return answer(typed);
    if (typed.pressed == key::letter && typed.letter == 'q') {
      quits_ = true;
    } else if (!detail_.empty()) {
      press_in_detail(typed);
    } else {
      press_in_list(typed);
    }
  }

  void press_in_list(const key_press& typed) {
    const auto page = static_cast<std::ptrdiff_t>(screen::size().height);
    switch (typed.pressed) {
      case key::up: return board_.move(-1);
      case key::down: return board_.move(1);
      case key::page_up: return board_.move(-page);
      case key::page_down: return board_.move(page);
      case key::enter:
        if (const auto* const lock = board_.selected()) open(lock->name);
        return;
      case key::letter: return sort(typed.letter);
      default: return;
    }
  }

  void sort(char letter) {
    switch (letter) {
      case 'w': return board_.sort_by(board::order::waiters);
      case 't': return board_.sort_by(board::order::wait);
      case 'g': return board_.sort_by(board::order::grants);
      case 'h': return board_.sort_by(board::order::held);
      case 'n': return board_.sort_by(board::order::name);
      case 'k': return board_.move(-1);
      case 'j': return board_.move(1);
      case 'a':
      case 'f': return tell("look into the lock first: enter");
      default: return tell("no such key; the last line names those that there are");
    }
  }

  /// Until the next answer of the store.
  void tell(std::string text) {
    message_ = std::move(text);
    is_error_ = true;
  }

  void open(const std::string& name) {
    detail_ = name;
    state_.reset();
    message_.clear();
  }

  void press_in_detail(const key_press& typed) {
    if (typed.pressed == key::escape) {
      detail_.clear();
      return message_.clear();
    }
    if (typed.pressed != key::letter || (typed.letter != 'a' && typed.letter != 'f'))
      return tell("no such key; the last line names those that there are");
    if (!state_) return tell("the lock has not been read yet: wait for the store's answer");
    const auto hold = oldest_hold(*state_);
    if (!hold) {
      tell("nobody holds it whose hold has a token");
    } else if (typed.letter == 'a') {
      reader_.perform([hold = *hold](const client& locks) {
        return outcome_text(ask_to_release(locks, hold.name, hold.token, {}));
      });
    } else {
      question_ = hold;
    }
  }

  void answer(const key_press& typed) {
    const hold_of hold = *std::exchange(question_, std::nullopt);
    if (typed.pressed != key::letter || typed.letter != 'y') {
      message_ = "nothing was done";
      return;
    }
    reader_.perform([hold](const client& locks) {
      return locks.force_release(hold.name, hold.token) ? "the hold was ended by force"
                                                        : "that hold has ended meanwhile";
    });
  }

  [[nodiscard]] std::string head() const {
    const auto since = reader_.answered_at();
    const auto silence = boot_clock::now() - since.value_or(began_);
    std::string state = "reading";
    if (since)
      state =
          fmt::format("{} {}, {}", board_.size(), board_.size() == 1 ? "lock" : "locks", board_.order_text());
    if (silence > overdue)
      state = fmt::format("no answer for {}", to_text(std::chrono::ceil<std::chrono::seconds>(silence)));
    return fmt::format("holdfast top  {}  {}", url_, state);
  }

  static std::string question_text(const hold_of& hold) {
    return fmt::format("End the hold with token {} on '{}' by force? {} acts on without the lock.",
                       hold.token.value(), printable(hold.name), hold.holder);
  }

  void draw() const {
    const auto [width, height] = screen::size();
    const palette colours{stdout};
    const auto fit = [width = width](std::string_view text) { return shortened(text, width - 1); };
    const auto message =
        wrapped(question_ ? question_text(*question_) : message_, width - 1, most_message_lines);
    const std::size_t below = message.size() + 1;  // and the keys
    std::vector<std::string> all{colours.bold(fit(head()))};
    for (std::size_t i = 0; i < std::min(headlines_.size(), most_headlines); ++i)
      all.push_back(colours.red(fit(headlines_[i])));
    const std::size_t taken = all.size() + below;
    const std::size_t room = height > taken ? height - taken : 0;
    if (detail_.empty()) {
      auto lines = board_.lines(width - 1, room, colours);
      std::ranges::move(lines, std::back_inserter(all));
    } else {
      const auto title = state_ ? title_of(*state_, store_reader::most_waiters) : printable(detail_);
      if (room > 0) all.push_back(colours.bold(fit(title)));
      const auto lines =
          state_ ? lines_of(*state_, room > 0 ? room - 1 : 0) : std::vector<std::string>{"reading its queue"};
      for (const auto& line : lines) all.push_back(fit(line));
    }
    while (all.size() + below < height) all.emplace_back();
    for (const auto& line : message) all.push_back(colours.yellow(line));
    all.push_back(colours.dim(fit(question_         ? keys_of_question
                                  : detail_.empty() ? keys_of_list
                                                    : keys_of_detail)));
    // Of a screen that is too low, the end: it has the question and its keys.
    if (all.size() > height) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(height));
    screen::draw(all);
  }

  signal_inbox signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT};  // before all threads
  client store_;
  std::string url_;
  screen screen_;
  board board_;
  std::vector<std::string> headlines_;
  std::string detail_;               // the name that is looked into; empty: the table is shown
  std::optional<lock_state> state_;  // of that name; empty: not read yet
  std::optional<hold_of> question_;
  std::string message_;
  bool is_error_ = false;  // the message; it goes with the next answer
  boot_clock::time_point began_ = boot_clock::now();
  bool quits_ = false;
  store_reader reader_;  // the last: it ends first
};

}  // namespace

int perform(const top_command& request) {
  if (request.store.json)
    throw failure{bad_usage, "top has no --json; use 'holdfast ls --json' or 'holdfast watch --json'"};
  if (!is_terminal(stdout) || ::isatty(STDIN_FILENO) != 1)
    throw failure{bad_usage, "top needs a terminal; use 'holdfast ls' or 'holdfast watch'"};
  return session{request}.run();
}

}  // namespace holdfast::cli
