#pragma once

#include "passes/analysis/saved.h"

#include <map>
#include <string>
#include <utility>

namespace stepc {

// Whether the value is saved where a backward uses it: produced by the forward or the loss, or given, and no scalar
// constant.
bool may_be_saved(const Graph& graph, const Layouts& layouts, ValueId value);

// How a listing calls a value: by its name, by that of what it is a view of, else by its operation and operand.
std::string saved_name(const Graph& graph, ValueId value);

// Collects rows and names blocks in the order in which they come.
class SavedListingBuilder {
 public:
  SavedListingBuilder(const Graph& graph, const Layouts& layouts) : graph_(graph), layouts_(layouts) {}

  // Returns the letters of the value's block.
  std::string add(ValueId value, std::string op, const Origin* origin);
  SavedListing finish() && { return std::move(listing_); }

 private:
  const Graph& graph_;
  const Layouts& layouts_;
  std::map<ValueId, std::string> blocks_;
  SavedListing listing_;
};

}  // namespace stepc
