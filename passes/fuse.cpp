// fuse: puts nodes that one kernel can carry into fused nodes, as far as --fuse says.
//
//   %1: f32[4,8] = mul %x, %x                        %y: f32[4,8] = fused %x {
//   %s: f32[4,1] = reduce_sum %1 {axes=[1], ...}       %1: f32[4,8] = mul %x, %x
//   %y: f32[4,8] = div %x, %s                   ->     %s: f32[4,1] = reduce_sum %1 {axes=[1], ...}
//                                                      %y: f32[4,8] = div %x, %s
//                                                      return %y
//                                                    }
//
// full (the default, fusion/regions.h): whatever is one loop nest, where the roofline predicts that it pays; what is
// cheap is computed again rather than read. pointwise (fusion/pointwise.h): pointwise nodes of one shape and a
// reduction at their end. Where a fusion raises the peak of live memory by more than 1 %, a note says so.

#include "ir/support/error.h"
#include "passes/fusion/pointwise.h"
#include "passes/fusion/regions.h"
#include "passes/memory/raised_peak.h"
#include "passes/pass.h"

namespace stepc {
namespace {

bool fuse(Graph& graph, PassContext& context) {
  switch (context.options.fuse) {
    case FuseLevel::off: return false;
    case FuseLevel::pointwise: return fuse_pointwise(graph);
    case FuseLevel::full: return fuse_regions(graph, context.device, context.options.fuse_edges, context.fusion);
  }
  return false;
}

// A kernel reads its operands until its last result is made, and what it computes again keeps alive what that is made
// from: fusion may cost memory, and then says so.
bool run(Graph& graph, PassContext& context) {
  if (!context.options.fuse_edges.empty() && context.options.fuse != FuseLevel::full)
    user_error("{}: single edges are forced and forbidden at fusion level full only",
               context.options.fuse_edges[0].where);
  if (context.options.fuse == FuseLevel::off) return false;
  const int64_t before = scheduled_peak(graph);
  if (!fuse(graph, context)) return false;
  note_raised_peak(graph, before, context);
  return true;
}

constexpr Fact kRefuses[] = {Fact::has_fused};
constexpr Fact kBreaks[] = {Fact::scheduled, Fact::planned};

}  // namespace

extern const Pass pass_fuse;
const Pass pass_fuse{
    .name = "fuse",
    .summary = "puts nodes into common kernels, as far as --fuse says",
    .contract = {.refuses = kRefuses, .breaks = kBreaks},
    .run = run,
};

}  // namespace stepc
