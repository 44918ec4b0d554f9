// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

// The keys that the ranks of one generation set and wait for. Lives in the agent, on its thread.
class RendezvousStore {
 public:
  using Answer = std::function<void(const std::string& value)>;

  // A second set of a key replaces its value for later readers.
  void set(std::string key, std::string value);

  // Answers at once, or when the key is set. An answer to a rank that is gone is the caller's to drop.
  void get(const std::string& key, Answer answer);

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, std::vector<Answer>, std::less<>> waiting_;
};

// The payloads of Message::set, Message::get and Message::value.
std::string encode_set(std::string_view key, std::string_view value);
std::pair<std::string, std::string> decode_set(std::string_view payload);
std::string encode_tagged(std::uint64_t id, std::string_view rest);
std::pair<std::uint64_t, std::string> decode_tagged(std::string_view payload);

}  // namespace dtrain
