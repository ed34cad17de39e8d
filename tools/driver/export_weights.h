#pragma once

#include "tools/driver/model.h"
#include "tools/driver/options.h"
#include "tools/driver/session.h"

#include <string>

namespace stepc {

// --save FILE.onnx: a model that came from ONNX or the zoo, with its present weights, each initializer in its own
// layout (tied copies alike).
void export_weights(const DriverOptions& options, const Model& model, const Session& session, const std::string& path);

}  // namespace stepc
