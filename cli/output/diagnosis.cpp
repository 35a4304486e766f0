// SPDX-License-Identifier: Apache-2.0
#include "output/diagnosis.hpp"

#include <algorithm>

namespace holdfast::cli {

using grade = finding::grade;

std::string_view name_of(grade of) {
  switch (of) {
    case grade::kept: return "kept";
    case grade::unknown: return "unknown";
    case grade::warning: return "warning";
    case grade::broken: return "broken";
  }
  return "unknown";
}

grade worst_of(const std::vector<finding>& all) {
  grade worst = grade::kept;
  for (const finding& each : all) worst = std::max(worst, each.result);
  return worst;
}

json describe(const std::vector<finding>& all) {
  json findings = json::array();
  for (const finding& each : all) {
    findings.push_back({{"subject", each.subject},
                        {"condition", each.condition},
                        {"result", name_of(each.result)},
                        {"observed", each.observed},
                        {"meaning", each.meaning},
                        {"remedy", each.remedy}});
  }
  return {{"result", name_of(worst_of(all))}, {"findings", findings}};
}

}  // namespace holdfast::cli
