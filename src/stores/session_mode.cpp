// SPDX-License-Identifier: Apache-2.0
#include "stores/session_mode.hpp"

namespace holdfast::stores {

using namespace std::chrono_literals;

void take_mode(store_url& url, sql::link_settings& s) {
  const std::string mode = url.take("mode").value_or("table");
  if (mode == "session") {
    s.session = url.take_milliseconds("session_timeout", 30s, 1s, 1h);
  } else if (mode == "row") {
    url.refuse(
        "there is no mode=row, whose open transactions would keep the server from cleaning up; "
        "it is mode=table or mode=session");
  } else if (mode != "table") {
    url.refuse("the option 'mode' is neither 'table' nor 'session'");
  } else if (url.take("session_timeout")) {
    url.refuse("the option 'session_timeout' needs mode=session");
  }
  // A client that closes its connection loses every lock of the session, so it does not close it before their
  // deadline.
  s.answer_limit = url.take_milliseconds("answer_timeout", s.session.value_or(s.answer_limit), 100ms, 1h);
}

void take_notify(store_url& url, sql::link_settings& s, sql::poll_maker question) {
  const std::string notify = url.take("notify").value_or("listen");
  if (notify != "listen" && notify != "poll")
    url.refuse("the option 'notify' is neither 'listen' nor 'poll'");
  if (notify == "listen") {
    if (url.take("poll")) url.refuse("the option 'poll' needs notify=poll");
    return;
  }
  if (s.session) {
    url.refuse("mode=session needs a session of its own, and notify=poll relies on none; remove one of them");
  }
  sql::polling_settings polling{.question = question};
  polling.longest = url.take_milliseconds("poll", 100ms, 10ms, 10s);
  s.polling = polling;
}

}  // namespace holdfast::stores
