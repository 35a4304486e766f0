#pragma once

#include "simulation/quorum/is_bent.hpp"

// Where the copies of sources with mutants in them are: see BentCopy.cmake. What is not copied is the
// library's.

namespace holdfast::store {}
namespace holdfast::bent_store {
using namespace store;
using sim::is_bent;
using sim::mutant;
}  // namespace holdfast::bent_store

namespace holdfast::lease_core {}
namespace holdfast::bent_lease {
using namespace lease_core;
using sim::is_bent;
using sim::mutant;
}  // namespace holdfast::bent_lease
