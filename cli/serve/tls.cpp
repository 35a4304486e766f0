// SPDX-License-Identifier: Apache-2.0
#include "serve/tls.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "failure.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

namespace ssl = boost::asio::ssl;

failure unusable(const std::string& subject, const std::string& path,
                 const boost::system::error_code& problem) {
  return {bad_usage, fmt::format("cannot use the {} '{}': {}", subject, path, problem.message())};
}

}  // namespace

std::unique_ptr<ssl::context> open_tls(const std::string& certificate, const std::string& key) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // A client that asks for new keys again and again would keep this one busy.
  ::SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Below TLS 1.3: none whose recorded traffic can be read when the key is stolen later.
  ::SSL_CTX_set_cipher_list(context->native_handle(), "ECDHE+AESGCM:ECDHE+CHACHA20");
  boost::system::error_code problem;
  context->use_certificate_chain_file(certificate, problem);
  if (problem) throw unusable("certificate", certificate, problem);
  // A key with a passphrase would ask for it on the terminal.
  context->set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string{}; });
  context->use_private_key_file(key, ssl::context::pem, problem);
  if (problem) throw unusable("key", key, problem);
  struct stat file{};
  if (::stat(key.c_str(), &file) == 0 && (file.st_mode & S_IROTH) != 0) {
    complain(fmt::format("holdfast: every user of this host may read the key '{0}': chmod o= '{0}'\n",
                         printable(key)));
  }
  return context;
}

}  // namespace holdfast::cli
