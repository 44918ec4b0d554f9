// SPDX-License-Identifier: Apache-2.0
#include "idx_file.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>

namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 40;
constexpr std::size_t kChunk = std::size_t{1} << 20;

[[noreturn]] void bad(const std::string& path, const std::string& what) {
  throw dtrain::UserError("data idx: " + path + ": " + what, "the file is damaged or of another format: get it again");
}

// A plain or gzip file, read forwards.
class Input {
 public:
  explicit Input(const std::string& path) : path_(path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat info {};
    int error = fd < 0 ? errno : 0;
    if (error == 0 && ::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) error = EISDIR;
    if (error == 0) {
      file_.reset(::gzdopen(fd, "rb"));
      if (!file_) error = ENOMEM;
    }
    if (error != 0) {
      if (fd >= 0) ::close(fd);
      throw dtrain::UserError("data idx: cannot open " + path + ": " + std::generic_category().message(error),
                              "check images and labels; a relative path starts at the recipe's folder");
    }
    ::gzbuffer(file_.get(), 1 << 17);
  }

  // Reads until `out` is full or the file ends; returns the bytes read.
  std::size_t read(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size()) {
      const auto want = static_cast<unsigned>(std::min(out.size() - done, kChunk));
      const int got = ::gzread(file_.get(), out.data() + done, want);
      if (got < 0) fail();
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    // zlib returns what it has of a file that was cut off and reports it here.
    int status = Z_OK;
    ::gzerror(file_.get(), &status);
    if (status == Z_BUF_ERROR) bad(path_, "the gzip data are truncated");
    return done;
  }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { ::gzclose(file); }
  };

  [[noreturn]] void fail() {
    int status = Z_OK;
    const std::string_view text = ::gzerror(file_.get(), &status);
    if (status == Z_ERRNO) bad(path_, "cannot read: " + std::generic_category().message(errno));
    // zlib puts its own name of the file, "<fd:N>: ", before the reason.
    const auto reason = text.substr(text.starts_with("<fd:") ? std::min(text.find(": ") + 2, text.size()) : 0);
    bad(path_, "the gzip data are damaged (" + std::string(reason) + ")");
  }

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

}  // namespace

IdxFile read_idx(const std::string& path) {
  Input input(path);
  std::array<std::uint8_t, 4> magic{};
  if (input.read(magic) != magic.size() || magic[0] != 0 || magic[1] != 0) bad(path, "not an IDX file");
  if (magic[2] != 0x08) {
    bad(path, "element type " + std::to_string(magic[2]) + "; only 8 (unsigned byte) is supported");
  }
  if (magic[3] < 1 || magic[3] > 4) bad(path, std::to_string(magic[3]) + " dimensions; allowed are 1 to 4");

  IdxFile file;
  std::uint64_t total = 1;
  for (int i = 0; i < magic[3]; ++i) {
    std::array<std::uint8_t, 4> word{};
    if (input.read(word) != word.size()) bad(path, "ends within the header");
    const std::uint64_t size = std::uint64_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3];
    file.shape.push_back(static_cast<std::int64_t>(size));
    if (size != 0 && total > kMaxBytes / size) bad(path, "the header claims more than 2^40 bytes");
    total *= size;
  }

  // Memory follows what is really there, not what the header claims.
  std::uint64_t have = 0;
  while (have < total) {
    file.bytes.resize(std::min<std::uint64_t>(total, std::max<std::uint64_t>(kChunk, 2 * have)));
    const auto got = input.read(std::span(file.bytes).subspan(have));
    have += got;
    if (have < file.bytes.size()) {
      bad(path, "the header says " + std::to_string(total) + " bytes of data, the file has " + std::to_string(have));
    }
  }
  std::array<std::uint8_t, 1> more{};
  if (input.read(more) != 0)
    bad(path, "has more data than the " + std::to_string(total) + " bytes that its header says");
  return file;
}
