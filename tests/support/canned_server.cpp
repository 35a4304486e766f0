// SPDX-License-Identifier: Apache-2.0
#include "support/canned_server.hpp"

#include <sys/socket.h>
#include <utility>

namespace holdfast::test {

canned_server::canned_server(std::string bytes, then afterwards)
    : loopback_server{[bytes = std::move(bytes), afterwards](int socket) {
        char request[16'384];
        return ::recv(socket, request, sizeof request, 0) > 0 &&
               ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 &&
               afterwards == then::stay;
      }} {}

}  // namespace holdfast::test
