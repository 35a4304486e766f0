// SPDX-License-Identifier: Apache-2.0
#include "subcommands.hpp"

#include <cstdint>
#include <fmt/format.h>

#include "options.hpp"
#include <holdfast/client.hpp>
#include <holdfast/election.hpp>
#include <holdfast/options.hpp>

namespace holdfast::cli {

namespace {

CLI::App* add(CLI::App& app, const std::string& name, const std::string& help) {
  return app.add_subcommand(name, help)->group("Commands");
}

}  // namespace

void subcommands::add_to(CLI::App& app) {
  add_run(app);
  add_ls(app);
  add_show(app);
  add_wait(app);
  add_release(app);
  add_watch(app);
  add_why(app);
  add_doctor(app);
  add_top(app);
  add_elect(app);
  add_leader(app);
  add_fence(app);
  add_serve(app);
  add_schema(app);
  add_bench(app);
  add_completion(app);
  add_help(app);
  add_hidden(app);
}

void subcommands::add_run(CLI::App& app) {
  auto* command = add(app, "run", "Take a lock, run a command, give the lock back");
  add_name(command, run.wish.name, "The name of the lock");
  command
      ->add_flag(
          "--shared", [this](std::int64_t) { run.wish.mode = mode::shared; },
          "Hold the lock together with other shared holders")
      ->excludes(command
                     ->add_option_function<std::string>(
                         "--permits", [this](const std::string& text) { set_permits(run.wish, text); },
                         "Hold N permits of a semaphore that has OF")
                     ->type_name("N/OF"));
  add_other_names(command, "--and", "Lock this name too; all or none; may be repeated",
                  [this](const std::string& name) { run.wish.others.emplace_back(name); });
  add_other_names(command, "--and-shared", "As --and, together with other shared holders",
                  [this](const std::string& name) { run.wish.others.push_back(lock_spec::shared(name)); });
  add_text(command, "--also", "URL:NAME", "First take the lock NAME of another store, and hold it, too",
           [this](const std::string& text) { run.also = also_of(text); });
  command
      ->add_option("--also-password-file", run.also_password_file,
                   "The password of that store, as --password-file")
      ->type_name("FILE")
      ->needs("--also");
  command
      ->add_option("--also-flock", run.also_file, "First of all lock FILE as flock(1) does, and hold it, too")
      ->type_name("FILE")
      ->check([](const std::string& path) { return path.empty() ? "the path is empty" : ""; });
  add_duration(command, "--wait", run.wish.wait,
               "Give up after this time; 0: try once; default: wait without limit");
  command->add_flag("-q,--quiet", run.quiet, "Print no message when the lock is not granted in time");
  add_on_request(command, run.request_signal);
  add_status(command, "-E,--conflict-exit-code", run.conflict_status,
             "Exit with N when the lock is not granted in time; default: 75");
  add_status(command, "--lost-exit-code", run.lost_status,
             "Exit with N when the lock was lost while the command ran; default: 76");
  add_ttl(command, run.wish.ttl, "The lock ends this long after its holder crashed; default: 30s");
  add_grace(command, run.wish.grace, "After a holder crashed, the lock rests for so long on top of the ttl");
  add_at_least(command, run.wish.at_least,
               "Keep the lock for so long from its grant, although COMMAND ends sooner");
  add_label(command, run.wish.label);
  add_store(command, run.store);
  command->footer(
      "Example: holdfast run nightly --wait 10m -- restic backup /srv\n"
      "\n"
      "COMMAND finds HOLDFAST_TOKEN and HOLDFAST_NAME in its environment, and of names after\n"
      "--and HOLDFAST_TOKEN_2, HOLDFAST_NAME_2 and so on.\n"
      "The exit status is that of COMMAND, or\n"
      "  64  bad usage                             76  the lock was lost while COMMAND ran\n"
      "  69  the store is unavailable             126  COMMAND cannot be executed\n"
      "  75  the lock was not granted in time     127  COMMAND does not exist");
}

void subcommands::add_elect(CLI::App& app) {
  auto* command = add(app, "elect", "Run a command in one process of many, with the others as standbys");
  elect.wish.election = true;
  add_name(command, elect.wish.name, "The name of the election");
  add_text(command, "--value", "TEXT", "What 'leader' prints while this one leads; default: the host's name",
           [this](const std::string& text) {
             if (text.size() > election::longest_value) {
               throw failure{bad_usage,
                             fmt::format("--value: a value has at most {} bytes", election::longest_value)};
             }
             if (text.empty()) {
               throw failure{bad_usage,
                             "--value: the value is empty; leave it out for the name of this host"};
             }
             elect.value = text;
           });
  command->add_flag("--once", elect.once, "Exit after one term, with the status of COMMAND");
  add_on_request(command, elect.request_signal);
  add_status(command, "--lost-exit-code", elect.lost_status,
             "With --once, exit with N when the term was lost while COMMAND ran; default: 76");
  add_ttl(command, elect.wish.ttl, "Another leads this long after the leader crashed; default: 30s");
  add_grace(command, elect.wish.grace, "After a leader crashed, nobody leads for so long on top of the ttl");
  add_label(command, elect.wish.label);
  add_store(command, elect.store);
  command->footer(
      "COMMAND runs for each term that is won; it finds HOLDFAST_TOKEN and HOLDFAST_NAME in its\n"
      "environment. When it ends, another leads, and this process stands by again. SIGINT, SIGQUIT\n"
      "and SIGTERM end COMMAND and this process. The exit status is that of COMMAND, 128 plus the\n"
      "signal's number where no COMMAND runs, or one of 'run'.");
}

void subcommands::add_fence(CLI::App& app) {
  auto* command = add(app, "fence", "Run a command unless a newer holder of its lock has run one before");
  command->add_option("FILE", fence.file, "Remembers the largest token; it is made if it does not exist")
      ->required()
      ->type_name("");
  add_number(command, "--token", fence.token, "The fencing token; default: HOLDFAST_TOKEN");
  add_duration(command, "--wait", fence.wait,
               "Give up when FILE is in use for so long; 0: try once; default: wait without limit");
  command->footer(
      "Example: holdfast run stock -- sh -c 'prepare >new && holdfast fence stock.fence -- mv new stock'\n"
      "\n"
      "FILE is locked while COMMAND runs, so a newer holder's command begins after it.\n"
      "The exit status is that of COMMAND, or\n"
      "  64  bad usage                             77  this user may not use FILE\n"
      "  65  the token is older than another one  126  COMMAND cannot be executed\n"
      "  69  FILE cannot be used                  127  COMMAND does not exist\n"
      "  75  FILE was in use for as long as --wait says");
}

void subcommands::add_leader(CLI::App& app) {
  auto* command = add(app, "leader", "Print the value of the leader");
  add_name(command, leader.name, "The name of the election");
  command->add_flag("--watch", leader.watch,
                    "Print it again after each change; an empty line means that nobody leads");
  add_store(command, leader.store);
  command->footer(
      "The exit status is 0 if there is a leader, 1 if nobody leads. With --watch it is 0 when SIGINT,\n"
      "SIGTERM or SIGHUP ends it.");
}

void subcommands::add_ls(CLI::App& app) {
  auto* command = add(app, "ls", "List locks that are held or waited for");
  command->add_flag("--all", ls.all, "List idle locks too, with their last tokens");
  add_store(command, ls.store);
}

void subcommands::add_show(CLI::App& app) {
  auto* command = add(app, "show", "Show who holds a lock and who waits for it");
  add_name(command, show.name, "The lock");
  command->add_flag("-q,--quiet", show.quiet,
                    "Print nothing; exit with 0 when the lock is held, with 1 when it is free");
  add_store(command, show.store);
}

void subcommands::add_wait(CLI::App& app) {
  auto* command = add(app, "wait", "Wait until nobody holds a lock, without taking it");
  add_name(command, wait.name, "The lock");
  add_duration(command, "--wait", wait.limit, "Give up after this time, with status 75; 0: look once");
  add_store(command, wait.store);
  command->footer(
      "The exit status is\n"
      "   0  nobody holds the lock                 75  somebody held it for as long as --wait says\n"
      "  69  the store is unavailable             128  plus the signal's number: a signal ended the wait");
}

void subcommands::add_release(CLI::App& app) {
  auto* command = add(app, "release", "Ask a holder to release a lock, or take it from the holder");
  add_name(command, release.name, "The lock");
  command->add_flag("--ask", release.ask,
                    "Ask the holder, who goes on holding the lock until it releases it");
  add_text(command, "--reason", "TEXT", "With --ask, what the holder is told",
           [this](const std::string& text) {
             if (text.size() > client::longest_reason) {
               throw failure{bad_usage,
                             fmt::format("--reason: a reason has at most {} bytes", client::longest_reason)};
             }
             release.reason = text;
           });
  command->add_flag("--force", release.force, "End the hold, although the holder has not released the lock");
  add_number(command, "--token", release.token, "Only the hold with this token; 'show' lists the tokens");
  add_store(command, release.store);
  command->footer(
      "A holder hears of the first request only; --ask tells whether it was asked before.\n"
      "The exit status of --ask is 0 if a holder was asked, and 1 if nobody holds the lock, or its\n"
      "holder has released it and it rests (see run --at-least).");
}

void subcommands::add_watch(CLI::App& app) {
  auto* command = add(app, "watch", "Print each change of a lock as it happens");
  add_name(command, watch.name, "Watch this lock alone", false);
  add_store(command, watch.store);
  command->footer(
      "The exit status is 0 when SIGINT, SIGTERM or SIGHUP ends it, and 69 when the store is unavailable.");
}

void subcommands::add_why(CLI::App& app) {
  auto* command = add(app, "why", "Explain who holds up a lock, to the end of the chain, and name deadlocks");
  add_name(command, explain.name, "The lock", false);
  command->add_flag("--all", explain.all, "Print all deadlocks of the store, instead of one lock");
  add_store(command, explain.store);
  command->footer("The exit status is 2 if there is a deadlock.");
}

void subcommands::add_doctor(CLI::App& app) {
  auto* command = add(app, "doctor", "Check a store: are its settings safe for locks?");
  auto* place = command->add_option("URL", doctor.store.url, "The store, as with --store");
  place->check(no_empty_url)->type_name("");
  command->add_flag("--all", doctor.all, "Print the conditions that are kept, too; --json always does");
  command->add_flag("--accept-unknown", doctor.accepts_unknown,
                    "Do not count as doubtful what this user may not ask");
  add_ttl(command, doctor.ttl, "The longest ttl in use, with its grace; default: 30s");
  auto* former = command->add_option("--after", doctor.after,
                                     "The store in use until now: are this one's tokens larger?");
  former->check(no_empty_url)->type_name("URL");
  command
      ->add_option("--after-password-file", doctor.after_password_file,
                   "The password of that store, as --password-file")
      ->type_name("FILE")
      ->needs(former);
  add_store(command, doctor.store)->excludes(place);
  command->footer("The exit status is 0 if all checks passed, 1 if one may not have, and 2 if one failed.");
}

void subcommands::add_top(CLI::App& app) {
  auto* command = add(app, "top", "Show the busiest locks of a store, live, on a terminal");
  add_store(command, top.store);
  command->get_option("--json")->group("");  // it is refused, with a hint at what prints JSON
  command->footer("Its last line names the keys.");
}

void subcommands::add_serve(CLI::App& app) {
  auto* command = add(app, "serve", "Show a store to browsers and to Prometheus, by HTTP");
  add_text(command, "--listen", "ADDRESS:PORT",
           "Where to listen; default: 127.0.0.1:8377; port 0: any that is free",
           [this](const std::string& text) { serve.listen = text; });
  add_other_names(command, "--host", "A further name under which it is reached; may be repeated",
                  [this](const std::string& name) { serve.hosts.push_back(name); });
  add_text(command, "--tls-cert", "FILE", "Serve HTTPS with this certificate and its chain, in PEM",
           [this](const std::string& path) { serve.tls_certificate = path; });
  add_text(command, "--tls-key", "FILE", "The key of the certificate, in PEM",
           [this](const std::string& path) { serve.tls_key = path; });
  command->add_flag("--allow-release", serve.allow_release,
                    "Let whoever has the secret ask holders, and end holds");
  add_text(command, "--secret-file", "FILE", "With --allow-release, the first line of FILE is the secret",
           [this](const std::string& path) { serve.secret_file = path; });
  add_duration(command, "--interval", serve.interval,
               "Read the store so often, and after a change sooner; 100ms to 1h; default: 1s");
  add_ttl(command, serve.ttl, "The longest ttl in use, with its grace, for the doctor; default: 30s");
  add_store(command, serve.store);
  command->footer(
      "Without --allow-release it only reads. Without TLS it listens on loopback addresses alone.\n"
      "SIGINT and SIGTERM end it with status 0.");
}

void subcommands::add_schema(CLI::App& app) {
  auto* command = add(app, "schema", "Print or make the tables and routines of a store in a database server");
  auto* place = command->add_option("URL", schema.store.url, "The store, as with --store");
  place->check(no_empty_url)->type_name("");
  command->add_flag("--fences", schema.fences,
                    "What a resource there needs to check fencing tokens, instead");
  command->add_flag("--apply", schema.apply, "Make them, as the user of the URL, instead of printing them");
  add_store(command, schema.store)->excludes(place);
}

void subcommands::add_bench(CLI::App& app) {
  auto* command = add(app, "bench", "Measure a store");
  command->add_option("SCENARIO", bench.scenario, "pair, term, spread, handoff, idle or held")
      ->required()
      ->type_name("");
  add_number(command, "--count", bench.count, "Pairs or hand-overs at most; waiters (idle); leases (held)");
  add_number(command, "--concurrency", bench.concurrency,
             "Claims in flight; threads (pair, term); contenders per process (handoff)");
  add_number(command, "--names", bench.names, "Names that are locked together (pair); default: 1");
  add_number(command, "--processes", bench.processes, "Processes (handoff)");
  command->add_flag("--one-client", bench.one_client,
                    "The contenders of a process share one client (handoff)");
  add_duration(command, "--duration", bench.length, "How long to measure");
  add_ttl(command, bench.ttl, "The ttl of every lease; default: 30s");
  add_store(command, bench.store);
  command->footer("Without --store, bench measures a fresh SQLite file and removes it afterwards.");
}

void subcommands::add_completion(CLI::App& app) {
  auto* command = add(app, "completion", "Print a completion script");
  command->add_option("SHELL", shell, "bash, zsh or fish")->required()->type_name("");
  command->footer("");
}

void subcommands::add_help(CLI::App& app) {
  auto* command = add(app, "help", "Explain a command");
  command->add_option("COMMAND", help_topic, "The command to explain")->type_name("");
  command->footer("");
}

void subcommands::add_hidden(CLI::App& app) {
  auto* hidden_names = app.add_subcommand("__names", "")->group("");
  add_store(hidden_names, names.store);
  auto* hidden_contender = app.add_subcommand("__contender", "")->group("");
  hidden_contender->add_option("BOARD", contender.board)->required();
  hidden_contender->add_option("PROCESS", contender.process)->required();
}

}  // namespace holdfast::cli
