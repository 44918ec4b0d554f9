// SPDX-License-Identifier: Apache-2.0
//
// Decodes what DTRAIN_PLUGIN wrote into the note: the encodings documented in <dtrain/plugin.h> and <dtrain/schema.h>.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/plugin/catalog.h"
#include "core/plugin/option.h"

namespace dtrain {

// The description of a note; `file` is for messages and becomes PluginInfo::path. UserError: damaged, or of a newer
// format.
PluginInfo decode_note(std::span<const std::byte> description, const std::filesystem::path& file);

// Schema::encoded() of one component. DamagedBytes (byte_cursor.h) when it is not one.
std::vector<OptionSpec> decode_schema(std::string_view encoded);

}  // namespace dtrain
