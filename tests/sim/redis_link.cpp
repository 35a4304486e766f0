#include "sim/redis_link.hpp"

#include <utility>

namespace holdfast::sim {

redis_link::redis_link(switchboard& to, scene& in, host& from, line& over, duration patience)
    : line_link{in, from, over, patience}, to_{to} {
  over_.kill_former();
  over_.on_connected([this] { to_.connected(address(), over_.connection()); });
}

std::shared_ptr<line_link::parcel> redis_link::pack(tickets::request what) {
  return std::make_shared<talk>(what, to_, address());
}

void redis_link::dispatch(std::shared_ptr<parcel> p) {
  auto& t = static_cast<talk&>(*p);
  t.said.clear();
  static_cast<void>(t.conversation.say(t.said));
  over_.to_server(
      [to = &to_, in = &in_, way = &over_, c = over_.connection(), link = this, p = std::move(p)] {
        auto& t = static_cast<talk&>(*p);
        std::vector<redis::value> replies;
        to->carry_out(t.said, t.from, replies);
        // The client will read the same replies, later. To know already what it will make of them shows what
        // was carried out at this moment.
        t.heard = t.conversation.hear(std::move(replies));
        if (t.heard) to->account_for(t.asked, p->given_up, *t.heard);
        // Carried out, and the client will not know: the worst moment for a connection to break.
        if (to->careless && in->chance.one_in(100)) way->cut();
        way->to_client(c, [link, p] {
          auto& t = static_cast<talk&>(*p);
          if (t.heard) {
            link->deliver(p, std::move(*t.heard));
          } else if (!p->given_up) {
            link->dispatch(p);
          }
        });
      });
}

}  // namespace holdfast::sim
