// SPDX-License-Identifier: Apache-2.0
#include "support/certificates.hpp"

#include <atomic>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "support/child_process.hpp"

namespace holdfast::test {

namespace {

/// Elliptic curves: made in milliseconds, where RSA takes a second.
void openssl(const std::string& folder, std::vector<std::string> arguments) {
  const std::string log = folder + "/openssl.log";
  arguments.insert(arguments.begin(), "openssl");
  child_process command{std::move(arguments), {.folder = folder, .output = log}};
  if (command.wait(std::chrono::seconds{60}) == 0) return;
  std::ifstream said{log};
  throw std::runtime_error{"openssl failed: " + std::string{std::istreambuf_iterator<char>{said}, {}}};
}

std::string new_folder(const scratch_folder& in) {
  static std::atomic<int> count{0};
  std::string path = in.file("certificates-" + std::to_string(++count));
  std::filesystem::create_directory(path);
  return path;
}

const std::vector<std::string> new_key{"-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"};

}  // namespace

certificates::certificates(const scratch_folder& folder)
    : folder_{new_folder(folder)}, authority_{files_for("authority")} {
  std::vector<std::string> request{
      "req",           "-x509",   "-days",        "2",    "-subj",
      "/CN=authority", "-keyout", authority_.key, "-out", authority_.certificate};
  request.insert(request.end(), new_key.begin(), new_key.end());
  openssl(folder_, request);
}

certificates::pair certificates::issue(const std::string& subject, const std::string& names) const {
  const auto files = files_for(subject);
  std::vector<std::string> request{"req",     "-subj", "/CN=" + subject, "-keyout",
                                   files.key, "-out",  subject + ".csr"};
  request.insert(request.end(), new_key.begin(), new_key.end());
  openssl(folder_, request);
  std::ofstream{folder_ + '/' + subject + ".ext"} << "subjectAltName=" << names << '\n';
  openssl(folder_,
          {"x509", "-req", "-days", "2", "-in", subject + ".csr", "-CA", authority_.certificate, "-CAkey",
           authority_.key, "-CAcreateserial", "-extfile", subject + ".ext", "-out", files.certificate});
  return files;
}

certificates::pair certificates::files_for(const std::string& subject) const {
  return {folder_ + '/' + subject + ".pem", folder_ + '/' + subject + ".key"};
}

}  // namespace holdfast::test
