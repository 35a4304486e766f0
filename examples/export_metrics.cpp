// SPDX-License-Identifier: Apache-2.0
// Exports the statistics of a client in the text format of Prometheus, which OpenTelemetry's collector reads
// as well. The names follow the conventions of both: the unit at the end, `_total` for counters, durations in
// seconds. Serve what `metrics` returns at /metrics, with the Content-Type of this format:
// `text/plain; version=0.0.4; charset=utf-8`.

#include <cstdint>
#include <iostream>
#include <locale>
#include <sstream>
#include <string>

#include <holdfast/holdfast.hpp>

namespace {

class exposition {
 public:
  exposition() {
    text_.imbue(std::locale::classic());  // whatever the locale of the program: no grouped digits, a point
    text_.precision(15);                  // a sum keeps its microseconds
  }
  void counter(const std::string& name, const std::string& help) {
    text_ << "# HELP holdfast_" << name << "_total " << help << "\n# TYPE holdfast_" << name
          << "_total counter\n";
    name_ = "holdfast_" + name + "_total";
  }
  /// Of the counter before, one for each label.
  void value(const std::string& label, std::uint64_t value) {
    text_ << name_ << '{' << label << "} " << value << '\n';
  }
  void counter(const std::string& name, const std::string& help, std::uint64_t value) {
    counter(name, help);
    text_ << name_ << ' ' << value << '\n';
  }
  void gauge(const std::string& name, const std::string& help, std::uint64_t value) {
    text_ << "# HELP holdfast_" << name << ' ' << help << "\n# TYPE holdfast_" << name << " gauge\nholdfast_"
          << name << ' ' << value << '\n';
  }
  /// The buckets of Prometheus contain those before them.
  void histogram(const std::string& name, const std::string& help, const holdfast::histogram& of) {
    const std::string full = "holdfast_" + name + "_seconds";
    text_ << "# HELP " << full << ' ' << help << "\n# TYPE " << full << " histogram\n";
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i + 1 < of.counts.size(); ++i) {
      so_far += of.counts[i];
      text_ << full << "_bucket{le=\"" << seconds(holdfast::histogram::bound(i)) << "\"} " << so_far << '\n';
    }
    text_ << full << "_bucket{le=\"+Inf\"} " << of.count() << '\n'
          << full << "_sum " << seconds(of.sum) << '\n'
          << full << "_count " << of.count() << '\n';
  }
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  static double seconds(holdfast::duration d) { return static_cast<double>(d.count()) / 1e6; }

  std::ostringstream text_;
  std::string name_;
};

std::string metrics(const holdfast::client_statistics& s) {
  exposition out;
  out.counter("grants", "Claims that became leases.");
  out.value("mode=\"exclusive\"", s.granted_exclusive);
  out.value("mode=\"shared\"", s.granted_shared);
  out.value("mode=\"permits\"", s.granted_permits);
  out.counter("claims_queued", "Claims that waited behind others.", s.queued);
  out.counter("claims_ended", "Claims that ended without a lease.");
  out.value("outcome=\"refused\"", s.refused);
  out.value("outcome=\"failed\"", s.failed);
  out.value("outcome=\"withdrawn\"", s.withdrawn);
  out.counter("troubles", "Times that claims had no answer, or the store granted nothing to anybody.",
              s.troubles);
  out.counter("releases", "Leases that were released.", s.released);
  out.counter("losses", "Leases that were lost.");
  out.value("reason=\"ended_at_store\"", s.lost_ended_at_store);
  out.value("reason=\"not_renewed\"", s.lost_not_renewed);
  out.value("reason=\"session_ended\"", s.lost_session_ended);
  out.value("reason=\"client_closed\"", s.lost_client_closed);
  out.counter("renewals", "Confirmed renewals.", s.renewals);
  out.counter("late_renewals", "Renewals that were not confirmed when half of the ttl was over.",
              s.late_renewals);
  out.counter("connects", "Connections to servers.", s.connects);
  out.counter("connect_failures", "Tries to connect that failed.", s.connect_failures);
  out.counter("disconnects", "Connections that ended.", s.disconnects);
  out.counter("events_dropped", "Events that the observer was too slow for.", s.events_dropped);
  out.gauge("leases_held", "Leases that are held now.", s.held());
  out.histogram("wait", "From the first request of a claim to its grant.", s.wait);
  out.histogram("hold", "From a grant to the release or the loss.", s.hold);
  out.histogram("renewal_lateness", "Confirmation of a renewal after the time at which it was due.",
                s.lateness);
  return out.text();
}

}  // namespace

int main() {
  holdfast::client locks{holdfast::default_store()};
  holdfast::mutex stock{locks, "stock/sku-42"};
  for (int i = 0; i < 3; ++i) {
    auto hold = stock.acquire();
    if (const auto problem = hold.release()) std::cerr << problem.message() << '\n';
  }
  const std::string text = metrics(locks.statistics());
  std::cout << text;
  const bool is_complete = text.find("holdfast_grants_total{mode=\"exclusive\"} 3\n") != std::string::npos &&
                           text.find("holdfast_hold_seconds_count 3\n") != std::string::npos &&
                           text.find("holdfast_leases_held 0\n") != std::string::npos;
  return is_complete ? 0 : 1;
}
