// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a recipe: everything at once, so that a user mends a file in one go.
#pragma once

#include <dtrain/error.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dtrain {

struct RecipeMistake {
  Place place;          // file:line:col, "--set #2", "stdin"
  std::string key;      // dotted; empty when the mistake is not about one key
  std::string message;  // what was found, what is allowed
  std::string hint;     // what to do; may be empty

  std::string text() const;  // "file:line:col: key: message", without the hint
};

// Ends the command with exit code 2. Never empty.
class RecipeErrors final : public std::exception {
 public:
  explicit RecipeErrors(std::vector<RecipeMistake> mistakes);

  const std::vector<RecipeMistake>& mistakes() const { return mistakes_; }
  const char* what() const noexcept override { return text_.c_str(); }  // one mistake a line, hints indented

 private:
  std::vector<RecipeMistake> mistakes_;
  std::string text_;
};

// Collects mistakes while a recipe is read and checked.
class MistakeList {
 public:
  void add(Place place, std::string key, std::string message, std::string hint = {}) {
    mistakes_.push_back({std::move(place), std::move(key), std::move(message), std::move(hint)});
  }
  bool empty() const { return mistakes_.empty(); }

  // Whether a mistake is about this key or one below it.
  bool mentions(std::string_view key) const;

  // Throws RecipeErrors when there are any, in the order of the files: those of one file by line and column.
  void throw_if_any() const;

 private:
  std::vector<RecipeMistake> mistakes_;
};

}  // namespace dtrain
