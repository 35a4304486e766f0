#include "command_line.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <functional>
#include <memory>
#include <utility>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "commands/completion.hpp"
#include "failure.hpp"
#include "output/text.hpp"
#include <holdfast/error.hpp>
#include <holdfast/options.hpp>

namespace holdfast::cli {

namespace {

/// Says less than CLI11 would, and knows of a command line within a command line.
class formatter : public CLI::Formatter {
 public:
  formatter() {
    label("SUBCOMMAND", "COMMAND");
    column_width(30);
  }

  std::string make_usage(const CLI::App* command, std::string name) const override {
    if (command->get_name() != "run") return CLI::Formatter::make_usage(command, name);
    return "Usage: holdfast run NAME [OPTIONS] -- COMMAND [ARGUMENT]...\n";
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    const bool takes_value = !option->get_positional() && option->get_items_expected_max() > 0;
    return takes_value ? " " + option->get_type_name() : "";
  }
};

/// The options of all subcommands, and where their values go.
class parser {
 public:
  parser() {
    app_.formatter(std::make_shared<formatter>());
    app_.require_subcommand(1);
    app_.set_version_flag("--version", version_text(), "Print the version and the stores of this build");
    app_.set_help_flag("-h,--help", "Explain this command");
    app_.footer(
        "The store is --store URL, else HOLDFAST_STORE, else a file of this user.\n"
        "'holdfast help COMMAND' and 'man holdfast' tell more.");
    add_run();
    add_ls();
    add_show();
    add_wait();
    add_release();
    add_watch();
    add_schema();
    add_bench();
    add_completion();
    add_help();
    add_hidden();
  }

  any_command parse(std::vector<std::string> arguments) {
    put_subcommand_first(arguments);
    take_command_to_run(arguments);
    const auto first = arguments.empty() ? "" : arguments.front();
    std::ranges::reverse(arguments);  // as CLI11 wants them
    try {
      app_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      return print_command{app_.help()};
    } catch (const CLI::CallForVersion&) {
      return print_command{version_text() + "\n"};
    } catch (const CLI::RequiredError& problem) {
      if (app_.get_subcommands().empty()) throw no_command(first);
      throw usage(problem.what());
    } catch (const CLI::ExtrasError& problem) {
      const bool runs = app_.got_subcommand("run") && run_.command.empty();
      throw usage(runs ? "put -- between the lock's name and the command to run" : unexpected());
    } catch (const CLI::ArgumentMismatch& problem) {
      const auto repeated = repeated_option();
      throw usage(repeated.empty() ? option_named_in(problem.what()) + " needs a value"
                                   : repeated + " is given more than once");
    } catch (const CLI::ParseError& problem) {
      throw usage(problem.what());
    }
    return chosen();
  }

 private:
  static std::string version_text() {
    return fmt::format("holdfast {} (stores: {})", version(), fmt::join(schemes(), ", "));
  }

  [[nodiscard]] failure usage(std::string message) const {
    const auto selected = app_.get_subcommands();
    const auto where = selected.empty() ? "" : " " + selected.front()->get_name();
    while (message.ends_with('\n') || message.ends_with('.')) message.pop_back();
    return {bad_usage, fmt::format("{}. Try 'holdfast{} --help'", message, where)};
  }

  /// An option that takes one value and was given several; empty where there is none.
  [[nodiscard]] std::string repeated_option() const {
    for (const auto* command : app_.get_subcommands()) {
      for (const auto* option : command->get_options()) {
        if (option->get_items_expected_max() == 1 && option->count() > 1) return option->get_name();
      }
    }
    return {};
  }

  /// `--wait`, of CLI11's `--wait: 1 required DURATION missing`.
  static std::string option_named_in(std::string_view message) {
    return std::string{message.substr(0, message.find(':'))};
  }

  /// In the order in which they were given.
  [[nodiscard]] std::string unexpected() const {
    const auto rest = app_.remaining(true);
    return fmt::format("unexpected {}: {}", rest.size() == 1 ? "argument" : "arguments",
                       fmt::join(rest, " "));
  }

  [[nodiscard]] failure no_command(const std::string& argument) const {
    return usage(argument.empty() || argument.starts_with('-')
                     ? "no command is given: use run, ls, show, wait, release, watch, schema or bench"
                     : fmt::format("there is no command '{}'", argument));
  }

  /// `holdfast --store URL ls` means `holdfast ls --store URL`, as with kubectl or etcdctl.
  static void put_subcommand_first(std::vector<std::string>& arguments) {
    auto each = arguments.begin();
    while (each != arguments.end()) {
      const bool takes_next = *each == "--store" || *each == "--password-file";
      if (takes_next && std::next(each) != arguments.end()) {
        each += 2;
      } else if (*each == "--json" || each->starts_with("--store=") ||
                 each->starts_with("--password-file=")) {
        ++each;
      } else {
        break;
      }
    }
    if (each != arguments.end() && !each->starts_with('-'))
      std::rotate(arguments.begin(), each, std::next(each));
  }

  /// What follows `--` is another program's business, whatever it looks like.
  void take_command_to_run(std::vector<std::string>& arguments) {
    if (arguments.empty() || arguments.front() != "run") return;
    const auto dashes = std::ranges::find(arguments, "--");
    if (dashes == arguments.end()) return;
    run_.command.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
  }

  CLI::App* add(const std::string& name, const std::string& help) {
    return app_.add_subcommand(name, help)->group("Commands");
  }

  /// The variable of a script that was never set, say.
  static std::string no_empty_url(const std::string& url) {
    return url.empty() ? "the URL is empty; leave it out for the default store" : "";
  }

  static CLI::Option* add_store(CLI::App* command, store_choice& store) {
    auto* url =
        command->add_option("--store", store.url, "The store, such as redis://host or sqlite:/srv/locks.db");
    url->check(no_empty_url)->type_name("URL");
    command
        ->add_option("--password-file", store.password_file,
                     "Read the store's password from the first line of FILE")
        ->type_name("FILE");
    command->add_flag("--json", store.json, "Print JSON, one object per line");
    return url;
  }

  static void add_name(CLI::App* command, std::string& name, const std::string& help, bool required = true) {
    command->add_option("NAME", name, help)
        ->required(required)
        ->check([](const std::string& given) { return given.empty() ? "the name is empty" : ""; })
        ->type_name("");
  }

  static void add_text(CLI::App* command, const std::string& flag, const std::string& value,
                       const std::string& help, const std::function<void(const std::string&)>& take) {
    command->add_option_function<std::string>(flag, take, help)->type_name(value);
  }

  static void add_duration(CLI::App* command, const std::string& flag, std::optional<duration>& into,
                           const std::string& help) {
    add_text(command, flag, "DURATION", help,
             [flag, &into](const std::string& text) { into = duration_of(flag, text); });
  }

  static void add_ttl(CLI::App* command, std::optional<duration>& into, const std::string& help) {
    add_text(command, "--ttl", "DURATION", help, [&into](const std::string& text) {
      into = duration_of("--ttl", text);
      check([&] { lock_options{}.ttl(*into); },
            fmt::format("--ttl: '{}' is not between 100ms and 24h", text));
    });
  }

  /// The library knows what is allowed; the sentence about it should speak of the command's options.
  template <class Attempt>
  static void check(Attempt attempt, const std::string& complaint) {
    try {
      attempt();
    } catch (const error&) {
      throw failure{bad_usage, complaint};
    }
  }

  static duration duration_of(const std::string& flag, const std::string& text) {
    const auto length = parse_duration(text);
    if (length) return *length;
    throw failure{bad_usage, fmt::format("{}: '{}' is not a duration: use 500ms, 30s, 5m, 2h, 1d or 1h30m; "
                                         "a number without a unit means seconds; 100 years at most",
                                         flag, text)};
  }

  static void add_number(CLI::App* command, const std::string& flag, std::optional<std::int64_t>& into,
                         const std::string& help) {
    add_text(command, flag, "N", help, [flag, &into](const std::string& text) {
      into = positive_number(text);
      if (!into) throw failure{bad_usage, fmt::format("{}: '{}' is not a number above 0", flag, text)};
    });
  }

  static void add_status(CLI::App* command, const std::string& flag, int& into, const std::string& help) {
    static constexpr int largest = 255;
    add_text(command, flag, "N", help, [flag, &into](const std::string& text) {
      const auto number = text == "0" ? std::optional<std::int64_t>{0} : positive_number(text);
      if (!number || *number > largest) {
        throw failure{bad_usage,
                      fmt::format("{}: '{}' is not an exit status from 0 to {}", flag, text, largest)};
      }
      into = static_cast<int>(*number);
    });
  }

  void add_run() {
    auto* command = add("run", "Run a command while a lock is held");
    add_name(command, run_.wish.name, "The name of the lock");
    command
        ->add_flag(
            "--shared", [this](std::int64_t) { run_.wish.mode = mode::shared; },
            "Hold the lock together with other shared holders")
        ->excludes(command
                       ->add_option_function<std::string>(
                           "--permits", [this](const std::string& text) { set_permits(run_.wish, text); },
                           "Hold N permits of a semaphore that has OF")
                       ->type_name("N/OF"));
    add_duration(command, "--wait", run_.wish.wait,
                 "Give up after this time; 0: try once; default: wait without limit");
    command->add_flag("-q,--quiet", run_.quiet, "Print no message when the lock is not granted in time");
    add_status(command, "-E,--conflict-exit-code", run_.conflict_status,
               "Exit with N when the lock is not granted in time; default: 75");
    add_status(command, "--lost-exit-code", run_.lost_status,
               "Exit with N when the lock was lost while the command ran; default: 76");
    add_ttl(command, run_.wish.ttl, "The lock ends this long after its holder crashed; default: 30s");
    add_text(command, "--label", "TEXT", "A text that 'ls' and 'show' print beside the holder",
             [this](const std::string& text) {
               check([&] { lock_options{}.label(text); },
                     "--label: a label has at most 256 bytes of UTF-8 and no control characters");
               run_.wish.label = text;
             });
    add_store(command, run_.store);
    command->footer(
        "COMMAND finds HOLDFAST_TOKEN and HOLDFAST_NAME in its environment.\n"
        "The exit status is that of COMMAND, or\n"
        "  64  bad usage                             76  the lock was lost while COMMAND ran\n"
        "  69  the store is unavailable             126  COMMAND cannot be executed\n"
        "  75  the lock was not granted in time     127  COMMAND does not exist");
  }

  void add_ls() {
    auto* command = add("ls", "List locks that are held or waited for");
    command->add_flag("--all", ls_.all, "List idle locks too, with their last tokens");
    add_store(command, ls_.store);
  }

  void add_show() {
    auto* command = add("show", "Show who holds a lock and who waits for it");
    add_name(command, show_.name, "The lock");
    command->add_flag("-q,--quiet", show_.quiet,
                      "Print nothing; exit with 0 when the lock is held, with 1 when it is free");
    add_store(command, show_.store);
  }

  void add_wait() {
    auto* command = add("wait", "Wait until nobody holds a lock, without taking it");
    add_name(command, wait_.name, "The lock");
    add_duration(command, "--wait", wait_.limit, "Give up after this time, with status 75; 0: look once");
    add_store(command, wait_.store);
  }

  void add_release() {
    auto* command = add("release", "Take a lock from its holder");
    add_name(command, release_.name, "The lock");
    command->add_flag("--force", release_.force, "Required: the holder has not released the lock");
    add_number(command, "--token", release_.token,
               "End only the hold with this token; 'show' lists the tokens");
    add_store(command, release_.store);
  }

  void add_watch() {
    auto* command = add("watch", "Print each change of a lock as it happens");
    add_name(command, watch_.name, "Watch this lock alone", false);
    add_store(command, watch_.store);
  }

  void add_schema() {
    auto* command = add("schema", "Print or make the tables and routines of a store in a database server");
    auto* place = command->add_option("URL", schema_.store.url, "The store, as with --store");
    place->check(no_empty_url)->type_name("");
    command->add_flag("--apply", schema_.apply,
                      "Make them, as the user of the URL, instead of printing them");
    add_store(command, schema_.store)->excludes(place);
  }

  void add_bench() {
    auto* command = add("bench", "Measure a store");
    command->add_option("SCENARIO", bench_.scenario, "pair, spread, handoff, idle or held")
        ->required()
        ->type_name("");
    add_number(command, "--count", bench_.count,
               "Pairs or hand-overs at most; waiters (idle); leases (held)");
    add_number(command, "--concurrency", bench_.concurrency,
               "Claims in flight; threads (pair); contenders per process (handoff)");
    add_number(command, "--processes", bench_.processes, "Processes (handoff)");
    command->add_flag("--one-client", bench_.one_client,
                      "The contenders of a process share one client (handoff)");
    add_duration(command, "--duration", bench_.length, "How long to measure");
    add_ttl(command, bench_.ttl, "The ttl of every lease; default: 30s");
    add_store(command, bench_.store);
    command->footer("Without --store, bench measures a fresh SQLite file and removes it afterwards.");
  }

  void add_completion() {
    auto* command = add("completion", "Print a completion script");
    command->add_option("SHELL", shell_, "bash, zsh or fish")->required()->type_name("");
    command->footer("");
  }

  void add_help() {
    auto* command = add("help", "Explain a command");
    command->add_option("COMMAND", help_topic_, "The command to explain")->type_name("");
    command->footer("");
  }

  void add_hidden() {
    auto* names = app_.add_subcommand("__names", "")->group("");
    add_store(names, names_.store);
    auto* contender = app_.add_subcommand("__contender", "")->group("");
    contender->add_option("BOARD", contender_.board)->required();
    contender->add_option("PROCESS", contender_.process)->required();
  }

  any_command chosen() {
    const auto name = app_.get_subcommands().front()->get_name();
    if (name == "run") return checked_run();
    if (name == "ls") return ls_;
    if (name == "show") return show_;
    if (name == "wait") return wait_;
    if (name == "release") return release_;
    if (name == "watch") return watch_;
    if (name == "schema") return schema_;
    if (name == "bench") return bench_;
    if (name == "__names") return names_;
    if (name == "__contender") return contender_;
    if (name == "completion") return print_command{completion_script(shell_, synopses())};
    return print_command{help_text()};
  }

  run_command checked_run() const {
    if (run_.command.empty()) throw usage("no command to run is given: put it behind --");
    return run_;
  }

  std::string help_text() const {
    if (help_topic_.empty()) return parser{}.app_.help();  // ours would explain "help", which was chosen
    const auto topics =
        app_.get_subcommands([this](const CLI::App* each) { return each->get_name() == help_topic_; });
    if (topics.empty()) throw no_command(help_topic_);
    return topics.front()->help("holdfast");
  }

  std::vector<command_synopsis> synopses() const {
    std::vector<command_synopsis> all;
    for (const auto* command :
         app_.get_subcommands([](const CLI::App* each) { return each->get_group() != ""; })) {
      all.push_back(synopsis_of(*command));
    }
    for (auto& command : all) {
      if (command.name == "bench") command.choices = {"pair", "spread", "handoff", "idle", "held"};
      if (command.name == "completion") command.choices = {"bash", "zsh", "fish"};
      if (command.name == "help") {
        for (const auto& other : all) command.choices.push_back(other.name);
      }
    }
    return all;
  }

  static command_synopsis synopsis_of(const CLI::App& command) {
    command_synopsis synopsis;
    synopsis.name = command.get_name();
    synopsis.help = command.get_description();
    for (const auto* option : command.get_options()) {
      if (option->get_positional()) {
        synopsis.takes_name = synopsis.takes_name || option->get_name() == "NAME";
        continue;
      }
      option_synopsis each{.flags = {}, .help = option->get_description(), .value = {}};
      for (const auto& flag : option->get_lnames()) each.flags.push_back("--" + flag);
      for (const auto& flag : option->get_snames()) each.flags.push_back("-" + flag);
      if (option->get_items_expected_max() > 0) each.value = option->get_type_name();
      synopsis.options.push_back(each);
    }
    return synopsis;
  }

  CLI::App app_{"Locks across processes, with fencing tokens", "holdfast"};
  run_command run_;
  ls_command ls_;
  names_command names_;
  show_command show_;
  wait_command wait_;
  release_command release_;
  watch_command watch_;
  schema_command schema_;
  bench_command bench_;
  contender_command contender_;
  std::string shell_;
  std::string help_topic_;
};

}  // namespace

any_command parse_command_line(std::vector<std::string> arguments) {
  return parser{}.parse(std::move(arguments));
}

bool asks_for_json(const std::vector<std::string>& arguments) {
  const auto own_end = std::ranges::find(arguments, "--");
  return std::find(arguments.begin(), own_end, "--json") != own_end;
}

}  // namespace holdfast::cli
