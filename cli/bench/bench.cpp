// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "bench/scenarios.hpp"
#include "descriptor.hpp"
#include "failure.hpp"
#include "signal_inbox.hpp"

namespace holdfast::cli {

namespace {

struct scenario {
  std::string_view name;
  bench_result (*run)(const bench_command&);
  bool takes_concurrency;
  bool takes_processes;
};

constexpr std::array scenarios{
    scenario{"pair", bench_pair, true, false},     scenario{"term", bench_term, true, false},
    scenario{"spread", bench_spread, true, false}, scenario{"handoff", bench_handoff, true, true},
    scenario{"idle", bench_idle, false, false},    scenario{"held", bench_held, true, false},
};

/// Refuses an option without effect, so that no figure is misread.
const scenario& chosen(const bench_command& request) {
  const auto* found = std::ranges::find(scenarios, request.scenario, &scenario::name);
  if (found == scenarios.end()) {
    throw failure{bad_usage,
                  fmt::format("there is no scenario '{}': use pair, term, spread, handoff, idle or held",
                              request.scenario)};
  }
  const auto refuse = [&](std::string_view option) {
    throw failure{bad_usage, fmt::format("the scenario '{}' does not take {}", request.scenario, option)};
  };
  if (request.concurrency && !found->takes_concurrency) refuse("--concurrency");
  if (request.names && found->name != "pair") refuse("--names");
  if (request.processes && !found->takes_processes) refuse("--processes");
  if (request.one_client && !found->takes_processes) refuse("--one-client");
  return *found;
}

/// A folder that is gone when the measurement is over, also when Ctrl-C ends it.
class temporary_folder {
 public:
  temporary_folder() : path_{(std::filesystem::temp_directory_path() / "holdfast-bench-XXXXXX").string()} {
    if (::mkdtemp(path_.data()) == nullptr) {
      throw std::system_error{errno, std::generic_category(), "cannot make " + path_};
    }
    janitor_ = std::jthread{[this] { clean_up_after_signal(); }};
  }
  ~temporary_folder() {
    over_.raise();
    janitor_.join();
    remove();
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  void remove() noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  void clean_up_after_signal() {
    await_any({signals_.get(), over_.get()});
    const auto number = signals_.take();
    if (!number) return;
    remove();
    signals_.close();
    ::raise(*number);
  }

  signal_inbox signals_{SIGINT, SIGTERM, SIGHUP};  // before all threads, so that none of them is interrupted
  event over_;
  std::string path_;
  std::jthread janitor_;
};

}  // namespace

int perform(const bench_command& request) {
  const auto& scenario = chosen(request);
  std::optional<temporary_folder> folder;
  auto measured = request;
  if (request.store.url.empty()) {
    folder.emplace();
    measured.store.url = fmt::format("sqlite:{}/locks.db", folder->path());
  }
  print(scenario.run(measured), request, masked_url(measured.store.url));
  return success;
}

client open_for_bench(const bench_command& request) {
  lock_options options;
  if (request.ttl) options.ttl(*request.ttl);
  return open_client(request.store, client_options{}.locks(options));
}

std::string bench_name(std::string_view suffix) { return fmt::format("bench/{}/{}", ::getpid(), suffix); }

}  // namespace holdfast::cli
