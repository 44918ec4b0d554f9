// SPDX-License-Identifier: Apache-2.0
#include "core/launch/rendezvous_store.h"

#include <dtrain/error.h>

#include <utility>

namespace dtrain {
namespace {

void put_u64(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>((value >> (8 * i)) & 0xff));
}

std::uint64_t take_u64(std::string_view& in) {
  DTRAIN_CHECK(in.size() >= 8, "message is too short");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value |= std::uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
  in.remove_prefix(8);
  return value;
}

}  // namespace

void RendezvousStore::set(std::string key, std::string value) {
  const auto& stored = values_.insert_or_assign(std::move(key), std::move(value)).first;
  const auto node = waiting_.extract(stored->first);
  if (node.empty()) return;
  for (const auto& answer : node.mapped()) answer(stored->second);
}

void RendezvousStore::get(const std::string& key, Answer answer) {
  const auto it = values_.find(key);
  if (it != values_.end()) {
    answer(it->second);
  } else {
    waiting_[key].push_back(std::move(answer));
  }
}

std::string encode_set(std::string_view key, std::string_view value) {
  std::string out;
  put_u64(out, key.size());
  out.append(key).append(value);
  return out;
}

std::pair<std::string, std::string> decode_set(std::string_view payload) {
  const auto length = take_u64(payload);
  DTRAIN_CHECK(length <= payload.size(), "message is too short");
  return {std::string(payload.substr(0, length)), std::string(payload.substr(length))};
}

std::string encode_tagged(std::uint64_t id, std::string_view rest) {
  std::string out;
  put_u64(out, id);
  out.append(rest);
  return out;
}

std::pair<std::uint64_t, std::string> decode_tagged(std::string_view payload) {
  const auto id = take_u64(payload);
  return {id, std::string(payload)};
}

}  // namespace dtrain
