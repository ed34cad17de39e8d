#pragma once

#include "ir/graph.h"

#include <string>

namespace stepc::corpus {

// Where two graphs differ in anything but ids and the names of values (of which the text form keeps unique ones), in
// one line; empty where they do not.
std::string first_difference(const Graph& a, const Graph& b);

}  // namespace stepc::corpus
