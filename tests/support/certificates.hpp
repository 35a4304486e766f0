// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "support/scratch_folder.hpp"

namespace holdfast::test {

/// A certificate authority of a test's own, made with the openssl command when the test runs, so that nothing
/// in the source tree can expire or be mistaken for a secret.
class certificates {
 public:
  struct pair {
    std::string certificate;  ///< files in PEM
    std::string key;
  };

  explicit certificates(const scratch_folder& folder);

  /// The authority's own certificate, which those who are to trust it are given.
  [[nodiscard]] const std::string& authority() const noexcept { return authority_.certificate; }
  /// Signed by the authority. `names` as openssl writes them: "DNS:localhost,IP:127.0.0.1".
  [[nodiscard]] pair issue(const std::string& subject, const std::string& names) const;

 private:
  [[nodiscard]] pair files_for(const std::string& subject) const;

  std::string folder_;
  pair authority_;
};

}  // namespace holdfast::test
