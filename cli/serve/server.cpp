// SPDX-License-Identifier: Apache-2.0
#include "serve/server.hpp"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fmt/format.h>
#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "end_guard.hpp"
#include "failure.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "serve/connection.hpp"
#include "serve/service.hpp"
#include "serve/tls.hpp"
#include "signal_inbox.hpp"

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto tick_interval = 1s;
/// These connections are for what needs no store, /metrics and /healthz above all.
constexpr std::size_t most_of_others = 8;
static_assert(connection_set::most_streams + service::most_waiting + most_of_others <= connection_set::most);
constexpr int send_buffer = 256 << 10;  // bytes that the kernel keeps for a client that does not read
/// For threads that are with a server that does not answer.
constexpr auto end_limit = 3s;
/// Out of descriptors, a listener is readable all the time, and would keep a processor busy.
constexpr auto pause_after_failed_accept = 100ms;

struct parts {
  listen_address where;
  access_rules rules;
  release_secret secret;
  std::unique_ptr<asio::ssl::context> tls;
};

/// All that can be wrong in the command line.
parts checked_parts(const serve_command& request) {
  if (request.tls_certificate.empty() != request.tls_key.empty())
    throw failure{bad_usage, "--tls-cert and --tls-key go together"};
  if (request.allow_release && request.secret_file.empty())
    throw failure{bad_usage, "--allow-release needs --secret-file: whoever has the secret may release"};
  if (!request.allow_release && !request.secret_file.empty())
    throw failure{bad_usage, "--secret-file goes with --allow-release"};
  if (request.interval && (*request.interval < 100ms || *request.interval > 1h))
    throw failure{bad_usage, "--interval: not between 100ms and 1h"};
  const auto where = parse_listen_address(request.listen);
  const bool has_tls = !request.tls_key.empty();
  if (!where.is_loopback && !has_tls) {
    throw failure{bad_usage,
                  fmt::format("without TLS, --listen takes addresses of this machine's loopback alone, "
                              "and '{}' is none: give --tls-cert and --tls-key, or put a proxy with TLS "
                              "in front",
                              request.listen)};
  }
  return {where, access_rules{where, request.hosts, has_tls},
          request.allow_release ? release_secret{request.secret_file} : release_secret{},
          has_tls ? open_tls(request.tls_certificate, request.tls_key) : nullptr};
}

/// Duplicates a descriptor for Asio, which closes its own.
asio::posix::stream_descriptor watched(asio::io_context& context, int fd) {
  return asio::posix::stream_descriptor{context, checked(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "fcntl")};
}

class server {
 public:
  server(const serve_command& request, parts given, const signal_inbox& signals)
      : tls_{std::move(given.tls)},
        acceptor_{context_},
        service_{request, std::move(given.rules), std::move(given.secret),
                 [this](std::function<void()> job) { asio::post(context_, std::move(job)); }},
        arrivals_{watched(context_, service_.get())},
        signals_{watched(context_, signals.get())} {
    listen(given.where);
  }

  [[nodiscard]] std::string url() const {
    const auto local = acceptor_.local_endpoint();
    return fmt::format("{}://{}:{}", tls_ ? "https" : "http", in_url(local.address().to_string()),
                       local.port());
  }

  /// Until a signal has come.
  void run() {
    service_.on_events([this] { connections_.wake_streams(); });
    await_signal();
    await_arrival();
    await_tick();
    accept();
    context_.run();
  }
  /// Before what may take time.
  void close_connections() { connections_.close_all(); }

 private:
  void listen(const listen_address& where) {
    const tcp::endpoint local{asio::ip::make_address(where.host), where.port};
    acceptor_.open(local.protocol());
    acceptor_.set_option(tcp::acceptor::reuse_address{true});
    if (local.address().is_v6()) acceptor_.set_option(asio::ip::v6_only{true});
    error_code problem;
    acceptor_.bind(local, problem);
    if (!problem) acceptor_.listen(tcp::acceptor::max_listen_connections, problem);
    if (!problem) return;
    const auto place = fmt::format("{}:{}", in_url(where.host), where.port);
    if (problem == asio::error::address_in_use)
      throw failure{bad_usage,
                    fmt::format("another program listens on {}: choose another port with --listen", place)};
    throw failure{problem == asio::error::access_denied ? permission_denied : bad_usage,
                  fmt::format("cannot listen on {}: {}", place, problem.message())};
  }

  void accept() {
    acceptor_.async_accept([this](error_code problem, tcp::socket socket) {
      if (!problem && connections_.make_room(boot_clock::now())) {
        error_code ignored;
        socket.set_option(tcp::no_delay{true}, ignored);
        socket.set_option(tcp::socket::send_buffer_size{send_buffer}, ignored);
        serve_connection(std::move(socket), tls_.get(), service_, connections_);
      }
      if (!problem || problem == asio::error::connection_aborted) return accept();
      pause_.expires_after(pause_after_failed_accept);
      pause_.async_wait([this](error_code cancelled) {
        if (!cancelled) accept();
      });
    });
  }

  void await_arrival() {
    arrivals_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code problem) {
      if (problem) return;
      service_.take();
      await_arrival();
    });
  }

  void await_tick() {
    tick_.expires_after(tick_interval);
    tick_.async_wait([this](error_code cancelled) {
      if (cancelled) return;
      service_.tick();
      await_tick();
    });
  }

  void await_signal() {
    signals_.async_wait(asio::posix::stream_descriptor::wait_read, [this](error_code) { context_.stop(); });
  }

  asio::io_context context_{1};
  std::unique_ptr<asio::ssl::context> tls_;
  tcp::acceptor acceptor_;
  asio::steady_timer pause_{context_};
  asio::steady_timer tick_{context_};
  connection_set connections_;
  service service_;
  asio::posix::stream_descriptor arrivals_;
  asio::posix::stream_descriptor signals_;
};

}  // namespace

void run_server(const serve_command& request) {
  // Standard error may be a pipe whose reader has ended: a note of a refused request must not end the server.
  ::signal(SIGPIPE, SIG_IGN);
  complain_without_waiting();
  signal_inbox signals{SIGINT, SIGTERM};  // before all threads
  auto given = checked_parts(request);
  auto running = std::make_unique<server>(request, std::move(given), signals);
  if (request.store.json) {
    print_line({{"listening", running->url()}});
  } else {
    fmt::print("listening on {}\n", running->url());
    flush_output();
  }
  running->run();
  static_cast<void>(signals.take());
  {
    const end_guard guard{signals, end_limit};
    running->close_connections();
    running.reset();
  }
  signals.discard();
}

}  // namespace holdfast::cli
