// SPDX-License-Identifier: Apache-2.0
//
// The IDX format of the MNIST files (http://yann.lecun.com/exdb/mnist/): two zero bytes, the element type, the number
// of dimensions, each dimension as a big-endian u32, then the elements row-major. Plain or gzip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct IdxFile {
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

// Reads a file of unsigned bytes. UserError with the path: cannot be opened (system text), not IDX, another element
// type, damaged or truncated gzip, fewer or more bytes than the header says.
IdxFile read_idx(const std::string& path);
