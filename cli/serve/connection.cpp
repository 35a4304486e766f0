// SPDX-License-Identifier: Apache-2.0
#include "serve/connection.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <boost/asio/ip/network_v6.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "serve/address.hpp"

namespace holdfast::cli {

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = boost::asio::ip::tcp;
using tls_stream = beast::ssl_stream<beast::tcp_stream>;

constexpr std::uint32_t largest_header = 16 << 10;  // bytes
constexpr std::uint64_t largest_body = 4 << 10;
constexpr std::size_t read_size = 4 << 10;

/// What every reply says to a browser: nothing of it is run, framed, or guessed at beyond the page's own
/// files.
constexpr std::string_view security_headers =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n";

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

/// A target may name the scheme and the host, as to a proxy. Then the Host header does not count (RFC
/// 9112, 3.2.2).
void take_absolute_form(http_request& request) {
  std::string& target = request.target;
  for (const beast::string_view scheme : {"http://", "https://"}) {
    if (!beast::iequals(target.substr(0, scheme.size()), scheme)) continue;
    const std::size_t end = std::min(target.find_first_of("/?", scheme.size()), target.size());
    request.host = target.substr(scheme.size(), end - scheme.size());
    target.erase(0, end);
    if (!target.starts_with('/')) target.insert(0, 1, '/');
    return;
  }
}

std::string text_of(const tcp::endpoint& peer) {
  return fmt::format("{}:{}", in_url(peer.address().to_string()), peer.port());
}

std::string client_at(const boost::asio::ip::address& address) {
  constexpr unsigned short network_bits = 64;
  if (address.is_v4()) return address.to_string();
  return boost::asio::ip::make_network_v6(address.to_v6(), network_bits).canonical().to_string();
}

std::string head_of(const http_reply& reply, bool keeps_alive) {
  const auto reason = http::obsolete_reason(http::int_to_status(reply.status));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}", reply.status, text_of(reason),
                                 reply.content_type, security_headers);
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (!reply.is_event_stream) head += fmt::format("Content-Length: {}\r\n", size_of(reply.body));
  head += fmt::format("Connection: {}\r\n\r\n", keeps_alive ? "keep-alive" : "close");
  return head;
}

template <class Stream>
class http_connection final : public connection,
                              public std::enable_shared_from_this<http_connection<Stream>> {
 public:
  template <class... Arguments>
  http_connection(request_handler& answers, connection_set& connections, const connection_limits& limits,
                  tcp::endpoint peer, Arguments&&... stream)
      : answers_{answers},
        connections_{connections},
        limits_{limits},
        peer_{text_of(peer)},
        client_{client_at(peer.address())},
        stream_{std::forward<Arguments>(stream)...} {}

  void start() {
    connections_.add(this->shared_from_this());
    if constexpr (has_tls) {
      lowest().expires_after(limits_.handshake);
      stream_.async_handshake(boost::asio::ssl::stream_base::server,
                              [self = this->shared_from_this()](error_code problem) {
                                if (problem) return self->close();
                                self->await_request();
                              });
    } else {
      await_request();
    }
  }

  void close() override {
    if (std::exchange(is_closed_, true)) return;
    lowest().close();
    connections_.remove(this->shared_from_this());
  }

  [[nodiscard]] std::optional<boot_clock::time_point> idle_since() const override { return idle_since_; }
  [[nodiscard]] bool is_stream() const override { return is_stream_; }
  [[nodiscard]] const std::string& client() const override { return client_; }
  [[nodiscard]] const text_parts& unsent() const override { return unsent_; }
  [[nodiscard]] boot_clock::time_point sending_since() const override { return sending_since_; }

  void wake() override {
    if (is_stream_ && !is_writing_ && !is_closed_) send_events();
  }

 private:
  static constexpr bool has_tls = !std::is_same_v<Stream, beast::tcp_stream>;

  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  void await_request() {
    if (is_closed_) return;
    parser_.emplace();
    parser_->header_limit(largest_header);
    parser_->body_limit(largest_body);
    if (!idle_since_) idle_since_ = boot_clock::now();
    if (buffer_.size() != 0) return read_request();  // of a client that does not wait for replies
    lowest().expires_after(std::exchange(is_first_, false) ? limits_.first_byte : limits_.idle);
    stream_.async_read_some(buffer_.prepare(read_size),
                            [self = this->shared_from_this()](error_code problem, std::size_t count) {
                              if (problem) return self->close();
                              if (self->is_closed_) return;
                              self->buffer_.commit(count);
                              self->read_request();
                            });
  }

  void read_request() {
    lowest().expires_after(limits_.request);
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](error_code problem, std::size_t) {
                       if (self->is_closed_) return;  // for another one, while the request came
                       if (problem) return self->refuse(problem);
                       self->idle_since_.reset();
                       self->answer();
                     });
  }

  /// A request that cannot be read. Where the next one begins is not known, so the connection ends.
  void refuse(error_code problem) {
    keeps_alive_ = false;
    if (problem == http::error::header_limit || problem == http::error::buffer_overflow)
      return send(error_reply(431, "header_too_large", "the header has more than 16 KiB"));
    if (problem == http::error::body_limit)
      return send(error_reply(413, "body_too_large", "the body has more than 4 KiB"));
    const bool is_syntax = problem.category() == make_error_code(http::error::bad_method).category();
    if (!is_syntax || problem == http::error::end_of_stream || problem == http::error::partial_message)
      return close();  // the client has gone, or took too long
    send(error_reply(400, "invalid_request", "the request is not HTTP/1.1"));
  }

  void answer() {
    const auto& message = parser_->get();
    keeps_alive_ = message.keep_alive();
    is_head_ = message.method() == http::verb::head;
    http_request request{.method = text_of(message.method_string()),
                         .target = text_of(message.target()),
                         .host = text_of(message[http::field::host]),
                         .origin = text_of(message[http::field::origin]),
                         .fetch_site = text_of(message["Sec-Fetch-Site"]),
                         .accept = text_of(message[http::field::accept]),
                         .authorization = text_of(message[http::field::authorization]),
                         .content_type = text_of(message[http::field::content_type]),
                         .has_origin = message.find(http::field::origin) != message.end(),
                         .body = message.body(),
                         .peer = peer_};
    if (message.count(http::field::host) > 1) request.host.clear();  // which of them would a proxy mean?
    take_absolute_form(request);
    lowest().expires_never();
    answers_.handle(request,
                    [self = this->shared_from_this()](http_reply reply) { self->send(std::move(reply)); });
  }

  void send(http_reply reply) {
    if (is_closed_) return;
    if (reply.is_event_stream && !is_head_) return begin_stream(reply);
    if (!is_head_ && !reply.is_always_sent && !connections_.make_room_for(reply.body, boot_clock::now()))
      reply = busy_reply("too many clients are slow to take large replies");
    text_parts parts{share(head_of(reply, keeps_alive_))};
    if (!is_head_) parts.insert(parts.end(), reply.body.begin(), reply.body.end());
    send_parts(std::move(parts), [this] { end_reply(); });
  }

  void end_reply() {
    if (keeps_alive_) return await_request();
    if (!idle_since_) idle_since_ = boot_clock::now();
    if constexpr (has_tls) {
      lowest().expires_after(limits_.shutdown);
      stream_.async_shutdown([self = this->shared_from_this()](error_code) { self->close(); });
    } else {
      drain();
    }
  }

  /// What was sent but not read would turn the end into a reset, which may take the reply with it.
  void drain() {
    error_code ignored;
    lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
    lowest().expires_after(limits_.shutdown);
    stream_.async_read_some(boost::asio::buffer(dropped_),
                            [self = this->shared_from_this()](error_code, std::size_t) { self->close(); });
  }

  /// \param then what follows; it is called while the connection is kept.
  template <class Then>
  void send_parts(text_parts parts, Then then) {
    unsent_ = std::move(parts);
    sending_since_ = boot_clock::now();
    send_piece(then, 0);
  }

  /// \param from where in the first part.
  template <class Then>
  void send_piece(Then then, std::size_t from) {
    if (is_closed_) return;
    while (!unsent_.empty() && from == unsent_.front()->size()) {
      unsent_.erase(unsent_.begin());
      from = 0;
    }
    if (unsent_.empty()) return then();
    const auto text = unsent_.front();
    const std::size_t count = std::min(limits_.piece_size, text->size() - from);
    lowest().expires_after(limits_.piece);
    boost::asio::async_write(
        stream_, boost::asio::buffer(text->data() + from, count),
        [self = this->shared_from_this(), text, then, from](error_code problem, std::size_t sent) {
          if (problem) return self->close();
          self->send_piece(then, from + sent);
        });
  }

  void begin_stream(const http_reply& reply) {
    if (!connections_.make_room_for_stream(client_)) {
      keeps_alive_ = false;
      return send(error_reply(503, "busy", "too many streams of events are open"));
    }
    is_stream_ = true;
    is_writing_ = true;
    keeps_alive_ = false;
    lowest().expires_never();
    await_end_of_stream();
    send_parts({share(head_of(reply, false))}, [this] { send_events(); });
  }

  /// A client of a stream says nothing more: this notices when it goes.
  void await_end_of_stream() {
    stream_.async_read_some(boost::asio::buffer(dropped_),
                            [self = this->shared_from_this()](error_code, std::size_t) { self->close(); });
  }

  void send_events() {
    auto cursor = cursor_;
    auto parts = answers_.next_event(cursor);
    // Without room it stays where it is until it is woken again.
    is_writing_ = !parts.empty() && connections_.make_room_for(parts, boot_clock::now());
    if (!is_writing_) return;
    cursor_ = cursor;
    send_parts(std::move(parts), [this] { send_events(); });
  }

  request_handler& answers_;
  connection_set& connections_;
  connection_limits limits_;
  std::string peer_;
  std::string client_;
  Stream stream_;
  beast::flat_buffer buffer_{largest_header + largest_body + read_size};
  std::optional<http::request_parser<http::string_body>> parser_;
  text_parts unsent_;  // the first of them may be sent in part
  boot_clock::time_point sending_since_{};
  std::array<char, 512> dropped_{};
  std::optional<boot_clock::time_point> idle_since_ = boot_clock::now();
  event_cursor cursor_;
  bool is_first_ = true;
  bool keeps_alive_ = true;
  bool is_head_ = false;
  bool is_stream_ = false;
  bool is_writing_ = false;
  bool is_closed_ = false;
};

}  // namespace

void serve_connection(tcp::socket socket, boost::asio::ssl::context* tls, request_handler& answers,
                      connection_set& connections, const connection_limits& limits) {
  error_code problem;
  const auto peer = socket.remote_endpoint(problem);
  if (problem) return;  // it has gone
  if (tls != nullptr) {
    std::make_shared<http_connection<tls_stream>>(answers, connections, limits, peer, std::move(socket), *tls)
        ->start();
  } else {
    std::make_shared<http_connection<beast::tcp_stream>>(answers, connections, limits, peer,
                                                         std::move(socket))
        ->start();
  }
}

}  // namespace holdfast::cli
