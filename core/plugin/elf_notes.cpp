// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/elf_notes.h"

#include <dtrain/error.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>

#include "core/base/unique_fd.h"
#include "core/plugin/byte_cursor.h"

namespace dtrain {
namespace {

constexpr std::uint64_t kLargestNoteSegment = 4 << 20;  // bytes; real ones have a few thousand

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr std::uint16_t kMachine = EM_RISCV;
#else
#error "add this machine's ELF number"
#endif

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "AArch64";
    case EM_RISCV:
      return "RISC-V";
    case EM_386:
      return "80386";
    case EM_ARM:
      return "ARM";
    case EM_PPC64:
      return "PowerPC64";
    default:
      return "number " + std::to_string(machine);
  }
}

std::string quoted(const std::filesystem::path& file) {
  return "'" + file.string() + "'";
}

[[noreturn]] void not_a_plugin(const std::filesystem::path& file, const std::string& why) {
  throw UserError(quoted(file) + " is not a dtrain plugin: " + why,
                  "a plugin is a shared object (.so) built with dtrain_add_plugin()");
}

[[noreturn]] void damaged(const std::filesystem::path& file, const std::string& why) {
  throw UserError("plugin " + quoted(file) + " is damaged: " + why, "build or copy the plugin again");
}

class File {
 public:
  explicit File(const std::filesystem::path& path) : path_(path) {
    // Without O_NONBLOCK a named pipe would wait for a writer.
    fd_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd_.valid()) fail_system("cannot open plugin ");
    struct stat status {};
    if (::fstat(fd_.get(), &status) != 0) fail_system("cannot read plugin ");
    if (!S_ISREG(status.st_mode))
      not_a_plugin(path, S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file");
    size_ = static_cast<std::uint64_t>(status.st_size);
  }

  std::uint64_t size() const { return size_; }

  // Up to `count` bytes from the start; fewer when the file is shorter.
  std::vector<std::byte> head(std::size_t count) const { return read(0, std::min<std::uint64_t>(count, size_)); }

  // Exactly `count` bytes.
  std::vector<std::byte> range(std::uint64_t offset, std::uint64_t count, const char* what) const {
    if (offset > size_ || count > size_ - offset) {
      damaged(path_, std::string(what) + " is bytes " + std::to_string(offset) + " to " + std::to_string(offset) +
                         " + " + std::to_string(count) + ", the file has " + std::to_string(size_));
    }
    return read(offset, count);
  }

 private:
  [[noreturn]] void fail_system(const char* what) const {
    throw UserError(what + quoted(path_) + ": " + std::generic_category().message(errno),
                    "check the path and its permissions");
  }

  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t count) const {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count));
    std::size_t done = 0;
    while (done < bytes.size()) {
      const auto got = ::pread(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_system("cannot read plugin ");
      if (got == 0) damaged(path_, "it became shorter while it was read");
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }

  std::filesystem::path path_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
};

template <class T>
T parse(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

Elf64_Ehdr read_header(const File& file, const std::filesystem::path& path) {
  const auto head = file.head(sizeof(Elf64_Ehdr));
  if (head.size() < SELFMAG || std::memcmp(head.data(), ELFMAG, SELFMAG) != 0)
    not_a_plugin(path, "it is not an ELF file");
  if (head.size() < sizeof(Elf64_Ehdr)) damaged(path, "it ends within the ELF header");
  const auto header = parse<Elf64_Ehdr>(head);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) not_a_plugin(path, "it is not a 64-bit ELF file");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) not_a_plugin(path, "it is not a little-endian ELF file");
  if (header.e_machine != kMachine) {
    not_a_plugin(path, "it is made for another machine: found " + machine_name(header.e_machine) + ", expected " +
                           machine_name(kMachine));
  }
  if (header.e_type != ET_DYN) not_a_plugin(path, "it is an ELF file but no shared object");
  if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr)) {
    damaged(path, "its program headers have " + std::to_string(header.e_phentsize) + " bytes each, expected " +
                      std::to_string(sizeof(Elf64_Phdr)));
  }
  return header;
}

// Notes are padded to 4 bytes, or to 8 in segments that are aligned to 8 (.note.gnu.property).
void append_notes(std::span<const std::byte> segment, std::size_t alignment, std::vector<ElfNoteBytes>& notes) {
  ByteCursor cursor(segment);
  const auto skip_padding = [&] {
    const auto past = cursor.offset() % alignment;
    if (past != 0) cursor.take(std::min(alignment - past, cursor.left()));
  };
  while (cursor.left() >= sizeof(Elf64_Nhdr)) {
    const auto owner_size = cursor.u32();
    const auto description_size = cursor.u32();
    ElfNoteBytes note;
    note.type = cursor.u32();
    const auto owner = cursor.take(owner_size);
    note.owner.assign(reinterpret_cast<const char*>(owner.data()), owner.size());
    while (!note.owner.empty() && note.owner.back() == '\0') note.owner.pop_back();
    skip_padding();
    const auto description = cursor.take(description_size);
    note.description.assign(description.begin(), description.end());
    skip_padding();
    notes.push_back(std::move(note));
  }
}

}  // namespace

std::vector<ElfNoteBytes> read_elf_notes(const std::filesystem::path& path) {
  const File file(path);
  const auto header = read_header(file, path);
  const auto table =
      file.range(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr), "the program header table");
  std::vector<ElfNoteBytes> notes;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = parse<Elf64_Phdr>(std::span(table).subspan(i * sizeof(Elf64_Phdr)));
    if (segment.p_type != PT_NOTE) continue;
    if (segment.p_filesz > kLargestNoteSegment) {
      damaged(path, "a note segment has " + std::to_string(segment.p_filesz) + " bytes, at most " +
                        std::to_string(kLargestNoteSegment) + " are read");
    }
    const auto bytes = file.range(segment.p_offset, segment.p_filesz, "a note segment");
    try {
      append_notes(bytes, segment.p_align == 8 ? 8 : 4, notes);
    } catch (const DamagedBytes& e) {
      damaged(path, std::string("a note segment, ") + e.what());
    }
  }
  return notes;
}

}  // namespace dtrain
