#pragma once

#include "codegen/cuda/device/fragment.cuh"
#include "codegen/cuda/device/kernel.cuh"
#include "codegen/device/math_f32.h"

// Cross-entropy of the rows of x·wᵀ + bias, and its gradients. Rows come in chunks; the logits of a chunk lie in
// scratch as [row][class] and become their own gradient there. Every chunk is the same stages, launched again: which
// one it is stands in scratch.
//
// The fragment says how products are made: where x has 16 bits, w and the gradients of the logits are rounded to its
// type as a tile is loaded.
namespace stepc_device {

// A tensor whose first axes are the rows: row r lies at (r / inner)·outer_stride + (r % inner)·row_stride.
template <typename T>
struct LossRows {
  T* data;
  int64_t inner, outer_stride, row_stride;

  __device__ __forceinline__ T* at(int64_t row) const {
    return data + row / inner * outer_stride + row % inner * row_stride;
  }
  __device__ __forceinline__ SplitRows<T> matrix(int64_t first, int64_t column_stride) const {
    return {data, first, inner, outer_stride, row_stride, column_stride};
  }
};

// What is known of a row of the chunk when its logits are.
typedef Vector<float, 4> LossRow;  // maximum, log Σ exp(x − maximum), 1 + 2·z_loss·lse, weight of the loss

template <typename Label, typename X>
struct LossProblem {
  int64_t rows, classes, depth, chunk_rows;
  float smoothing, z_loss;
  int64_t ignore_index;
  bool mean, total;  // total: the loss is one number, the sum over rows or their mean
  LossRows<const X> x;
  LossRows<X> dx;
  int64_t x_column_stride, dx_column_stride;
  MatrixView<const float> w;  // [class][column]
  MatrixView<float> dw;
  const float* bias;  // null: none
  float* dbias;
  int64_t bias_stride, dbias_stride;
  LossRows<const Label> labels;
  LossRows<float> loss;
  LossRows<const float> upstream;  // per row, or one number each; null: not wanted, upstream_value
  float upstream_value;
  // Scratch.
  int64_t* counts;  // rows that are done; rows that count
  float* logits;    // [chunk_rows][logits_stride]
  int64_t logits_stride;
  float* statistics;  // [chunk_rows][tiles of classes][3]
  float* known;       // LossRow of each row of the chunk
  int32_t* label;     // of each row of the chunk, -1 where it does not count
  float* partial_dx;  // [groups][chunk_rows][depth]
  float* losses;      // [rows]

  __device__ __forceinline__ int64_t first_row() const { return load(counts, 0); }
  __device__ __forceinline__ int rows_of_chunk(int64_t first) const {
    const int64_t left = rows - first;
    return static_cast<int>(left < chunk_rows ? left : chunk_rows);
  }
  __device__ __forceinline__ bool is_counted(Label label_of_row) const {
    return static_cast<int64_t>(label_of_row) != ignore_index;
  }
};

template <int kCount>
__device__ __forceinline__ int existing(int64_t first, int64_t extent) {
  const int64_t left = extent - first;
  return static_cast<int>(left < 0 ? 0 : (left < kCount ? left : kCount));
}

// The sum of one number per thread, in thread 0.
template <int kThreads, typename T>
__device__ __forceinline__ T block_sum(T value) {
  __shared__ T sums[kThreads];
  shared_store(sums, thread_index(), value);
  __syncthreads();
  T total = 0;
  if (thread_index() == 0)
    for (int t = 0; t < kThreads; ++t) total = total + shared_load(sums, t);
  return total;
}

// One block, before the first chunk.
template <int kThreads, typename Label, typename X>
__device__ __forceinline__ void count_rows(const LossProblem<Label, X>& p) {
  int64_t count = 0;
  for (int64_t row = thread_index(); row < p.rows; row += kThreads)
    count += p.is_counted(load(p.labels.at(row), 0)) ? 1 : 0;
  count = block_sum<kThreads>(count);
  if (thread_index() != 0) return;
  store(p.counts, 0, int64_t{0});
  store(p.counts, 1, count);
}

// One thread, between chunks.
template <typename Label, typename X>
__device__ __forceinline__ void next_chunk(const LossProblem<Label, X>& p) {
  store(p.counts, 0, p.first_row() + p.chunk_rows);
}

// A tile of logits and, per row, its maximum, Σ exp(x − shift) and Σ (x − shift), where shift is the maximum or 0.
template <int kRows, int kClasses, int kStep, typename Fragment>
struct LogitsTile {
  typedef typename Fragment::Operand E;
  static constexpr int kThreads = kRows / Fragment::kWarpRows * kWarpLanes;
  static constexpr int kStride = padded_stride<E>(kStep);
  static constexpr int kColumns = kClasses / Fragment::kRowLanes;
  static constexpr int kSharedBytes = (kRows + kClasses) * kStride * static_cast<int>(sizeof(E));

  template <typename Label, typename X>
  __device__ __forceinline__ static void run(const LossProblem<Label, X>& p) {
    const int64_t tiles = (p.chunk_rows + kRows - 1) / kRows, chunk = p.first_row();
    const int64_t first = blockIdx.x % tiles * kRows, tile = blockIdx.x / tiles, own = tile * kClasses;
    const int rows = existing<kRows>(first, p.rows_of_chunk(chunk)), classes = existing<kClasses>(own, p.classes);
    float x[Fragment::kRows][kColumns];
    fill(x, 0);
    E* const of_rows = reinterpret_cast<E*>(stepc_shared);
    E* const of_classes = of_rows + kRows * kStride;
    SplitRows<const X> from_rows = p.x.matrix(chunk + first, p.x_column_stride);
    MatrixView<const float> from_classes = p.w;
    from_classes.data = p.w.row(own);
#pragma unroll 1
    for (int64_t step = 0; step < p.depth; step += kStep) {
      const int depth = existing<kStep>(step, p.depth);
      __syncthreads();
      load_tile<kThreads, kRows, kStep>(of_rows, kStride, from_rows, rows, depth);
      load_tile<kThreads, kClasses, kStep>(of_classes, kStride, from_classes, classes, depth);
      commit_async();
      wait_async<0>();
      __syncthreads();
      Fragment::scores(x, of_rows, of_classes, kStride, kStep);
      from_rows.data += kStep * from_rows.column_stride;
      from_classes.data += kStep * from_classes.column_stride;
    }
    finish(p, x, first, tile, own, rows, classes);
  }

 private:
  template <typename Label, typename X>
  __device__ __forceinline__ static void finish(const LossProblem<Label, X>& p, float (&x)[Fragment::kRows][kColumns],
                                                int64_t first, int64_t tile, int64_t own, int rows, int classes) {
    if (p.bias != nullptr) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        const int c = Fragment::score_column(j);
        const float bias = c < classes ? load(p.bias, (own + c) * p.bias_stride) : 0.0F;
#pragma unroll
        for (int i = 0; i < Fragment::kRows; ++i) x[i][j] = x[i][j] + bias;
      }
    }
    const int64_t tiles = (p.classes + kClasses - 1) / kClasses;
#pragma unroll
    for (int i = 0; i < Fragment::kRows; ++i) {
      const int r = Fragment::row(i);
      float greatest = Limits<float>::low(), sum = 0, plain = 0;
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
        if (Fragment::score_column(j) < classes) greatest = MaxOf<float>::combine(greatest, x[i][j]);
      greatest = combine_lanes<Fragment::kRowLanes, MaxOf<float>>(greatest);
      const float shift = greatest == Limits<float>::low() ? 0.0F : greatest;
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        if (Fragment::score_column(j) >= classes) continue;
        sum = sum + exp_bounded_f32(x[i][j] - shift);
        plain = plain + (x[i][j] - shift);
        if (r < rows) store(p.logits, (first + r) * p.logits_stride + own + Fragment::score_column(j), x[i][j]);
      }
      sum = combine_lanes<Fragment::kRowLanes, SumOf<float>>(sum);
      plain = combine_lanes<Fragment::kRowLanes, SumOf<float>>(plain);
      if (r >= rows || lane_index() % Fragment::kRowLanes != 0) continue;
      const int64_t at = ((first + r) * tiles + tile) * 3;
      store(p.statistics, at, greatest);
      store(p.statistics, at + 1, sum);
      store(p.statistics, at + 2, plain);
    }
  }
};

// The loss of one row per warp, and what its gradient needs.
template <int kThreads, int kClasses, typename Label, typename X>
struct LossOfRows {
  const LossProblem<Label, X>& p;
  StepcIndexError* error;

  __device__ __forceinline__ void run() const {
    const int64_t chunk = p.first_row(), r = int64_t{blockIdx.x} * (kThreads / kWarpLanes) + warp_index();
    if (r >= p.rows_of_chunk(chunk)) return;
    const int64_t tiles = (p.classes + kClasses - 1) / kClasses, row = chunk + r;
    const float* const statistics = p.statistics + r * tiles * 3;
    float maximum = Limits<float>::low(), sum = 0, plain = 0;
    for (int64_t tile = lane_index(); tile < tiles; tile += kWarpLanes)
      maximum = MaxOf<float>::combine(maximum, load(statistics, tile * 3));
    maximum = combine_lanes<kWarpLanes, MaxOf<float>>(maximum);
    for (int64_t tile = lane_index(); tile < tiles; tile += kWarpLanes) {
      const float of_tile = load(statistics, tile * 3);
      const float shift = of_tile == Limits<float>::low() ? 0.0F : of_tile;
      const float classes = static_cast<float>(existing<kClasses>(tile * kClasses, p.classes));
      sum = sum + load(statistics, tile * 3 + 1) * exp_bounded_f32(of_tile - maximum);
      plain = plain + (load(statistics, tile * 3 + 2) + classes * (shift - maximum));
    }
    sum = combine_lanes<kWarpLanes, SumOf<float>>(sum);
    plain = combine_lanes<kWarpLanes, SumOf<float>>(plain);
    if (lane_index() == 0) finish(r, row, maximum, sum, plain);
  }

 private:
  __device__ __forceinline__ void finish(int64_t r, int64_t row, float maximum, float sum, float plain) const {
    const float log_sum = log_f32(sum), lse = maximum + log_sum;
    const int32_t label = label_of(row);
    float loss = 0;
    if (label >= 0) {
      const float own = load(p.logits, r * p.logits_stride + label) - maximum;
      loss = log_sum - (1.0F - p.smoothing) * own;
      if (p.smoothing != 0) loss = loss - p.smoothing / static_cast<float>(p.classes) * plain;
      if (p.z_loss != 0) loss = loss + p.z_loss * (lse * lse);
    }
    LossRow known;
    known[0] = maximum;
    known[1] = log_sum;
    known[2] = 1.0F + 2.0F * p.z_loss * lse;
    known[3] = weight_of(row);
    store_vector<4>(p.known, r * 4, known);
    store(p.label, r, label);
    if (p.total)
      store(p.losses, row, loss);
    else if (p.loss.data != nullptr)
      store(p.loss.at(row), 0, loss);
  }

  // -1 where the row does not count.
  __device__ __forceinline__ int32_t label_of(int64_t row) const {
    const Label label = load(p.labels.at(row), 0);
    if (!p.is_counted(label)) return -1;
    if (static_cast<int64_t>(label) >= 0 && static_cast<int64_t>(label) < p.classes) return static_cast<int32_t>(label);
    report_index(error, label < 0 ? p.classes : static_cast<int64_t>(label), p.classes);
    return 0;
  }

  // The gradient of the row's loss.
  __device__ __forceinline__ float weight_of(int64_t row) const {
    const float upstream = p.upstream.data == nullptr ? p.upstream_value : load(p.upstream.at(p.total ? 0 : row), 0);
    return p.mean ? upstream / static_cast<float>(load(p.counts, 1)) : upstream;
  }
};

// One block, after the last chunk: the sum over rows, or their mean.
template <int kThreads, typename Label, typename X>
__device__ __forceinline__ void reduce_losses(const LossProblem<Label, X>& p) {
  float sum = 0;
  for (int64_t row = thread_index(); row < p.rows; row += kThreads) sum = sum + load(p.losses, row);
  sum = block_sum<kThreads>(sum);
  if (thread_index() == 0) store(p.loss.data, 0, p.mean ? sum / static_cast<float>(load(p.counts, 1)) : sum);
}

}  // namespace stepc_device
