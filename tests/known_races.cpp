// SPDX-License-Identifier: Apache-2.0
// What ThreadSanitizer takes for a race, and is none; it calls this function by its name.

extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() {
  // libstdc++ counts the users of an exception in its own library, which is not instrumented: the last user's
  // thread frees what another one has read before.
  // OpenSSL is not instrumented either. Connections that share a context share its certificates: the first
  // check of one decodes its key identifiers under a lock, and later checks compare them after an atomic
  // flag.
  return "race:std::__exception_ptr::exception_ptr::_M_release\n"
         "race:ASN1_STRING_cmp\n";
}
