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

std::string to_metadata(const claimant& source) {
  json object = {{"host", source.host}, {"pid", source.pid}, {"program", source.program}};
  if (!source.label.empty()) object["label"] = source.label;
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
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
  source.label = text_in(object, "label");
  if (const auto pid = object.find("pid"); pid != object.end() && pid->is_number_integer()) {
    source.pid = pid->get<std::int64_t>();
  }
  return source;
}

claimant this_process() {
  claimant self;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) self.host = host.data();
  self.pid = ::getpid();
  self.program = ::program_invocation_short_name;
  return self;
}

}  // namespace holdfast
