#pragma once

#include "tools/driver/model.h"
#include "tools/driver/options.h"
#include "tools/driver/session.h"

#include <string>

namespace stepc {

// --save FILE.onnx: the model with its present weights, each initializer in its own layout (tied copies alike).
// Throws UserError for models that did not come from ONNX or the zoo.
void export_weights(const DriverOptions& options, const Model& model, const Session& session, const std::string& path);

}  // namespace stepc
