// SPDX-License-Identifier: Apache-2.0
#include "support/postgresql_data.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <vector>

#include "support/child_process.hpp"
#include "support/kept_template.hpp"
#include "support/scratch_folder.hpp"

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;

void run(const scratch_folder& in, const std::optional<server_user>& user,
         std::vector<std::string> arguments) {
  const auto log = in.file("log");
  const std::string program = arguments.front();
  child_process command{std::move(arguments), {.folder = in.path().string(), .output = log, .user = user}};
  if (command.wait(std::chrono::seconds{120}) == 0) return;
  std::ifstream said{log};
  throw std::runtime_error{program + " failed: " + std::string{std::istreambuf_iterator<char>{said}, {}}};
}

/// What a server does when it runs for nobody but us, in one of its databases.
void run_first_statements(const scratch_folder& in, const std::string& programs,
                          const std::optional<server_user>& user, const std::string& database,
                          const std::string& statements) {
  const auto file = in.file(database + ".sql");
  std::ofstream{file} << statements;
  if (user) hand_over(file, *user);
  run(in, user,
      {"/bin/sh", "-c", R"(exec "$0" --single -F -D "$1" "$2" <"$3")", programs + "/postgres",
       in.file("data"), database, file});
}

/// \return the data folder, in `in`.
std::string made(const scratch_folder& in, const std::string& programs,
                 const std::optional<server_user>& user) {
  if (user) hand_over(in.path(), *user);
  run(in, user,
      {programs + "/initdb", "--pgdata=" + in.file("data"), "--username=postgres", "--auth=trust",
       "--encoding=UTF8", "--no-locale", "--wal-segsize=1", "--no-sync"});
  // Each database is hundreds of files to copy: of the three only one, and template0, from which others can
  // be made.
  run_first_statements(in, programs, user, "template1",
                       "CREATE ROLE holdfast LOGIN\nALTER DATABASE postgres RENAME TO holdfast\n"
                       "ALTER DATABASE holdfast OWNER TO holdfast\n");
  run_first_statements(in, programs, user, "holdfast",
                       "ALTER DATABASE template1 IS_TEMPLATE false\nDROP DATABASE template1\n");
  return in.file("data");
}

}  // namespace

void make_postgresql_data(const std::string& folder, const std::string& programs,
                          const std::optional<server_user>& user) {
  const fs::path version = fs::path{programs}.parent_path().filename();  // /usr/lib/postgresql/15/bin
  copy_template(
      "postgresql-" + version.string(), [&](const scratch_folder& in) { return made(in, programs, user); },
      folder);
  if (user) hand_over(folder, *user);
}

}  // namespace holdfast::test
