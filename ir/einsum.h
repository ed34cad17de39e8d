#pragma once

#include "ir/attrs.h"
#include "ir/shape.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepc {

// The labels of a contraction of two operands, "bik,bkj->bij" split at its punctuation. Labels are letters; each occurs
// at most once per operand and once in the result, and every label of the result occurs in an operand.
struct EinsumSpec {
  std::string a, b, result;
  bool operator==(const EinsumSpec&) const = default;
};

// Throws UserError where the text is no such specification.
EinsumSpec parse_einsum(std::string_view text);
std::string to_string(const EinsumSpec& spec);

// A contraction's attributes with another specification.
Attrs with_spec(Attrs attrs, std::string spec);
// Whether its f32 operands may be rounded to TF32.
bool allows_tf32(const Attrs& attrs);

// What a label does, decided by where it occurs.
enum class LabelRole : uint8_t {
  batch,  // a, b, result
  m,      // a, result
  n,      // b, result
  k,      // a, b: the contracted labels
  sum_a,  // a alone: summed on its side only
  sum_b,  // b alone
};

struct EinsumLabel {
  char label = 0;
  LabelRole role{};
  int64_t size = 0;
  int a_axis = -1;  // -1 where the label does not occur
  int b_axis = -1;
  int result_axis = -1;
};

// A specification bound to the shapes of its operands.
struct Einsum {
  EinsumSpec spec;
  // The labels of the result in its order, then those summed, in the order of operand a, then of operand b.
  std::vector<EinsumLabel> labels;

  Shape result_shape() const;
  std::vector<EinsumLabel> with_role(LabelRole role) const;
  int64_t size_of(LabelRole role) const;  // product of the sizes, 1 where no label has the role
  int64_t volume() const;                 // product of all sizes: multiply-adds of the naive loop nest
};

// Throws UserError where ranks or sizes do not fit the labels. Sizes never broadcast: 1 against n is an error.
Einsum bind_einsum(const EinsumSpec& spec, const Shape& a, const Shape& b);

}  // namespace stepc
