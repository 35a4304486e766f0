// SPDX-License-Identifier: Apache-2.0
#include "output/shell.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <system_error>

namespace holdfast::cli {

namespace {

/// A path as a part of a URL.
std::string in_url_path(const std::string& path) {
  std::string escaped;
  for (const char each : path) escaped += each == '%' ? "%25" : each == '?' ? "%3f" : std::string{each};
  return escaped;
}

/// A URL with a relative path would be that of another file in another folder.
std::string from_any_folder(const std::string& url) {
  constexpr std::string_view scheme = "sqlite:";
  if (!url.starts_with(scheme)) return url;
  const std::string path = url.substr(scheme.size());
  std::error_code problem;
  const auto folder = std::filesystem::current_path(problem);
  if (problem || path.empty() || path.starts_with('/') || path.starts_with('?')) return url;
  return fmt::format("{}{}/{}", scheme, in_url_path(folder.string()), path);
}

}  // namespace

std::string in_shell(std::string_view text) {
  std::string quoted = "'";
  for (const char each : text) quoted += each == '\'' ? std::string{"'\\''"} : std::string{each};
  return quoted + "'";
}

std::string store_options(const std::string& url, const std::string& password_file) {
  std::string options;
  if (!url.empty()) options = fmt::format("--store {} ", in_shell(from_any_folder(url)));
  if (!password_file.empty()) {
    std::error_code problem;
    const auto path = std::filesystem::absolute(password_file, problem);
    options += fmt::format("--password-file {} ", in_shell(problem ? password_file : path.string()));
  }
  return options;
}

}  // namespace holdfast::cli
