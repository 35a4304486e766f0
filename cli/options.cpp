// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/format.h>
#include <vector>

#include "claim.hpp"
#include "run/signal_name.hpp"
#include <holdfast/options.hpp>

namespace holdfast::cli {

namespace {

duration duration_of(const std::string& flag, const std::string& text) {
  const auto length = parse_duration(text);
  if (length) return *length;
  throw failure{bad_usage, fmt::format("{}: '{}' is not a duration: use 500ms, 30s, 5m, 2h, 1d or 1h30m; "
                                       "a number without a unit means seconds; 100 years at most",
                                       flag, text)};
}

}  // namespace

std::string no_empty_url(const std::string& url) {
  return url.empty() ? "the URL is empty; leave it out for the default store" : "";
}

CLI::Option* add_store(CLI::App* command, store_choice& store) {
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

void add_name(CLI::App* command, std::string& name, const std::string& help, bool required) {
  command->add_option("NAME", name, help)
      ->required(required)
      ->check([](const std::string& given) { return given.empty() ? "the name is empty" : ""; })
      ->type_name("");
}

void add_other_names(CLI::App* command, const std::string& flag, const std::string& help,
                     const std::function<void(const std::string&)>& take) {
  command
      ->add_option_function<std::vector<std::string>>(
          flag,
          [flag, take](const std::vector<std::string>& names) {
            for (const auto& name : names) {
              if (name.empty()) throw failure{bad_usage, flag + ": the name is empty"};
              take(name);
            }
          },
          help)
      ->type_name("NAME")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_text(CLI::App* command, const std::string& flag, const std::string& value, const std::string& help,
              const std::function<void(const std::string&)>& take) {
  command->add_option_function<std::string>(flag, take, help)->type_name(value);
}

void add_duration(CLI::App* command, const std::string& flag, std::optional<duration>& into,
                  const std::string& help) {
  add_text(command, flag, "DURATION", help,
           [flag, &into](const std::string& text) { into = duration_of(flag, text); });
}

void add_ttl(CLI::App* command, std::optional<duration>& into, const std::string& help) {
  add_text(command, "--ttl", "DURATION", help, [&into](const std::string& text) {
    into = duration_of("--ttl", text);
    check([&] { lock_options{}.ttl(*into); }, fmt::format("--ttl: '{}' is not between 100ms and 24h", text));
  });
}

void add_grace(CLI::App* command, std::optional<duration>& into, const std::string& help) {
  add_text(command, "--grace", "DURATION", help, [&into](const std::string& text) {
    into = duration_of("--grace", text);
    check([&] { lock_options{}.grace(*into); }, fmt::format("--grace: '{}' is not between 0 and 1h", text));
  });
}

void add_at_least(CLI::App* command, std::optional<duration>& into, const std::string& help) {
  add_text(command, "--at-least", "DURATION", help, [&into](const std::string& text) {
    into = duration_of("--at-least", text);
    check([&] { lock_options{}.at_least(*into); },
          fmt::format("--at-least: '{}' is not between 0 and 24h", text));
  });
}

void add_label(CLI::App* command, std::string& into) {
  add_text(command, "--label", "TEXT", "A text that 'ls' and 'show' print beside the holder",
           [&into](const std::string& text) {
             check([&] { lock_options{}.label(text); },
                   "--label: a label has at most 256 bytes of UTF-8 and no control characters");
             into = text;
           });
}

void add_on_request(CLI::App* command, std::optional<int>& into) {
  add_text(command, "--on-request", "SIGNAL",
           "Send COMMAND this signal when its release is asked for; default: print a message",
           [&into](const std::string& text) {
             into = signal_named(text);
             if (!into)
               throw failure{bad_usage, fmt::format("--on-request: '{}' is not a signal: use TERM, INT, "
                                                    "HUP, QUIT, USR1, USR2 or ALRM",
                                                    text)};
           });
}

void add_number(CLI::App* command, const std::string& flag, std::optional<std::int64_t>& into,
                const std::string& help) {
  add_text(command, flag, "N", help, [flag, &into](const std::string& text) {
    into = positive_number(text);
    if (!into) throw failure{bad_usage, fmt::format("{}: '{}' is not a number above 0", flag, text)};
  });
}

void add_status(CLI::App* command, const std::string& flag, int& into, const std::string& help) {
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

}  // namespace holdfast::cli
