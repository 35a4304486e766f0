// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/annotated_mutex.hpp"
#include "holdfast/error.hpp"
#include "runtime/signals.hpp"
#include "stores/redis/link/stream.hpp"

namespace holdfast::redis {

namespace {

std::string first_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : "no reason given";
}

[[noreturn]] void unusable(const std::string& item, const std::string& file) {
  throw error{errc::invalid_url, "the " + item + " " + file + " cannot be used for TLS: " + first_error()};
}

/// Refuses to ask for a pass phrase. OpenSSL would ask at the terminal or read a line of stdin, and the
/// program would stop, or lose its own input.
int refuse_to_ask(char* /*passphrase*/, int /*size*/, int /*writing*/, void* flag) {
  if (flag != nullptr) *static_cast<bool*>(flag) = true;
  return -1;
}

class secured final : public stream {
 public:
  secured(SSL_CTX* context, int socket) : socket_{socket}, ssl_{SSL_new(context)} {
    if (ssl_ == nullptr || SSL_set_fd(ssl_, socket) != 1) {
      SSL_free(ssl_);
      ::close(socket);
      throw connection_error{{errc::exhausted, "no TLS connection: " + first_error()}};
    }
  }
  ~secured() override {
    // No TLS close message: no data is lost without it. Sending it could fail in a user's thread, and leave
    // an error in the thread's OpenSSL error queue.
    SSL_free(ssl_);
    ::shutdown(socket_, SHUT_RDWR);  // a child after fork() may have it open, too
    ::close(socket_);
  }
  secured(const secured&) = delete;
  secured& operator=(const secured&) = delete;

  /// An address is looked for among the certificate's addresses, a name among its names; SNI takes names
  /// alone.
  void expect(const std::string& name, bool verify) {
    const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), name.c_str()) == 1;
    ERR_clear_error();
    if (is_address) return;
    if ((verify && SSL_set1_host(ssl_, name.c_str()) != 1) ||
        SSL_set_tlsext_host_name(ssl_, name.c_str()) != 1) {
      throw connection_error{
          {errc::invalid_url, "the TLS name is not valid in a certificate; check 'tls_name': " + name},
          false};
    }
  }

  void shake_hands(const std::function<void(short)>& wait) {
    const runtime::no_sigpipe guard;
    while (true) {
      ERR_clear_error();
      const int result = SSL_connect(ssl_);
      if (result == 1) return;
      switch (SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ: wait(POLLIN); break;
        case SSL_ERROR_WANT_WRITE: wait(POLLOUT); break;
        default: refused();
      }
    }
  }

  std::size_t read_some(char* to, std::size_t room) override {
    const annotated::lock held{mutex_};
    const runtime::no_sigpipe guard;
    ERR_clear_error();
    const int n = SSL_read(ssl_, to, static_cast<int>(std::min<std::size_t>(room, INT_MAX)));
    wants_to_write_ = false;
    return n > 0 ? static_cast<std::size_t>(n) : nothing_now(n);
  }
  std::size_t write_some(std::string_view bytes) override {
    if (bytes.empty()) return 0;
    const annotated::lock held{mutex_};
    const runtime::no_sigpipe guard;
    ERR_clear_error();
    const int n =
        SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), INT_MAX)));
    return n > 0 ? static_cast<std::size_t>(n) : nothing_now(n);
  }
  [[nodiscard]] int descriptor() const override { return socket_; }
  [[nodiscard]] bool reading_wants_to_write() const override {
    const annotated::lock held{mutex_};
    return wants_to_write_;
  }
  /// Of the present record alone: OpenSSL leaves the next ones in the socket, unless told to read ahead.
  [[nodiscard]] bool has_buffered() const override {
    const annotated::lock held{mutex_};
    return SSL_pending(ssl_) > 0;
  }

 private:
  std::size_t nothing_now(int result) HOLDFAST_REQUIRES(mutex_) {
    switch (SSL_get_error(ssl_, result)) {
      case SSL_ERROR_WANT_READ: return 0;
      case SSL_ERROR_WANT_WRITE: wants_to_write_ = true; return 0;
      case SSL_ERROR_ZERO_RETURN:
        throw connection_error{{errc::unavailable, "the server closed the connection"}};
      default: throw connection_error{{errc::unavailable, "the TLS connection broke: " + first_error()}};
    }
  }

  /// A retry does not help a server with a wrong certificate.
  [[noreturn]] void refused() {
    const long verdict = SSL_get_verify_result(ssl_);  // there is one also where nobody asks for it
    if (SSL_get_verify_mode(ssl_) != SSL_VERIFY_NONE && verdict != X509_V_OK) {
      throw connection_error{
          {errc::permission_denied,
           std::string{"the server's certificate is not trusted: "} + X509_verify_cert_error_string(verdict)},
          false};
    }
    throw connection_error{
        {errc::unavailable, "TLS failed: " + first_error() + " (does the server speak TLS on this port?)"}};
  }

  int socket_;
  SSL* ssl_;
  mutable annotated::mutex mutex_;  // OpenSSL's state is one for both directions
  bool wants_to_write_ HOLDFAST_GUARDED_BY(mutex_) = false;
};

}  // namespace

tls_context::tls_context(const settings& s)
    : context_{SSL_CTX_new(TLS_client_method())}, name_{s.tls.name}, verify_{s.tls.verify} {
  if (context_ == nullptr) throw error{errc::exhausted, "TLS failed: " + first_error()};
  try {
    SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
    SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(context_, verify_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    if (s.tls.ca.empty()) {
      SSL_CTX_set_default_verify_paths(context_);
    } else if (SSL_CTX_load_verify_locations(context_, s.tls.ca.c_str(), nullptr) != 1) {
      unusable("CA file", s.tls.ca);
    }
    bool is_encrypted = false;
    SSL_CTX_set_default_passwd_cb(context_, refuse_to_ask);
    SSL_CTX_set_default_passwd_cb_userdata(context_, &is_encrypted);
    if (!s.tls.cert.empty()) {
      const std::string& key = s.tls.key.empty() ? s.tls.cert : s.tls.key;
      if (SSL_CTX_use_certificate_chain_file(context_, s.tls.cert.c_str()) != 1)
        unusable("certificate", s.tls.cert);
      if (SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM) != 1) {
        if (is_encrypted) {
          ERR_clear_error();
          throw error{errc::invalid_url, "the key " + key +
                                             " is encrypted, and Holdfast cannot ask for its pass phrase; "
                                             "give a copy without one, readable by this user only"};
        }
        unusable("key", key);
      }
      if (SSL_CTX_check_private_key(context_) != 1) unusable("key", key);
    }
    SSL_CTX_set_default_passwd_cb_userdata(context_, nullptr);
  } catch (...) {
    SSL_CTX_free(context_);
    throw;
  }
}

tls_context::~tls_context() { SSL_CTX_free(context_); }

std::unique_ptr<stream> tls_context::open(int socket, const std::string& host,
                                          const std::function<void(short)>& wait) const {
  auto s = std::make_unique<secured>(context_, socket);
  s->expect(name_.empty() ? host : name_, verify_);
  s->shake_hands(wait);
  return s;
}

}  // namespace holdfast::redis
