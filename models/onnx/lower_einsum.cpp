#include "models/onnx/operands.h"
#include "models/onnx/rule_lists.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

// Einsum by pairs: operands are first brought to distinct labels, then contracted one after the other, a label being
// summed as soon as no later operand and not the result needs it.
namespace stepc::onnx_import {
namespace {

struct Equation {
  std::vector<std::string> operands;  // labels, "." for an ellipsis
  std::string result;
  bool explicit_result = false;
};

// "ij, jk -> ik": letters, commas, "...", "->"; spaces do not count.
Equation parse_equation(std::string text) {
  std::erase(text, ' ');
  for (size_t at; (at = text.find("...")) != std::string::npos;) text.replace(at, 3, "*");
  Equation equation;
  const size_t arrow = text.find("->");
  equation.explicit_result = arrow != std::string::npos;
  if (equation.explicit_result) equation.result = text.substr(arrow + 2);
  std::string operands = text.substr(0, arrow) + ",";
  for (size_t start = 0; start < operands.size();) {
    const size_t comma = operands.find(',', start);
    equation.operands.push_back(operands.substr(start, comma - start));
    start = comma + 1;
  }
  const auto legal = [](const std::string& term) {
    return std::all_of(term.begin(), term.end(), [](unsigned char c) { return std::isalpha(c) != 0 || c == '*'; }) &&
           std::count(term.begin(), term.end(), '*') <= 1;
  };
  if (!legal(equation.result) || !std::all_of(equation.operands.begin(), equation.operands.end(), legal))
    user_error("equation \"{}\" is not an einsum", text);
  return equation;
}

// Labels of the dims that an ellipsis stands for; an equation's own labels are letters.
constexpr std::string_view kEllipsisLabels = "0123456789";

// Replaces the ellipsis of each term by labels, counted from the right, and completes an implicit result.
void expand_ellipsis(const Lowering& l, Equation& equation) {
  size_t widest = 0;
  for (size_t i = 0; i < equation.operands.size(); ++i) {
    std::string& term = equation.operands[i];
    const size_t rank = l.shape(i).rank();
    const size_t at = term.find('*');
    const size_t letters = term.size() - (at == std::string::npos ? 0 : 1);
    if (at == std::string::npos ? letters != rank : letters > rank)
      user_error("term {} of the equation does not fit {}", i, to_string(l.shape(i)));
    if (at == std::string::npos) continue;
    const size_t hidden = rank - letters;
    if (hidden > kEllipsisLabels.size()) user_error("an ellipsis of {} dimensions is not supported", hidden);
    widest = std::max(widest, hidden);
    term.replace(at, 1, kEllipsisLabels.substr(kEllipsisLabels.size() - hidden));
  }
  const std::string_view ellipsis = kEllipsisLabels.substr(kEllipsisLabels.size() - widest);
  if (equation.explicit_result) {
    if (const size_t at = equation.result.find('*'); at != std::string::npos) equation.result.replace(at, 1, ellipsis);
    return;
  }
  std::map<char, int> counts;
  for (const std::string& term : equation.operands)
    for (const char label : term) ++counts[label];
  equation.result = ellipsis;
  for (const auto& [label, count] : counts)
    if (count == 1 && ellipsis.find(label) == std::string_view::npos) equation.result += label;
}

struct Term {
  ValueId value;
  std::string labels;
};

// Takes the diagonal of a label that occurs twice: one of its two axes is gathered at the index of the other.
void take_diagonals(Builder& b, Term& term) {
  for (size_t first = 0; first < term.labels.size(); ++first) {
    size_t second;
    while ((second = term.labels.find(term.labels[first], first + 1)) != std::string::npos) {
      const Shape shape = b.shape(term.value);
      if (shape[first] != shape[second])
        user_error("label {} has sizes {} and {}", term.labels[first], shape[first], shape[second]);
      Dims single = shape.dims();
      single[second] = 1;
      const ValueId index = b.iota(Dtype::i64, Shape(single), first);
      const ValueId diagonal =
          b.make(Op::gather_elements, {term.value, index}, {{"axis", static_cast<int64_t>(second)}});
      term.value = b.squeeze(diagonal, second);
      term.labels.erase(second, 1);
    }
  }
}

// Sizes of 1 that broadcast against a larger size of the same label are squeezed out of the operand.
void drop_broadcast_labels(Builder& b, Term& term, const std::map<char, int64_t>& sizes) {
  for (size_t i = 0; i < term.labels.size();) {
    if (b.shape(term.value)[i] == 1 && sizes.at(term.labels[i]) != 1) {
      term.value = b.squeeze(term.value, i);
      term.labels.erase(i, 1);
    } else {
      ++i;
    }
  }
}

// Sums over the labels that are not in `kept`.
Term sum_labels(Builder& b, const Term& term, std::string_view kept) {
  Term result{term.value, {}};
  std::vector<int64_t> summed;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (kept.find(term.labels[i]) == std::string_view::npos) {
      summed.push_back(static_cast<int64_t>(i));
    } else {
      result.labels += term.labels[i];
    }
  }
  result.value = b.reduce_sum(term.value, summed, /*keepdims=*/false);
  return result;
}

// Label names of a contraction spec are letters; the ellipsis' digits take letters that the equation leaves free.
std::string spec_letters(std::string_view labels, std::string_view used) {
  std::string spec(labels);
  std::string free;
  for (char c = 'a'; c <= 'z'; ++c)
    for (const char letter : {c, static_cast<char>(std::toupper(c))})
      if (used.find(letter) == std::string_view::npos) free += letter;
  if (free.size() < kEllipsisLabels.size()) user_error("an equation of {} letters is not supported", 52 - free.size());
  for (char& label : spec)
    if (std::isdigit(static_cast<unsigned char>(label)) != 0) label = free[static_cast<size_t>(label - '0')];
  return spec;
}

std::map<char, int64_t> label_sizes(const Builder& b, const std::vector<Term>& terms) {
  std::map<char, int64_t> sizes;
  for (const Term& term : terms)
    for (size_t i = 0; i < term.labels.size(); ++i) {
      int64_t& size = sizes.try_emplace(term.labels[i], 1).first->second;
      if (size == 1) size = b.shape(term.value)[i];
    }
  return sizes;
}

std::string distinct_labels(std::string_view labels) {
  std::string distinct;
  for (const char label : labels)
    if (distinct.find(label) == std::string::npos) distinct += label;
  return distinct;
}

Term contract(Builder& b, const Term& left, const Term& right, const std::string& needed, const std::string& used) {
  std::string result;
  for (const char label : distinct_labels(left.labels + right.labels))
    if (needed.find(label) != std::string::npos) result += label;
  if (needed.size() == result.size()) result = needed;  // the last pair: in the order of the result
  const std::string spec =
      spec_letters(left.labels, used) + "," + spec_letters(right.labels, used) + "->" + spec_letters(result, used);
  return {b.contraction(left.value, right.value, spec), result};
}

void einsum(Lowering& l, const OnnxNode& n) {
  Builder& b = l.b;
  Equation equation = parse_equation(n.text("equation", ""));
  if (equation.operands.size() != l.inputs())
    user_error("the equation has {} terms for {} operands", equation.operands.size(), l.inputs());
  expand_ellipsis(l, equation);

  std::vector<Term> terms;
  std::string used;
  for (size_t i = 0; i < l.inputs(); ++i) {
    terms.push_back({l.in(i), equation.operands[i]});
    take_diagonals(b, terms.back());
    used += equation.operands[i];
  }
  for (const char label : equation.result)
    if (used.find(label) == std::string::npos || std::count(equation.result.begin(), equation.result.end(), label) != 1)
      user_error("label {} of the result must occur in an operand, and once in the result", label);
  const std::map<char, int64_t> sizes = label_sizes(b, terms);
  for (Term& term : terms) drop_broadcast_labels(b, term, sizes);

  Term product = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string needed = equation.result;
    for (size_t later = i + 1; later < terms.size(); ++later) needed += terms[later].labels;
    product = contract(b, product, terms[i], distinct_labels(needed), used);
  }
  product = sum_labels(b, product, equation.result);
  std::vector<int64_t> perm;
  for (const char label : equation.result) perm.push_back(static_cast<int64_t>(product.labels.find(label)));
  l.set(0, b.transpose(product.value, std::move(perm)));
}

constexpr auto kRules = std::to_array<NamedRule>({{"Einsum", einsum}});

}  // namespace

RuleList einsum_rules() { return kRules; }

}  // namespace stepc::onnx_import
