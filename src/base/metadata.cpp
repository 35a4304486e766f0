// SPDX-License-Identifier: Apache-2.0
#include "base/metadata.hpp"

#include <algorithm>
#include <array>
#include <cerrno>  // program_invocation_short_name
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/name.hpp"

namespace holdfast {

namespace {

using json = nlohmann::json;

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// Whether JSON cannot hold it as it is: its texts are UTF-8. Control characters are written as the hex, too,
/// because not every store keeps all of them.
bool holds_other_bytes(const std::string& value) { return problem_of_text(value, value.size()).has_value(); }

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char each : bytes) {
    const auto byte = static_cast<unsigned char>(each);
    text += digits[byte >> 4U];
    text += digits[byte & 0xFU];
  }
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::optional<std::string> bytes_in(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    const int high = digit_of(hex[at]);
    const int low = digit_of(hex[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

/// Empty for a claim of no election.
std::optional<std::string> value_in(const json& object) {
  if (const auto found = object.find("value"); found != object.end() && found->is_string()) {
    return found->get<std::string>();
  }
  const auto found = object.find("value_hex");
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return bytes_in(found->get<std::string>());
}

}  // namespace

/// Written as a text: objects of nlohmann-json allocate memory also when they are destroyed, and end the
/// process if there is none.
std::string to_metadata(const claimant& source) {
  std::string text;
  const auto add = [&text](const char* key, const std::string& value) {
    text.append(text.empty() ? "{\"" : ",\"").append(key).append("\":").append(value);
  };
  add("host", json_text(source.host));
  if (!source.job.empty()) add("job", json_text(source.job));
  if (!source.label.empty()) add("label", json_text(source.label));
  add("pid", std::to_string(source.pid));
  add("program", json_text(source.program));
  if (source.released) add("released", "true");
  if (source.value) {
    const bool is_text = !holds_other_bytes(*source.value);
    add(is_text ? "value" : "value_hex", json_text(is_text ? *source.value : hex_of(*source.value)));
    if (source.value_revision != 0) add("value_revision", std::to_string(source.value_revision));
  }
  text += '}';
  return source.release_request ? with_release_request(text, *source.release_request) : text;
}

claimant from_metadata(std::string_view text) {
  claimant source;
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) {
    source.label = text;
    return source;
  }
  source.host = text_in(object, "host");
  source.program = text_in(object, "program");
  source.job = text_in(object, "job");
  source.label = text_in(object, "label");
  source.value = value_in(object);
  if (const auto found = object.find("value_revision");
      found != object.end() && found->is_number_unsigned()) {
    source.value_revision = found->get<std::uint64_t>();
  }
  if (const auto found = object.find("release_request"); found != object.end() && found->is_string()) {
    source.release_request = found->get<std::string>();
  }
  if (const auto found = object.find("released"); found != object.end() && found->is_boolean()) {
    source.released = found->get<bool>();
  }
  if (const auto pid = object.find("pid"); pid != object.end() && pid->is_number_integer()) {
    source.pid = std::max<std::int64_t>(0, pid->get<std::int64_t>());
  }
  return source;
}

claimant this_process() {
  claimant self;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) self.host = host.data();
  self.pid = ::getpid();
  self.program = ::program_invocation_short_name;
  constexpr std::size_t longest_job = 300;  // a host name and a process id; nothing else is of use
  const char* const job = ::getenv("HOLDFAST_JOB");
  if (job != nullptr && !problem_of_text(job, longest_job)) self.job = job;
  return self;
}

std::string json_text(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string with_release_request(std::string_view metadata, std::string_view reason) {
  std::string text{metadata};
  if (!metadata.ends_with('}')) return text;
  const std::size_t former = metadata.find(release_request_mark);
  text.resize(former == std::string_view::npos ? metadata.size() - 1 : former);
  return text.append(release_request_mark).append(json_text(reason)).append("}");
}

std::string with_request_of(std::string_view metadata, std::string_view former) {
  std::string text{metadata};
  const std::size_t request = former.find(release_request_mark);
  if (request == std::string_view::npos || !metadata.ends_with('}')) return text;
  text.pop_back();
  return text.append(former.substr(request));
}

namespace {

/// The first member of the object. It occurs nowhere else, because JSON escapes quotes.
constexpr std::string_view mark = "{\"token\":";

}  // namespace

std::string with_hold_token(std::string_view metadata, fencing_token token) {
  if (!metadata.starts_with('{')) return std::string{metadata};
  std::string_view rest = metadata.substr(1);
  if (metadata.starts_with(mark)) {
    const std::size_t end = metadata.find_first_of(",}");
    if (end == std::string_view::npos) return std::string{metadata};
    rest = metadata.substr(metadata[end] == ',' ? end + 1 : end);
  }
  const std::string number = std::to_string(token.value());
  return std::string{mark}.append(number).append(rest.starts_with('}') ? "" : ",").append(rest);
}

fencing_token hold_token_in(std::string_view metadata) {
  if (!metadata.starts_with(mark)) return {};
  const std::string_view number = metadata.substr(mark.size());
  std::uint64_t token = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), token);
  const bool is_whole = end != number.data() + number.size() && (*end == ',' || *end == '}');
  return problem == std::errc{} && is_whole ? fencing_token{token} : fencing_token{};
}

}  // namespace holdfast
