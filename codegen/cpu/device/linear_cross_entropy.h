#pragma once

#include "codegen/cpu/device/kernel.h"
#include "codegen/cpu/device/tile.h"

// Cross-entropy of the rows of x·wᵀ + bias, and its gradients. Rows come in chunks; the logits of a chunk lie in
// scratch as [class][row], so that what is done per row is the same instruction in all lanes, and become their own
// gradient there.
namespace stepc_device {

// A tensor whose first axes are the rows: row r lies at (r / inner)·outer_stride + (r % inner)·row_stride.
template <typename T>
struct LossRows {
  T* data;
  int64_t inner, outer_stride, row_stride;

  T* at(int64_t row) const { return data + row / inner * outer_stride + row % inner * row_stride; }
};

template <typename Label, typename X>
struct LossProblem {
  int64_t rows, classes, group_tiles;  // a task of the gradients takes so many tiles of classes
  float smoothing, z_loss;
  int64_t ignore_index;
  bool mean, total;  // total: the loss is one number, the sum over rows or their mean
  LossRows<X> x, dx;
  int64_t x_column_stride, dx_column_stride;
  MatrixView<float> w, dw;  // [class][column]
  const float* bias;        // null: none
  float* dbias;
  int64_t bias_stride, dbias_stride;
  LossRows<Label> labels;
  LossRows<float> loss, upstream;  // per row, or one number each; null: not wanted, upstream_value
  float upstream_value;
  // Where things lie in scratch, in floats.
  int64_t x_rows, x_columns, logits, statistics, partial_dx, losses;
};

// For chunks of kRows rows and tiles of kClasses classes; the depth is cut into blocks of kStep.
template <int64_t kRows, int64_t kClasses, int64_t kDepth, int64_t kStep, bool kGradX, bool kGradW, bool kGradBias,
          typename Label, typename X>
class LinearCrossEntropy {
 public:
  LinearCrossEntropy(const StepcKernelArgs* args, const LossProblem<Label, X>& problem)
      : args_(args),
        p_(problem),
        scratch_(static_cast<float*>(args->scratch)),
        tiles_((problem.classes + kClasses - 1) / kClasses),
        groups_((tiles_ + problem.group_tiles - 1) / problem.group_tiles) {}

  void run() {
    for (int64_t r = 0; r < p_.rows; ++r) count_ += is_counted(*p_.labels.at(r)) ? 1 : 0;
    do {  // without rows the gradients are 0 all the same
      run_chunk();
      first_ += kRows;
    } while (first_ < p_.rows);
    if (p_.total && p_.loss.data != nullptr) reduce_losses();
  }

 private:
  static constexpr int64_t kLine = kTileLine;
  static constexpr int64_t kBlocks = (kDepth + kStep - 1) / kStep;
  typedef Tile<kRows, kStep> RowsTile;        // x, dx
  typedef Tile<kStep, kRows> ColumnsTile;     // xᵀ
  typedef Tile<kClasses, kStep> WeightsTile;  // w, dw
  typedef Tile<kClasses, kRows> LogitsTile;
  static_assert(kRows % kLine == 0 && kStep % kLine == 0, "whole lines");

  // Of a tile of logits, per row: its maximum, Σ exp(x − shift) and Σ (x − shift), where shift is the maximum or 0.
  struct TileStatistics {
    float maximum[kRows], sum[kRows], plain[kRows];
  };

  RowsTile& x_rows(int64_t block) const { return reinterpret_cast<RowsTile*>(scratch_ + p_.x_rows)[block]; }
  ColumnsTile& x_columns(int64_t block) const { return reinterpret_cast<ColumnsTile*>(scratch_ + p_.x_columns)[block]; }
  LogitsTile& logits(int64_t tile) const { return reinterpret_cast<LogitsTile*>(scratch_ + p_.logits)[tile]; }
  TileStatistics& statistics(int64_t tile) const {
    return reinterpret_cast<TileStatistics*>(scratch_ + p_.statistics)[tile];
  }
  RowsTile& partial_dx(int64_t group, int64_t block) const {
    return reinterpret_cast<RowsTile*>(scratch_ + p_.partial_dx)[group * kBlocks + block];
  }

  static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
  int64_t classes_of(int64_t tile) const { return least(kClasses, p_.classes - tile * kClasses); }
  static int64_t depth_of(int64_t block) { return least(kStep, kDepth - block * kStep); }
  bool is_counted(Label label) const { return static_cast<int64_t>(label) != p_.ignore_index; }

  void run_chunk() {
    const auto for_each = [&](int64_t tasks, const auto& run) {
      parallel_for(args_, tasks, 1, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) run(task);
      });
    };
    for_each(kBlocks, [&](int64_t block) { pack(block); });
    for_each(tiles_, [&](int64_t tile) { make_logits(tile); });
    for_each(kRows / kLine, [&](int64_t line) { finish_rows(line * kLine); });
    if (!kGradX && !kGradW && !kGradBias) return;
    for_each(tiles_, [&](int64_t tile) { differentiate(tile); });
    if (kGradX || kGradW) for_each(groups_ * kBlocks, [&](int64_t task) { gradients(task / kBlocks, task % kBlocks); });
    if (kGradX) for_each(least(kRows, p_.rows - first_), [&](int64_t r) { sum_dx(r); });
  }

  // The chunk's rows as tiles, and transposed.
  void pack(int64_t block) const {
    const int64_t rows = least(kRows, p_.rows - first_);
    RowsTile& tile = x_rows(block);
    const int64_t depth = depth_of(block);
    for (int64_t r = 0; r < kRows; ++r) {
      float* const to = tile.row(r);
      const int64_t columns = r < rows ? depth : 0;
      const X* const from = r < rows ? p_.x.at(first_ + r) + block * kStep * p_.x_column_stride : nullptr;
      for (int64_t c = 0; c < columns; ++c) to[c] = widened(from[c * p_.x_column_stride]);
      for (int64_t c = columns; c < kStep; ++c) to[c] = 0;
    }
    transpose(tile, x_columns(block));
  }

  // `rows` rows of `columns` elements of a matrix; the rest of the tile is 0.
  static void load(WeightsTile& tile, const MatrixView<float>& from, int64_t rows, int64_t columns) {
    if (from.column_stride != 1 && from.row_stride == 1) {
      Tile<kStep, kClasses> across;
      for (int64_t c = 0; c < kStep; ++c) {
        const float* const x = from.data + c * from.column_stride;
        const int64_t count = c < columns ? rows : 0;
        if (count == kClasses)
          copy_row<kClasses>(across.row(c), x);
        else
          for (int64_t r = 0; r < kClasses; ++r) across.row(c)[r] = r < count ? x[r] : 0.0F;
      }
      return transpose(across, tile);
    }
    for (int64_t r = 0; r < kClasses; ++r) {
      const float* const x = from.data + r * from.row_stride;
      const int64_t count = r < rows ? columns : 0;
      if (from.column_stride == 1 && count == kStep)
        copy_row<kStep>(tile.row(r), x);
      else
        for (int64_t c = 0; c < kStep; ++c) tile.row(r)[c] = c < count ? x[c * from.column_stride] : 0.0F;
    }
  }

  static void store(const WeightsTile& tile, const MatrixView<float>& to, int64_t rows, int64_t columns) {
    if (to.column_stride != 1 && to.row_stride == 1) {
      Tile<kStep, kClasses> across;
      transpose(tile, across);
      for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r) to.data[c * to.column_stride + r] = across.row(c)[r];
      return;
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) to.data[r * to.row_stride + c * to.column_stride] = tile.row(r)[c];
  }

  static MatrixView<float> part(const MatrixView<float>& of, int64_t tile, int64_t block) {
    return {of.data + tile * kClasses * of.row_stride + block * kStep * of.column_stride, of.row_stride,
            of.column_stride};
  }

  void make_logits(int64_t tile) const {
    WeightsTile w;
    LogitsTile& x = logits(tile);
    const int64_t classes = classes_of(tile);
    x.fill(0);
    for (int64_t block = 0; block < kBlocks; ++block) {
      load(w, part(p_.w, tile, block), classes, depth_of(block));
      multiply<true, kStep>(w, x_columns(block), x);
    }
    if (p_.bias != nullptr)
      for (int64_t c = 0; c < classes; ++c) {
        const float bias = p_.bias[(tile * kClasses + c) * p_.bias_stride];
        float* const row = x.row(c);
        for (int64_t r = 0; r < kRows; ++r) row[r] = row[r] + bias;
      }
    summarise(x, classes, statistics(tile));
  }

  void summarise(const LogitsTile& x, int64_t classes, TileStatistics& s) const {
    float shift[kRows], sum[kRows];
    for (int64_t r = 0; r < kRows; ++r) shift[r] = -__builtin_inff();
    for (int64_t c = 0; c < classes; ++c) {
      const float* const row = x.row(c);
      for (int64_t r = 0; r < kRows; ++r) shift[r] = MaxOf<float>::combine(shift[r], row[r]);
    }
    for (int64_t r = 0; r < kRows; ++r) {
      s.maximum[r] = shift[r];
      shift[r] = shift[r] == -__builtin_inff() ? 0.0F : shift[r];
      sum[r] = 0;
    }
    for (int64_t c = 0; c < classes; ++c) {
      const float* const row = x.row(c);
      STEPC_INDEPENDENT
      for (int64_t r = 0; r < kRows; ++r) sum[r] = sum[r] + exp_bounded_f32(row[r] - shift[r]);
    }
    for (int64_t r = 0; r < kRows; ++r) s.sum[r] = sum[r];
    if (p_.smoothing == 0) return;
    for (int64_t r = 0; r < kRows; ++r) sum[r] = 0;
    for (int64_t c = 0; c < classes; ++c) {
      const float* const row = x.row(c);
      for (int64_t r = 0; r < kRows; ++r) sum[r] = sum[r] + (row[r] - shift[r]);
    }
    for (int64_t r = 0; r < kRows; ++r) s.plain[r] = sum[r];
  }

  // Statistics, loss and weight of kLine rows.
  void finish_rows(int64_t at) {
    float maximum[kLine], sum[kLine], plain[kLine];
    for (int64_t i = 0; i < kLine; ++i) {
      maximum[i] = -__builtin_inff();
      sum[i] = plain[i] = 0;
    }
    for (int64_t tile = 0; tile < tiles_; ++tile)
      for (int64_t i = 0; i < kLine; ++i)
        maximum[i] = MaxOf<float>::combine(maximum[i], statistics(tile).maximum[at + i]);
    for (int64_t tile = 0; tile < tiles_; ++tile) {
      const TileStatistics& s = statistics(tile);
      for (int64_t i = 0; i < kLine; ++i)
        sum[i] = sum[i] + s.sum[at + i] * exp_bounded_f32(s.maximum[at + i] - maximum[i]);
      if (p_.smoothing == 0) continue;
      const auto classes = static_cast<float>(classes_of(tile));
      for (int64_t i = 0; i < kLine; ++i) {
        const float shift = s.maximum[at + i] == -__builtin_inff() ? 0.0F : s.maximum[at + i];
        plain[i] = plain[i] + (s.plain[at + i] + classes * (shift - maximum[i]));
      }
    }
    for (int64_t i = 0; i < kLine; ++i) {
      const int64_t r = at + i, row = first_ + r;
      maximum_[r] = maximum[i];
      log_sum_[r] = log_f32(sum[i]);
      const float lse = maximum[i] + log_sum_[r];
      share_[r] = 1.0F + 2.0F * p_.z_loss * lse;
      label_[r] = row < p_.rows ? label_of(row) : -1;
      weight_[r] = 0;
      if (row >= p_.rows) continue;
      float loss = 0;
      if (label_[r] >= 0) {
        const float own = logits(label_[r] / kClasses).row(label_[r] % kClasses)[r] - maximum[i];
        loss = log_sum_[r] - (1.0F - p_.smoothing) * own;
        if (p_.smoothing != 0) loss = loss - p_.smoothing / static_cast<float>(p_.classes) * plain[i];
        if (p_.z_loss != 0) loss = loss + p_.z_loss * (lse * lse);
      }
      weight_[r] = weight_of(row);
      if (p_.total)
        scratch_[p_.losses + row] = loss;
      else if (p_.loss.data != nullptr)
        *p_.loss.at(row) = loss;
    }
  }

  // -1 where the row does not count.
  int32_t label_of(int64_t row) const {
    const Label label = *p_.labels.at(row);
    if (!is_counted(label)) return -1;
    if (static_cast<int64_t>(label) >= 0 && static_cast<int64_t>(label) < p_.classes)
      return static_cast<int32_t>(label);
    report_index(args_->error, label < 0 ? p_.classes : static_cast<int64_t>(label), p_.classes);
    return 0;
  }

  // The gradient of the row's loss.
  float weight_of(int64_t row) const {
    const float upstream = p_.upstream.data == nullptr ? p_.upstream_value : *p_.upstream.at(p_.total ? 0 : row);
    return p_.mean ? upstream / static_cast<float>(count_) : upstream;
  }

  // dw of a group of classes, and what they add to dx, over one block of the depth.
  void gradients(int64_t group, int64_t block) const {
    const int64_t begin = group * p_.group_tiles, end = least(begin + p_.group_tiles, tiles_);
    const int64_t depth = depth_of(block);
    RowsTile& dx = partial_dx(group, block);
    if (kGradX) dx.fill(0);
    WeightsTile w;
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t classes = classes_of(tile);
      if (kGradX) {
        load(w, part(p_.w, tile, block), classes, depth);
        multiply_transposed<true>(logits(tile), w, dx);
      }
      if (!kGradW) continue;
      const MatrixView<float> dw = part(p_.dw, tile, block);
      if (first_ == 0)
        w.fill(0);
      else
        load(w, dw, classes, depth);
      multiply<true, kRows>(logits(tile), x_rows(block), w);
      store(w, dw, classes, depth);
    }
  }

  // The gradient of a tile of logits in its place: with p = exp(x − lse) and q the smoothed target, weight·((1 +
  // 2·z_loss·lse)·p − q).
  void differentiate(int64_t tile) const {
    LogitsTile& x = logits(tile);
    const int64_t classes = classes_of(tile);
    const float elsewhere = p_.smoothing / static_cast<float>(p_.classes), here = 1.0F - p_.smoothing + elsewhere;
    for (int64_t c = 0; c < kClasses; ++c) {
      float* const row = x.row(c);
      const auto own = static_cast<int32_t>(tile * kClasses + c);
      if (c >= classes) {
        for (int64_t r = 0; r < kRows; ++r) row[r] = 0;
        continue;
      }
      STEPC_INDEPENDENT
      for (int64_t r = 0; r < kRows; ++r) {
        const float p = exp_bounded_f32((row[r] - maximum_[r]) - log_sum_[r]);
        const float q = label_[r] == own ? here : elsewhere;
        const float d = (share_[r] * p - q) * weight_[r];
        row[r] = label_[r] < 0 ? 0.0F : d;
      }
      if (kGradBias) {
        RowReduction<float, SumOf<float>> sum;
        sum.add(row, kRows);
        sum.end_segment();
        float& dbias = p_.dbias[own * p_.dbias_stride];
        dbias = first_ == 0 ? sum.result() : dbias + sum.result();
      }
    }
  }

  void sum_dx(int64_t r) const {
    for (int64_t block = 0; block < kBlocks; ++block) {
      X* const to = p_.dx.at(first_ + r) + block * kStep * p_.dx_column_stride;
      const int64_t depth = depth_of(block);
      float* const sum = partial_dx(0, block).row(r);
      for (int64_t group = 1; group < groups_; ++group) {
        const float* const from = partial_dx(group, block).row(r);
        for (int64_t c = 0; c < depth; ++c) sum[c] = sum[c] + from[c];
      }
      for (int64_t c = 0; c < depth; ++c) narrow(sum[c], to[c * p_.dx_column_stride]);
    }
  }

  void reduce_losses() const {
    RowReduction<float, SumOf<float>> sum;
    for (int64_t r = 0; r < p_.rows; r += kSegment) {
      sum.add(scratch_ + p_.losses + r, least(kSegment, p_.rows - r));
      sum.end_segment();
    }
    *p_.loss.data = p_.mean ? sum.result() / static_cast<float>(count_) : sum.result();
  }

  static constexpr int64_t kSegment = 4096;
  const StepcKernelArgs* args_;
  const LossProblem<Label, X>& p_;
  float* const scratch_;
  const int64_t tiles_, groups_;
  int64_t count_ = 0, first_ = 0;
  float maximum_[kRows], log_sum_[kRows], share_[kRows], weight_[kRows];
  int32_t label_[kRows];
};

}  // namespace stepc_device
