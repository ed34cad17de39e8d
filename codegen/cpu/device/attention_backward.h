#pragma once

#include "codegen/cpu/device/attention.h"

// The gradients of attention from q, k, v, the result o and its log-sum-exp (Dao et al. 2022, appendix B.4). With
// delta = Σ_d do·o per query, per tile:
//   P = exp(s − lse − rest),  dP = Z∘(do·vᵀ) with the factors Z of dropout,  dS = P∘(dP − delta)∘slope·scale,
//   dv += (P∘Z)ᵀ·do,  dk += dSᵀ·q,  dq += dS·k,  dmask += P∘(dP − delta)
// Where lse is so large that its rounding shows, as in rows that a large finite number masks, `rest` is what it lost:
// log Σ_j exp(s − lse), from the scores once more. Elsewhere it is 0.
// Scores are held as [queries][keys]: nothing is summed per query, and only the tile of keys, which stays for all its
// queries, is needed transposed. Sums run in the order of tiles, never across threads.
namespace stepc_device {

template <typename E, typename Mask>
struct AttentionGradients {
  AttentionTensor<E> q, k, v, o;
  AttentionTensor<float> lse;
  AttentionTensor<E> d_o, dq, dk, dv;
  AttentionTensor<Mask> d_mask;  // strides over [batch, head, query, key], 0 where it is a sum
};

// What the backward finds first, per query.
struct QueryStatistics {
  float delta, rest;
};

// From here on an f32 lse is off by 2⁻¹⁹, and so is P.
constexpr float kLargeLse = 64.0F;

// Which gradient of the scores is found.
enum class GradientOf { products, mask };

template <int64_t kQueries, int64_t kKeys, int64_t kDepth, int64_t kValueDepth, bool kMaskGradient, typename E,
          typename Mask>
class AttentionBackward {
 public:
  // `statistics`: [batch, heads, queries].
  AttentionBackward(const AttentionProblem<Mask>& problem, const AttentionGradients<E, Mask>& tensors,
                    QueryStatistics* statistics)
      : p_(problem), t_(tensors), statistics_(statistics) {}

  void find_statistics(int64_t batch, int64_t head, int64_t query) {
    const int64_t rows = clamped(p_.queries - query, 0, kQueries);
    load_tile<kValueDepth>(d_o_, t_.d_o.matrix(batch, head, query), rows);
    load_tile<kValueDepth>(o_, t_.o.matrix(batch, head, query), rows);
    QueryStatistics* const of = statistics_at(batch, head, query);
    const float* const lse = t_.lse.at(batch, head, query);
    bool large = false;
    for (int64_t i = 0; i < rows; ++i) {
      of[i] = {dot<kValueDepth>(d_o_.row(i), o_.row(i)), 0.0F};
      large |= is_large(lse[i * t_.lse.strides[2]]);
    }
    if (large) find_rest({batch, head, query, 0, rows, 0}, of);
  }

  // dk and dv of one tile of keys; with kAddToQueries, adds its share to dq of all queries that attend to it.
  template <bool kAddToQueries>
  void keys(int64_t batch, int64_t key_head, int64_t key) {
    const int64_t columns = clamped(p_.keys - key, 0, kKeys), group = p_.heads / p_.key_heads;
    load_keys(batch, key_head, key, columns);
    dk_.fill(0);
    dv_.fill(0);
    const Range range = queries_of<kQueries>(p_, key, key + columns - 1);
    for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head)
      for (int64_t query = range.begin; query < range.end; query += kQueries) {
        const int64_t rows = clamped(p_.queries - query, 0, kQueries);
        load_queries(batch, head, query, rows);
        gradient_of_scores<GradientOf::products>({batch, head, query, key, rows, columns});
        multiply_transposed<true>(s_, d_o_, dv_);
        multiply_transposed<true>(ds_, q_, dk_);
        if (!kAddToQueries) continue;
        multiply<false, kKeys>(ds_, k_, dq_);
        store_tile<true, kDepth>(t_.dq.matrix(batch, head, query), dq_, rows);
      }
    store_tile<false, kDepth>(t_.dk.matrix(batch, key_head, key), dk_, columns);
    store_tile<false, kValueDepth>(t_.dv.matrix(batch, key_head, key), dv_, columns);
  }

  // dq of one tile of queries.
  void queries(int64_t batch, int64_t head, int64_t query) {
    const int64_t rows = clamped(p_.queries - query, 0, kQueries);
    load_queries(batch, head, query, rows);
    dq_.fill(0);
    const Range range = keys_of<kKeys>(p_, query, query + rows - 1);
    for (int64_t key = range.begin; key < range.end; key += kKeys) {
      const int64_t columns = clamped(p_.keys - key, 0, kKeys);
      load_keys(batch, head / (p_.heads / p_.key_heads), key, columns);
      gradient_of_scores<GradientOf::products>({batch, head, query, key, rows, columns});
      multiply<true, kKeys>(ds_, k_, dq_);
    }
    store_tile<false, kDepth>(t_.dq.matrix(batch, head, query), dq_, rows);
  }

  // The gradient of the mask in one tile of queries and keys, or in all of them where it is broadcast.
  void mask(Range batches, Range heads, Range queries, Range keys) {
    mask_sum_.fill(0);
    for (int64_t batch = batches.begin; batch < batches.end; ++batch)
      for (int64_t head = heads.begin; head < heads.end; ++head)
        for (int64_t query = queries.begin; query < queries.end; query += kQueries)
          add_to_mask(batch, head, query, keys);
    store_mask(batches.begin, heads.begin, queries, keys);
  }

  void clear_queries(int64_t batch, int64_t head) {
    dq_.fill(0);
    for (int64_t query = 0; query < p_.queries; query += kQueries)
      store_tile<false, kDepth>(t_.dq.matrix(batch, head, query), dq_, clamped(p_.queries - query, 0, kQueries));
  }

 private:
  QueryStatistics* statistics_at(int64_t batch, int64_t head, int64_t query) const {
    return statistics_ + (batch * p_.heads + head) * p_.queries + query;
  }

  static bool is_large(float lse) { return __builtin_fabsf(lse) >= kLargeLse && lse != -__builtin_inff(); }

  void find_rest(ScorePlace at, QueryStatistics* of) {
    load_queries(at.batch, at.head, at.query, at.rows);
    float sum[kQueries] = {};
    const Range range = keys_of<kKeys>(p_, at.query, at.query + at.rows - 1);
    for (at.key = range.begin; at.key < range.end; at.key += kKeys) {
      at.columns = clamped(p_.keys - at.key, 0, kKeys);
      load_tile<kDepth>(k_, t_.k.matrix(at.batch, at.head / (p_.heads / p_.key_heads), at.key), at.columns);
      transpose(k_, k_transposed_);
      find_scores(at);
      for (int64_t i = 0; i < at.rows; ++i)
        for (int64_t j = 0; j < kKeys; ++j) sum[i] = sum[i] + exp_bounded_f32(s_.row(i)[j] - shift_[i]);
    }
    for (int64_t i = 0; i < at.rows; ++i)
      if (is_large(t_.lse.at(at.batch, at.head, at.query)[i * t_.lse.strides[2]])) of[i].rest = log_f32(sum[i]);
  }

  void find_scores(const ScorePlace& at) {
    multiply<false, kDepth>(q_, k_transposed_, s_);
    rules_.template apply<true>(p_, queries_by_keys(p_, at), s_, slopes_);
  }

  void load_keys(int64_t batch, int64_t key_head, int64_t key, int64_t columns) {
    load_tile<kDepth>(k_, t_.k.matrix(batch, key_head, key), columns);
    load_tile<kValueDepth>(v_, t_.v.matrix(batch, key_head, key), columns);
    transpose(k_, k_transposed_);
    transpose(v_, v_transposed_);
  }

  void load_queries(int64_t batch, int64_t head, int64_t query, int64_t rows) {
    load_tile<kDepth>(q_, t_.q.matrix(batch, head, query), rows);
    load_tile<kValueDepth>(d_o_, t_.d_o.matrix(batch, head, query), rows);
    const float* const lse = t_.lse.at(batch, head, query);
    const QueryStatistics* const of = statistics_at(batch, head, query);
    for (int64_t i = 0; i < kQueries; ++i) {
      const float x = i < rows ? lse[i * t_.lse.strides[2]] : -__builtin_inff();
      shift_[i] = x == -__builtin_inff() ? -x : x;  // a dead query: P is 0
      known_[i] = i < rows ? of[i] : QueryStatistics{0.0F, 0.0F};
    }
  }

  void add_to_mask(int64_t batch, int64_t head, int64_t query, Range keys) {
    const int64_t rows = clamped(p_.queries - query, 0, kQueries);
    const Range range = keys_of<kKeys>(p_, query, query + rows - 1);
    load_queries(batch, head, query, rows);
    for (int64_t key = keys.begin; key < keys.end; key += kKeys) {
      if (key + kKeys <= range.begin || key >= range.end) continue;
      const int64_t columns = clamped(p_.keys - key, 0, kKeys);
      load_keys(batch, head / (p_.heads / p_.key_heads), key, columns);
      gradient_of_scores<GradientOf::mask>({batch, head, query, key, rows, columns});
      for (int64_t i = 0; i < kQueries; ++i) {
        float* const sum = mask_sum_.row(i);
        for (int64_t j = 0; j < kKeys; ++j) sum[j] = sum[j] + ds_.row(i)[j];
      }
    }
  }

  void store_mask(int64_t batch, int64_t head, Range queries, Range keys) {
    const int64_t* const strides = t_.d_mask.strides;
    Tile<kQueries, kKeys>& sum = mask_sum_;
    if (strides[2] == 0)
      for (int64_t i = 1; i < kQueries; ++i)
        for (int64_t j = 0; j < kKeys; ++j) sum.row(0)[j] = sum.row(0)[j] + sum.row(i)[j];
    if (strides[3] == 0)
      for (int64_t i = 0; i < kQueries; ++i)
        for (int64_t j = 1; j < kKeys; ++j) sum.row(i)[0] = sum.row(i)[0] + sum.row(i)[j];
    const int64_t rows = strides[2] == 0 ? 1 : clamped(p_.queries - queries.begin, 0, kQueries);
    const int64_t columns = strides[3] == 0 ? 1 : clamped(p_.keys - keys.begin, 0, kKeys);
    Mask* const to = t_.d_mask.at(batch, head, queries.begin) + keys.begin * strides[3];
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) narrow(sum.row(i)[j], to[i * strides[2] + j * strides[3]]);
  }

  // P∘Z in s_ and dS in ds_.
  template <GradientOf kOf>
  void gradient_of_scores(const ScorePlace& at) {
    find_scores(at);
    multiply<false, kValueDepth>(d_o_, v_transposed_, ds_);
    const bool capped = kOf == GradientOf::products && p_.softcap != 0, drops = p_.dropout != 0;
    const float scale = kOf == GradientOf::products ? p_.scale : 1.0F;
    if (drops) rules_.template find_factors<false>(p_, at);
    for (int64_t i = 0; i < kQueries; ++i) {
      float* const x = s_.row(i);
      float* const y = ds_.row(i);
      const float* const slope = slopes_.row(i);
      const float shift = shift_[i], delta = known_[i].delta, rest = known_[i].rest;
      if (drops) scale_row<kKeys>(y, rules_.factors(i));
      STEPC_INDEPENDENT
      for (int64_t j = 0; j < kKeys; ++j) {
        const float p = exp_bounded_f32((x[j] - shift) - rest);
        y[j] = x[j] == -__builtin_inff() ? 0.0F : p * (y[j] - delta) * scale;
        x[j] = p;
      }
      if (capped) scale_row<kKeys>(y, slope);
      if (drops) scale_row<kKeys>(x, rules_.factors(i));
    }
  }

  const AttentionProblem<Mask>& p_;
  const AttentionGradients<E, Mask>& t_;
  QueryStatistics* const statistics_;
  Tile<kQueries, kDepth> q_, dq_;
  Tile<kQueries, kValueDepth> o_, d_o_;
  Tile<kKeys, kDepth> k_, dk_;
  Tile<kKeys, kValueDepth> v_, dv_;
  Tile<tile_columns(kDepth), kKeys> k_transposed_;
  Tile<tile_columns(kValueDepth), kKeys> v_transposed_;
  ScoreRules<kQueries, kKeys> rules_;
  Tile<kQueries, kKeys> s_, ds_, slopes_;
  Tile<kMaskGradient ? kQueries : 1, kKeys> mask_sum_;
  float shift_[kQueries];
  QueryStatistics known_[kQueries];
};

// One task per batch and key head, which owns all gradients of its heads; or, with kTwoPhases, one per tile, first of
// keys, then of queries: scores are formed twice, but few heads keep many threads busy.
template <int64_t kQueries, int64_t kKeys, int64_t kDepth, int64_t kValueDepth, bool kTwoPhases, bool kMaskGradient,
          typename E, typename Mask>
inline void attention_backward(const StepcKernelArgs* args, const AttentionProblem<Mask>& p,
                               const AttentionGradients<E, Mask>& t) {
  typedef AttentionBackward<kQueries, kKeys, kDepth, kValueDepth, kMaskGradient, E, Mask> Backward;
  static_assert(sizeof(Backward) <= kAttentionStack, "tiles too large");
  const int64_t key_tiles = (p.keys + kKeys - 1) / kKeys, query_tiles = (p.queries + kQueries - 1) / kQueries;
  const auto for_each = [&](int64_t tasks, const auto& run) {
    parallel_for(args, tasks, 1, [&](int64_t begin, int64_t end) {
      Backward backward(p, t, static_cast<QueryStatistics*>(args->scratch));
      for (int64_t task = begin; task < end; ++task) run(backward, task);
    });
  };
  const auto for_each_query_tile = [&](const auto& run) {
    for_each(p.batch * p.heads * query_tiles, [&](Backward& backward, int64_t task) {
      const int64_t row = task / query_tiles;
      run(backward, row / p.heads, row % p.heads, paired(task % query_tiles, query_tiles) * kQueries);
    });
  };

  for_each_query_tile([](Backward& backward, int64_t batch, int64_t head, int64_t query) {
    backward.find_statistics(batch, head, query);
  });
  if constexpr (kTwoPhases) {
    for_each(p.batch * p.key_heads * key_tiles, [&](Backward& backward, int64_t task) {
      const int64_t row = task / key_tiles;
      backward.template keys<false>(row / p.key_heads, row % p.key_heads, paired(task % key_tiles, key_tiles) * kKeys);
    });
    for_each_query_tile(
        [](Backward& backward, int64_t batch, int64_t head, int64_t query) { backward.queries(batch, head, query); });
  } else {
    for_each(p.batch * p.key_heads, [&](Backward& backward, int64_t task) {
      const int64_t batch = task / p.key_heads, key_head = task % p.key_heads, group = p.heads / p.key_heads;
      for (int64_t head = key_head * group; head < (key_head + 1) * group; ++head) backward.clear_queries(batch, head);
      for (int64_t key = 0; key < p.keys; key += kKeys) backward.template keys<true>(batch, key_head, key);
    });
  }
  if constexpr (kMaskGradient) {
    // One task per tile of the mask; what it is broadcast over is a sum in one task.
    const int64_t* const m = t.d_mask.strides;
    const int64_t tiles[4] = {m[0] == 0 ? 1 : p.batch, m[1] == 0 ? 1 : p.heads, m[2] == 0 ? 1 : query_tiles,
                              m[3] == 0 ? 1 : key_tiles};
    const auto part = [](int64_t stride, int64_t tile, int64_t size, int64_t extent) {
      return stride == 0 ? Range{0, extent} : Range{tile * size, clamped((tile + 1) * size, 0, extent)};
    };
    for_each(tiles[0] * tiles[1] * tiles[2] * tiles[3], [&](Backward& backward, int64_t task) {
      const int64_t key = task % tiles[3], query = task / tiles[3] % tiles[2], row = task / tiles[3] / tiles[2];
      backward.mask(part(m[0], row / tiles[1], 1, p.batch), part(m[1], row % tiles[1], 1, p.heads),
                    part(m[2], query, kQueries, p.queries), part(m[3], key, kKeys, p.keys));
    });
  }
}

}  // namespace stepc_device
