// SPDX-License-Identifier: Apache-2.0
// A service of items over HTTP, which refuses writers whose lease has ended. A client sends the token of its
// lease with each request:
//
//   holdfast run stock -- sh -c '
//     curl -fsS -X PUT -H "Fencing-Token: $HOLDFAST_TOKEN" -d 9 http://127.0.0.1:8080/items/stock'
//
// With -f curl fails where the service refuses: a late job must not count as done.
//
// The argument is the port; 0 takes a free one.

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <holdfast/fence.hpp>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

/// Digits, as of Content-Length. (The Integer of Structured Fields ends at 15 digits, and tokens have 16.)
/// \return nothing if the field is missing, is there twice, or is no number above 0.
std::optional<holdfast::fencing_token> token_of(const request& from) {
  constexpr const char* field = "Fencing-Token";
  if (from.count(field) != 1) return std::nullopt;
  const auto text = from[field];
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || end != text.data() + text.size() || number == 0) return std::nullopt;
  return holdfast::fencing_token{number};
}

/// The resource. Its items are in memory, and so is their fence: a restart forgets both.
class item_service {
 public:
  response answer(const request& from) {
    constexpr std::string_view folder = "/items/";
    const std::string target{from.target().data(), from.target().size()};
    if (!target.starts_with(folder)) return {http::status::not_found, from.version()};
    if (from.method() != http::verb::get && from.method() != http::verb::put) {
      response refusal{http::status::method_not_allowed, from.version()};
      refusal.set(http::field::allow, "GET, PUT");
      return refusal;
    }
    const auto token = token_of(from);
    if (!token) return {http::status::bad_request, from.version()};
    return access(target.substr(folder.size()), *token, from);
  }

 private:
  /// A holder shows its token also when it reads: from then on no older one changes what it has read.
  response access(const std::string& name, holdfast::fencing_token token, const request& from) {
    // The check and the access are one step: a newer holder must not come between them.
    const std::scoped_lock one_at_a_time{mutex_};
    const auto item = items_.find(name);
    if (item == items_.end()) return {http::status::not_found, from.version()};
    if (!fence_.admit(name, token)) return {http::status::precondition_failed, from.version()};
    if (from.method() == http::verb::get) return {http::status::ok, from.version(), item->second};
    item->second = from.body();
    return {http::status::no_content, from.version()};
  }

  std::mutex mutex_;
  // Known names only: a client that invents names would have the fence forget others.
  std::map<std::string, std::string> items_{{"stock", ""}, {"prices", ""}};
  holdfast::fence fence_;
};

/// A connection: requests, one after another.
class session : public std::enable_shared_from_this<session> {
 public:
  session(tcp::socket socket, item_service& items) : stream_{std::move(socket)}, items_{items} {}

  void read() {
    request_ = {};
    stream_.expires_after(time_limit);
    http::async_read(stream_, buffer_, request_, [self = shared_from_this()](auto failed, std::size_t) {
      if (!failed) self->answer();
    });
  }

 private:
  void answer() {
    response_ = items_.answer(request_);
    if (response_.result() != http::status::no_content) response_.prepare_payload();
    response_.set(http::field::cache_control, "no-store");  // a cache would not ask the fence
    response_.keep_alive(request_.keep_alive());
    stream_.expires_after(time_limit);
    http::async_write(stream_, response_, [self = shared_from_this()](auto failed, std::size_t) {
      if (!failed && self->response_.keep_alive()) self->read();
    });
  }

  static constexpr std::chrono::seconds time_limit{30};
  beast::tcp_stream stream_;
  item_service& items_;
  beast::flat_buffer buffer_{1 << 20};  // a larger request ends the connection
  request request_;
  response response_;
};

void accept(tcp::acceptor& on, item_service& items) {
  on.async_accept(asio::make_strand(on.get_executor()), [&](auto failed, tcp::socket socket) {
    if (!failed) std::make_shared<session>(std::move(socket), items)->read();
    accept(on, items);
  });
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const int port = count > 1 ? std::stoi(arguments[1]) : 8080;
    item_service items;
    asio::thread_pool threads{4};
    tcp::acceptor acceptor{threads, {asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)}};
    std::cout << "http://127.0.0.1:" << acceptor.local_endpoint().port() << "/items/\n" << std::flush;
    accept(acceptor, items);
    threads.join();
    return EXIT_SUCCESS;
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << '\n';
    return EXIT_FAILURE;
  }
}
