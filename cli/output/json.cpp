// SPDX-License-Identifier: Apache-2.0
#include "output/json.hpp"

#include <fmt/format.h>

#include "output/terminal.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

json describe_claimant(const claimant& process) {
  json object = describe_process(process);
  object["label"] = process.label;
  if (!process.job.empty()) object["job"] = process.job;
  if (process.release_request) object["release_request"] = *process.release_request;
  if (process.released) object["released"] = true;
  return object;
}

json describe_all(const std::vector<claim_state>& claims) {
  json list = json::array();
  for (const auto& claim : claims) list.push_back(cli::describe(claim));
  return list;
}

void add_notes(json& object, const std::vector<server_note>& notes) {
  if (notes.empty()) return;
  json list = json::array();
  for (const auto& note : notes)
    list.push_back({{"server", note.server}, {"answers", note.answers}, {"text", note.text}});
  object["notes"] = list;
}

}  // namespace

json describe_process(const claimant& process) {
  json object{{"host", process.host}, {"pid", process.pid}, {"program", process.program}};
  if (is_of_another_library(process)) object["pid"] = nullptr;
  return object;
}

json describe(const claim_state& claim) {
  json object{{"owner", claim.owner}, {"mode", to_string(claim.mode)}};
  if (claim.mode == mode::permits) object["permits"] = claim.permits;
  if (claim.token) object["token"] = claim.token.value();
  object["age_s"] = to_seconds(claim.age);
  object["expires_in_s"] = to_seconds(claim.expires_in);
  if (!claim.token && is_of_another_library(claim.claimant)) {
    object["token"] = nullptr;
    object["age_s"] = nullptr;
    if (!has_end(claim)) object["expires_in_s"] = nullptr;
  }
  object.update(describe_claimant(claim.claimant));
  return object;
}

json describe(const lock_state& lock) {
  json object{{"name", lock.name}};
  if (lock.capacity != 0) object["capacity"] = lock.capacity;
  object["last_token"] = lock.last_token.value();
  object["holders"] = describe_all(lock.holders);
  object["waiters"] = describe_all(lock.waiters);
  if (!lock.pause_reason.empty()) {
    object["paused_for_s"] = to_seconds(lock.paused_for);
    object["pause_reason"] = lock.pause_reason;
  }
  add_notes(object, lock.notes);
  return object;
}

json describe(const lock_summary& lock) {
  json object{{"name", lock.name}, {"mode", to_string(lock.mode)}};
  if (lock.capacity != 0) object["capacity"] = lock.capacity;
  object["holders"] = lock.holders;
  object["waiters"] = lock.waiters;
  object["last_token"] = lock.last_token.value();
  if (lock.holders != 0) {
    object["held_for_s"] = to_seconds(lock.held_for);
    object["holder_token"] = lock.holder_token.value();
    if (!lock.holder_token) object["held_for_s"] = object["holder_token"] = nullptr;  // of another library
    object["holder"] = describe_claimant(lock.holder);
  }
  add_notes(object, lock.notes);
  return object;
}

std::string dumped(const json& object) {
  constexpr int on_one_line = -1;
  constexpr bool ascii_only = true;
  return object.dump(on_one_line, ' ', ascii_only, json::error_handler_t::replace);
}

std::optional<std::string> dumped(const std::vector<std::string>& texts, std::size_t most_bytes) {
  std::string list = "[";
  for (const auto& each : texts) {
    if (list.size() > 1) list += ',';
    list += dumped(json(each));
    if (list.size() >= most_bytes) return std::nullopt;  // with its end
  }
  return list + ']';
}

void print_line(const json& object, std::FILE* where) {
  const std::string line = dumped(object) + '\n';
  if (where == stderr) return complain(line);
  std::fwrite(line.data(), 1, line.size(), where);
  flush_output();
}

}  // namespace holdfast::cli
