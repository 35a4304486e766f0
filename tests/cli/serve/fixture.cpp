// SPDX-License-Identifier: Apache-2.0
#include "cli/serve/fixture.hpp"

#include <fmt/format.h>
#include <sstream>

namespace holdfast::test {

void serve_test::serve(const strings& options, const process::settings& settings) {
  strings arguments{"serve", "--listen", "127.0.0.1:0"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  server_ = start(arguments, settings);
  ASSERT_TRUE(eventually([&] { return server_->out().ends_with('\n') || !server_->running(); }));
  const auto said = server_->out();
  ASSERT_TRUE(said.ends_with('\n')) << server_->err();
  port_ = static_cast<std::uint16_t>(std::stoi(said.substr(said.rfind(':') + 1)));
  if (said.find("https") != std::string::npos) return;
  ASSERT_TRUE(eventually([&] {
    return get("/api/locks").status == 200 ||
           get("/api/status").body.find("\"error\":null") == std::string::npos;
  }));
}

http_reply serve_test::ask(const std::string& method, const std::string& target, const std::string& headers,
                           const std::string& body) const {
  connection to{port_};
  const auto host = headers.find("Host:") == std::string::npos ? "Host: " + authority() + "\r\n" : "";
  const auto length = body.empty() ? "" : fmt::format("Content-Length: {}\r\n", body.size());
  to.send(fmt::format("{} {} HTTP/1.1\r\n{}{}{}Connection: close\r\n\r\n{}", method, target, host, headers,
                      length, body));
  return read_reply(to, method != "HEAD");
}

json serve_test::get_json(const std::string& target) const {
  const auto reply = get(target);
  EXPECT_EQ(reply.status, 200) << target << ": " << reply.body;
  return json::parse(reply.body, nullptr, false);
}

std::optional<double> serve_test::metric(const std::string& name, const std::string& prefix) const {
  std::istringstream lines{get("/metrics").body};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + "{")) continue;
    if (!prefix.empty() && line.find("prefix=\"" + prefix + "\"}") == std::string::npos) continue;
    return std::stod(line.substr(line.rfind(' ') + 1));
  }
  return std::nullopt;
}

json serve_test::listed(const std::string& name) const {
  const auto all = get_json("/api/locks");
  for (const auto& each : all["locks"]) {
    if (each["name"] == name) return each;
  }
  return nullptr;
}

connection serve_test::open_stream(int receive_buffer) const {
  connection stream{port_, receive_buffer};
  stream.send("GET /api/events HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
  const auto head = stream.read_until("\r\n\r\n");
  EXPECT_NE(head.find("text/event-stream"), std::string::npos) << head;
  return stream;
}

}  // namespace holdfast::test
