// SPDX-License-Identifier: Apache-2.0
//
// The notes of an ELF shared object, read from the file alone. Source of the layout: System V ABI, chapters 4 and 5
// (ELF header, program header, note section).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dtrain {

struct ElfNoteBytes {
  std::string owner;
  std::uint32_t type = 0;
  std::vector<std::byte> description;
};

// In file order. UserError: the file cannot be read (path and system text), is not a 64-bit little-endian shared object
// of this machine, or its headers or notes point outside the file. Reads with pread, so a file that shrinks meanwhile
// is an error and no signal.
std::vector<ElfNoteBytes> read_elf_notes(const std::filesystem::path& file);

}  // namespace dtrain
