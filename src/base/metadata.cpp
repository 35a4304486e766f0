#include "base/metadata.hpp"

#include <array>
#include <cerrno>  // program_invocation_short_name
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace holdfast {

namespace {

using json = nlohmann::json;

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}  // namespace

std::string to_metadata(const claimant& who) {
  json object = {{"host", who.host}, {"pid", who.pid}, {"program", who.program}};
  if (!who.label.empty()) object["label"] = who.label;
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

claimant from_metadata(std::string_view text) {
  claimant who;
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) {
    who.label = text;
    return who;
  }
  who.host = text_in(object, "host");
  who.program = text_in(object, "program");
  who.label = text_in(object, "label");
  if (const auto pid = object.find("pid"); pid != object.end() && pid->is_number_integer()) {
    who.pid = pid->get<std::int64_t>();
  }
  return who;
}

claimant this_process() {
  claimant who;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) who.host = host.data();
  who.pid = ::getpid();
  who.program = ::program_invocation_short_name;
  return who;
}

}  // namespace holdfast
