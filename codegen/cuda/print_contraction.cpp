#include "codegen/cuda/print_contraction.h"

#include "codegen/cuda/element_text.h"
#include "codegen/cuda/product_schedule.h"
#include "ir/support/error.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <string>
#include <utility>

// Contractions: constants for the templates of device/product_tiles.cuh, product_tensor.cuh and product_plain.cuh.
namespace stepc::cuda {
namespace {

// A kernel's product as it is printed: A, B and C by number of their buffers, turned around where that suits the forms.
struct Product {
  MatmulWork work;
  size_t a = 0, b = 1;
  ProductSchedule schedule;
};

// Cᵀ = Bᵀ·Aᵀ: the same sums of the same products.
void transpose(Product& product) {
  MatmulWork& w = product.work;
  std::swap(product.a, product.b);
  std::swap(w.m, w.n);
  std::swap(w.a_m, w.b_n);
  std::swap(w.a_k, w.b_k);
  std::swap(w.c_m, w.c_n);
  for (MatmulWork::Batch& axis : w.batch) std::swap(axis.a, axis.b);
  for (MatmulWork::Batch& axis : w.sums) std::swap(axis.a, axis.b);
  for (MatmulWork::Addend& addend : w.addends) std::swap(addend.m, addend.n);
}

ProductSchedule schedule_of(const Kernel& kernel, const Product& product) {
  const MatmulWork& w = product.work;
  ProductSizes sizes{w.m, w.n, w.k, 1};
  for (const MatmulWork::Batch& axis : w.batch) sizes.points *= axis.extent;
  return schedule_product(sizes, kernel.buffers[product.a].dtype, kernel.buffers[product.b].dtype,
                          kernel.buffers.back().dtype, w.tf32);
}

// Rows of C are its unit stride, for neighbouring threads to write neighbours, unless it has only a few columns: then
// those are the rows of the thin form.
Product product_of(const Kernel& kernel) {
  Product product{std::get<MatmulWork>(kernel.work), 0, 1, {}};
  const bool columns_first = product.work.c_n != 1 && product.work.c_m == 1;
  const bool few_columns = product.work.n <= kThinRows && product.work.m > kThinRows;
  const bool few_rows = product.work.m <= kThinRows && product.work.n > kThinRows;
  if (few_columns || (columns_first && !few_rows)) transpose(product);
  product.schedule = schedule_of(kernel, product);
  return product;
}

// "{{extent, a, b, c}, ...}"
std::string axes_text(const std::vector<MatmulWork::Batch>& axes) {
  std::vector<std::string> texts;
  for (const MatmulWork::Batch& axis : axes)
    texts.push_back(fmt::format("{{{}, {}, {}, {}}}", axis.extent, axis.a, axis.b, axis.c));
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

std::string addends_text(const std::vector<MatmulWork::Addend>& addends) {
  std::vector<std::string> texts;
  for (const MatmulWork::Addend& addend : addends)
    texts.push_back(fmt::format("{{{}, {}, {{{}}}}}", addend.m, addend.n, fmt::join(addend.batch, ", ")));
  return fmt::format("{{{}}}", fmt::join(texts, ", "));
}

void print_work(Text& text, const Kernel& kernel, const MatmulWork& w) {
  text.line("const Contraction<{}, {}, {}> work = {{", w.batch.size(), w.sums.size(), w.addends.size());
  text.line("    .m = {}, .n = {}, .k = {},", w.m, w.n, w.k);
  text.line("    .a_m = {}, .a_k = {}, .b_k = {}, .b_n = {}, .c_m = {}, .c_n = {},", w.a_m, w.a_k, w.b_k, w.b_n, w.c_m,
            w.c_n);
  text.line("    .batch = {},", axes_text(w.batch));
  text.line("    .sums = {},", axes_text(w.sums));
  text.line("    .addends = {}}};", addends_text(w.addends));
  const std::string_view type = element_type(kernel.buffers.back().dtype);
  std::vector<std::string> addends;
  for (size_t i = 0; i < w.addends.size(); ++i) {
    CHECK(kernel.buffers[2 + i].dtype == kernel.buffers.back().dtype, "addend {} has another dtype than C", i);
    addends.push_back(element_pointer(kernel, 2 + i));
  }
  if (addends.empty())
    text.line("const {}* const* const addends = nullptr;", type);
  else
    text.line("const {}* const addends[] = {{{}}};", type, fmt::join(addends, ", "));
}

// An operand as the tiles see it: how its outer index (a row of A, a column of B) and the depth step through memory.
struct OperandStrides {
  int64_t outer, depth, outer_stride, depth_stride;

  bool along_depth() const {
    if (outer_stride == 1 || depth_stride == 1) return depth_stride == 1;
    return std::abs(depth_stride) < std::abs(outer_stride);
  }
  // Whether `width` elements along the unit stride are aligned, where the data is, and wholly inside or outside.
  bool allows_vectors(int64_t width) const {
    const bool along = along_depth();
    const int64_t unit = along ? depth_stride : outer_stride, extent = along ? depth : outer;
    const int64_t other = along ? outer_stride : depth_stride, lines = along ? outer : depth;
    return unit == 1 && extent % width == 0 && (other % width == 0 || lines == 1);
  }
};

// The template arguments after the tile: orientation of A and of B, whether A, B and C go by vectors.
std::string access_text(const Kernel& kernel, const Product& product) {
  const MatmulWork& w = product.work;
  const bool tensor = product.schedule.form == ProductForm::tensor;
  const OperandStrides a{w.m, w.k, w.a_m, w.a_k}, b{w.n, w.k, w.b_n, w.b_k};
  const int64_t width = 16 / dtype_bytes(kernel.buffers[product.a].dtype), result_width = tensor ? 2 : 4;
  // f32 tiles have the depth outermost in shared memory: only what is so in global memory too is copied by vectors.
  bool a_vectors = a.allows_vectors(width) && (tensor || !a.along_depth());
  bool b_vectors = b.allows_vectors(width) && (tensor || !b.along_depth());
  for (const MatmulWork::Batch& axis : w.sums) {
    a_vectors = a_vectors && axis.a % width == 0;
    b_vectors = b_vectors && axis.b % width == 0;
  }
  const bool c_vectors = w.c_n == 1 && w.n % result_width == 0 && (w.c_m % result_width == 0 || w.m == 1);
  return fmt::format("{}, {}, {}, {}, {}", a.along_depth(), b.along_depth(), a_vectors, b_vectors, c_vectors);
}

void print_call(Text& text, const Kernel& kernel, const Product& product) {
  const ProductSchedule& s = product.schedule;
  const std::string buffers =
      fmt::format("work, {}, {}, {}, addends", element_pointer(kernel, product.a), element_pointer(kernel, product.b),
                  element_pointer(kernel, kernel.buffers.size() - 1));
  switch (s.form) {
    case ProductForm::tiles:
      text.line("contract_tiles<ProductTile<{}, {}, {}, {}, {}>, {}>(stepc_shared, {});", s.tile_m, s.tile_n,
                s.tile_depth, s.split_m, s.split_n, access_text(kernel, product), buffers);
      break;
    case ProductForm::tensor:
      text.line("contract_tensor<TensorTile<{}, {}, {}, {}, {}, {}>, {}>(stepc_shared, {});", s.tile_m, s.tile_n,
                s.tile_depth, s.split_m, s.split_n, s.stages, access_text(kernel, product), buffers);
      break;
    case ProductForm::thin: text.line("contract_thin<{}>({});", s.tile_m, buffers); break;
    case ProductForm::plain: text.line("contract_plain<{}>({});", s.threads, buffers); break;
  }
}

}  // namespace

std::vector<StageText> print_contraction(const Kernel& kernel) {
  const Product product = product_of(kernel);
  StageText stage;
  if (product.schedule.shared_bytes > 0)
    stage.body.line("extern __shared__ __align__(16) unsigned char stepc_shared[];");
  print_work(stage.body, kernel, product.work);
  print_call(stage.body, kernel, product);
  stage.grid = product.schedule.blocks;
  stage.threads = product.schedule.threads;
  stage.shared_bytes = product.schedule.shared_bytes;
  return {stage};
}

}  // namespace stepc::cuda
