// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <CLI/App.hpp>

#include "bench/bench.hpp"
#include "commands/doctor.hpp"
#include "commands/elect.hpp"
#include "commands/fence.hpp"
#include "commands/leader.hpp"
#include "commands/ls.hpp"
#include "commands/release.hpp"
#include "commands/run.hpp"
#include "commands/schema.hpp"
#include "commands/serve.hpp"
#include "commands/show.hpp"
#include "commands/top.hpp"
#include "commands/wait.hpp"
#include "commands/watch.hpp"
#include "commands/why.hpp"

namespace holdfast::cli {

/// The subcommands with their options, and the values that the command line gives them.
struct subcommands {
  run_command run;
  elect_command elect;
  fence_command fence;
  leader_command leader;
  ls_command ls;
  names_command names;
  show_command show;
  wait_command wait;
  release_command release;
  watch_command watch;
  why_command explain;
  doctor_command doctor;
  top_command top;
  serve_command serve;
  schema_command schema;
  bench_command bench;
  contender_command contender;
  std::string shell;       ///< of `completion`
  std::string help_topic;  ///< of `help`

  /// Adds all of them. The app fills the values when it parses, so it must not outlive them.
  void add_to(CLI::App& app);

 private:
  void add_run(CLI::App& app);
  void add_elect(CLI::App& app);
  void add_fence(CLI::App& app);
  void add_leader(CLI::App& app);
  void add_ls(CLI::App& app);
  void add_show(CLI::App& app);
  void add_wait(CLI::App& app);
  void add_release(CLI::App& app);
  void add_watch(CLI::App& app);
  void add_why(CLI::App& app);
  void add_doctor(CLI::App& app);
  void add_top(CLI::App& app);
  void add_serve(CLI::App& app);
  void add_schema(CLI::App& app);
  void add_bench(CLI::App& app);
  void add_completion(CLI::App& app);
  void add_help(CLI::App& app);
  void add_hidden(CLI::App& app);
};

}  // namespace holdfast::cli
