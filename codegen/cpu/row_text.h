#pragma once

#include "codegen/nest_text.h"
#include "codegen/reduction_text.h"
#include "codegen/text.h"

#include <functional>
#include <string>
#include <vector>

namespace stepc::cpu {

// What is done for one row: its reductions, pass by pass, then the stores, which may walk the row once more. The dims
// that are kept have kRowLevel and are known where this is printed.
class RowText {
 public:
  static constexpr int kRowLevel = 1;    // kept dims
  static constexpr int kOuterLevel = 2;  // reduced dims but for the last
  static constexpr int kInnerLevel = 3;  // the last reduced dim

  RowText(Text& text, const Kernel& kernel);

  NestText& nest() { return nest_; }
  const ReductionText& reduction_text(size_t i) const { return texts_[i]; }
  int64_t rows() const { return nest_.count(kRowLevel); }
  int64_t length() const { return nest_.count(kOuterLevel) * nest_.count(kInnerLevel); }
  static std::string state(size_t i) { return fmt::format("s{}", i); }

  // Declares the buffers and emits what no dim changes; what only the row decides.
  void begin_task();
  void begin_row(const std::string& row);
  // All reductions of the row.
  void print_passes();
  // Combines the elements [segment, segment_end) of some reductions.
  void print_segment(const std::vector<size_t>& reductions);
  void know(size_t reduction);  // its state is complete
  // Results that wait for columns are left out. `at_element`, with its roots, is printed for every element of the row.
  void print_stores(const std::vector<ScalarId>& roots = {}, const std::function<void()>& at_element = {});

 private:
  const Reduction& reduction(size_t i) const { return nest_.nest().reductions[i]; }
  std::vector<ScalarId> values_of(const std::vector<size_t>& reductions) const;
  void print_chunk(const std::vector<size_t>& of_pass);
  bool is_plain_run(size_t i) const;
  std::string direct_index(size_t i, const std::string& first) const;
  bool varies(const Store& store) const;

  Text& text_;
  NestText nest_;
  std::vector<ReductionText> texts_;
  std::vector<Store> stores_;  // that do not wait for columns
  std::vector<ScalarId> roots_;
};

}  // namespace stepc::cpu
