#include "ir/kernel/loop_nest.h"

#include "ir/support/error.h"

#include <algorithm>
#include <cstdlib>

namespace stepc {
namespace {

constexpr int kMaxSplits = 64;

// The loop dims of the iteration shape: every axis is the product of its factors, outermost first.
struct Factors {
  std::vector<Dims> axes;

  explicit Factors(const Shape& shape) {
    for (const int64_t extent : shape) axes.push_back({extent});
  }

  void split(const DimSplit& request) {
    size_t dim = request.dim;
    for (Dims& axis : axes) {
      if (dim < axis.size()) {
        axis[dim] /= request.inner;
        axis.insert(axis.begin() + static_cast<std::ptrdiff_t>(dim) + 1, request.inner);
        return;
      }
      dim -= axis.size();
    }
    CHECK(false, "dim {}", request.dim);
  }

  size_t dim_count() const {
    size_t count = 0;
    for (const Dims& axis : axes) count += axis.size();
    return count;
  }
};

IterationAxes axes_of(const Factors& factors, const NestRequest& request, LoopNest& nest) {
  IterationAxes axes{{}, request.reduced, request.iteration};
  const size_t count = factors.dim_count();
  size_t dim = 0;
  for (size_t axis = 0; axis < factors.axes.size(); ++axis) {
    IndexForm form = constant_form(count, 0);
    int64_t stride = 1;
    const Dims& own = factors.axes[axis];
    for (size_t i = own.size(); i-- > 0;) {
      form.strides[dim + i] = stride;
      stride *= own[i];
    }
    for (const int64_t extent : own) nest.dims.push_back({extent, request.reduced[axis]});
    dim += own.size();
    axes.forms.push_back(std::move(form));
  }
  return axes;
}

// The axes of the iteration shape that are reduced, or those that are kept.
struct Face {
  Shape shape;
  Coordinates forms;
};

Face face_of(const NestRequest& request, const IterationAxes& axes, bool reduced) {
  Dims dims;
  Coordinates forms;
  for (size_t axis = 0; axis < axes.forms.size(); ++axis) {
    if (request.reduced[axis] != reduced) continue;
    forms.push_back(axes.forms[axis]);
    dims.push_back(request.iteration[axis]);
  }
  return {Shape(std::move(dims)), std::move(forms)};
}

template <typename F>
void for_each_form(LoopNest& nest, F&& f) {
  const auto guards = [&](std::vector<Guard>& list) {
    for (Guard& guard : list) f(guard.at);
  };
  for (Source& source : nest.sources) {
    if (auto* load = std::get_if<LoadSource>(&source)) {
      f(load->at);
      guards(load->guards);
    } else if (auto* coordinate = std::get_if<CoordinateSource>(&source)) {
      f(coordinate->at);
    } else if (auto* index = std::get_if<IndexSource>(&source)) {
      guards(index->guards);
    } else if (auto* inside = std::get_if<InsideSource>(&source)) {
      guards(inside->guards);
    } else if (auto* random = std::get_if<RandomSource>(&source)) {
      f(random->at);
    }
  }
  for (Store& store : nest.stores) f(store.at);
}

void remove_dim(LoopNest& nest, size_t dim) {
  nest.dims.erase(nest.dims.begin() + static_cast<std::ptrdiff_t>(dim));
  for_each_form(nest,
                [&](IndexForm& form) { form.strides.erase(form.strides.begin() + static_cast<std::ptrdiff_t>(dim)); });
}

// Without a reduction (an empty sum is a literal) there is nothing to walk the reduced dims for.
void drop_unreduced(LoopNest& nest) {
  if (!nest.reductions.empty() || !nest.columns.empty()) return;
  for (size_t dim = nest.dims.size(); dim-- > 0;) {
    if (!nest.dims[dim].reduced) continue;
    bool used = false;
    for_each_form(nest, [&](IndexForm& form) { used = used || form.strides[dim] != 0; });
    nest.dims[dim].reduced = false;
    if (!used) remove_dim(nest, dim);
  }
}

// Drops dims of extent 1 and merges neighbours that every index form walks as one. At least one dim is left.
void coalesce(LoopNest& nest) {
  for (size_t dim = nest.dims.size(); dim-- > 0;)
    if (nest.dims[dim].extent == 1) remove_dim(nest, dim);
  for (size_t dim = nest.dims.size(); dim-- > 1;) {
    const int64_t inner = nest.dims[dim].extent;
    bool mergeable = nest.dims[dim - 1].reduced == nest.dims[dim].reduced;
    for_each_form(
        nest, [&](IndexForm& form) { mergeable = mergeable && form.strides[dim - 1] == form.strides[dim] * inner; });
    if (!mergeable) continue;
    nest.dims[dim].extent *= nest.dims[dim - 1].extent;
    remove_dim(nest, dim - 1);
  }
  if (!nest.dims.empty()) return;
  nest.dims.push_back({1, false});
  for_each_form(nest, [&](IndexForm& form) { form.strides.push_back(0); });
}

// Whether a store is done at every point of the reduced dims, not once after them.
bool varies_along_reduced(const LoopNest& nest, const Store& store, const std::vector<uint64_t>& depends) {
  for (size_t d = 0; d < nest.dims.size(); ++d)
    if (nest.dims[d].reduced &&
        ((depends[static_cast<size_t>(store.value.index)] >> d & 1) != 0 || store.at.strides[d] != 0))
      return true;
  return false;
}

bool stores_once(const LoopNest& nest) {
  const std::vector<uint64_t> depends = dependencies(nest);
  return std::none_of(nest.stores.begin(), nest.stores.end(),
                      [&](const Store& store) { return varies_along_reduced(nest, store, depends); });
}

// Columns are complete after the last row: nothing that is done per row can wait for them.
void require_printable_columns(const LoopNest& nest) {
  if (!nest.is_row()) throw Untraceable{"a column that must be walked several times"};
  const std::vector<bool> waits = after_columns(nest);
  const auto is_late = [&](const Reduction& reduction) { return waits[static_cast<size_t>(reduction.value.index)]; };
  if (std::ranges::any_of(nest.reductions, is_late) || std::ranges::any_of(nest.columns, is_late))
    throw Untraceable{"rows that wait for a reduction across rows"};
  const std::vector<uint64_t> depends = dependencies(nest);
  for (const Store& store : nest.stores) {
    bool per_row = false;
    for (size_t d = 0; d < nest.dims.size(); ++d)
      per_row = per_row || (!nest.dims[d].reduced && (store.at.strides[d] != 0 ||
                                                      (depends[static_cast<size_t>(store.value.index)] >> d & 1) != 0));
    if (per_row == waits[static_cast<size_t>(store.value.index)] && nest.kept_count() > 1)
      throw Untraceable{per_row ? "rows that wait for a reduction across rows" : "results of different shapes"};
  }
}

// A column is walked once: nothing in it can wait for a result.
void require_printable(const LoopNest& nest) {
  if (!nest.columns.empty()) return require_printable_columns(nest);
  if (nest.reductions.empty() || nest.is_row()) return;
  const std::vector<int> depths = reduction_depths(nest);
  if (std::any_of(depths.begin(), depths.end(), [](int depth) { return depth > 0; }) || !stores_once(nest))
    throw Untraceable{"a column that must be walked several times"};
}

KernelSchedule schedule_of(const LoopNest& nest) {
  KernelSchedule schedule;
  if (!nest.columns.empty()) {
    schedule.two_stage = true;
    return schedule;
  }
  if (!nest.reductions.empty()) {
    const bool row = nest.is_row();
    const int64_t kept = nest.kept_count();
    const bool several = nest.reduced_count() > (row ? kRowSegment : kColumnSegment);
    const bool final_only = nest.reductions.size() == 1 && stores_once(nest);
    if (row) {
      schedule.two_stage = final_only && several && kept < 64;
    } else {
      const int64_t columns = nest.dims.back().extent;
      schedule.column_tile = std::clamp<int64_t>((columns / 16 + 31) / 32 * 32, 64, 1024);
      const int64_t tasks = kept / columns * ((columns + schedule.column_tile - 1) / schedule.column_tile);
      schedule.two_stage = final_only && several && tasks < 16;
    }
    return schedule;
  }
  if (nest.dims.size() < 2 || nest.dims.back().extent < 8) return schedule;
  for (const Source& source : nest.sources) {
    const auto* load = std::get_if<LoadSource>(&source);
    if (load == nullptr || std::abs(load->at.strides.back()) < 8) continue;
    for (size_t d = 0; d + 1 < nest.dims.size(); ++d)
      if (load->at.strides[d] == 1 && nest.dims[d].extent >= 8) {
        schedule.tile_dim = static_cast<int32_t>(d);
        schedule.tile = 32;
        return schedule;
      }
  }
  return schedule;
}

int64_t scratch_of(const LoopNest& nest, const KernelSchedule& schedule) {
  if (!schedule.two_stage) return 0;
  if (!nest.columns.empty()) return column_scratch(nest, nest.columns.size());
  const int64_t segment = nest.is_row() ? kRowSegment : kColumnSegment;
  const int64_t partials = nest.kept_count() * ((nest.reduced_count() + segment - 1) / segment);
  const Reduction& reduction = nest.reductions[0];
  const bool is_arg = reduction.op == ReduceOp::arg_max || reduction.op == ReduceOp::arg_min;
  return partials * (is_arg ? 16 : 8);
}

KernelKind kind_of(const LoopNest& nest) {
  if (!nest.columns.empty()) return KernelKind::inner_outer;
  if (nest.reductions.empty()) return KernelKind::map;
  return nest.is_row() ? KernelKind::row_reduction : KernelKind::column_reduction;
}

// Whether a value can be computed at these coordinates, tried on copies.
bool can_trace(const NestRequest& request, const LayoutOf& layouts, const IterationAxes& axes, const Kernel& kernel,
               const LoopNest& nest, ValueId value, const Coordinates& at) {
  LoopNest nest_copy = nest;
  std::vector<KernelBuffer> buffers = kernel.buffers;
  try {
    Tracer(request.scope, layouts, axes, nest_copy, buffers).value(value, at, {});
    return true;
  } catch (const Untraceable&) {
    return false;
  }
}

// Where a result lies in the iteration space, seen through a reshape if need be: everywhere, one per row, or one per
// point of a row. Where rows and their points are as many, the one of its own shape comes first, and `fits` says
// whether the result can be computed there.
template <typename Fits>
Coordinates place_of(const Shape& shape, const NestRequest& request, const IterationAxes& axes, const Tracer& tracer,
                     const Fits& fits) {
  if (shape == request.iteration) return axes.forms;
  std::vector<Face> faces{face_of(request, axes, false), face_of(request, axes, true)};
  if (shape != faces[0].shape && shape == faces[1].shape) std::swap(faces[0], faces[1]);
  if (shape != faces[0].shape && shape.numel() == request.iteration.numel())
    return tracer.reshaped(shape, request.iteration, axes.forms);
  std::erase_if(faces, [&](const Face& face) { return face.shape.numel() != shape.numel(); });
  if (faces.empty()) throw Untraceable{"results of different shapes"};
  if (faces.size() == 2) {
    try {
      Coordinates first = tracer.reshaped(shape, faces[0].shape, faces[0].forms);
      if (fits(first)) return first;
    } catch (const Untraceable&) {
    }
  }
  return tracer.reshaped(shape, faces.back().shape, faces.back().forms);
}

void trace_results(const NestRequest& request, const LayoutOf& layouts, const Factors& factors, Kernel& kernel,
                   LoopNest& nest) {
  const IterationAxes axes = axes_of(factors, request, nest);
  Tracer tracer(request.scope, layouts, axes, nest, kernel.buffers);
  for (size_t i = 0; i < request.results.size(); ++i) {
    const ValueId result = request.results[i];
    const auto fits = [&](const Coordinates& at) {
      return can_trace(request, layouts, axes, kernel, nest, result, at);
    };
    const Coordinates at = place_of(request.scope.graph->shape(result), request, axes, tracer, fits);
    const ScalarId value = tracer.value(result, at, {});
    const int32_t buffer = tracer.buffer(request.outputs[i], true);
    nest.stores.push_back({buffer, linear(nest.dims.size(), at, layouts(request.outputs[i]).strides), value});
  }
}

}  // namespace

int64_t LoopNest::kept_count() const {
  int64_t count = 1;
  for (const LoopDim& dim : dims)
    if (!dim.reduced) count *= dim.extent;
  return count;
}

int64_t LoopNest::reduced_count() const {
  int64_t count = 1;
  for (const LoopDim& dim : dims)
    if (dim.reduced) count *= dim.extent;
  return count;
}

bool LoopNest::is_row() const {
  for (size_t d = dims.size(); d-- > 0;)
    if (dims[d].extent != 1) return dims[d].reduced;
  return true;
}

int64_t column_scratch(const LoopNest& nest, size_t column) {
  constexpr int64_t kAlignment = 64;
  const int64_t segments = (nest.kept_count() + kColumnSegment - 1) / kColumnSegment;
  int64_t begin = 0;
  for (size_t c = 0; c < column; ++c) {
    const int64_t element = std::max<int64_t>(dtype_bytes(nest.columns[c].accumulate), 4);
    begin += (segments * nest.reduced_count() * element + kAlignment - 1) / kAlignment * kAlignment;
  }
  return begin;
}

Kernel describe_nest(const NestRequest& request, const LayoutOf& layouts) {
  int64_t kept = 1;
  for (size_t axis = 0; axis < request.reduced.size(); ++axis)
    if (!request.reduced[axis]) kept *= request.iteration[axis];
  if (kept == 0) {  // nothing to store
    for (const ValueId output : request.outputs)
      if (request.scope.outer->shape(output).numel() != 0) throw Untraceable{"results of different shapes"};
    Kernel kernel;
    kernel.work = LoopNest{{{0, false}}, {}, {}, {}, {}, {}};
    return kernel;
  }
  Factors factors(request.iteration);
  for (int attempt = 0; attempt < kMaxSplits; ++attempt) {
    Kernel kernel;
    LoopNest nest;
    try {
      trace_results(request, layouts, factors, kernel, nest);
    } catch (const SplitRequest& request_for) {
      factors.split(request_for.split);
      continue;
    }
    drop_unreduced(nest);
    coalesce(nest);
    require_printable(nest);
    kernel.kind = kind_of(nest);
    kernel.schedule = schedule_of(nest);
    kernel.scratch_bytes = scratch_of(nest, kernel.schedule);
    kernel.work = std::move(nest);
    return kernel;
  }
  throw Untraceable{"index arithmetic of too many reshapes"};
}

}  // namespace stepc
