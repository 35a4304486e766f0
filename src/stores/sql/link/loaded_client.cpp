// SPDX-License-Identifier: Apache-2.0
#include "stores/sql/link/loaded_client.hpp"

#include <dlfcn.h>
#include <string>

#include "holdfast/error.hpp"

namespace holdfast::sql {

void load_client(const char* file, const char* packages, std::span<const client_function> functions) {
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw error{errc::unavailable, std::string{"this store needs "} + file + ", which cannot be loaded (" +
                                       ::dlerror() + "): install " + packages};
  }
  for (const auto& function : functions) {
    *function.address = ::dlsym(library, function.name);
    if (*function.address == nullptr) {
      throw error{errc::unavailable,
                  std::string{file} + " is too old for this store: it has no function " + function.name};
    }
  }
}

}  // namespace holdfast::sql
