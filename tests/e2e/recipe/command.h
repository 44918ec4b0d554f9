// SPDX-License-Identifier: Apache-2.0
//
// Runs the dtrain binary in a folder of its own, with no plugins but those of the build and of this test.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/temp_folder.h"

namespace dtrain::testing {

struct Result {
  int code = -1;
  std::string out, err;
};

class Command {
 public:
  void write(const std::string& name, const std::string& text) const {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_.path() / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string folder() const { return std::filesystem::canonical(folder_.path()).string(); }

  // `arguments` are the shell's; the recipe's components come from the fixture plugin.
  Result dtrain(const std::string& arguments, const std::string& input = "") const {
    write(".in", input);
    const auto command = "cd '" + folder() + "' && env -u DTRAIN_PLUGIN_PATH HOME='" + folder() +
                         "' '" DTRAIN_BINARY "' " + arguments + " >.out 2>.err <.in";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read(".out"), read(".err")};
  }

 private:
  TempFolder folder_;
};

}  // namespace dtrain::testing
