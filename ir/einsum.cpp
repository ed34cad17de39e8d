#include "ir/einsum.h"

#include "ir/support/checked.h"

#include <cctype>
#include <utility>

namespace stepc {

namespace {

int axis_of(const std::string& labels, char label) {
  const size_t position = labels.find(label);
  return position == std::string::npos ? -1 : static_cast<int>(position);
}

void check_labels(std::string_view text, const std::string& labels) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(labels[i])) == 0)
      user_error("'{}': '{}' is not a label; labels are letters", text, labels[i]);
    if (labels.find(labels[i], i + 1) != std::string::npos)
      user_error("'{}': label '{}' occurs twice in '{}'", text, labels[i], labels);
  }
}

LabelRole role_of(bool in_a, bool in_b, bool in_result) {
  if (in_a && in_b) return in_result ? LabelRole::batch : LabelRole::k;
  if (in_a) return in_result ? LabelRole::m : LabelRole::sum_a;
  return in_result ? LabelRole::n : LabelRole::sum_b;
}

void check_rank(const EinsumSpec& spec, const std::string& labels, const Shape& shape) {
  if (labels.size() != shape.rank())
    user_error("'{}': '{}' has {} labels for an operand of shape {}", to_string(spec), labels, labels.size(),
               to_string(shape));
}

}  // namespace

EinsumSpec parse_einsum(std::string_view text) {
  const size_t arrow = text.find("->");
  const size_t comma = text.find(',');
  if (arrow == std::string_view::npos || comma == std::string_view::npos || comma > arrow)
    user_error("'{}' is not of the form 'labels,labels->labels'", text);
  EinsumSpec spec{std::string(text.substr(0, comma)), std::string(text.substr(comma + 1, arrow - comma - 1)),
                  std::string(text.substr(arrow + 2))};
  for (const std::string* labels : {&spec.a, &spec.b, &spec.result}) check_labels(text, *labels);
  for (const char label : spec.result)
    if (axis_of(spec.a, label) < 0 && axis_of(spec.b, label) < 0)
      user_error("'{}': label '{}' of the result occurs in neither operand", text, label);
  return spec;
}

std::string to_string(const EinsumSpec& spec) { return fmt::format("{},{}->{}", spec.a, spec.b, spec.result); }

Einsum bind_einsum(const EinsumSpec& spec, const Shape& a, const Shape& b) {
  check_rank(spec, spec.a, a);
  check_rank(spec, spec.b, b);
  Einsum bound{spec, {}};
  const std::string order = spec.result + spec.a + spec.b;
  for (size_t i = 0; i < order.size(); ++i) {
    if (order.find(order[i]) != i) continue;
    EinsumLabel label{.label = order[i],
                      .a_axis = axis_of(spec.a, order[i]),
                      .b_axis = axis_of(spec.b, order[i]),
                      .result_axis = axis_of(spec.result, order[i])};
    label.role = role_of(label.a_axis >= 0, label.b_axis >= 0, label.result_axis >= 0);
    label.size = label.a_axis >= 0 ? a[static_cast<size_t>(label.a_axis)] : b[static_cast<size_t>(label.b_axis)];
    if (label.b_axis >= 0 && b[static_cast<size_t>(label.b_axis)] != label.size)
      user_error("'{}': label '{}' is {} in {} and {} in {}", to_string(spec), label.label, label.size, to_string(a),
                 b[static_cast<size_t>(label.b_axis)], to_string(b));
    bound.labels.push_back(label);
  }
  return bound;
}

Attrs with_spec(Attrs attrs, std::string spec) {
  attrs.set("spec", std::move(spec));
  return attrs;
}

bool allows_tf32(const Attrs& attrs) { return attrs.has("tf32") && attrs.flag("tf32"); }

Shape Einsum::result_shape() const {
  Dims dims;
  for (const EinsumLabel& label : labels)
    if (label.result_axis >= 0) dims.push_back(label.size);
  return Shape(std::move(dims));
}

std::vector<EinsumLabel> Einsum::with_role(LabelRole role) const {
  std::vector<EinsumLabel> found;
  for (const EinsumLabel& label : labels)
    if (label.role == role) found.push_back(label);
  return found;
}

int64_t Einsum::size_of(LabelRole role) const {
  int64_t size = 1;
  for (const EinsumLabel& label : labels)
    if (label.role == role) size = checked_mul(size, label.size);
  return size;
}

int64_t Einsum::volume() const {
  int64_t size = 1;
  for (const EinsumLabel& label : labels) size = checked_mul(size, label.size);
  return size;
}

}  // namespace stepc
