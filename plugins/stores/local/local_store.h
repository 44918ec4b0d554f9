// SPDX-License-Identifier: Apache-2.0
//
// A folder as a Store: keys are paths below the root.
//
// An object is written as KEY.unfinished and renamed when it is durable. Removal first renames to `.trash-*` in the
// root, so that what is half deleted is no object any more; what a killed process leaves there goes with the next
// removal or the first write of another. Needs a file system whose rename is atomic (IEEE Std 1003.1, rename()).
#pragma once

#include <dtrain/store.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace dtrain {

class LocalStore final : public Store {
 public:
  // UserError when the root is there and no folder.
  explicit LocalStore(const StoreContext& context, const NoOptions& = {});

  std::unique_ptr<ObjectWriter> create(const std::string& key) override;
  std::unique_ptr<ObjectReader> open(const std::string& key) const override;
  bool exists(const std::string& key) const override;
  std::vector<ObjectInfo> list(const std::string& prefix) const override;
  void remove(const std::string& prefix) override;
  void publish(const std::string& staging, const std::string& final_prefix) override;

 private:
  std::filesystem::path path_of(const std::string& key) const;
  void empty_trash() noexcept;

  std::filesystem::path root_;
  std::atomic<bool> swept_{false};
};

}  // namespace dtrain
