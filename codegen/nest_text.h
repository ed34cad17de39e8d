#pragma once

#include "codegen/dialect.h"
#include "codegen/text.h"
#include "ir/kernel.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// Prints the scalar DAG of a loop nest, each node once at the loop level where its value is known.
//
// Every dim has a level; a node's level is the highest among the dims it varies along, 0 without any. A printer opens
// its loops level by level and calls `emit` for what it is about to use; nodes of lower levels that were emitted stay
// visible, those of the current level are forgotten when its loop closes.
class NestText {
 public:
  // `levels[d]` >= 1 for every dim. Reduction results are known from `reduced_level` on. The dialect outlives this.
  NestText(const Kernel& kernel, const Dialect& dialect, std::vector<int> levels, int reduced_level = 0);

  const Kernel& kernel() const { return kernel_; }
  const LoopNest& nest() const { return nest_; }
  int level(ScalarId id) const { return node_levels_[static_cast<size_t>(id.index)]; }
  int level(const IndexForm& form) const;

  // dims of `level` from the linear index `index` over them, row-major.
  void decode(Text& text, int level, const std::string& index) const;
  std::vector<size_t> dims_at(int level) const;
  int64_t count(int level) const;  // points of the dims of a level

  // Emits whatever `roots` need at levels up to `level` that is not emitted yet and does not wait for a reduction
  // result.
  void emit(Text& text, const std::vector<ScalarId>& roots, int level);
  void forget(int level);  // the loops of `level` and above are closed
  void store(Text& text, const Store& store) const;
  // The result of a reduction is known from here on, under this expression.
  void set_reduced(size_t reduction, std::string expression);
  void set_column(size_t column, std::string expression);  // likewise

  std::string name(ScalarId id) const { return fmt::format("v{}", id.index); }
  std::string index_text(const IndexForm& form) const;
  static std::string dim_name(size_t dim) { return fmt::format("d{}", dim); }
  Dtype buffer_dtype(int32_t buffer) const { return kernel_.buffers[static_cast<size_t>(buffer)].dtype; }

  // Per node: whether it needs a reduction result that is not known yet.
  std::vector<bool> waiting() const;
  // Per node: whether the roots need it.
  std::vector<bool> needed(const std::vector<ScalarId>& roots) const;

 private:
  bool is_reduced(size_t node) const;
  std::string source_text(const ScalarNode& node) const;
  std::string guards_text(const std::vector<Guard>& guards) const;
  std::string node_text(ScalarId id) const;

  const Kernel& kernel_;
  const LoopNest& nest_;
  const Dialect& dialect_;
  std::vector<int> dim_levels_;
  std::vector<int> node_levels_;
  std::vector<bool> emitted_;
  std::vector<std::string> reduced_, columns_;  // per reduction and column; empty: not known yet
};

}  // namespace stepc
