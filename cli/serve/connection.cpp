#include "serve/connection.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "serve/answers.hpp"

namespace holdfast::cli {

namespace {

using namespace std::chrono_literals;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = boost::asio::ip::tcp;
using tls_stream = beast::ssl_stream<beast::tcp_stream>;

constexpr std::uint32_t largest_header = 16 << 10;  // bytes
constexpr std::uint64_t largest_body = 4 << 10;
constexpr std::size_t read_size = 4 << 10;
constexpr auto handshake_limit = 10s;
constexpr auto request_limit = 10s;  // from its first byte to its last
constexpr auto first_limit = 10s;    // to the first byte of the first request
constexpr auto idle_limit = 60s;     // without a request
/// A reply goes out in pieces, each of which the client has to take within the limit: a slow one may take
/// long for a large reply, a stopped one is given up.
constexpr std::size_t piece_size = 64 << 10;
constexpr auto piece_limit = 30s;
constexpr auto shutdown_limit = 2s;

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

std::string text_of(const tcp::endpoint& peer) {
  return fmt::format("{}:{}", in_url(peer.address().to_string()), peer.port());
}

std::string head_of(const http_reply& reply, bool keeps_alive) {
  const auto reason = http::obsolete_reason(http::int_to_status(reply.status));
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}", reply.status, text_of(reason),
                                 reply.content_type, security_headers);
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (!reply.is_event_stream) head += fmt::format("Content-Length: {}\r\n", reply.body->size());
  head += fmt::format("Connection: {}\r\n\r\n", keeps_alive ? "keep-alive" : "close");
  return head;
}

template <class Stream>
class http_connection final : public connection,
                              public std::enable_shared_from_this<http_connection<Stream>> {
 public:
  template <class... Arguments>
  http_connection(service& answers, connection_set& connections, tcp::endpoint peer, Arguments&&... stream)
      : answers_{answers},
        connections_{connections},
        peer_{text_of(peer)},
        stream_{std::forward<Arguments>(stream)...} {}

  void start() {
    connections_.add(this->shared_from_this());
    if constexpr (has_tls) {
      lowest().expires_after(handshake_limit);
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
    lowest().expires_after(std::exchange(is_first_, false) ? first_limit : idle_limit);
    stream_.async_read_some(buffer_.prepare(read_size),
                            [self = this->shared_from_this()](error_code problem, std::size_t count) {
                              if (problem) return self->close();
                              if (self->is_closed_) return;
                              self->buffer_.commit(count);
                              self->read_request();
                            });
  }

  void read_request() {
    lowest().expires_after(request_limit);
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
    lowest().expires_never();
    answers_.handle(request,
                    [self = this->shared_from_this()](http_reply reply) { self->send(std::move(reply)); });
  }

  void send(http_reply reply) {
    if (is_closed_) return;
    if (reply.is_event_stream && !is_head_) return begin_stream(std::move(reply));
    text_ = std::make_shared<const std::string>(head_of(reply, keeps_alive_));
    const auto body = is_head_ ? nullptr : std::move(reply.body);
    send_text([this, body] {
      if (!body) return end_reply();
      text_ = body;
      send_text([this] { end_reply(); });
    });
  }

  void end_reply() {
    text_.reset();
    if (keeps_alive_) return await_request();
    if (!idle_since_) idle_since_ = boot_clock::now();
    if constexpr (has_tls) {
      lowest().expires_after(shutdown_limit);
      stream_.async_shutdown([self = this->shared_from_this()](error_code) { self->close(); });
    } else {
      drain();
    }
  }

  /// What was sent but not read would turn the end into a reset, which may take the reply with it.
  void drain() {
    error_code ignored;
    lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
    lowest().expires_after(shutdown_limit);
    stream_.async_read_some(boost::asio::buffer(dropped_),
                            [self = this->shared_from_this()](error_code, std::size_t) { self->close(); });
  }

  /// Sends text_. \param then what follows; it is called while the connection is kept.
  template <class Then>
  void send_text(Then then, std::size_t from = 0) {
    if (is_closed_) return;
    const std::size_t count = std::min(piece_size, text_->size() - from);
    if (count == 0) return then();
    lowest().expires_after(piece_limit);
    boost::asio::async_write(
        stream_, boost::asio::buffer(text_->data() + from, count),
        [self = this->shared_from_this(), then, from](error_code problem, std::size_t sent) {
          if (problem) return self->close();
          self->send_text(then, from + sent);
        });
  }

  void begin_stream(http_reply reply) {
    if (!connections_.has_room_for_stream()) {
      keeps_alive_ = false;
      return send(error_reply(503, "busy", "too many streams of events are open"));
    }
    is_stream_ = true;
    is_writing_ = true;
    keeps_alive_ = false;
    lowest().expires_never();
    await_end_of_stream();
    text_ = std::make_shared<const std::string>(head_of(reply, false));
    send_text([this] { send_events(); });
  }

  /// A client of a stream says nothing more: this notices when it goes.
  void await_end_of_stream() {
    stream_.async_read_some(boost::asio::buffer(dropped_),
                            [self = this->shared_from_this()](error_code, std::size_t) { self->close(); });
  }

  void send_events() {
    text_ = answers_.next_event(cursor_);
    is_writing_ = text_ != nullptr;
    if (is_writing_) send_text([this] { send_events(); });
  }

  service& answers_;
  connection_set& connections_;
  std::string peer_;
  Stream stream_;
  beast::flat_buffer buffer_{largest_header + largest_body + read_size};
  std::optional<http::request_parser<http::string_body>> parser_;
  std::shared_ptr<const std::string> text_;  // that is being sent
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

void serve_connection(tcp::socket socket, boost::asio::ssl::context* tls, service& answers,
                      connection_set& connections) {
  error_code problem;
  const auto peer = socket.remote_endpoint(problem);
  if (problem) return;  // it has gone
  if (tls != nullptr) {
    std::make_shared<http_connection<tls_stream>>(answers, connections, peer, std::move(socket), *tls)
        ->start();
  } else {
    std::make_shared<http_connection<beast::tcp_stream>>(answers, connections, peer, std::move(socket))
        ->start();
  }
}

}  // namespace holdfast::cli
