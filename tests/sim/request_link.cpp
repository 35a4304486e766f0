#include "sim/request_link.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::sim {

tickets::reply counter::serve(const tickets::request& asked, const owner_id& client, bool late) {
  words.clear();
  tickets::reply answer = carry_out(asked, client, words);
  account->executed(asked, late, answer, words);
  for (const word& w : words) {
    const auto to = std::find_if(links.begin(), links.end(),
                                 [&](const request_link* l) { return l->address() == w.client; });
    if (to != links.end()) (*to)->hear(w, careless);
  }
  return answer;
}

request_link::request_link(counter& to, host& from, line& over, duration patience)
    : line_link{*to.in, from, over, patience}, to_{to} {
  to_.links.push_back(this);
}

request_link::~request_link() { std::erase(to_.links, this); }

std::shared_ptr<line_link::parcel> request_link::pack(tickets::request what) {
  auto l = std::make_shared<letter>();
  l->what = std::move(what);
  l->from = address();
  return l;
}

void request_link::dispatch(std::shared_ptr<parcel> p) {
  over_.to_server([to = &to_, way = &over_, c = over_.connection(), link = this, p = std::move(p)] {
    auto& l = static_cast<letter&>(*p);
    l.answer = to->serve(l.what, l.from, p->given_up);
    // Carried out, and the client will not know: the worst moment for a connection to break.
    if (to->careless && to->in->chance.one_in(100)) way->cut();
    way->to_client(c, [link, p] { link->deliver(p, std::move(static_cast<letter&>(*p).answer)); });
  });
}

}  // namespace holdfast::sim
