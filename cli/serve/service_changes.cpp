// SPDX-License-Identifier: Apache-2.0
// The parts of the service that do more than look: requests to release, and the doctor.

#include <chrono>
#include <cstddef>
#include <exception>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <strings.h>
#include <utility>

#include "output/diagnosis.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"
#include "serve/answers.hpp"
#include "serve/service.hpp"

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;

constexpr auto diagnosis_is_old = 60s;
constexpr auto diagnosis_is_fresh = 5s;

/// Whoever does not know the secret can fill no disk.
constexpr auto between_notes = 1s;

/// In columns. No lock has a longer name, but the path of a request may.
constexpr std::size_t longest_noted_name = 512;

std::string account_of(const http_request& request, const route& where) {
  return fmt::format("holdfast serve: {} {} '{}'", request.peer,
                     where.to == endpoint::ask ? "asks for the release of" : "ends by force the hold of",
                     shortened(printable(where.name), longest_noted_name));
}

std::string outcome_of(unsigned status) {
  return fmt::format("{} {}", status < 300 ? "done" : "failed", status);
}

bool is_json(const std::string& content_type) {
  return content_type == "application/json" || content_type.starts_with("application/json;");
}

}  // namespace

std::optional<http_reply> service::refuse_change(const http_request& request, const route& where) {
  if (request.method != "POST") {
    auto reply = error_reply(405, "wrong_method", "the method is not POST");
    reply.headers.emplace_back("Allow", "POST");
    return reply;
  }
  if (!secret_)
    return error_reply(403, "reads_only", "this server only reads; --allow-release would let it do this");
  // A form of another site could send a body as text.
  if (!request.has_origin || !rules_.is_same_origin(request))
    return error_reply(403, "wrong_origin", "the Origin header is not this server");
  if (!is_json(request.content_type))
    return error_reply(415, "wrong_content_type", "the Content-Type is not application/json");
  constexpr std::string_view scheme = "Bearer ";  // in any case: RFC 9110, 11.1
  const std::string_view given = request.authorization;
  const bool has_scheme = ::strncasecmp(request.authorization.c_str(), scheme.data(), scheme.size()) == 0;
  if (!has_scheme || !secret_.matches(given.substr(scheme.size()))) {
    auto reply = error_reply(401, "wrong_secret", "the secret is missing or wrong");
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    note_wrong_secret(request, where);
    return reply;
  }
  return std::nullopt;
}

void service::note_wrong_secret(const http_request& request, const route& where) {
  const auto now = boot_clock::now();
  if (wrong_secret_noted_at_ && now - *wrong_secret_noted_at_ < between_notes) {
    ++wrong_secrets_;
    return;
  }
  wrong_secret_noted_at_ = now;
  const auto others = std::exchange(wrong_secrets_, 0);
  complain(fmt::format("{}: refused, the secret is wrong{}\n", account_of(request, where),
                       others == 0 ? "" : fmt::format("; and {} before it", others)));
}

void service::change(const http_request& request, const route& where, const handler& done) {
  if (auto refusal = refuse_change(request, where)) return done(*std::move(refusal));
  const auto act = where.to == endpoint::ask ? answer_ask : end_hold;
  const auto token = token_named_in(request.body);
  const auto account =
      account_of(request, where) + (token ? fmt::format(", token {}", token->value()) : std::string{});
  const auto audit = [account](const std::string& outcome) {
    complain(fmt::format("{}: {}\n", account, outcome));
  };
  const auto was_asked = std::make_shared<bool>(false);  // set before its reply is posted
  ask_store(
      changes_,
      [act, where, audit, was_asked, body = request.body](const client& locks) {
        // Here, and not where the reply arrives: the server may end before that, and the hold has ended all
        // the same.
        *was_asked = true;
        audit("begun");
        auto reply = answered([&] { return act(locks, where.name, body); });
        audit(outcome_of(reply.status));
        return reply;
      },
      [this, audit, was_asked, done](http_reply reply) {
        changed_at_ = boot_clock::now();
        if (!*was_asked) audit(outcome_of(reply.status));
        done(std::move(reply));
      });
}

void service::diagnose_store(bool is_fresh, const handler& done) {
  const auto answer = [](const diagnosis& last) {
    return last.report ? dated_reply(last.taken_at, *last.report) : last.failure;
  };
  // A failed one is not kept for long: the store may be there again.
  const bool is_short = is_fresh || (diagnosis_ && !diagnosis_->report);
  const auto limit = is_short ? diagnosis_is_fresh : diagnosis_is_old;
  if (diagnosis_ && boot_clock::now() - diagnosis_->taken_at < limit) return done(answer(*diagnosis_));
  if (awaiting_diagnosis_.size() >= most_awaiting_diagnosis)
    return done(busy_reply("too many wait for the doctor"));
  awaiting_diagnosis_.push_back(done);
  if (std::exchange(is_diagnosing_, true)) return;
  const auto finish = [this, answer](diagnosis last) {
    diagnosis_ = std::move(last);
    is_diagnosing_ = false;
    for (const auto& each : std::exchange(awaiting_diagnosis_, {})) each(answer(*diagnosis_));
  };
  const bool is_accepted = doctor_.add({.run = [this, finish] {
    diagnosis last;
    try {
      last.report = describe(diagnose(doctor_url_, doctor_options_));
    } catch (const std::exception& problem) {
      last.failure = failure_reply(problem);
    }
    last.taken_at = boot_clock::now();
    post_([finish, last = std::move(last)] { finish(last); });
  }});
  if (!is_accepted) finish({boot_clock::now(), std::nullopt, error_reply(503, "closed", "this server ends")});
}

}  // namespace holdfast::cli
