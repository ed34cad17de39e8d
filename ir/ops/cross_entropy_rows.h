#pragma once

#include "ir/builder.h"
#include "ir/op_def.h"

#include <array>
#include <span>
#include <string>

namespace stepc {

// What cross_entropy and linear_cross_entropy share. Per row of logits x, t its label:
//
//   lse = log Σ_c exp(x_c)
//   l = lse − (1 − label_smoothing)·x_t − label_smoothing/C · Σ_c x_c + z_loss·lse²
//
// and l = 0 where t is `ignore_index`; any other label outside [0, C) is an error of the input. The loss is l
// (`reduction` "none"), Σ l ("sum") or Σ l over the number of labels that are not ignored ("mean": 0/0, NaN, when there
// is none, as in PyTorch).
struct CrossEntropyRules {
  explicit CrossEntropyRules(const Attrs& attrs)
      : ignore_index(attrs.integer("ignore_index")),
        smoothing(attrs.real("label_smoothing")),
        z_loss(attrs.real("z_loss")),
        reduction(attrs.text("reduction")) {}

  int64_t ignore_index;
  double smoothing, z_loss;
  const std::string& reduction;
};

constexpr std::array<AttrSpec, 12> kCrossEntropyAttrs{{{"reduction", AttrKind::text},
                                                       {"ignore_index", AttrKind::integer, false, -100},
                                                       {"label_smoothing", AttrKind::real, false},
                                                       {"z_loss", AttrKind::real, false}}};
Attrs cross_entropy_attrs(const Attrs& attrs);  // those of the above among the attributes of some node

// Throws UserError: labels that are no integers, or not one per row; an unknown reduction.
void check_labels(const InferArgs& args, const Type& labels, const Shape& rows);
// The type of the loss of rows whose statistics have this dtype.
Type loss_type(const Attrs& attrs, const Shape& rows, Dtype dtype);

// Of so many logits.
int64_t cross_entropy_flops(const CrossEntropyRules& rules, int64_t logits);

// As nodes: whether each row's label counts, [N.., 1], and how many do.
ValueId counted_rows(Builder& b, ValueId labels, int64_t ignore_index);
ValueId count_of(Builder& b, ValueId counted, Dtype dtype);

// The gradient of logits x [N.., C], in the statistics dtype, from that of the loss.
ValueId logits_gradient(Builder& b, const CrossEntropyRules& rules, ValueId x, ValueId labels, ValueId lse,
                        ValueId upstream);

// --- evaluation
// Throws UserError for a label that is neither a class nor ignored; `op` leads the message.
void check_label(std::string_view op, int64_t label, int64_t row, int64_t classes, const CrossEntropyRules& rules);

struct RowLoss {
  double lse, loss;
};
RowLoss row_loss(std::span<const double> x, int64_t label, const CrossEntropyRules& rules);
int64_t counted_labels(const RefTensor& labels, int64_t ignore_index);

}  // namespace stepc
