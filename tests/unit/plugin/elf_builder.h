// SPDX-License-Identifier: Apache-2.0
//
// The smallest ELF shared object that carries notes, as bytes, for tests of everything that reads them.
#pragma once

#include <dtrain/plugin.h>
#include <elf.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain::test {

#if defined(__x86_64__)
inline constexpr std::uint16_t kThisMachine = EM_X86_64;
#elif defined(__aarch64__)
inline constexpr std::uint16_t kThisMachine = EM_AARCH64;
#else
inline constexpr std::uint16_t kThisMachine = EM_RISCV;
#endif

inline std::string elf_note(std::string_view owner, std::uint32_t type, std::string_view description) {
  std::string out;
  const auto pad = [&out] { out.resize((out.size() + 3) / 4 * 4); };
  wire::put_u32(out, owner.size() + 1);
  wire::put_u32(out, description.size());
  wire::put_u32(out, type);
  out.append(owner).push_back('\0');
  pad();
  out.append(description);
  pad();
  return out;
}

inline std::string dtrain_note(std::string_view description) {
  return elf_note("dtrain", 1, description);
}

inline Elf64_Ehdr elf_header() {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = kThisMachine;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  return header;
}

inline Elf64_Phdr note_segment(std::size_t size) {
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  segment.p_filesz = segment.p_memsz = size;
  segment.p_align = 4;
  return segment;
}

inline std::string elf_file(const Elf64_Ehdr& header, const Elf64_Phdr& segment, std::string_view notes) {
  std::string out(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(reinterpret_cast<const char*>(&segment), sizeof segment);
  out.append(notes);
  return out;
}

inline std::string elf_file(std::string_view notes) {
  return elf_file(elf_header(), note_segment(notes.size()), notes);
}

inline std::filesystem::path write_file(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  return path;
}

// A component without options whose kind, name and tag are given.
struct FakeComponent {
  std::string kind = "schedule";
  std::string name = "flat";
  std::string tag = "interface=00 compiler=itanium";
  std::string schema = std::string(4, '\0');
};

inline std::string note_of(std::string_view plugin, std::span<const FakeComponent> components) {
  std::string out;
  wire::put_u32(out, 1);
  wire::put_string(out, plugin);
  wire::put_string(out, "1.0.0");
  wire::put_u32(out, components.size());
  for (const auto& c : components) {
    for (const auto* text : {&c.kind, &c.name, &c.tag, &c.schema}) wire::put_string(out, *text);
  }
  return out;
}

inline std::string plugin_file(std::string_view plugin, const FakeComponent& component) {
  return elf_file(dtrain_note(note_of(plugin, std::span(&component, 1))));
}

}  // namespace dtrain::test
