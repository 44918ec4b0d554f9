// SPDX-License-Identifier: Apache-2.0
//
// dtrain ckpt as a script sees it: standard output, standard error, exit code.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/unit/ckpt/fixture.h"

namespace dtrain {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::MatchesRegex;

struct Outcome {
  int code = -1;
  std::string out, err;
};

class CkptVerb : public testing::Test {
 protected:
  CkptVerb() {
    for (const auto step : {10, 20}) {
      State state(step);
      save(checkpoints_, step, state, 2, {{"loss", 1.0 / step}});
    }
  }

  // `arguments` may name the run as RUN.
  Outcome ckpt(std::string arguments) const {
    for (auto at = arguments.find("RUN"); at != std::string::npos; at = arguments.find("RUN")) {
      arguments.replace(at, 3, run().string());
    }
    const auto out = folder_.path() / "out", err = folder_.path() / "err";
    const auto command =
        std::string(DTRAIN_BINARY) + " ckpt " + arguments + " >" + out.string() + " 2>" + err.string() + " </dev/null";
    const auto status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(err)};
  }
  void cut(int step) {
    std::filesystem::resize_file(run() / "checkpoints" / checkpoint_folder(step) / "rank-1.safetensors", 100);
  }

  std::filesystem::path run() const { return folder_.path() / "run"; }

  TempFolder folder_;
  LocalStore store_{StoreContext{(run() / "checkpoints").string()}};
  CheckpointStore checkpoints_{store_};
};

TEST_F(CkptVerb, HashPrintsOneLine) {
  const auto expected = checkpoints_.open(20).content_hash() + "\n";
  for (const auto* path : {"RUN", "RUN/", "RUN/checkpoints", "RUN/checkpoints/step-000000020"}) {
    const auto result = ckpt(std::string("hash ") + path);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, expected) << path;
    EXPECT_EQ(result.err, "") << path;
  }
  EXPECT_EQ(json::parse(ckpt("hash RUN --json").out), (json{{"hash", expected.substr(0, 64)}, {"step", 20}}));
}

TEST_F(CkptVerb, HashPassesOverWhatIsDamaged) {
  cut(20);
  const auto result = ckpt("hash RUN");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, checkpoints_.open(10).content_hash() + "\n");
  EXPECT_THAT(result.err, MatchesRegex("dtrain: warning: step-000000020 passed over: .*/step-000000020/"
                                       "rank-1.safetensors: has 100 bytes, the manifest says [0-9]+\n"));
}

TEST_F(CkptVerb, ADamagedCheckpointThatIsNamedIsAnError) {
  cut(20);
  for (const auto* verb : {"hash", "show", "verify"}) {
    const auto result = ckpt(std::string(verb) + " RUN/checkpoints/step-000000020");
    EXPECT_EQ(result.code, 2) << verb;
    EXPECT_EQ(result.out, "") << verb;
    EXPECT_THAT(result.err, HasSubstr("/step-000000020/rank-1.safetensors: has 100 bytes, the manifest says"));
  }
}

TEST_F(CkptVerb, NothingVerifies) {
  cut(10);
  cut(20);
  const auto result = ckpt("hash RUN");
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("dtrain: error: no checkpoint in " + run().string() + "/checkpoints verifies\n"));
}

TEST_F(CkptVerb, WrongPaths) {
  const auto missing = ckpt("hash RUN/none");
  EXPECT_EQ(missing.code, 2);
  EXPECT_EQ(missing.err, "dtrain: error: cannot open " + run().string() + "/none: No such file or directory\n");
  std::filesystem::create_directory(folder_.path() / "other");
  const auto other = ckpt("ls " + (folder_.path() / "other").string());
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err,
              HasSubstr("/other is neither a run directory nor a checkpoint: it has no folder 'checkpoints' and "
                        "no manifest.json\n  hint: name the folder given as --run-dir"));
  EXPECT_EQ(ckpt("hash").code, 2);
  EXPECT_EQ(ckpt("frobnicate RUN").code, 2);
}

TEST_F(CkptVerb, ListsAndShows) {
  State state(30);
  checkpoints_.write(30, "n", 0, state.slices<TensorSlice>(0, 2));
  const auto text = ckpt("ls RUN");
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(text.out, MatchesRegex("step-000000010  [0-9.]+ KiB  20[0-9T:Z-]+  loss=0.1\n"
                                     "step-000000020  [0-9.]+ KiB  20[0-9T:Z-]+  loss=0.05\n"
                                     "step-000000030.partial-n  [0-9.]+ KiB  incomplete\n"));
  const auto list = json::parse(ckpt("ls RUN --json").out)["checkpoints"];
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[1]["step"], 20);
  EXPECT_EQ(list[1]["updates"], 19);
  EXPECT_EQ(list[1]["metrics"]["loss"], 0.05);
  EXPECT_EQ(list[2]["complete"], false);

  const auto shown = ckpt("show RUN/checkpoints/step-000000010");
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, HasSubstr("step            10\n"));
  EXPECT_THAT(shown.out, HasSubstr("  model.weight  F32 [50, 20]\n"));
  EXPECT_EQ(json::parse(ckpt("show RUN --json").out)["step"], 20);
}

TEST_F(CkptVerb, Verifies) {
  const auto good = ckpt("verify RUN");
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.out, "step-000000010  ok\nstep-000000020  ok\n");
  EXPECT_EQ(ckpt("verify RUN/checkpoints/step-000000010").code, 0);
  cut(10);
  const auto bad = ckpt("verify RUN");
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.out,
              MatchesRegex("step-000000010  damaged: .*rank-1.safetensors: has 100 bytes.*\nstep-000000020  ok\n"));
  EXPECT_THAT(bad.err, HasSubstr("dtrain: error: 1 of 2 checkpoints are damaged\n"));
  const auto object = json::parse(ckpt("verify RUN --json").out);
  EXPECT_EQ(object["ok"], false);
  EXPECT_EQ(object["checkpoints"][1]["ok"], true);
}

TEST_F(CkptVerb, Prunes) {
  State state(30);
  save(checkpoints_, 30, state, 2, {{"loss", 0.5}});
  cut(30);
  const auto result = ckpt("prune RUN --keep-last 1");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, "removed step-000000010\nkept    step-000000020\n");
  EXPECT_THAT(result.err, HasSubstr("warning: step-000000030 passed over"));
  EXPECT_EQ(ckpt("prune RUN/checkpoints/step-000000020 --keep-last 1").code, 2);
  EXPECT_EQ(ckpt("prune RUN").code, 2);
  EXPECT_EQ(ckpt("prune RUN --keep-last -1").code, 2);
}

}  // namespace
}  // namespace dtrain
