#include "ir/kernel/attention.h"
#include "ir/support/checked.h"

#include <algorithm>

namespace stepc {
namespace {

// An axis of stride 0 repeats.
int64_t distinct_bytes(Dtype dtype, const Shape& shape, const Dims& strides) {
  int64_t bytes = dtype_bytes(dtype);
  for (size_t i = 0; i < strides.size(); ++i)
    if (strides[i] != 0 || shape[i] == 0) bytes = checked_mul(bytes, shape[i]);
  return bytes;
}

// The bytes of a kernel's buffers by the rows that they have.
struct Bytes {
  int64_t queries_read = 0, queries_written = 0;  // q, o, lse, do, dq
  int64_t keys_read = 0, keys_written = 0;        // k, v, dk, dv
  int64_t mask = 0, mask_written = 0;             // and the offset of dropout; the gradient of the mask
};

Bytes bytes_by_rows(const Graph& graph, const std::vector<KernelBuffer>& buffers, const AttentionWork& work) {
  Bytes bytes;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const size_t to_end = buffers.size() - i - (work.mask_gradient ? 1 : 0);  // dq, dk, dv, dmask stand last
    const bool written = buffers[i].written;
    const bool of_mask = written ? to_end == 0 : i >= (work.backward ? 6U : 3U);
    const bool of_keys = i == 1 || i == 2 || (work.backward && to_end <= 2);  // k, v, dk, dv
    int64_t& sum = of_mask   ? (written ? bytes.mask_written : bytes.mask)
                   : of_keys ? (written ? bytes.keys_written : bytes.keys_read)
                             : (written ? bytes.queries_written : bytes.queries_read);
    // The mask and its gradient are described over the scores.
    const bool over_scores = (work.mask != AttentionMask::none && i == work.mask_buffer) || (written && to_end == 0);
    const Shape& shape = over_scores ? work.attention.scores_shape() : graph.shape(buffers[i].value);
    sum = checked_add(sum, distinct_bytes(buffers[i].dtype, shape, work.strides[i]));
  }
  return bytes;
}

// `bytes` are those of all heads. A task that walks over `rows` rows of a head, counted as often as they come, reads
// the head's `distinct` ones once if they stay in cache.
int64_t with_repeats(int64_t bytes, int64_t heads, int64_t rows, int64_t distinct, int64_t reuse_bytes) {
  if (bytes == 0 || bytes / heads <= reuse_bytes) return bytes;
  return checked_mul(bytes / distinct, std::max(rows, distinct));
}

// `all` are the distinct bytes of the mask, and of what else is read once. Heads that share a mask find it again if all
// of it stays in cache; else each reads the tiles that it does not skip.
int64_t mask_reads(int64_t all, const AttentionWork& work, Dtype dtype, const TileWalk& walk, int64_t reuse_bytes) {
  const Attention& a = work.attention;
  const Dims& strides = work.strides[work.mask_buffer];
  const int64_t distinct = distinct_bytes(dtype, a.scores_shape(), strides);
  if (distinct <= reuse_bytes) return all;
  const int64_t of_head = strides[2] != 0 && strides[3] != 0
                              ? checked_mul(walk.pairs, dtype_bytes(dtype))
                              : distinct_bytes(dtype, {a.queries, a.keys}, {strides[2], strides[3]});
  return checked_add(all - distinct, std::max(distinct, checked_mul(checked_mul(a.batch, a.heads), of_head)));
}

}  // namespace

KernelTraffic attention_traffic(const Graph& graph, const std::vector<KernelBuffer>& buffers, const AttentionWork& work,
                                int64_t reuse_bytes) {
  const Attention& a = work.attention;
  const Bytes bytes = bytes_by_rows(graph, buffers, work);
  const auto with_repeats = [&](int64_t all, int64_t of_heads, int64_t rows, int64_t distinct) {
    return stepc::with_repeats(all, of_heads, rows, distinct, reuse_bytes);
  };
  const TileWalk walk = walk_tiles(work);
  const int64_t heads = checked_mul(a.batch, a.heads), key_heads = checked_mul(a.batch, a.key_heads);
  const int64_t keys_again = with_repeats(bytes.keys_read, key_heads, checked_mul(walk.key_rows, a.group()), a.keys);
  const int64_t mask = work.mask == AttentionMask::none
                           ? bytes.mask
                           : mask_reads(bytes.mask, work, buffers[work.mask_buffer].dtype, walk, reuse_bytes);
  KernelTraffic traffic;
  traffic.write_bytes = bytes.queries_written + bytes.keys_written + bytes.mask_written;
  traffic.ideal_bytes = bytes.queries_read + bytes.keys_read + bytes.mask + traffic.write_bytes;
  // Forward: q·k, p·v. Backward: q·k, do·v and three gradients; q·k and do·v again in a second phase.
  int64_t depths = checked_add(a.depth, a.value_depth);
  if (!work.backward) {
    traffic.read_bytes = bytes.queries_read + keys_again + mask;
  } else {
    depths += a.depth + a.depth + a.value_depth;
    traffic.read_bytes = with_repeats(bytes.queries_read, heads, walk.query_rows, a.queries) + bytes.keys_read + mask;
    if (work.two_phases) {
      depths += a.depth + a.value_depth;
      traffic.read_bytes += bytes.queries_read + keys_again + mask;
    } else if (const int64_t sums = with_repeats(bytes.queries_written, heads, walk.query_rows, a.queries);
               sums != bytes.queries_written) {  // each tile of keys adds to dq
      traffic.read_bytes += sums;
      traffic.write_bytes += sums - bytes.queries_written;
    }
    if (work.mask_gradient) {  // scores and dP once more
      depths += a.depth + a.value_depth;
      traffic.read_bytes += bytes.queries_read + keys_again + mask;
    }
  }
  traffic.flops = checked_mul(checked_mul(2, depths), checked_mul(heads, walk.pairs));
  return traffic;
}

}  // namespace stepc
