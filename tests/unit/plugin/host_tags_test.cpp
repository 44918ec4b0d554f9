// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/host_tags.h"

#include <gtest/gtest.h>

namespace dtrain {
namespace {

const HostTags kHost = {{"model", "interface=aa compiler=itanium libtorch=1.13.1"}, {"store", "interface=bb"}};

std::vector<std::string> texts(const ComponentInfo& component) {
  std::vector<std::string> out;
  for (const auto& difference : tag_differences(component, kHost)) out.push_back(difference.text());
  return out;
}

TEST(TagDifferences, NoneWhenEqual) {
  EXPECT_TRUE(texts({"model", "m", "interface=aa compiler=itanium libtorch=1.13.1", {}}).empty());
}

TEST(TagDifferences, EveryFieldThatDiffersFoundAgainstExpected) {
  EXPECT_EQ(texts({"model", "m", "interface=zz compiler=itanium libtorch=2.0.0", {}}),
            (std::vector<std::string>{"model 'm': interface: found zz, expected aa",
                                      "model 'm': libtorch: found 2.0.0, expected 1.13.1"}));
}

TEST(TagDifferences, MissingAndAdditionalFields) {
  EXPECT_EQ(texts({"model", "m", "interface=aa compiler=itanium", {}}),
            (std::vector<std::string>{"model 'm': libtorch: found none, expected 1.13.1"}));
  EXPECT_EQ(texts({"store", "s", "interface=bb cuda=12.4", {}}),
            (std::vector<std::string>{"store 's': cuda: found 12.4, expected none"}));
  EXPECT_EQ(texts({"store", "s", "", {}}), (std::vector<std::string>{"store 's': interface: found none, expected bb"}));
}

TEST(TagDifferences, RepeatedFieldsAreNotEqual) {
  EXPECT_EQ(texts({"store", "s", "interface=bb interface=cc", {}}),
            (std::vector<std::string>{"store 's': tag: found 'interface=bb interface=cc', expected 'interface=bb'"}));
}

TEST(TagDifferences, UnknownKind) {
  EXPECT_EQ(texts({"telepathy", "t", "interface=aa", {}}),
            (std::vector<std::string>{"telepathy 't': this dtrain has no kind 'telepathy'"}));
}

}  // namespace
}  // namespace dtrain
