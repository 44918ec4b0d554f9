// SPDX-License-Identifier: Apache-2.0
//
// How a component declares its options, once. From the one `describe` come the parser, the checks, `dtrain plugin info`,
// the JSON Schema, the docs and the rule for resume. The same function runs at compile time, where it fills the ELF note
// that dtrain reads without loading the plugin, and at run time, where it binds the values of the plan to the struct:
//
//   struct Options {
//     int64_t num_layers = 4;
//     double dropout = 0;
//     constexpr void describe(dtrain::Schema& s) {
//       s.identity("num_layers", num_layers, dtrain::range(1, 512), "residual blocks");
//       s.trajectory("dropout", dropout, dtrain::range(0.0, 0.99), "drop probability");
//     }
//   };
//
// The encoding (format 1, little endian) of one option: string name, u8 type, u8 resume rule, u8 flags, f64 minimum,
// f64 maximum, string unit, u32 number of choices and each as a string, default value, string doc. A string is a u32
// length and its bytes; a list is a u32 count and its elements; a double is its IEEE-754 bits as u64.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

// What a change of an option means when a run is resumed: refused; needs --allow-drift; free.
enum class ResumeRule : std::uint8_t { identity, trajectory, operational };

enum class OptionType : std::uint8_t { boolean, integer, real, string, integers, reals, strings };

// The values an option may take. Bounds are inclusive unless `above`; they apply to each element of a list.
class Constraint {
 public:
  constexpr Constraint() = default;

  constexpr Constraint& unit(std::string_view name) {  // "s", "bytes": the recipe may then write "30 s", "25 MiB"
    unit_ = name;
    return *this;
  }
  constexpr Constraint& path() {  // relative to the recipe; ${env:NAME} allowed
    path_ = true;
    return *this;
  }
  constexpr Constraint& required() {
    required_ = true;
    return *this;
  }

  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool exclusive_min = false;
  std::vector<std::string_view> allowed;

  constexpr bool is_required() const { return required_; }
  constexpr bool is_path() const { return path_; }
  constexpr std::string_view unit_name() const { return unit_; }

 private:
  std::string_view unit_;
  bool required_ = false;
  bool path_ = false;
};

constexpr Constraint range(double min, double max) {
  Constraint c;
  c.min = min;
  c.max = max;
  return c;
}
constexpr Constraint at_least(double min) {
  Constraint c;
  c.min = min;
  return c;
}
constexpr Constraint above(double min) {
  Constraint c;
  c.min = min;
  c.exclusive_min = true;
  return c;
}
constexpr Constraint choices(std::initializer_list<std::string_view> names) {
  Constraint c;
  c.allowed = names;
  return c;
}
constexpr Constraint required() { return Constraint().required(); }

// Source of values at run time; the host implements it over the plan. Each read leaves `value` alone and returns false
// when the plan has no such option.
class OptionReader {
 public:
  virtual bool read(std::string_view name, bool& value) const = 0;
  virtual bool read(std::string_view name, std::int64_t& value) const = 0;
  virtual bool read(std::string_view name, double& value) const = 0;
  virtual bool read(std::string_view name, std::string& value) const = 0;
  virtual bool read(std::string_view name, std::vector<std::int64_t>& value) const = 0;
  virtual bool read(std::string_view name, std::vector<double>& value) const = 0;
  virtual bool read(std::string_view name, std::vector<std::string>& value) const = 0;

 protected:
  ~OptionReader() = default;
};

namespace wire {

constexpr void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}
constexpr void put_u8(std::string& out, std::uint8_t value) { put(out, value, 1); }
constexpr void put_u32(std::string& out, std::uint64_t value) { put(out, value, 4); }
constexpr void put_string(std::string& out, std::string_view text) {
  put_u32(out, text.size());
  out.append(text);
}
constexpr void put_value(std::string& out, bool value) { put(out, value ? 1 : 0, 1); }
constexpr void put_value(std::string& out, std::int64_t value) { put(out, static_cast<std::uint64_t>(value), 8); }
constexpr void put_value(std::string& out, double value) { put(out, std::bit_cast<std::uint64_t>(value), 8); }
constexpr void put_value(std::string& out, const std::string& value) { put_string(out, value); }
template <class T>
constexpr void put_value(std::string& out, const std::vector<T>& values) {
  put_u32(out, values.size());
  for (const auto& value : values) put_value(out, value);
}

}  // namespace wire

class Schema {
 public:
  constexpr Schema() = default;                                            // collects the declarations
  constexpr explicit Schema(const OptionReader& reader) : reader_(&reader) {}  // binds values

  template <class T>
  constexpr void identity(std::string_view name, T& value, const Constraint& constraint, std::string_view doc) {
    option(ResumeRule::identity, name, value, constraint, doc);
  }
  template <class T>
  constexpr void identity(std::string_view name, T& value, std::string_view doc) {
    option(ResumeRule::identity, name, value, Constraint(), doc);
  }
  template <class T>
  constexpr void trajectory(std::string_view name, T& value, const Constraint& constraint, std::string_view doc) {
    option(ResumeRule::trajectory, name, value, constraint, doc);
  }
  template <class T>
  constexpr void trajectory(std::string_view name, T& value, std::string_view doc) {
    option(ResumeRule::trajectory, name, value, Constraint(), doc);
  }
  template <class T>
  constexpr void operational(std::string_view name, T& value, const Constraint& constraint, std::string_view doc) {
    option(ResumeRule::operational, name, value, constraint, doc);
  }
  template <class T>
  constexpr void operational(std::string_view name, T& value, std::string_view doc) {
    option(ResumeRule::operational, name, value, Constraint(), doc);
  }

  // The declarations so far: u32 count, then each option in the encoding above.
  constexpr std::string encoded() const {
    std::string out;
    wire::put_u32(out, count_);
    out += body_;
    return out;
  }

 private:
  static constexpr std::uint8_t kRequired = 1, kPath = 2, kExclusiveMin = 4;

  static constexpr OptionType type_of(bool) { return OptionType::boolean; }
  static constexpr OptionType type_of(std::int64_t) { return OptionType::integer; }
  static constexpr OptionType type_of(double) { return OptionType::real; }
  static constexpr OptionType type_of(const std::string&) { return OptionType::string; }
  static constexpr OptionType type_of(const std::vector<std::int64_t>&) { return OptionType::integers; }
  static constexpr OptionType type_of(const std::vector<double>&) { return OptionType::reals; }
  static constexpr OptionType type_of(const std::vector<std::string>&) { return OptionType::strings; }

  template <class T>
  constexpr void option(ResumeRule rule, std::string_view name, T& value, const Constraint& c, std::string_view doc) {
    if (reader_ != nullptr) {
      reader_->read(name, value);
      return;
    }
    ++count_;
    wire::put_string(body_, name);
    wire::put_u8(body_, static_cast<std::uint8_t>(type_of(value)));
    wire::put_u8(body_, static_cast<std::uint8_t>(rule));
    wire::put_u8(body_, static_cast<std::uint8_t>((c.is_required() ? kRequired : 0) | (c.is_path() ? kPath : 0) |
                                                  (c.exclusive_min ? kExclusiveMin : 0)));
    wire::put_value(body_, c.min);
    wire::put_value(body_, c.max);
    wire::put_string(body_, c.unit_name());
    wire::put_u32(body_, c.allowed.size());
    for (auto choice : c.allowed) wire::put_string(body_, choice);
    wire::put_value(body_, value);
    wire::put_string(body_, doc);
  }

  const OptionReader* reader_ = nullptr;
  std::uint32_t count_ = 0;
  std::string body_;
};

// Options of a component that has none.
struct NoOptions {
  constexpr void describe(Schema&) {}
};

}  // namespace dtrain
