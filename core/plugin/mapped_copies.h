// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

// The different files mapped into a process whose file name starts with `stem` and goes on with anything but a letter
// ("libtorch_cpu" finds libtorch_cpu.so.1.13, not libtorch_cpuinfo.so). `maps` is the text of /proc/PID/maps (proc(5));
// files are told apart by device and inode. In order of address.
std::vector<std::string> mapped_copies(std::string_view maps, std::string_view stem);

// The same of this process.
std::vector<std::string> mapped_copies(std::string_view stem);

}  // namespace dtrain
