// SPDX-License-Identifier: Apache-2.0
// `holdfast serve`: what it refuses, and who may release.

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/serve/fixture.hpp"
#include "support/certificates.hpp"

namespace holdfast::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

const std::string secret = "0123456789abcdef0123456789abcdef";

class serve_access : public serve_test {
 protected:
  void write_secret(const std::string& text, std::filesystem::perms allowed) {
    write_file(file("secret"), text);
    std::filesystem::permissions(file("secret"), allowed);
  }
  void serve_with_secret(const process::settings& settings = {}) {
    write_secret(secret + "\n", std::filesystem::perms::owner_read);
    serve({"--allow-release", "--secret-file", file("secret")}, settings);
  }
  /// The headers of a request of the page itself.
  [[nodiscard]] std::string of_the_page(const std::string& bearer = secret) const {
    return fmt::format("Origin: http://{}\r\nContent-Type: application/json\r\nAuthorization: Bearer {}\r\n",
                       authority(), bearer);
  }
};

TEST_F(serve_access, refuses_names_of_a_host_that_are_not_its_own) {
  serve({"--host", "Locks.Example.org"});
  const auto with_host = [&](const std::string& host) {
    return get("/api/locks", "Host: " + host + "\r\n").status;
  };
  EXPECT_EQ(with_host("localhost:" + std::to_string(port())), 200);
  EXPECT_EQ(with_host("[::1]:" + std::to_string(port())), 200);
  EXPECT_EQ(with_host("locks.example.org"), 200);
  EXPECT_EQ(with_host("locks.example.org:443"), 200);
  EXPECT_EQ(with_host("evil.example.org:" + std::to_string(port())), 421);
  EXPECT_EQ(with_host("127.0.0.1.evil.example.org"), 421);
  EXPECT_EQ(with_host(""), 421);
  EXPECT_EQ(with_host("locks.example.org\r\nHost: evil.example.org"), 421);
  connection without{port()};
  without.send("GET /metrics HTTP/1.1\r\n\r\n");
  EXPECT_EQ(read_reply(without).status, 421);
}

// RFC 9112, 3.2.2: as to a proxy. The header does not count then.
TEST_F(serve_access, takes_targets_with_a_host) {
  serve({"--host", "locks.example.org"});
  const auto status = [&](const std::string& target) {
    connection to{port()};
    to.send("GET " + target + " HTTP/1.1\r\nHost: evil.example.org\r\n\r\n");
    return read_reply(to).status;
  };
  EXPECT_EQ(status("http://locks.example.org/api/status"), 200);
  EXPECT_EQ(status("HTTPS://" + authority() + "/api/locks?fresh=1"), 200);
  EXPECT_EQ(status("http://locks.example.org"), 200) << "the page";
  EXPECT_EQ(status("http://evil.example.org/api/status"), 421);
  EXPECT_EQ(status("http://locks.example.org@evil.example.org/api/status"), 421);
  EXPECT_EQ(status("/api/status"), 421);
}

TEST_F(serve_access, refuses_pages_of_other_sites) {
  serve();
  EXPECT_EQ(get("/api/locks", "Origin: http://" + authority() + "\r\n").status, 200);
  for (const std::string origin : {"http://evil.example.org", "null", "http://127.0.0.1:1", ""})
    EXPECT_EQ(get("/api/locks", "Origin: " + origin + "\r\n").status, 403) << origin;
  for (const std::string site : {"cross-site", "same-site"}) {
    EXPECT_EQ(get("/api/why/x", "Sec-Fetch-Site: " + site + "\r\n").status, 403) << site;
    EXPECT_EQ(get("/", "Sec-Fetch-Site: " + site + "\r\n").status, 200) << "a link";
  }
  EXPECT_EQ(get("/api/why/x", "Sec-Fetch-Site: same-origin\r\n").status, 200);
  EXPECT_FALSE(get("/api/locks").headers.contains("access-control-allow-origin"));
}

TEST_F(serve_access, refuses_other_methods) {
  serve();
  for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"}) {
    const auto reply = ask(method, "/api/locks");
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.headers.at("allow"), "GET, HEAD");
  }
}

TEST_F(serve_access, bounds_headers_and_bodies) {
  serve();
  EXPECT_EQ(get("/healthz", "X-Pad: " + std::string(20'000, 'x') + "\r\n").status, 431);
  EXPECT_EQ(get("/" + std::string(20'000, 'x')).status, 431);
  EXPECT_EQ(ask("POST", "/api/locks/x/ask", {}, std::string(5'000, ' ')).status, 413);
  connection other{port()};
  other.send("SSH-2.0-OpenSSH_9.2\r\n\r\n");
  EXPECT_EQ(read_reply(other).status, 400);
  EXPECT_TRUE(other.is_ended());
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(serve_access, ends_a_request_that_does_not_come_to_its_end) {
  serve();
  connection slow{port()};
  slow.send("GET / HTTP/1.1\r\nHost: ");
  connection silent{port()};
  EXPECT_TRUE(slow.is_ended());
  EXPECT_TRUE(silent.is_ended());
}

TEST_F(serve_access, makes_room_among_idle_connections_for_a_new_one) {
  serve();
  std::vector<connection> idle;
  for (int i = 0; i < 80; ++i) {
    idle.emplace_back(port());
    idle.back().send("GET /healthz HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
    ASSERT_EQ(read_reply(idle.back()).status, 200) << i;
  }
  EXPECT_TRUE(idle.front().is_ended());
  EXPECT_EQ(get("/healthz").status, 200);
  idle.back().send("GET /healthz HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
  EXPECT_EQ(read_reply(idle.back()).status, 200) << "the youngest one was not ended";
}

TEST_F(serve_access, makes_room_among_connections_whose_request_does_not_come_to_its_end) {
  serve();
  std::vector<connection> slow;
  for (int i = 0; i < 64; ++i) {
    slow.emplace_back(port());
    // The reply shows that the server has read the first byte of the second request.
    slow.back().send("GET /healthz HTTP/1.1\r\nHost: " + authority() + "\r\n\r\nG");
    ASSERT_EQ(read_reply(slow.back()).status, 200) << i;
  }
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_TRUE(slow.front().is_ended());
  slow.back().send("ET /healthz HTTP/1.1\r\nHost: " + authority() + "\r\n\r\n");
  EXPECT_EQ(read_reply(slow.back()).status, 200) << "the youngest one was not ended";
  std::vector<connection> slower;
  for (int i = 0; i < 64; ++i) {
    slower.emplace_back(port());
    slower.back().send("G");
  }
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(serve_access, only_reads_without_the_option) {
  const auto holder = start_holder("x");
  serve();
  EXPECT_FALSE(get_json("/api/status")["allows_release"]);
  EXPECT_EQ(ask("POST", "/api/locks/x/release", of_the_page(), R"({"token": 1})").status, 403);
  EXPECT_EQ(ask("POST", "/api/locks/x/ask", of_the_page()).status, 403);
  EXPECT_TRUE(held("x"));
}

TEST_F(serve_access, ends_a_hold_for_whoever_has_the_secret) {
  const auto holder = start_holder("x/y");
  serve_with_secret();
  EXPECT_TRUE(get_json("/api/status")["allows_release"]);
  const auto token = show("x/y")["holders"][0]["token"];
  const auto path = std::string{"/api/locks/x%2Fy/release"};
  const auto body = json{{"token", token}}.dump();
  EXPECT_EQ(ask("GET", path).status, 405);
  EXPECT_EQ(ask("POST", path, of_the_page("wrong"), body).status, 401);
  EXPECT_EQ(ask("POST", path, of_the_page(std::string(32, 'x')), body).status, 401);
  const auto json_type = std::string{"Content-Type: application/json\r\n"};
  const auto bearer = "Authorization: Bearer " + secret + "\r\n";
  const auto origin = "Origin: http://" + authority() + "\r\n";
  EXPECT_EQ(ask("POST", path, origin + json_type, body).status, 401);
  EXPECT_EQ(ask("POST", path, bearer + json_type, body).status, 403) << "without Origin";
  EXPECT_EQ(ask("POST", path, bearer + json_type + "Origin: http://evil.org\r\n", body).status, 403);
  EXPECT_EQ(ask("POST", path, bearer + origin + "Content-Type: text/plain\r\n", body).status, 415);
  for (const auto* wrong : {"", "{", "[]", "{}", R"({"token": 0})", R"({"token": -1})", R"({"token": "1x"})"})
    EXPECT_EQ(ask("POST", path, of_the_page(), wrong).status, 400) << wrong;
  EXPECT_EQ(ask("POST", path, of_the_page(), R"({"token": 1})").status, 409);
  EXPECT_TRUE(held("x/y"));
  const auto in_lower_case = origin + json_type + "Authorization: bearer " + secret + "\r\n";
  EXPECT_EQ(ask("POST", path, in_lower_case, R"({"token": 1})").status, 409);
  const auto reply = ask("POST", path, of_the_page(), body);
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_FALSE(held("x/y"));
  EXPECT_EQ(ask("POST", path, of_the_page(), body).status, 409);
  EXPECT_THAT(server().err(),
              ContainsRegex("holdfast serve: 127.0.0.1:[0-9]+ ends by force the hold of 'x/y', token "));
  EXPECT_THAT(server().err(), HasSubstr(fmt::format(", token {}: begun\n", token.get<std::uint64_t>())));
  EXPECT_THAT(server().err(), HasSubstr(fmt::format(", token {}: done 200\n", token.get<std::uint64_t>())));
  EXPECT_THAT(server().err(), HasSubstr(": refused, the secret is wrong\n"));
  EXPECT_THAT(server().err(), Not(HasSubstr(secret)));
}

TEST_F(serve_access, notes_the_start_of_a_name_that_is_too_long_for_a_lock) {
  serve_with_secret();
  const std::string longest(512, 'x');
  EXPECT_EQ(ask("POST", "/api/locks/" + longest + "yyyy/release", of_the_page("wrong")).status, 401);
  EXPECT_THAT(server().err(), HasSubstr(" ends by force the hold of '" + longest.substr(1) + "…': refused"));
  EXPECT_EQ(ask("POST", "/api/locks/" + longest + "/ask", of_the_page()).status, 409);
  EXPECT_THAT(server().err(), HasSubstr(" asks for the release of '" + longest + "': begun"));
}

TEST_F(serve_access, asks_a_holder_with_the_reason) {
  const auto holder = start_holder("x");
  serve_with_secret();
  EXPECT_EQ(ask("POST", "/api/locks/x/ask", of_the_page(), R"({"reason": 7})").status, 400);
  EXPECT_EQ(ask("POST", "/api/locks/free/ask", of_the_page(), "{}").status, 409);
  const auto reply = ask("POST", "/api/locks/x/ask", of_the_page(), R"({"reason": "deploy"})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(show("x")["holders"][0]["release_request"], "deploy");
  EXPECT_TRUE(eventually([&] { return holder->err().find("deploy") != std::string::npos; })) << holder->err();
}

TEST_F(serve_access, keeps_the_reason_of_a_request_that_comes_again_without_one) {
  const auto holder = start_holder("x");
  serve_with_secret();
  const auto reply_to = [&](const std::string& body) {
    return json::parse(ask("POST", "/api/locks/x/ask", of_the_page(), body).body, nullptr, false);
  };
  EXPECT_EQ(reply_to(R"({"reason": "deploy"})"), (json{{"name", "x"}, {"asked", 1}, {"asked_before", 0}}));
  EXPECT_EQ(reply_to("{}"), (json{{"name", "x"}, {"asked", 1}, {"asked_before", 1}}));
  EXPECT_EQ(show("x")["holders"][0]["release_request"], "deploy");
}

TEST_F(serve_access, asks_nobody_for_a_lock_that_rests) {
  EXPECT_EQ(holdfast({"run", "x", "--at-least", "1h", "--", "true"}).status, 0);
  serve_with_secret();
  const auto reply = ask("POST", "/api/locks/x/ask", of_the_page(), "{}");
  EXPECT_EQ(reply.status, 409) << reply.body;
  EXPECT_THAT(reply.body, HasSubstr("the holder has released it, and the store keeps it for 59m"));
}

TEST_F(serve_access, outlives_whoever_reads_its_standard_error) {
  ASSERT_EQ(::mkfifo(file("log").c_str(), 0600), 0);
  const int reader = ::open(file("log").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  serve_with_secret({.environment = {}, .errors = file("log")});
  ::close(reader);
  EXPECT_EQ(ask("POST", "/api/locks/x/ask", of_the_page("wrong")).status, 401);
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_TRUE(server().running());
}

TEST_F(serve_access, does_not_wait_for_whoever_reads_its_standard_error) {
  ASSERT_EQ(::mkfifo(file("log").c_str(), 0600), 0);
  const int pipe = ::open(file("log").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(pipe, 0);
  serve_with_secret({.environment = {}, .errors = file("log")});
  while (::write(pipe, "x", 1) == 1) {
  }
  EXPECT_EQ(ask("POST", "/api/locks/x/ask", of_the_page("wrong")).status, 401);
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(ask("POST", "/api/locks/x/ask", of_the_page(), "{}").status, 409);
  std::string said;
  const auto is_said = [&](std::string_view text) {
    char next = 0;
    while (::read(pipe, &next, 1) == 1) said += next;
    return said.find(text) != std::string::npos;
  };
  EXPECT_FALSE(is_said("holdfast"));
  EXPECT_EQ(ask("POST", "/api/locks/x/ask", of_the_page(), "{}").status, 409);
  EXPECT_TRUE(eventually([&] { return is_said(": failed 409\n"); })) << said;
  // One for the secret, two for the request; and maybe of the store, where its reader stood still.
  EXPECT_THAT(said, ContainsRegex("lines missing here, because nobody read standard error: [3-6]\n"));
  ::close(pipe);
}

TEST_F(serve_access, takes_a_secret_only_from_a_file_of_its_own) {
  using std::filesystem::perms;
  const auto said_of = [&](const std::string& path) {
    return holdfast({"serve", "--listen", "127.0.0.1:0", "--allow-release", "--secret-file", path});
  };
  write_secret(secret, perms::owner_read | perms::group_read);
  EXPECT_EQ(said_of(file("secret")).status, 77);
  EXPECT_THAT(said_of(file("secret")).err, HasSubstr("chmod 600"));
  write_secret(secret, perms::owner_read);
  std::filesystem::create_symlink(file("secret"), file("link"));
  EXPECT_THAT(said_of(file("link")).err, HasSubstr("symbolic link"));
  EXPECT_THAT(said_of(file("nothing")).err, HasSubstr("No such file"));
  EXPECT_THAT(said_of(scratch_.path().string()).err, HasSubstr("not a regular file"));
  for (const auto& wrong : {secret.substr(1), std::string(20, ' ') + secret, std::string{}}) {
    std::filesystem::remove(file("secret"));
    write_secret(wrong, perms::owner_read);
    EXPECT_THAT(said_of(file("secret")).err, HasSubstr("32 to 1024 printable ASCII characters")) << wrong;
  }
}

TEST_F(serve_access, takes_a_credential_of_systemd_that_shows_the_mask_of_its_acl) {
  using std::filesystem::perms;
  const auto folder = scratch_.path() / "credentials";
  std::filesystem::create_directories(folder / "sub");
  const auto put = [&](const std::filesystem::path& path, perms allowed) {
    std::filesystem::remove(path);
    write_file(path.string(), secret);
    std::filesystem::permissions(path, allowed);
    return path.string();
  };
  const auto start_with = [&](const std::string& path, const std::string& credentials) {
    return start({"serve", "--listen", "127.0.0.1:0", "--allow-release", "--secret-file", path},
                 {.environment = {"CREDENTIALS_DIRECTORY=" + credentials}});
  };
  const auto shown = perms::owner_read | perms::group_read;
  const auto own = put(folder / "secret", shown);
  for (const auto& credentials : {folder.string(), folder.string() + "/"}) {
    const auto taken = start_with(own, credentials);
    EXPECT_TRUE(eventually([&] { return taken->out().ends_with('\n') || !taken->running(); }));
    EXPECT_THAT(taken->out(), HasSubstr("listening on ")) << taken->err();
  }
  const auto refused = [&](const std::string& path, const std::string& credentials) {
    const auto said = start_with(path, credentials)->wait();
    EXPECT_EQ(said.status, 77) << path << " in " << credentials;
    EXPECT_THAT(said.err, HasSubstr("other users may use the secret file"));
  };
  refused(own, "");
  refused(own, scratch_.path().string());
  refused(put(folder / "sub/secret", shown), folder.string());
  refused(put(scratch_.path() / "outside", shown), folder.string());
  refused((folder / "../outside").string(), folder.string());
  for (const auto right : {perms::group_write, perms::group_exec, perms::others_read, perms::others_write})
    refused(put(folder / "secret", shown | right), folder.string());
  std::filesystem::create_symlink(file("outside"), folder / "link");
  EXPECT_THAT(start_with((folder / "link").string(), folder.string())->wait().err,
              HasSubstr("symbolic link"));
}

TEST_F(serve_access, refuses_options_that_do_not_go_together) {
  const auto said = [&](strings options) {
    options.insert(options.begin(), "serve");
    const auto result = holdfast(options);
    EXPECT_EQ(result.status, 64);
    return result.err;
  };
  EXPECT_THAT(said({"--listen", "0.0.0.0:0"}), HasSubstr("--tls-cert"));
  EXPECT_THAT(said({"--listen", "8377"}), HasSubstr("'8377' is not an address and a port"));
  EXPECT_THAT(said({"--listen", "::1:8377"}), HasSubstr("is not an address and a port"));
  EXPECT_THAT(said({"--listen", "example.org:8377"}), HasSubstr("is not an address and a port"));
  EXPECT_THAT(said({"--listen", "127.0.0.1:99999"}), HasSubstr("is not an address and a port"));
  EXPECT_THAT(said({"--tls-cert", "x"}), HasSubstr("go together"));
  EXPECT_THAT(said({"--tls-cert", "/none", "--tls-key", "/none"}), HasSubstr("the certificate '/none'"));
  EXPECT_THAT(said({"--allow-release"}), HasSubstr("--secret-file"));
  EXPECT_THAT(said({"--secret-file", "x"}), HasSubstr("--allow-release"));
  EXPECT_THAT(said({"--host", "a b"}), HasSubstr("is not the name of a host"));
  EXPECT_THAT(said({"--interval", "1ms"}), HasSubstr("--interval: not between 100ms and 1h"));
}

TEST_F(serve_access, speaks_tls_on_any_address) {
  const certificates authority{scratch_};
  const auto own = authority.issue("server", "DNS:locks.example.org,IP:127.0.0.1");
  const auto tls = strings{"--tls-cert", own.certificate, "--tls-key", own.key};
  auto any = tls;
  any.insert(any.end(), {"--listen", "0.0.0.0:0"});
  any.insert(any.begin(), "serve");
  EXPECT_THAT(holdfast(any).err, HasSubstr("--host"));
  serve({tls[0], tls[1], tls[2], tls[3], "--host", "locks.example.org"});
  EXPECT_THAT(server().out(), HasSubstr("https://127.0.0.1:"));
  EXPECT_EQ(server().err(), "");
  const auto ask = [&](const std::string& options) {
    const auto line = fmt::format(
        "printf 'GET /healthz HTTP/1.1\\r\\nHost: locks.example.org\\r\\nConnection: close\\r\\n\\r\\n' | "
        "openssl s_client -quiet -verify_return_error -CAfile {} -verify_hostname locks.example.org {} "
        "-connect 127.0.0.1:{}",
        authority.authority(), options, port());
    process shell{scratch_, {"sh", "-c", line}, {}};
    return shell.wait();
  };
  EXPECT_TRUE(eventually([&] { return ask("").out.ends_with("\r\n\r\nok\n"); })) << ask("").err;
  EXPECT_THAT(ask("-tls1_1 -cipher DEFAULT@SECLEVEL=0").out, Not(HasSubstr("HTTP/1.1")));
  EXPECT_THAT(ask("-tls1_2").out, HasSubstr("200"));
  EXPECT_THAT(ask("-tls1_2 -cipher AES128-GCM-SHA256:AES128-SHA@SECLEVEL=0").out, Not(HasSubstr("HTTP/1.1")))
      << "without forward secrecy";
  connection plain{port()};
  plain.send("GET /healthz HTTP/1.1\r\nHost: locks.example.org\r\n\r\n");
  EXPECT_TRUE(plain.is_ended());
  EXPECT_THAT(ask("").out, HasSubstr("200"));
  std::vector<connection> silent;
  for (int i = 0; i < 64; ++i) silent.emplace_back(port());
  EXPECT_THAT(ask("").out, HasSubstr("200")) << "though 64 clients stand in the handshake";
}

TEST_F(serve_access, warns_of_a_key_that_every_user_may_read) {
  const auto own = certificates{scratch_}.issue("server", "IP:127.0.0.1");
  std::filesystem::permissions(own.key, std::filesystem::perms{0644});
  serve({"--tls-cert", own.certificate, "--tls-key", own.key});
  EXPECT_EQ(
      server().err(),
      fmt::format("holdfast: every user of this host may read the key '{0}': chmod o= '{0}'\n", own.key));
}

}  // namespace
}  // namespace holdfast::test
