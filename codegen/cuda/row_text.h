#pragma once

#include "codegen/cuda/dialect.h"
#include "codegen/cuda/vector_access.h"
#include "codegen/nest_text.h"
#include "codegen/reduction_text.h"
#include "codegen/text.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace stepc::cuda {

// Threads that reduce a row, and the elements after which they join their results: functions of the row's length alone,
// since they decide the canonical order (device/reduce.cuh).
int row_threads(int64_t length);
// The type that joins partial results of a reduction.
std::string join_type(const ReductionText& text);
constexpr int64_t kRowSegment = 16384;

// What a team of `row_threads` threads does for one row: its reductions, pass by pass, then the stores, which may walk
// the row once more. Elements that several passes read stay in registers where the row is short enough. The dims that
// are kept have kRowLevel and are known where this is printed; `thread` is the number of a thread in its team.
class RowText {
 public:
  static constexpr int kRowLevel = 1;    // kept dims
  static constexpr int kOuterLevel = 2;  // reduced dims but for the last
  static constexpr int kInnerLevel = 3;  // the last reduced dim

  RowText(Text& text, const Kernel& kernel, std::span<const int64_t> alignments);

  NestText& nest() { return nest_; }
  const ReductionText& reduction_text(size_t i) const { return texts_[i]; }
  int64_t rows() const { return nest_.count(kRowLevel); }
  int64_t length() const { return nest_.count(kOuterLevel) * nest_.count(kInnerLevel); }
  int threads() const { return row_threads(length()); }
  int64_t rounds() const;  // in which all threads take four elements

  // What no dim changes; then what only the row decides.
  void begin();
  void begin_row(const std::string& row);
  // All reductions of the row.
  void print_passes();
  // `state<i>` becomes the result of the elements [SEGMENT, SEGMENT_end) for all threads of the team.
  void print_segment(const std::vector<size_t>& reductions, const std::string& segment);
  // The variable that has a reduction's result.
  void know(size_t reduction, const std::string& result);
  // Results that wait for columns are left out. `at_element`, with its roots, is printed for every element of the row;
  // there `r` is its number in the row, `round` and `k` say which of the thread's elements it is.
  void print_stores(const std::vector<ScalarId>& roots = {}, const std::function<void()>& at_element = {});

 private:
  const Reduction& reduction(size_t i) const { return nest_.nest().reductions[i]; }
  std::vector<ScalarId> values_of(const std::vector<size_t>& reductions) const;
  bool varies(const Store& store) const;
  bool is_vector() const { return access_.width > 1; }
  bool is_vector(const Store& store) const;
  std::vector<size_t> loads_of(const std::vector<ScalarId>& roots) const;
  std::string at_first(const IndexForm& at) const;
  void choose_held();
  void open_elements(const std::vector<ScalarId>& roots, const std::string& begin, const std::string& end,
                     const std::vector<Store>& vectors);
  void close_elements(const std::vector<Store>& vectors);
  void name_loads(const std::vector<ScalarId>& roots);

  Text& text_;
  CudaDialect dialect_;
  NestText nest_;
  VectorAccess access_;
  std::vector<ReductionText> texts_;
  std::vector<Store> stores_;  // that do not wait for columns
  std::vector<ScalarId> roots_;
  std::vector<bool> held_;    // per source: stays in registers
  std::vector<bool> loaded_;  // per source that is held: is there
};

}  // namespace stepc::cuda
