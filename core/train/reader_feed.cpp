// SPDX-License-Identifier: Apache-2.0
#include "core/train/reader_feed.h"

#include <utility>

#include <ATen/ATen.h>

namespace dtrain {
namespace {

at::ScalarType scalar_type(DType type) {
  switch (type) {
    case DType::f32:
      return at::kFloat;
    case DType::f64:
      return at::kDouble;
    case DType::f16:
      return at::kHalf;
    case DType::bf16:
      return at::kBFloat16;
    case DType::i64:
      return at::kLong;
    case DType::i32:
      return at::kInt;
    case DType::u8:
      return at::kByte;
    case DType::u16:
      break;  // libtorch 1.13 has none: widened by hand
  }
  return at::kLong;
}

at::Tensor to_tensor(const FieldSpec& spec, std::int64_t count, std::span<std::byte> bytes) {
  std::vector<std::int64_t> shape{count};
  shape.insert(shape.end(), spec.shape.begin(), spec.shape.end());
  if (spec.type == DType::u16) {
    auto wide = at::empty(shape, at::kLong);
    const auto* in = reinterpret_cast<const std::uint16_t*>(bytes.data());
    auto* out = wide.data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < wide.numel(); ++i) out[i] = in[i];
    return wide;
  }
  auto tensor = at::from_blob(bytes.data(), shape, scalar_type(spec.type));
  const bool narrow = spec.type == DType::i32 || spec.type == DType::u8;
  return narrow ? tensor.to(at::kLong) : tensor;
}

}  // namespace

ReaderFeed::ReaderFeed(BatchReader::Setup setup, const DataInfo& info, bool training)
    : reader_(std::move(setup)), info_(info), training_(training) {}

FedBatch ReaderFeed::next() {
  lease_.reset();
  const auto start = std::chrono::steady_clock::now();
  lease_.emplace(reader_.next());
  wait_ms_ += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  const HostBatch& host = **lease_;
  FedBatch fed;
  for (std::size_t i = 0; i < host.fields(); ++i) {
    fed.batch.fields.emplace_back(info_.fields[i].name, to_tensor(info_.fields[i], host.count, host.field(i)));
  }
  fed.batch.size = host.count;
  fed.batch.first_position = host.first;
  fed.batch.step = host.step;
  fed.batch.training = training_;
  fed.index = host.index;
  fed.ids_hash = host.ids_hash;
  return fed;
}

double ReaderFeed::take_wait_ms() { return std::exchange(wait_ms_, 0.0); }

}  // namespace dtrain
