// SPDX-License-Identifier: Apache-2.0
//
// Values and errors of the data set `idx`.
#include "tests/contract/data/data_under_test.h"

namespace dtrain {
namespace {

using test::idx;
using test::message_of;
using test::write_file;
using test::write_gzip;

class IdxData : public testing::Test {
 protected:
  auto open(OptionValues options, DataContext context = {}) const { return plugin_.make(context, options); }
  auto open(const std::string& images, const std::string& labels) const {
    return open({{"images", images}, {"labels", labels}});
  }
  std::string file(const std::string& name, const std::string& bytes) const {
    return write_file(folder_.path() / name, bytes);
  }
  std::string error(const std::string& images, const std::string& labels) const {
    return message_of([&] { open(images, labels); });
  }

  TempFolder folder_;
  test::PluginComponent<DataKind> plugin_ = test::data_plugin("idx");
  const std::string pixels_ = std::string("\x00\x33\x66\x99\xcc\xff\x01\x02\x03\x04\x05\x06", 12);
  const std::string images_ = file("images", idx({2, 2, 3}, pixels_));
  const std::string labels_ = file("labels", idx({2}, std::string("\x00\x04", 2)));
};

TEST_F(IdxData, ScalesPixels) {
  const auto set = open(images_, labels_);
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ(set->info().fields[0].shape, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(set->info().num_classes, 5);
  EXPECT_EQ(test::values<float>(test::read_sample(*set, 0)[0]),
            (std::vector<float>{0.0f, 0.2f, 0.4f, 0.6f, 0.8f, 1.0f}));
  EXPECT_EQ(test::values<std::int32_t>(test::read_sample(*set, 1)[1]), std::vector<std::int32_t>{4});
}

TEST_F(IdxData, NormalisesByMeanAndStd) {
  const auto set =
      open({{"images", images_}, {"labels", labels_}, {"mean", 0.2}, {"std", 0.4}, {"classes", std::int64_t{10}}});
  EXPECT_EQ(set->info().num_classes, 10);
  const auto values = test::values<float>(test::read_sample(*set, 0)[0]);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(values[i], (0.2 * static_cast<double>(i) - 0.2) / 0.4, 1e-6);
}

TEST_F(IdxData, GzipAndPlainAreTheSame) {
  const auto images = write_gzip(folder_.path() / "images.gz", idx({2, 2, 3}, pixels_));
  EXPECT_EQ(test::read_sample(*open(images, labels_), 1), test::read_sample(*open(images_, labels_), 1));
}

TEST_F(IdxData, OtherDimensions) {
  EXPECT_EQ(open(file("flat", idx({2, 6}, pixels_)), labels_)->info().fields[0].shape, std::vector<std::int64_t>{6});
  EXPECT_EQ(open(file("rgb", idx({2, 3, 1, 2}, pixels_)), labels_)->info().fields[0].shape,
            (std::vector<std::int64_t>{3, 1, 2}));
}

TEST_F(IdxData, ReadsFashionMnist) {
  const std::string folder = "/usr/share/datasets/fashion-mnist/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  const auto set = open(folder + "t10k-images-idx3-ubyte.gz", folder + "t10k-labels-idx1-ubyte.gz");
  EXPECT_EQ(set->size(), 10'000);
  EXPECT_EQ(set->info().num_classes, 10);
  EXPECT_EQ(set->info().fields[0].shape, (std::vector<std::int64_t>{1, 28, 28}));
  std::vector<int> counts(10);
  for (std::int64_t i = 0; i < set->size(); ++i) {
    ++counts[static_cast<std::size_t>(test::values<std::int32_t>(test::read_sample(*set, i)[1])[0])];
  }
  EXPECT_EQ(counts, std::vector<int>(10, 1000));
}

TEST_F(IdxData, FilesThatCannotBeOpened) {
  const auto missing = (folder_.path() / "missing").string();
  EXPECT_EQ(error(missing, labels_), "data idx: cannot open " + missing + ": No such file or directory");
  EXPECT_EQ(error(folder_.path().string(), labels_),
            "data idx: cannot open " + folder_.path().string() + ": Is a directory");
}

TEST_F(IdxData, DamagedFiles) {
  auto damaged = [&](const std::string& bytes) {
    const auto path = file("bad", bytes);
    const auto message = error(path, labels_);
    const auto prefix = "data idx: " + path + ": ";
    EXPECT_TRUE(message.starts_with(prefix)) << message;
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  };
  const auto good = idx({2, 2, 3}, pixels_);
  EXPECT_EQ(damaged(""), "not an IDX file");
  EXPECT_EQ(damaged("hello, world"), "not an IDX file");
  EXPECT_EQ(damaged(idx({2, 2, 3}, pixels_, 13)), "element type 13; only 8 (unsigned byte) is supported");
  EXPECT_EQ(damaged(idx({}, "")), "0 dimensions; allowed are 1 to 4");
  EXPECT_EQ(damaged(idx({1, 1, 1, 1, 1}, "x")), "5 dimensions; allowed are 1 to 4");
  EXPECT_EQ(damaged(good.substr(0, 9)), "ends within the header");
  EXPECT_EQ(damaged(good.substr(0, good.size() - 1)), "the header says 12 bytes of data, the file has 11");
  EXPECT_EQ(damaged(good + "x"), "has more data than the 12 bytes that its header says");
  EXPECT_EQ(damaged(idx({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, "")),
            "the header claims more than 2^40 bytes");
  EXPECT_EQ(damaged(idx({0xffffffff, 200}, "abc")), "the header says 858993459000 bytes of data, the file has 3");
  const auto zipped = test::read_file(write_gzip(folder_.path() / "z", idx({2, 100, 100}, std::string(20'000, 'q'))));
  EXPECT_EQ(damaged(zipped.substr(0, zipped.size() - 9)), "the gzip data are truncated");
  EXPECT_EQ(damaged(zipped.substr(0, zipped.size() - 2)), "the gzip data are truncated");
  auto flipped = zipped;
  flipped[flipped.size() - 6] ^= 1;  // in the checksum
  EXPECT_EQ(damaged(flipped), "the gzip data are damaged (incorrect data check)");
}

TEST_F(IdxData, FilesThatDoNotBelongTogether) {
  EXPECT_EQ(error(labels_, labels_), "data idx: " + labels_ + " has 1 dimension; images have 2 to 4");
  EXPECT_EQ(error(images_, images_), "data idx: " + images_ + " has 3 dimensions; labels have 1");
  const auto three = file("three", idx({3}, std::string(3, '\0')));
  EXPECT_EQ(error(images_, three), "data idx: " + images_ + " has 2 images, " + three + " has 3 labels");
  const auto none = file("none", idx({0, 2, 3}, ""));
  EXPECT_EQ(error(none, file("no labels", idx({0}, ""))), "data idx: " + none + " has no samples");
  EXPECT_EQ(message_of([&] {
              open({{"images", images_}, {"labels", labels_}, {"classes", std::int64_t{4}}});
            }),
            "data idx: " + labels_ + " has label 4, but classes = 4");
}

}  // namespace
}  // namespace dtrain
