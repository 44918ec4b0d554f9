// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target for what a checkpoint folder may hold: the first byte chooses a safetensors file or a manifest
// (which gets its checksum, else nothing would come past it).
#include <dtrain/error.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/hash.h"
#include "core/ckpt/manifest.h"
#include "core/ckpt/safetensors.h"

namespace {

class Bytes final : public dtrain::ObjectReader {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  std::uint64_t size() const override { return text_.size(); }
  void read(std::uint64_t offset, std::span<std::byte> out) const override {
    DTRAIN_CHECK(offset <= text_.size() && out.size() <= text_.size() - offset, "read beyond the file");
    if (!out.empty()) std::memcpy(out.data(), text_.data() + offset, out.size());
  }

 private:
  std::string_view text_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] % 2 == 0) {
      dtrain::read_safetensors_header(Bytes(text), "fuzz");
    } else {
      dtrain::manifest_from_json(std::string(text) + ",\"checksum\":\"" + dtrain::sha256_hex(text) + "\"}\n", "fuzz");
    }
  } catch (const dtrain::UserError&) {
  }
  return 0;
}
