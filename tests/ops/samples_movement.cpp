#include "ir/support/error.h"
#include "tests/ops/samples.h"

#include <limits>

namespace stepc::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr Dtype kF64 = Dtype::f64;

RefTensor i64s(const Shape& shape, std::vector<int64_t> values) {
  return integers(Dtype::i64, shape, std::move(values));
}

RefTensor row(std::vector<double> values) {
  const auto size = static_cast<int64_t>(values.size());
  return reals(kF64, {size}, std::move(values));
}

void source_samples(std::vector<Sample>& samples) {
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::i64, Dtype::boolean})
    for (const int64_t size : {0, 3, 17}) {  // in the text, and beside it
      const auto make = [dtype, size](Builder& b, const std::vector<ValueId>&) {
        Tensor tensor(Type{dtype, Shape{size}});
        for (int64_t i = 0; i < size; ++i) set_element(tensor, i, static_cast<double>(i) / 3);
        return b.graph().value(b.constant(std::move(tensor))).producer;
      };
      samples.push_back({.op = Op::constant, .label = fmt::format("{}_{}", dtype_name(dtype), size), .make = make});
    }
  const auto iota = [](Dtype dtype, Dims shape, int64_t axis) {
    return Attrs{{"dtype", dtype}, {"shape", std::move(shape)}, {"axis", axis}};
  };
  samples.push_back({.op = Op::iota,
                     .label = "rows",
                     .attrs = iota(Dtype::i64, {2, 3}, 0),
                     .expected = {i64s({2, 3}, {0, 0, 0, 1, 1, 1})}});
  samples.push_back({.op = Op::iota,
                     .label = "columns",
                     .attrs = iota(kF64, {2, 3}, 1),
                     .expected = {reals(kF64, {2, 3}, {0, 1, 2, 0, 1, 2})}});
  samples.push_back({.op = Op::iota, .label = "empty", .attrs = iota(Dtype::i32, {0, 3}, 1)});
  // Philox4x32-10's words for counter 0 and key 0 are 6627e8d5 e169c58d bc57ac4c 9b00dbd8 (Random123, kat_vectors).
  samples.push_back(
      {.op = Op::random,
       .label = "known_words",
       .operands = {i64s({}, {0})},
       .attrs = {{"shape", Dims{4}}, {"key", int64_t{0}}},
       .expected = {
           reals(Dtype::f32, {4}, {0x6627e8 * 0x1p-24, 0xe169c5 * 0x1p-24, 0xbc57ac * 0x1p-24, 0x9b00db * 0x1p-24})}});
  samples.push_back({.op = Op::random,
                     .label = "empty",
                     .operands = {i64s({}, {-7})},
                     .attrs = {{"shape", Dims{2, 0}}, {"key", int64_t{-1}}}});
}

void view_samples(std::vector<Sample>& samples) {
  const auto reshape = [&](const Shape& from, Dims to) {
    samples.push_back({Op::reshape, to_string(from), {spread(from)}, {{"shape", std::move(to)}}});
  };
  reshape({2, 3}, {3, 1, 2});
  reshape({}, {1, 1});
  reshape({1}, {});
  reshape({0, 3}, {2, 0});
  const auto transpose = [&](const Shape& from, Dims perm) {
    samples.push_back({Op::transpose, to_string(from), {spread(from)}, {{"perm", std::move(perm)}}});
  };
  transpose({2, 3, 2}, {2, 0, 1});
  transpose({}, {});
  transpose({0, 3}, {1, 0});
  const auto expand = [&](const Shape& from, Dims to) {
    samples.push_back({Op::expand, to_string(from), {spread(from)}, {{"shape", std::move(to)}}});
  };
  expand({2, 1}, {3, 2, 2});
  expand({}, {2, 2});
  expand({1}, {0});
  expand({3}, {3});
  const auto slice = [&](std::string label, const Shape& from, Dims starts, Dims sizes, Dims steps) {
    samples.push_back({Op::slice,
                       std::move(label),
                       {spread(from)},
                       {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}, {"steps", std::move(steps)}}});
  };
  slice("steps", {7, 3}, {1, 0}, {3, 2}, {2, 2});
  slice("reversed", {7, 3}, {6, 2}, {3, 3}, {-2, -1});
  slice("mixed", {5, 4}, {0, 3}, {2, 2}, {3, -3});
  slice("one", {5, 4}, {4, 3}, {1, 1}, {1, 1});
  slice("empty_at_end", {5}, {5}, {0}, {1});
  slice("of_empty", {0, 2}, {0, 0}, {0, 2}, {1, 1});
  slice("rank0", {}, {}, {}, {});
  samples.push_back({.op = Op::slice,
                     .label = "values",
                     .operands = {row({0, 1, 2, 3, 4})},
                     .attrs = {{"starts", Dims{4}}, {"sizes", Dims{3}}, {"steps", Dims{-2}}},
                     .expected = {row({4, 2, 0})}});
}

void concat_and_pad_samples(std::vector<Sample>& samples) {
  const Attrs axis0{{"axis", int64_t{0}}};
  const Attrs axis1{{"axis", int64_t{1}}};
  samples.push_back({Op::concat, "three", {spread({2, 1}), spread({2, 3}), spread({2, 0})}, axis1});
  samples.push_back({Op::concat, "one", {spread({2})}, axis0});
  samples.push_back({Op::concat, "i64", {i64s({1}, {4}), i64s({2}, {5, 6})}, axis0, {i64s({3}, {4, 5, 6})}});
  const auto pad = [&](std::string label, const Shape& from, Dims low, Dims high, Dims interior, double value) {
    samples.push_back(
        {Op::pad,
         std::move(label),
         {spread(from)},
         {{"low", std::move(low)}, {"high", std::move(high)}, {"interior", std::move(interior)}, {"value", value}}});
  };
  pad("interior", {2, 3}, {1, 0}, {2, 1}, {0, 2}, 0.5);
  pad("of_empty", {0, 2}, {1, 0}, {1, 0}, {3, 0}, 1);
  pad("rank0", {}, {}, {}, {}, 1);
  samples.push_back({.op = Op::pad,
                     .label = "inf",
                     .operands = {row({1, 2})},
                     .attrs = {{"low", Dims{1}}, {"high", Dims{0}}, {"interior", Dims{1}}, {"value", -kInf}},
                     .expected = {row({-kInf, 1, -kInf, 2})}});
  samples.push_back({.op = Op::pad,
                     .label = "values",
                     .operands = {i64s({3}, {7, 8, 9})},
                     .attrs = {{"low", Dims{1}}, {"high", Dims{2}}, {"interior", Dims{1}}, {"value", -1.0}},
                     .expected = {i64s({8}, {-1, 7, -1, 8, -1, 9, -1, -1})}});
}

void gather_samples(std::vector<Sample>& samples) {
  const Attrs axis0{{"axis", int64_t{0}}};
  const Attrs axis1{{"axis", int64_t{1}}};
  const RefTensor twice = i64s({2, 2}, {2, -1, 0, 2});  // of 3: duplicates and negatives
  samples.push_back({Op::gather, "rows", {spread({3, 2}), twice}, axis0});
  samples.push_back({Op::gather, "middle", {spread({2, 3, 2}), twice}, axis1});
  samples.push_back({Op::gather, "rank0_index", {spread({3, 2}), i64s({}, {-2})}, axis0});
  samples.push_back({Op::gather, "no_index", {spread({3}), i64s({0}, {})}, axis0});
  samples.push_back({Op::gather, "i32", {spread({3}), integers(Dtype::i32, {2}, {1, 1})}, axis0});
  samples.push_back({.op = Op::gather,
                     .label = "values",
                     .operands = {row({10, 20, 30}), i64s({3}, {-1, 0, 1})},
                     .attrs = axis0,
                     .expected = {row({30, 10, 20})}});
  samples.push_back({Op::scatter_add, "rows", {spread({3, 2}), twice, spread({2, 2, 2})}, axis0});
  samples.push_back({Op::scatter_add, "middle", {spread({2, 3, 2}), twice, spread({2, 2, 2, 2})}, axis1});
  samples.push_back({Op::scatter_add, "rank0_index", {spread({3, 2}), i64s({}, {1}), spread({2})}, axis0});
  samples.push_back({.op = Op::scatter_add,
                     .label = "values",
                     .operands = {row({1, 2, 3}), i64s({3}, {0, -1, 0}), row({10, 20, 30})},
                     .attrs = axis0,
                     .expected = {row({41, 2, 23})}});
  samples.push_back(
      {Op::gather_elements, "duplicates", {spread({2, 3}), i64s({2, 4}, {0, 2, 2, -1, 1, 1, -3, 0})}, axis1});
  samples.push_back({Op::gather_elements, "fewer_rows", {spread({3, 2}), i64s({2, 1}, {2, 0})}, axis0});
  samples.push_back({.op = Op::gather_elements,
                     .label = "values",
                     .operands = {reals(kF64, {2, 2}, {1, 2, 3, 4}), i64s({2, 2}, {0, 0, 1, 0})},
                     .attrs = axis1,
                     .expected = {reals(kF64, {2, 2}, {1, 1, 4, 3})}});
  const auto nd = [](int64_t batch_dims) { return Attrs{{"batch_dims", batch_dims}}; };
  samples.push_back({Op::gather_nd, "elements", {spread({2, 3}), i64s({3, 2}, {0, 1, -1, 2, 0, 1})}, nd(0)});
  samples.push_back({Op::gather_nd, "slices", {spread({2, 3, 2}), i64s({2, 1, 1}, {1, -2})}, nd(0)});
  samples.push_back({Op::gather_nd, "batched", {spread({2, 3, 2}), i64s({2, 2, 1}, {2, 0, 1, 1})}, nd(1)});
  samples.push_back({Op::gather_nd, "two_batch_dims", {spread({2, 1, 3}), i64s({2, 1, 1}, {2, -3})}, nd(2)});
}

void scatter_samples(std::vector<Sample>& samples) {
  const auto elements = [](std::string reduction) {
    return Attrs{{"axis", int64_t{1}}, {"reduction", std::move(reduction)}};
  };
  const RefTensor distinct = i64s({2, 2}, {0, -1, 1, 0});
  const RefTensor duplicate = i64s({2, 3}, {0, -3, 1, 2, 2, 0});
  samples.push_back({Op::scatter_elements, "none", {spread({2, 3}), distinct, spread({2, 2})}, elements("none")});
  samples.push_back({Op::scatter_elements, "add", {spread({2, 3}), duplicate, spread({2, 3})}, elements("add")});
  const auto values = [&](std::string reduction, std::vector<double> y) {
    samples.push_back(
        {.op = Op::scatter_elements,
         .label = "values_" + reduction,
         .operands = {reals(kF64, {1, 3}, {1, 2, 3}), i64s({1, 3}, {0, 0, 2}), reals(kF64, {1, 3}, {5, -4, 3})},
         .attrs = elements(reduction),
         .expected = {reals(kF64, {1, 3}, std::move(y))},
         .gradients = std::vector<size_t>{}});
  };
  values("none", {-4, 2, 3});
  values("add", {2, 2, 6});
  values("mul", {-20, 2, 9});
  values("max", {5, 2, 3});
  values("min", {-4, 2, 3});
  const auto nd = [](std::string reduction) { return Attrs{{"reduction", std::move(reduction)}}; };
  samples.push_back({Op::scatter_nd, "none", {spread({3, 2}), i64s({2, 1}, {2, 0}), spread({2, 2})}, nd("none")});
  samples.push_back({Op::scatter_nd, "add", {spread({3, 2}), i64s({2, 1}, {-1, 2}), spread({2, 2})}, nd("add")});
  samples.push_back(
      {Op::scatter_nd, "elements", {spread({2, 2}), i64s({2, 2}, {0, 1, -1, 0}), spread({2})}, nd("none")});
  samples.push_back({.op = Op::scatter_nd,
                     .label = "values_max",
                     .operands = {row({1, 2, 3}), i64s({2, 1}, {1, 1}), row({7, 5})},
                     .attrs = nd("max"),
                     .expected = {row({1, 7, 3})},
                     .gradients = std::vector<size_t>{}});
}

void scan_samples(std::vector<Sample>& samples) {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      samples.push_back({Op::cumsum,
                         fmt::format("exclusive{}_reverse{}", exclusive, reverse),
                         {spread({2, 3, 2})},
                         {{"axis", int64_t{1}}, {"exclusive", exclusive}, {"reverse", reverse}}});
  samples.push_back({Op::cumsum, "empty", {spread({2, 0})}, {{"axis", int64_t{1}}}});
  samples.push_back({Op::cumsum, "defaults", {i64s({3}, {1, 2, 3})}, {{"axis", int64_t{0}}}, {i64s({3}, {1, 3, 6})}});
  samples.push_back({Op::cumsum,
                     "exclusive_from_the_end",
                     {i64s({3}, {1, 2, 3})},
                     {{"axis", int64_t{0}}, {"exclusive", true}, {"reverse", true}},
                     {i64s({3}, {5, 3, 0})}});
}

void top_k_samples(std::vector<Sample>& samples) {
  const auto top = [](int64_t k, int64_t axis, bool is_largest) {
    return Attrs{{"k", k}, {"axis", axis}, {"largest", is_largest}, {"sorted", true}};
  };
  samples.push_back({Op::top_k, "largest", {spread({2, 4, 2})}, top(2, 1, true)});
  samples.push_back({Op::top_k, "smallest", {spread({2, 4})}, top(3, 1, false)});
  samples.push_back({Op::top_k, "none", {spread({2, 4})}, top(0, 1, true)});
  const std::vector<size_t> none;
  samples.push_back({Op::top_k,
                     "ties",
                     {row({1, 3, 3, kNan, 2})},
                     top(4, 0, true),
                     {row({kNan, 3, 3, 2}), i64s({4}, {3, 1, 2, 4})},
                     none});
  samples.push_back({Op::top_k,
                     "smallest_ties",
                     {row({1, 3, 1, kNan})},
                     top(4, 0, false),
                     {row({1, 1, 3, kNan}), i64s({4}, {0, 2, 1, 3})},
                     none});
}

void arg_samples(std::vector<Sample>& samples) {
  const auto along = [](int64_t axis, bool keepdims, bool last) {
    return Attrs{{"axis", axis}, {"keepdims", keepdims}, {"select_last_index", last}};
  };
  const RefTensor ties = reals(kF64, {2, 3}, {1, 5, 5, 2, 0, 0});
  samples.push_back({Op::arg_max, "first", {ties}, along(1, true, false), {i64s({2, 1}, {1, 0})}});
  samples.push_back({Op::arg_max, "last", {ties}, along(1, false, true), {i64s({2}, {2, 0})}});
  samples.push_back({Op::arg_min, "first", {ties}, along(1, false, false), {i64s({2}, {0, 1})}});
  samples.push_back({Op::arg_min, "last", {ties}, along(1, false, true), {i64s({2}, {0, 2})}});
  samples.push_back({Op::arg_max, "rows", {ties}, along(0, false, false), {i64s({3}, {1, 0, 0})}});
  for (const Op op : {Op::arg_max, Op::arg_min}) {
    samples.push_back({op, "nan", {row({1, kNan, 9, kNan})}, along(0, false, false), {i64s({}, {1})}});
    samples.push_back({op, "no_rows", {spread({0, 2})}, along(1, true, false)});
  }
}

void source_and_view_refusals(std::vector<Refusal>& refusals) {
  const RefTensor x = spread({2, 3});
  refusals.push_back({Op::iota,
                      "axis",
                      {},
                      {{"dtype", kF64}, {"shape", Dims{}}, {"axis", int64_t{0}}},
                      "axis 0 is out of range for rank 0"});
  refusals.push_back(
      {Op::iota, "dtype", {}, {{"dtype", Dtype::boolean}, {"shape", Dims{1}}, {"axis", int64_t{0}}}, "dtype bool"});
  refusals.push_back({Op::constant, "empty", {}, {}, "constant: no tensor is given"});
  refusals.push_back(
      {Op::random, "offset", {row({1})}, {{"shape", Dims{1}}, {"key", int64_t{0}}}, "the offset is f64[1], not i64[]"});
  refusals.push_back({Op::reshape, "count", {x}, {{"shape", Dims{5}}}, "reshape: 6 elements of [2,3] do not fill [5]"});
  refusals.push_back({Op::transpose, "twice", {x}, {{"perm", Dims{0, 0}}}, "perm [0,0] is no permutation of 2 axes"});
  refusals.push_back(
      {Op::transpose, "short", {x}, {{"perm", Dims{0}}}, "attribute 'perm' has 1 entries for an operand of rank 2"});
  refusals.push_back({Op::expand, "shape", {x}, {{"shape", Dims{2, 4}}}, "expand: [2,3] does not broadcast to [2,4]"});
}

void slice_refusals(std::vector<Refusal>& refusals) {
  const auto slice = [&](int64_t start, int64_t size, int64_t step, std::string message) {
    refusals.push_back({Op::slice,
                        fmt::format("{}_{}_{}", start, size, step),
                        {row({1, 2, 3})},
                        {{"starts", Dims{start}}, {"sizes", Dims{size}}, {"steps", Dims{step}}},
                        std::move(message)});
  };
  slice(0, 4, 1, "4 elements from 0 by 1 lie outside axis 0 of size 3");
  slice(0, 2, -1, "2 elements from 0 by -1 lie outside axis 0 of size 3");
  slice(3, 1, 1, "1 elements from 3 by 1 lie outside axis 0 of size 3");
  slice(0, 2, 0, "step 0 on axis 0 for 2 elements");
  slice(0, int64_t{1} << 40, int64_t{1} << 40, "overflow");
}

void concat_and_pad_refusals(std::vector<Refusal>& refusals) {
  const RefTensor x = spread({2, 3});
  const Attrs axis0{{"axis", int64_t{0}}};
  refusals.push_back(
      {Op::concat, "shapes", {x, spread({3, 2})}, axis0, "f64[2,3] and f64[3,2] do not fit together on axis 0"});
  refusals.push_back(
      {Op::concat, "dtypes", {row({1}), i64s({1}, {1})}, axis0, "f64[1] and i64[1] do not fit together on axis 0"});
  refusals.push_back(
      {Op::concat, "axis", {x, x}, {{"axis", int64_t{-1}}}, "concat: axis -1 is out of range for rank 2"});
  refusals.push_back({Op::pad,
                      "negative",
                      {row({1})},
                      {{"low", Dims{-1}}, {"high", Dims{0}}, {"interior", Dims{0}}, {"value", 0.0}},
                      "negative padding on axis 0: low -1"});
  refusals.push_back({Op::pad,
                      "value",
                      {i64s({1}, {1})},
                      {{"low", Dims{1}}, {"high", Dims{0}}, {"interior", Dims{0}}, {"value", 0.5}},
                      "value 0.5 is no i64"});
  refusals.push_back({Op::pad,
                      "inf",
                      {integers(Dtype::u8, {1}, {1})},
                      {{"low", Dims{1}}, {"high", Dims{0}}, {"interior", Dims{0}}, {"value", kInf}},
                      "value inf is no u8"});
}

void index_refusals(std::vector<Refusal>& refusals) {
  const RefTensor x = spread({2, 3});
  const Attrs axis0{{"axis", int64_t{0}}};
  refusals.push_back({Op::gather,
                      "range",
                      {spread({256, 1}), i64s({1}, {300})},
                      axis0,
                      "index 300 is out of range for axis 0 of size 256"});
  refusals.push_back(
      {Op::gather, "negative", {row({1, 2}), i64s({1}, {-3})}, axis0, "index -3 is out of range for axis 0 of size 2"});
  refusals.push_back(
      {Op::gather, "of_empty", {spread({0}), i64s({1}, {0})}, axis0, "index 0 is out of range for axis 0 of size 0"});
  refusals.push_back(
      {Op::gather, "float_indices", {row({1}), row({0})}, axis0, "indices are f64, expected i64 or i32"});
  refusals.push_back(
      {Op::scatter_add, "updates", {x, i64s({1}, {0}), spread({2})}, axis0, "updates are f64[2], expected f64[1,3]"});
  refusals.push_back({Op::gather_elements,
                      "outside",
                      {x, i64s({3, 1}, {0, 0, 0})},
                      {{"axis", int64_t{1}}},
                      "indices [3,1] reach outside data [2,3]"});
  refusals.push_back({Op::scatter_elements,
                      "reduction",
                      {row({1}), i64s({1}, {0}), row({1})},
                      {{"axis", int64_t{0}}, {"reduction", "sum"}},
                      "reduction is \"sum\", expected none, add, mul, max or min"});
  refusals.push_back({Op::gather_nd,
                      "tuples",
                      {x, i64s({1, 3}, {0, 0, 0})},
                      {},
                      "index tuples of length 3 for data [2,3] with 0 batch dims"});
  refusals.push_back({Op::gather_nd,
                      "batch",
                      {x, i64s({3, 1}, {0, 0, 0})},
                      {{"batch_dims", int64_t{1}}},
                      "the first 1 dims of data [2,3] and indices [3,1] differ"});
  refusals.push_back({Op::scatter_nd,
                      "updates",
                      {x, i64s({1, 1}, {0}), spread({3})},
                      {{"reduction", "none"}},
                      "updates are f64[3], expected f64[1,3]"});
  refusals.push_back({Op::cumsum, "rank0", {spread({})}, axis0, "cumsum: axis 0 is out of range for rank 0"});
  refusals.push_back(
      {Op::top_k, "k", {row({1, 2})}, {{"k", int64_t{3}}, {"axis", int64_t{0}}}, "k is 3 for axis 0 of size 2"});
  refusals.push_back({Op::arg_max, "empty", {spread({2, 0})}, {{"axis", int64_t{1}}}, "axis 1 of [2,0] is empty"});
}

}  // namespace

void movement_samples(std::vector<Sample>& samples, std::vector<Refusal>& refusals) {
  source_samples(samples);
  view_samples(samples);
  concat_and_pad_samples(samples);
  gather_samples(samples);
  scatter_samples(samples);
  scan_samples(samples);
  top_k_samples(samples);
  arg_samples(samples);
  source_and_view_refusals(refusals);
  slice_refusals(refusals);
  concat_and_pad_refusals(refusals);
  index_refusals(refusals);
}

}  // namespace stepc::test
