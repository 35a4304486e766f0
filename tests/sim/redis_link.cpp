#include "sim/redis_link.hpp"

#include <utility>

namespace holdfast::sim {

redis_link::redis_link(switchboard& to, scene& in, host& from, line& over, duration patience)
    : line_link{in, from, over, patience}, to_{to} {
  over_.kill_former();
  over_.on_connected([this] { to_.connected(*this); });
}

redis_link::~redis_link() { to_.gone(*this); }

std::shared_ptr<line_link::parcel> redis_link::pack(tickets::request what) {
  return std::make_shared<talk>(what, to_, address());
}

void redis_link::dispatch(std::shared_ptr<parcel> p) {
  auto& t = static_cast<talk&>(*p);
  t.said.clear();
  static_cast<void>(t.conversation.say(t.said));
  over_.to_server(
      [to = &to_, in = &in_, way = &over_, c = over_.connection(), link = this, p = std::move(p)] {
        // The link may be gone by now; the server does not know that.
        auto& t = static_cast<talk&>(*p);
        std::vector<redis::value> replies;
        if (!to->carry_out(t.said, t.from, c, replies)) return;
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

/// In order with the replies as a rule, and lost when the connection is.
void redis_link::push(const word& w) {
  if (to_.careless && in_.chance.one_in(8)) return hear(w, true);
  over_.to_client(over_.connection(), [this, w] { tell(w); });
}

}  // namespace holdfast::sim
