// SPDX-License-Identifier: Apache-2.0
//
// Which files the data set `text` takes, how it cuts them, and what it says when it cannot.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/contract/data/data_under_test.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;
using test::message_of;
using test::write_file;

// A tokenizer with a large vocabulary: two bytes a token, and the first one far above 65535.
class Wide final : public Tokenizer {
 public:
  std::int64_t vocab_size() const override { return 200'000; }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> out;
    for (auto c : text) out.push_back(199'000 + static_cast<unsigned char>(c));
    return out;
  }
  std::string decode(std::span<const std::int32_t>) const override { return {}; }
};

class TextData : public testing::Test {
 protected:
  auto open(std::vector<std::string> path, DataContext context) const {
    return plugin_.make(context, {{"path", std::move(path)}});
  }
  auto open(std::vector<std::string> path, std::int64_t seq_len = 4) const {
    return open(std::move(path), {.seq_len = seq_len, .tokenizer = &test::bytes_tokenizer()});
  }
  std::string file(const std::string& name, const std::string& text) const { return write_file(root_ / name, text); }

  // The text that the inputs of all samples make.
  static std::string text_of(const DataSet& set) {
    std::string out;
    for (std::int64_t i = 0; i < set.size(); ++i) {
      out += test::bytes_tokenizer().decode(test::values<std::int32_t>(test::read_sample(set, i)[0]));
    }
    return out;
  }
  std::string error(std::vector<std::string> path) const {
    return message_of([&] { open(std::move(path)); });
  }

  TempFolder folder_;
  fs::path root_ = folder_.path() / "a b-ä試 [x]";
  test::PluginComponent<DataKind> plugin_ = test::data_plugin("text");
};

TEST_F(TextData, CutsWindowsWithTheTargetOneTokenLater) {
  const auto set = open({file("t", "abcdefghijk")});  // 11 bytes: windows abcd/bcde and efgh/fghi; ijk is left out
  ASSERT_EQ(set->size(), 2);
  EXPECT_EQ(set->info().vocab_size, 256);
  EXPECT_EQ(set->info().seq_len, 4);
  const auto second = test::read_sample(*set, 1);
  EXPECT_EQ(test::bytes_tokenizer().decode(test::values<std::int32_t>(second[0])), "efgh");
  EXPECT_EQ(test::bytes_tokenizer().decode(test::values<std::int32_t>(second[1])), "fghi");
}

TEST_F(TextData, LastWindowNeedsOneTokenMore) {
  EXPECT_EQ(open({file("t", "abcdefgh")})->size(), 1);
  EXPECT_EQ(open({file("t", "abcdefghi")})->size(), 2);
}

TEST_F(TextData, FilesFollowEachOther) {
  EXPECT_EQ(text_of(*open({file("2", "abc"), file("1", "defghi")})), "abcdefgh");
}

TEST_F(TextData, FoldersAreSearchedInSortedOrder) {
  file("d/b", "2222");
  file("d/B", "1111");
  file("d/c/deep/z", "4444");
  file("d/c/a", "3333");
  file("d/.hidden", "0000");
  file("d/z", "5");
  EXPECT_EQ(text_of(*open({(root_ / "d").string()})), "00001111222233334444");
  EXPECT_EQ(text_of(*open({(root_ / "d").string() + "/"})), "00001111222233334444");
}

TEST_F(TextData, GlobsAreSortedBytewise) {
  file("g/x10.txt", "2222");
  file("g/x1.txt", "1111");
  file("g/y.md", "9999");
  file("g/xd/inner", "3333");
  // The folder's own name has brackets, so the pattern must quote them.
  const auto pattern = folder_.path().string() + "/a b-ä試 ?x?/g/x*";
  EXPECT_EQ(text_of(*open({pattern, file("end", "e")})), "111122223333");
}

TEST_F(TextData, LinksAreFollowedAndAFileCountsOnce) {
  const auto real = file("d/b", "1111");
  fs::create_symlink("b", root_ / "d/a");
  fs::create_symlink(root_ / "d", root_ / "d/loop");
  fs::create_symlink(root_ / "d", root_ / "linked");
  EXPECT_EQ(text_of(*open({(root_ / "linked").string(), real, file("end", "22223")})), "11112222");
}

TEST_F(TextData, WideVocabulariesKeepTheirTokens) {
  const Wide wide;
  const auto set = open({file("t", "abcdefghi")}, {.seq_len = 2, .tokenizer = &wide});
  EXPECT_EQ(test::values<std::int32_t>(test::read_sample(*set, 1)[1]), (std::vector<std::int32_t>{199'100, 199'101}));
}

// No byte that evaluation predicts is predicted in training.
TEST_F(TextData, EvaluationIsSpreadAndItsTargetsAreItsOwn) {
  std::string text;
  for (int i = 0; i < 401; ++i) text.push_back(static_cast<char>(i % 251));
  const auto path = file("t", text);
  DataContext context{.seq_len = 4, .eval_fraction = 0.1, .tokenizer = &test::bytes_tokenizer()};
  const auto train = open({path}, context);
  context.split = Split::eval;
  const auto eval = open({path}, context);
  EXPECT_EQ(train->size(), 90);
  EXPECT_EQ(eval->size(), 10);
  EXPECT_EQ(text_of(*eval).substr(0, 4), text.substr(36, 4));
  EXPECT_EQ(text_of(*eval).substr(36, 4), text.substr(396, 4));
}

TEST_F(TextData, ReadsTheLicences) {
  const auto set = open({"/usr/share/common-licenses"}, 128);
  EXPECT_GT(set->size(), 1000);
  EXPECT_LT(set->size(), 4000);
}

TEST_F(TextData, Errors) {
  const auto missing = (root_ / "missing").string();
  // Brackets make the folder's name a pattern.
  EXPECT_EQ(error({missing}), "data text: cannot read " + missing +
                                  ": No such file or directory, nor does anything match it as a pattern");
  const auto plain = (folder_.path() / "missing").string();
  EXPECT_EQ(error({plain}), "data text: cannot read " + plain + ": No such file or directory");
  EXPECT_EQ(error({folder_.path().string() + "/*.nothing"}),
            "data text: cannot read " + folder_.path().string() +
                "/*.nothing: No such file or directory, nor does anything match it as a pattern");
  const auto below_file = file("f", "abcdefgh") + "/x";
  EXPECT_EQ(error({below_file}), "data text: cannot read " + below_file + ": Not a directory");
  const auto empty = file("empty", "");
  EXPECT_EQ(error({empty}), "data text: 0 tokens in all files together; one sample of data.seq_len = 4 needs 5");
  EXPECT_EQ(error({file("short", "abcd")}),
            "data text: 4 tokens in all files together; one sample of data.seq_len = 4 needs 5");
  const auto pipe = (root_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error({pipe}), "data text: " + pipe + " is neither a file nor a folder");
  const auto dangling = root_ / "links/to";
  fs::create_directories(dangling.parent_path());
  fs::create_symlink("nowhere", dangling);
  EXPECT_EQ(error({dangling.parent_path().string()}),
            "data text: cannot follow the link " + dangling.string() + ": No such file or directory");
  const auto good = file("good", "abcdefgh");
  EXPECT_EQ(message_of([&] { open({good}, {.seq_len = 4}); }), "data text: the recipe has no tokenizer");
  EXPECT_EQ(message_of([&] { open({good}, {.tokenizer = &test::bytes_tokenizer()}); }),
            "data text: the recipe has no data.seq_len");
  EXPECT_EQ(error({}), "data text: data.path names no file");
}

TEST_F(TextData, WithoutPermission) {
  const auto folder = root_ / "locked";
  const auto inner = file("locked/t", "abcdefgh");
  const auto secret = file("secret", "abcdefgh");
  fs::permissions(folder, fs::perms::none);
  fs::permissions(secret, fs::perms::none);
  fs::permissions(folder_.path(), fs::perms::all);
  // root may read everything: be somebody else meanwhile.
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::array messages = {error({folder.string()}), error({inner}), error({secret})};
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  fs::permissions(folder, fs::perms::all);
  EXPECT_EQ(messages[0], "data text: cannot open folder " + folder.string() + ": Permission denied");
  EXPECT_EQ(messages[1], "data text: cannot read " + inner + ": Permission denied");
  EXPECT_EQ(messages[2], "data text: cannot open " + secret + ": Permission denied");
}

}  // namespace
}  // namespace dtrain
