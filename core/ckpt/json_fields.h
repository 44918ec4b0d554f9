// SPDX-License-Identifier: Apache-2.0
//
// Strict reading of JSON from files that may be damaged or hostile. Every failure is a UserError that names the file
// and the place in it. For .cpp files of this folder only: it includes the JSON library.
#pragma once

#include <dtrain/dtype.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain::ckpt {

// Throws UserError "<file>: <problem>" with the hint for damaged checkpoints.
[[noreturn]] void damaged(std::string_view file, std::string_view problem);

// Parses `text`, which must be one JSON object without duplicate keys, nested at most 32 deep.
nlohmann::json parse_strict(std::string_view text, std::string_view file);

// One JSON object with checked access. Keeps references: `object` and `file` outlive it.
class Fields {
 public:
  // `place` names the object in messages: "tensor 'model.w'"; empty for the file's top level.
  Fields(const nlohmann::json& object, std::string_view file, std::string place);

  const nlohmann::json& at(const char* key) const;
  std::string string(const char* key) const;
  std::int64_t integer(const char* key) const;  // 0 .. 2^63-1
  const nlohmann::json& array(const char* key) const;
  std::vector<std::int64_t> integers(const char* key) const;
  DType dtype(const char* key) const;

  [[noreturn]] void fail(std::string_view problem) const;

 private:
  const nlohmann::json& object_;
  std::string_view file_;
  std::string place_;
};

}  // namespace dtrain::ckpt
