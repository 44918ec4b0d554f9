// SPDX-License-Identifier: Apache-2.0
//
// Options of components at run time: what a plugin's note declares and what a plan holds.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <dtrain/schema.h>

namespace dtrain {

// Alternatives in the order of OptionType.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                 std::vector<std::string>>;

// One declared option, decoded from a note (or written by the host for its own tables).
struct OptionSpec {
  std::string name;
  OptionType type = OptionType::string;
  ResumeRule rule = ResumeRule::identity;
  bool required = false;
  bool path = false;
  bool exclusive_min = false;
  double min = 0;  // -inf when unbounded
  double max = 0;  // +inf when unbounded
  std::string unit;
  std::vector<std::string> choices;
  OptionValue default_value;
  std::string doc;
};

using OptionValues = std::map<std::string, OptionValue, std::less<>>;

// Binds a plan's values to a component's struct. Keeps a reference: `values` outlives it.
class OptionValuesReader final : public OptionReader {
 public:
  explicit OptionValuesReader(const OptionValues& values) : values_(values) {}

  bool read(std::string_view name, bool& value) const override { return get(name, value); }
  bool read(std::string_view name, std::int64_t& value) const override { return get(name, value); }
  bool read(std::string_view name, double& value) const override { return get(name, value); }
  bool read(std::string_view name, std::string& value) const override { return get(name, value); }
  bool read(std::string_view name, std::vector<std::int64_t>& value) const override { return get(name, value); }
  bool read(std::string_view name, std::vector<double>& value) const override { return get(name, value); }
  bool read(std::string_view name, std::vector<std::string>& value) const override { return get(name, value); }

 private:
  template <class T>
  bool get(std::string_view name, T& value) const {
    const auto it = values_.find(name);
    if (it == values_.end()) return false;
    value = std::get<T>(it->second);  // the recipe's check made the types equal
    return true;
  }

  const OptionValues& values_;
};

}  // namespace dtrain
