#include "runtime/cuda/library_matmul.h"

#include "ir/support/error.h"

#include <cstring>

namespace stepc::cuda {
namespace {

constexpr std::string_view kExtension = "algorithm";
constexpr int64_t kBestAlignment = 16;  // bytes; what the widest loads of its kernels need

int number_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return kLtR32F;
    case Dtype::f16: return kLtR16F;
    case Dtype::bf16: return kLtR16BF;
    default: CHECK(false, "no matrix of {}", dtype_name(dtype)); return 0;
  }
}

// Offsets, in elements, of A, B and C at every point of some axes, row-major.
std::vector<MatmulWork::Batch> points_of(const std::vector<MatmulWork::Batch>& axes) {
  std::vector<MatmulWork::Batch> points(1, {1, 0, 0, 0});
  for (const MatmulWork::Batch& axis : axes) {
    std::vector<MatmulWork::Batch> next;
    for (const MatmulWork::Batch& point : points)
      for (int64_t i = 0; i < axis.extent; ++i)
        next.push_back({1, point.a + i * axis.a, point.b + i * axis.b, point.c + i * axis.c});
    points = std::move(next);
  }
  return points;
}

std::string matrix_text(const MatmulForm::Matrix& matrix) {
  return fmt::format("{}{}+{}", matrix.transposed ? 't' : 'n', matrix.leading, matrix.batch_stride);
}

template <typename T>
const void* bytes_of(const T& value) {
  return &value;
}

}  // namespace

LibraryMatmul::LibraryMatmul(const CublasLt& library, const MatmulWork& work, const MatmulTypes& types,
                             const Operands& operands, const ObjectCache& cache)
    : library_(library),
      work_(work),
      types_(types),
      buffers_(operands.buffers.begin(), operands.buffers.end()),
      workspace_(operands.workspace),
      workspace_bytes_(operands.workspace_bytes) {
  const auto form = matmul_form(work, types);
  CHECK(std::holds_alternative<MatmulForm>(form), "{}", std::get<std::string>(form));
  CHECK(buffers_.size() == 3 + work.addends.size(), "{} buffers for {} addends", buffers_.size(), work.addends.size());
  form_ = std::get<MatmulForm>(form);
  addresses_ = addresses();
  sums_ = points_of(work_.sums).size();
  alignment_ = alignment();
  first_ = make_call(true, cache);
  if (sums_ > 1) later_ = make_call(false, cache);
}

std::vector<LibraryMatmul::Addresses> LibraryMatmul::addresses() const {
  std::vector<MatmulWork::Batch> loop_axes;
  for (const size_t axis : form_.loops) loop_axes.push_back(work_.batch[axis]);
  // The same walk for an addend, whose strides stand apart.
  const auto offsets_of_addend = [&](std::optional<size_t> addend) {
    std::vector<MatmulWork::Batch> axes = loop_axes;
    for (size_t i = 0; i < axes.size(); ++i) axes[i].c = addend ? work_.addends[*addend].batch[form_.loops[i]] : 0;
    return points_of(axes);
  };
  const auto at = [](DevicePointer base, int64_t elements, Dtype dtype) {
    return base + static_cast<DevicePointer>(elements * dtype_bytes(dtype));
  };
  const auto loops = points_of(loop_axes);
  const auto c = offsets_of_addend(form_.c);
  const auto bias = offsets_of_addend(form_.bias);
  std::vector<Addresses> result;
  for (size_t i = 0; i < loops.size(); ++i)
    for (const MatmulWork::Batch& sum : points_of(work_.sums)) {
      const DevicePointer left = at(buffers_[0], loops[i].a + sum.a, types_.operands);
      const DevicePointer right = at(buffers_[1], loops[i].b + sum.b, types_.operands);
      Addresses& call = result.emplace_back();
      call.a = form_.swapped ? right : left;
      call.b = form_.swapped ? left : right;
      call.d = at(buffers_.back(), loops[i].c, types_.result);
      call.c = form_.c ? at(buffers_[2 + *form_.c], c[i].c, types_.result) : call.d;
      if (form_.bias) call.bias = at(buffers_[2 + *form_.bias], bias[i].c, types_.result);
    }
  return result;
}

// 16 bytes where every matrix begins at a multiple of that, else an element.
int64_t LibraryMatmul::alignment() const {
  const int64_t element = dtype_bytes(types_.operands);
  uint64_t bits = 0;
  for (const Addresses& call : addresses_) bits |= call.a | call.b | call.c | call.d;
  for (const MatmulForm::Matrix* matrix : {&form_.a, &form_.b, &form_.c_matrix, &form_.d})
    bits |= static_cast<uint64_t>(matrix->batch_stride * element);
  return bits % kBestAlignment == 0 ? kBestAlignment : element;
}

LibraryMatmul::Handle LibraryMatmul::layout(const MatmulForm::Matrix& matrix, Dtype dtype, int64_t rows,
                                            int64_t columns) const {
  const CublasLtApi& api = library_.api;
  if (matrix.transposed) std::swap(rows, columns);
  void* created = nullptr;
  library_.check(api.cublasLtMatrixLayoutCreate(&created, number_of(dtype), static_cast<uint64_t>(rows),
                                                static_cast<uint64_t>(columns), matrix.leading),
                 "describing a matrix");
  Handle handle(created, [&api](void* p) { api.cublasLtMatrixLayoutDestroy(p); });
  const auto batch = static_cast<int32_t>(form_.batch);
  library_.check(api.cublasLtMatrixLayoutSetAttribute(created, kLtLayoutBatchCount, &batch, sizeof batch),
                 "describing a batch");
  library_.check(api.cublasLtMatrixLayoutSetAttribute(created, kLtLayoutBatchStride, &matrix.batch_stride,
                                                      sizeof matrix.batch_stride),
                 "describing a batch");
  return handle;
}

LibraryMatmul::Handle LibraryMatmul::descriptor(bool with_bias) const {
  const CublasLtApi& api = library_.api;
  void* created = nullptr;
  library_.check(api.cublasLtMatmulDescCreate(&created, types_.tf32 ? kLtComputeTf32 : kLtCompute32F, kLtR32F),
                 "describing a contraction");
  Handle handle(created, [&api](void* p) { api.cublasLtMatmulDescDestroy(p); });
  const auto set = [&](int attribute, const auto& value) {
    library_.check(api.cublasLtMatmulDescSetAttribute(created, attribute, bytes_of(value), sizeof value),
                   "describing a contraction");
  };
  const int32_t transpose = kLtTranspose;
  if (form_.a.transposed) set(kLtDescTransA, transpose);
  if (form_.b.transposed) set(kLtDescTransB, transpose);
  if (!with_bias) return handle;
  const uint32_t epilogue = kLtEpilogueBias;
  set(kLtDescEpilogue, epilogue);
  set(kLtDescBiasPointer, addresses_[0].bias);
  if (form_.batch > 1) set(kLtDescBiasStride, form_.bias_batch_stride);
  return handle;
}

LibraryMatmul::Handle LibraryMatmul::preference() const {
  const CublasLtApi& api = library_.api;
  void* created = nullptr;
  library_.check(api.cublasLtMatmulPreferenceCreate(&created), "stating preferences");
  Handle handle(created, [&api](void* p) { api.cublasLtMatmulPreferenceDestroy(p); });
  const auto set = [&](int attribute, const auto& value) {
    library_.check(api.cublasLtMatmulPreferenceSetAttribute(created, attribute, bytes_of(value), sizeof value),
                   "stating preferences");
  };
  set(kLtPreferenceWorkspace, static_cast<size_t>(workspace_bytes_));
  // Partial sums of a split product meet in f32: rounded once.
  set(kLtPreferenceReduction, static_cast<uint32_t>(kLtReductionComputeType));
  for (int matrix = 0; matrix < 4; ++matrix) set(kLtPreferenceAlignmentA + matrix, static_cast<uint32_t>(alignment_));
  return handle;
}

std::string LibraryMatmul::key(bool first) const {
  const CudaDevice& device = library_.device();
  return fmt::format("cublasLt {} driver {} {} {} | {}x{}x{} batch {} {} into {}{} | {} {} {} {} | {} {} | {} {}",
                     library_.version(), device.driver().version().text(), device.info().name,
                     device.info().capability.name(), form_.m, form_.n, form_.k, form_.batch,
                     dtype_name(types_.operands), dtype_name(types_.result), types_.tf32 ? " tf32" : "",
                     matrix_text(form_.a), matrix_text(form_.b), first && form_.c ? matrix_text(form_.c_matrix) : "-",
                     matrix_text(form_.d), first && form_.bias ? fmt::format("bias+{}", form_.bias_batch_stride) : "-",
                     first ? "first" : "later", alignment_, workspace_bytes_);
}

LtAlgorithm LibraryMatmul::choose(const Call& call, const std::string& key, const ObjectCache& cache) const {
  const CublasLtApi& api = library_.api;
  const std::string name = ObjectCache::key({key});
  LtChoice choice{};
  if (const auto kept = cache.read(name, kExtension); kept && kept->size() == sizeof(LtAlgorithm)) {
    LtAlgorithm algorithm;
    std::memcpy(&algorithm, kept->data(), sizeof algorithm);
    const int status = api.cublasLtMatmulAlgoCheck(library_.handle(), call.descriptor.get(), call.a.get(), call.b.get(),
                                                   call.c.get(), call.d.get(), &algorithm, &choice);
    if (status == 0 && choice.workspace_bytes <= static_cast<size_t>(workspace_bytes_)) return algorithm;
  }
  int found = 0;
  const int status =
      api.cublasLtMatmulAlgoGetHeuristic(library_.handle(), call.descriptor.get(), call.a.get(), call.b.get(),
                                         call.c.get(), call.d.get(), preference().get(), 1, &choice, &found);
  const std::string what =
      fmt::format("choosing an algorithm for {} within {} bytes of workspace", key, workspace_bytes_);
  library_.check(status, what);
  if (found == 0) user_error("cuBLASLt {}: {}: it has none", library_.version(), what);
  library_.check(choice.state, what);
  cache.write(name, kExtension, {reinterpret_cast<const char*>(&choice.algorithm), sizeof choice.algorithm});
  return choice.algorithm;
}

LibraryMatmul::Call LibraryMatmul::make_call(bool first, const ObjectCache& cache) const {
  Call call;
  call.descriptor = descriptor(first && form_.bias.has_value());
  call.a = layout(form_.a, types_.operands, form_.m, form_.k);
  call.b = layout(form_.b, types_.operands, form_.k, form_.n);
  call.c = layout(first && form_.c ? form_.c_matrix : form_.d, types_.result, form_.m, form_.n);
  call.d = layout(form_.d, types_.result, form_.m, form_.n);
  call.algorithm = choose(call, key(first), cache);
  return call;
}

void LibraryMatmul::multiply(const Call& call, const Addresses& at, bool adds) const {
  const auto pointer = [](DevicePointer address) { return reinterpret_cast<void*>(address); };
  const float one = 1;
  const float beta = adds ? 1 : 0;
  library_.check(library_.api.cublasLtMatmul(
                     library_.handle(), call.descriptor.get(), &one, pointer(at.a), call.a.get(), pointer(at.b),
                     call.b.get(), &beta, pointer(at.c), call.c.get(), pointer(at.d), call.d.get(), &call.algorithm,
                     pointer(workspace_), static_cast<size_t>(workspace_bytes_), library_.device().stream()),
                 "multiplying");
}

void LibraryMatmul::run() const {
  for (size_t i = 0; i < addresses_.size(); ++i) {
    Addresses at = addresses_[i];
    if (i % sums_ != 0) {
      at.c = at.d;
      multiply(later_, at, true);
      continue;
    }
    if (form_.bias && addresses_.size() > sums_)
      library_.check(library_.api.cublasLtMatmulDescSetAttribute(first_.descriptor.get(), kLtDescBiasPointer, &at.bias,
                                                                 sizeof at.bias),
                     "describing a contraction");
    multiply(first_, at, form_.c.has_value());
  }
}

}  // namespace stepc::cuda
