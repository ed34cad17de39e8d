#include "tests/runtime/cuda/fake_cublaslt.h"

#include "ir/half.h"

#include <algorithm>
#include <cstring>

namespace stepc::test {
namespace {

constexpr int kInvalidValue = 7;   // CUBLAS_STATUS_INVALID_VALUE
constexpr int kNotSupported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED
constexpr uintptr_t kWorkspaceAlignment = 256;

float load(const void* base, int type, int64_t index) {
  if (type == cuda::kLtR32F) return static_cast<const float*>(base)[index];
  const uint16_t bits = static_cast<const uint16_t*>(base)[index];
  return type == cuda::kLtR16F ? f16_to_f32(bits) : bf16_to_f32(bits);
}

void store(void* base, int type, int64_t index, float value) {
  if (type == cuda::kLtR32F)
    static_cast<float*>(base)[index] = value;
  else
    static_cast<uint16_t*>(base)[index] = type == cuda::kLtR16F ? f32_to_f16(value) : f32_to_bf16(value);
}

template <typename T>
int take(T& to, const void* value, size_t bytes) {
  if (bytes != sizeof to) return kInvalidValue;
  std::memcpy(&to, value, bytes);
  return 0;
}

}  // namespace

int FakeCublasLt::set(Matrix& matrix, int attribute, const void* value, size_t bytes) {
  switch (attribute) {
    case cuda::kLtLayoutBatchCount: return take(matrix.batch, value, bytes);
    case cuda::kLtLayoutBatchStride: return take(matrix.batch_stride, value, bytes);
    default: return kInvalidValue;
  }
}

int FakeCublasLt::set(Product& product, int attribute, const void* value, size_t bytes) {
  switch (attribute) {
    case cuda::kLtDescTransA: return take(product.transpose_a, value, bytes);
    case cuda::kLtDescTransB: return take(product.transpose_b, value, bytes);
    case cuda::kLtDescEpilogue: return take(product.epilogue, value, bytes);
    case cuda::kLtDescBiasPointer: return take(product.bias, value, bytes);
    case cuda::kLtDescBiasStride: return take(product.bias_stride, value, bytes);
    default: return kInvalidValue;
  }
}

bool FakeCublasLt::is_valid(const Product& product, const Matrix& a, const Matrix& b, const Matrix& c,
                            const Matrix& d) {
  const auto stored = [](const Matrix& m) { return m.rows > 0 && m.columns > 0 && m.leading >= m.rows; };
  const int64_t a_rows = product.transpose_a ? a.columns : a.rows;
  const int64_t a_columns = product.transpose_a ? a.rows : a.columns;
  const int64_t b_rows = product.transpose_b ? b.columns : b.rows;
  const int64_t b_columns = product.transpose_b ? b.rows : b.columns;
  const bool one_batch = a.batch == d.batch && b.batch == d.batch && c.batch == d.batch;
  return stored(a) && stored(b) && stored(c) && stored(d) && a_columns == b_rows && a_rows == d.rows &&
         b_columns == d.columns && c.rows == d.rows && c.columns == d.columns && one_batch && a.type == b.type &&
         c.type == d.type;
}

void FakeCublasLt::multiply(const Product& product, const void* a, const Matrix& a_matrix, const void* b,
                            const Matrix& b_matrix, float beta, const void* c, const Matrix& c_matrix, void* d,
                            const Matrix& d_matrix) {
  const auto index = [](const Matrix& m, int64_t batch, bool transposed, int64_t row, int64_t column) {
    return batch * m.batch_stride + (transposed ? column + row * m.leading : row + column * m.leading);
  };
  const int64_t depth = product.transpose_a ? a_matrix.rows : a_matrix.columns;
  for (int64_t batch = 0; batch < d_matrix.batch; ++batch)
    for (int64_t column = 0; column < d_matrix.columns; ++column)
      for (int64_t row = 0; row < d_matrix.rows; ++row) {
        float sum = 0;
        for (int64_t i = 0; i < depth; ++i)
          sum += load(a, a_matrix.type, index(a_matrix, batch, product.transpose_a != 0, row, i)) *
                 load(b, b_matrix.type, index(b_matrix, batch, product.transpose_b != 0, i, column));
        if (beta != 0) sum += beta * load(c, c_matrix.type, index(c_matrix, batch, false, row, column));
        if (product.epilogue == cuda::kLtEpilogueBias)
          sum += load(product.bias, d_matrix.type, batch * product.bias_stride + row);
        store(d, d_matrix.type, index(d_matrix, batch, false, row, column), sum);
      }
}

void FakeCublasLt::add_descriptors(cuda::CublasLtApi& api) {
  const auto make = [](auto& all, void** handle) {
    using Object = typename std::decay_t<decltype(all)>::mapped_type::element_type;
    auto object = std::make_unique<Object>();
    Object* const raw = object.get();
    *handle = raw;
    all.emplace(raw, std::move(object));
    return raw;
  };
  api.cublasLtMatmulDescCreate = [=, this](void** descriptor, int compute_type, int scale_type) {
    make(products_, descriptor)->compute_type = compute_type;
    return scale_type == cuda::kLtR32F ? 0 : kNotSupported;
  };
  api.cublasLtMatmulDescSetAttribute = [this](void* descriptor, int attribute, const void* value, size_t bytes) {
    return set(*products_.at(descriptor), attribute, value, bytes);
  };
  api.cublasLtMatmulDescDestroy = [this](void* descriptor) { return products_.erase(descriptor) == 1 ? 0 : 1; };
  api.cublasLtMatrixLayoutCreate = [=, this](void** layout, int type, uint64_t rows, uint64_t columns,
                                             int64_t leading) {
    Matrix& matrix = *make(matrices_, layout);
    matrix.type = type;
    matrix.rows = static_cast<int64_t>(rows);
    matrix.columns = static_cast<int64_t>(columns);
    matrix.leading = leading;
    return 0;
  };
  api.cublasLtMatrixLayoutSetAttribute = [this](void* layout, int attribute, const void* value, size_t bytes) {
    return set(*matrices_.at(layout), attribute, value, bytes);
  };
  api.cublasLtMatrixLayoutDestroy = [this](void* layout) { return matrices_.erase(layout) == 1 ? 0 : 1; };
  api.cublasLtMatmulPreferenceCreate = [=, this](void** preference) { return make(preferences_, preference), 0; };
  api.cublasLtMatmulPreferenceSetAttribute = [this](void*, int attribute, const void* value, size_t bytes) {
    uint64_t number = 0;
    std::memcpy(&number, value, bytes);
    preferences[attribute] = number;
    return 0;
  };
  api.cublasLtMatmulPreferenceDestroy = [this](void* preference) {
    return preferences_.erase(preference) == 1 ? 0 : 1;
  };
}

void FakeCublasLt::add_products(cuda::CublasLtApi& api) {
  api.cublasLtMatmulAlgoGetHeuristic = [this](cublasLtContext*, void* product, void* a, void* b, void* c, void* d,
                                              void*, int asked, cuda::LtChoice* choice, int* found) {
    ++heuristics;
    *found = std::min(asked, choices);
    if (!is_valid(*products_.at(product), *matrices_.at(a), *matrices_.at(b), *matrices_.at(c), *matrices_.at(d)))
      return kInvalidValue;
    choice->algorithm.data[0] = 100 + static_cast<uint64_t>(heuristics);
    choice->workspace_bytes = static_cast<size_t>(preferences[cuda::kLtPreferenceWorkspace]);
    choice->state = 0;
    return 0;
  };
  api.cublasLtMatmulAlgoCheck = [this](cublasLtContext*, void*, void*, void*, void*, void*, const cuda::LtAlgorithm*,
                                       cuda::LtChoice* choice) {
    choice->workspace_bytes = 0;
    return refuses_kept_algorithm ? kNotSupported : 0;
  };
  api.cublasLtMatmul = [this](cublasLtContext*, void* product, const void* alpha, const void* a, void* a_layout,
                              const void* b, void* b_layout, const void* beta, const void* c, void* c_layout, void* d,
                              void* d_layout, const cuda::LtAlgorithm* algorithm, void* workspace,
                              size_t workspace_bytes, CUstream_st* stream) {
    const Product how = *products_.at(product);  // as it is now, also for a graph
    if (*static_cast<const float*>(alpha) != 1 || stream == nullptr) return kInvalidValue;
    if (reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0) return kInvalidValue;
    calls.push_back({algorithm->data[0], how.compute_type, matrices_.at(d_layout)->batch,
                     how.epilogue == cuda::kLtEpilogueBias, workspace_bytes, workspace});
    const auto work = [=, a_matrix = *matrices_.at(a_layout), b_matrix = *matrices_.at(b_layout),
                       c_matrix = *matrices_.at(c_layout), d_matrix = *matrices_.at(d_layout),
                       addition = *static_cast<const float*>(beta)] {
      multiply(how, a, a_matrix, b, b_matrix, addition, c, c_matrix, d, d_matrix);
    };
    if (driver_ != nullptr) return driver_->enqueue_library(stream, "cublasLtMatmul", work);
    return work(), 0;
  };
}

cuda::CublasLtApi FakeCublasLt::table() {
  cuda::CublasLtApi api;
  api.cublasLtGetVersion = [this] { return version; };
  api.cublasLtGetStatusString = [](int status) { return status == 1 ? "not initialized" : "as the fake was told"; };
  api.cublasLtCreate = [this](cublasLtContext** handle) {
    *handle = reinterpret_cast<cublasLtContext*>(this);
    if (create_status == 0) ++handles_;
    return create_status;
  };
  api.cublasLtDestroy = [this](cublasLtContext*) { return --handles_, 0; };
  add_descriptors(api);
  add_products(api);
  return api;
}

}  // namespace stepc::test
