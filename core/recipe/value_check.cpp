// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/value_check.h"

#include <algorithm>
#include <cmath>

#include "core/base/nearest_name.h"
#include "core/base/units.h"
#include "core/recipe/path_text.h"
#include "core/recipe/toml_reader.h"
#include "core/recipe/toml_text.h"

namespace dtrain {
namespace {

OptionType element_type(OptionType type) {
  switch (type) {
    case OptionType::integers:
      return OptionType::integer;
    case OptionType::reals:
      return OptionType::real;
    case OptionType::strings:
      return OptionType::string;
    default:
      return type;
  }
}

bool is_list(OptionType type) {
  return element_type(type) != type;
}

std::string number_text(double bound, OptionType type) {
  if (type == OptionType::integer && std::abs(bound) < 9.2e18) return std::to_string(static_cast<std::int64_t>(bound));
  return toml_text(bound);
}

std::string range_text(const OptionSpec& spec, OptionType type) {
  const bool low = std::isfinite(spec.min), high = std::isfinite(spec.max);
  if (low && high && !spec.exclusive_min)
    return " from " + number_text(spec.min, type) + " to " + number_text(spec.max, type);
  std::string out;
  if (low) out += (spec.exclusive_min ? " > " : " >= ") + number_text(spec.min, type);
  if (high) out += (low ? " and <= " : " <= ") + number_text(spec.max, type);
  return out;
}

std::string quoted_list(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + toml_text(name);
  return out;
}

// What a --set's text is, as far as TOML can tell; text that is no TOML value is a string.
Value typed(const Value& value, OptionType type) {
  const auto* raw = value.as<RawText>();
  if (raw == nullptr) return value;
  if (type == OptionType::string) return {text_as_string(raw->text), value.origin};
  if (auto parsed = read_toml_value(raw->text, value.origin)) return *parsed;
  return {raw->text, value.origin};
}

class Checker {
 public:
  Checker(const OptionSpec& spec, const std::string& key, MistakeList& mistakes)
      : spec_(spec), type_(element_type(spec.type)), key_(key), mistakes_(mistakes) {}

  std::optional<OptionValue> check(const Value& value) const {
    if (is_list(spec_.type)) return list(value);
    return scalar(value);
  }

 private:
  std::optional<OptionValue> list(const Value& value) const {
    const auto* array = value.as<Array>();
    switch (type_) {
      case OptionType::integer:
        return elements<std::int64_t>(value, array);
      case OptionType::real:
        return elements<double>(value, array);
      default:
        return elements<std::string>(value, array);
    }
  }

  template <class T>
  std::optional<OptionValue> elements(const Value& value, const Array* array) const {
    std::vector<T> out;
    bool good = true;
    const auto add = [&](const Value& element) {
      const auto checked = scalar(element);
      good = good && checked.has_value();
      if (checked) out.push_back(std::get<T>(*checked));
    };
    if (array == nullptr) {
      add(value);
    } else {
      for (const auto& element : *array) add(element);
    }
    if (!good) return std::nullopt;
    return out;
  }

  std::optional<OptionValue> scalar(const Value& value) const {
    if (value.as<Unreadable>() != nullptr) return std::nullopt;
    switch (type_) {
      case OptionType::boolean:
        if (const auto* flag = value.as<bool>()) return *flag;
        return wrong_type(value);
      case OptionType::integer:
        return integer(value);
      case OptionType::real:
        return real(value);
      default:
        return string(value);
    }
  }

  std::optional<OptionValue> integer(const Value& value) const {
    if (const auto* number = value.as<std::int64_t>()) {
      const auto wide = static_cast<long double>(*number);
      if (wide < spec_.min || wide > spec_.max || (spec_.exclusive_min && wide == spec_.min))
        return out_of_range(value);
      return *number;
    }
    const auto* text = value.as<std::string>();
    if (text == nullptr) return wrong_type(value);
    if (std::count(spec_.choices.begin(), spec_.choices.end(), *text) > 0) return spec_.default_value;
    const auto quantity = spec_.unit.empty() ? std::nullopt : parse_quantity(*text, spec_.unit);
    if (!quantity) return wrong_type(value);
    if (*quantity != std::floor(*quantity) || std::abs(*quantity) > 9e15) {
      return mistake(value, "expected " + expected_text(spec_) + ", found " + toml_text(*text) + " = " +
                                toml_text(*quantity) + " " + spec_.unit);
    }
    return integer({static_cast<std::int64_t>(*quantity), value.origin});
  }

  std::optional<OptionValue> real(const Value& value) const {
    if (const auto* number = value.as<double>()) {
      const bool inside =
          *number >= spec_.min && *number <= spec_.max && !(spec_.exclusive_min && *number == spec_.min);
      if (!std::isfinite(*number) || !inside) return out_of_range(value);
      return *number;
    }
    if (const auto* number = value.as<std::int64_t>()) {
      constexpr std::int64_t kExact = std::int64_t{1} << 53;
      if (*number > kExact || *number < -kExact) return out_of_range(value);
      return real({static_cast<double>(*number), value.origin});
    }
    const auto* text = value.as<std::string>();
    const auto quantity = text == nullptr || spec_.unit.empty() ? std::nullopt : parse_quantity(*text, spec_.unit);
    if (!quantity) return wrong_type(value);
    return real({*quantity, value.origin});
  }

  std::optional<OptionValue> string(const Value& value) const {
    const auto* text = value.as<std::string>();
    if (text == nullptr) return wrong_type(value);
    if (spec_.path) {
      if (auto path = resolve_path(*text, key_, value.origin, mistakes_)) return *path;
      return std::nullopt;
    }
    if (!check_no_variables(*text, key_, value.origin, mistakes_)) return std::nullopt;
    if (!spec_.choices.empty() && std::count(spec_.choices.begin(), spec_.choices.end(), *text) == 0) {
      const auto near = nearest_name(*text, spec_.choices);
      return mistake(value, "expected " + expected_text(spec_) + ", found " + toml_text(*text),
                     near.empty() ? "" : "did you mean " + toml_text(near) + "?");
    }
    return *text;
  }

  std::optional<OptionValue> wrong_type(const Value& value) const {
    if (const auto* huge = value.as<HugeNumber>()) {
      return mistake(value, huge->literal + " does not fit into 64 bits; expected " + expected_text(spec_));
    }
    return mistake(value, "expected " + expected_text(spec_) + ", found " + describe(value), hint(value));
  }

  std::optional<OptionValue> out_of_range(const Value& value) const {
    return mistake(value, describe(value) + " is out of range; expected " + expected_text(spec_));
  }

  std::string hint(const Value& value) const {
    if (const auto* number = value.as<double>(); number != nullptr && type_ == OptionType::integer) {
      if (*number == std::floor(*number) && std::abs(*number) < 9e15)
        return "write " + std::to_string(static_cast<std::int64_t>(*number));
    }
    if (const auto* text = value.as<std::string>(); text != nullptr && type_ != OptionType::string) {
      if (const auto inner = read_toml_value(*text, {})) {
        const bool number = inner->as<std::int64_t>() != nullptr || inner->as<double>() != nullptr;
        const bool fits = type_ == OptionType::boolean ? inner->as<bool>() != nullptr : number;
        if (fits && !value.origin.place.file.starts_with("--set")) return "write " + *text + " without quotes";
      }
      if (!spec_.unit.empty()) return "units: " + convertible_units(spec_.unit);
    }
    return {};
  }

  std::nullopt_t mistake(const Value& value, std::string message, std::string hint = {}) const {
    mistakes_.add(value.origin.place, key_, std::move(message), std::move(hint));
    return std::nullopt;
  }

  const OptionSpec& spec_;
  OptionType type_;
  const std::string& key_;
  MistakeList& mistakes_;
};

}  // namespace

std::string expected_text(const OptionSpec& spec) {
  const auto type = element_type(spec.type);
  std::string out;
  if (type == OptionType::boolean) {
    out = "true or false";
  } else if (type == OptionType::integer) {
    out = "an integer" + range_text(spec, type);
    for (const auto& word : spec.choices) out += " or " + toml_text(word);
  } else if (type == OptionType::real) {
    out = "a real number" + range_text(spec, type);
  } else if (!spec.choices.empty()) {
    out = "one of " + quoted_list(spec.choices);
  } else {
    out = spec.path ? "a path (a string)" : "a string";
  }
  if (!spec.unit.empty()) out += " (" + spec.unit + ")";
  return is_list(spec.type) ? "a list, each element " + out : out;
}

std::optional<OptionValue> check_value(const Value& value, const OptionSpec& spec, const std::string& key,
                                       MistakeList& mistakes) {
  return Checker(spec, key, mistakes).check(typed(value, spec.type));
}

}  // namespace dtrain
