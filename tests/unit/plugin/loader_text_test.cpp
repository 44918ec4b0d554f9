// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/plugin/demangle.h"
#include "core/plugin/mapped_copies.h"

namespace dtrain {
namespace {

TEST(Demangled, EachNameInATextAndNothingElse) {
  EXPECT_EQ(demangled("undefined symbol: _ZN7missing5curveERKSt6vectorIiSaIiEEd"),
            "undefined symbol: missing::curve(std::vector<int, std::allocator<int> > const&, double)");
  EXPECT_EQ(demangled("/p/my_Zone.so: _Z1fv and _Z1gi"), "/p/my_Zone.so: f() and g(int)");
  EXPECT_EQ(demangled("symbol _Zbroken, memcpy"), "symbol _Zbroken, memcpy");
  EXPECT_EQ(demangled(""), "");
}

constexpr const char* kMaps =
    "7f00-7f10 r--p 00000000 fe:01 123456                     /usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13\n"
    "7f10-7f20 r-xp 00001000 fe:01 123456                     /usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13\n"
    "7f20-7f30 r--p 00000000 fe:01 99                         /usr/lib/libtorch_cpuinfo.so\n"
    "7f30-7f40 rw-p 00000000 00:00 0                          [heap]\n"
    "7f40-7f50 rw-p 00000000 00:00 0 \n"
    "7f50-7f60 r--p 00000000 fe:02 123456                     /opt/a b/libtorch_cpu.so\n";

TEST(MappedCopies, AreToldApartByDeviceAndInode) {
  EXPECT_EQ(mapped_copies(kMaps, "libtorch_cpu"),
            (std::vector<std::string>{"/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13", "/opt/a b/libtorch_cpu.so"}));
  EXPECT_TRUE(mapped_copies(kMaps, "libcuda").empty());
  EXPECT_TRUE(mapped_copies("garbage\n\n7f00\n", "libtorch_cpu").empty());
}

TEST(MappedCopies, OfThisProcess) {
  EXPECT_EQ(mapped_copies("libc.so").size(), 1u);
}

}  // namespace
}  // namespace dtrain
