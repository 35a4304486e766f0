#pragma once

#include <memory>
#include <vector>

#include "sim/ledger.hpp"
#include "sim/line_link.hpp"

namespace holdfast::sim {

class request_link;

/// The server's end of all links of a world.
class counter {
 public:
  counter() = default;
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;
  virtual ~counter() = default;

  [[nodiscard]] virtual tickets::reply carry_out(const tickets::request& asked, const owner_id& client,
                                                 std::vector<word>& words) = 0;

  /// Carries out, accounts for it, and sends the words on their ways.
  [[nodiscard]] tickets::reply serve(const tickets::request& asked, const owner_id& client, bool late);

  scene* in = nullptr;
  ledger* account = nullptr;
  bool careless = true;
  std::vector<request_link*> links;
  std::vector<word> words;
};

/// Hands whole requests over, for a store that carries them out one by one. A request of a connection that is
/// closed may still be carried out after those of the next one.
class request_link final : public line_link {
 public:
  request_link(counter& to, host& from, line& over, duration patience);
  ~request_link() override;
  request_link(const request_link&) = delete;
  request_link& operator=(const request_link&) = delete;

 private:
  struct letter final : parcel {
    tickets::request what;
    owner_id from;
    tickets::reply answer;
  };
  std::shared_ptr<parcel> pack(tickets::request what) override;
  void dispatch(std::shared_ptr<parcel> p) override;

  counter& to_;
};

}  // namespace holdfast::sim
