"""Cases of operator forms that ONNX's node tests no longer have, or never had: attributes that became operands, semantics that
changed with the version, combinations. write_cases.py writes them; each expected value is a numpy formula that a reader can check,
and onnx's reference evaluator has to agree with it wherever it knows that version."""

import dataclasses

import numpy as np
from onnx import TensorProto
from onnx import helper

F32 = np.float32


@dataclasses.dataclass
class Case:
    name: str
    opset: int
    nodes: list
    inputs: dict  # name: array
    outputs: dict  # name: expected array
    initializers: dict = dataclasses.field(default_factory=dict)
    in_reference: bool = True  # onnx's reference evaluator has this version


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(F32)


def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def single(name, opset, op, inputs, outputs, initializers=None, in_reference=True, **attributes):
    """One node that reads the inputs, then the initializers, in their order."""
    initializers = initializers or {}
    node = helper.make_node(op, [*inputs, *initializers], [*outputs], name="n", **attributes)
    return Case(name, opset, [node], inputs, outputs, initializers, in_reference)


def softmax_cases():
    """Before 13 the operand counts as a matrix (product of the dims before axis, product of the others)."""
    x = numbers(2, 3, 4)
    rows = x.reshape(2, 12)
    # the reference evaluator takes 13's meaning of axis for every version
    yield single("softmax_7_default_axis", 7, "Softmax", {"x": x}, {"y": softmax(rows, 1).reshape(x.shape)}, in_reference=False)
    yield single("softmax_11_axis_0", 11, "Softmax", {"x": x}, {"y": softmax(x.reshape(1, 24), 1).reshape(x.shape)},
                 in_reference=False, axis=0)
    yield single("softmax_11_last_axis", 11, "Softmax", {"x": x}, {"y": softmax(x, 2)}, axis=-1)
    yield single("log_softmax_11_default_axis", 11, "LogSoftmax", {"x": x}, {"y": np.log(softmax(rows, 1)).reshape(x.shape)},
                 in_reference=False)
    yield single("softmax_13_middle_axis", 13, "Softmax", {"x": x}, {"y": softmax(x, 1)}, axis=1)


def shape_cases():
    x = numbers(1, 3, 1, 2)
    yield single("squeeze_7_all", 7, "Squeeze", {"x": x}, {"y": x.reshape(3, 2)})
    yield single("squeeze_11_axes", 11, "Squeeze", {"x": x}, {"y": x.reshape(1, 3, 2)}, axes=[-2])
    yield single("unsqueeze_7_axes", 7, "Unsqueeze", {"x": numbers(3, 2)}, {"y": numbers(3, 2).reshape(1, 3, 1, 2)}, axes=[0, 2])
    yield single("unsqueeze_11_negative", 11, "Unsqueeze", {"x": numbers(3)}, {"y": numbers(3).reshape(3, 1, 1)}, axes=[-1, -2])
    yield single("reshape_7_zero_and_minus_one", 7, "Reshape", {"x": x}, {"y": x.reshape(1, 6)}, {"s": np.array([0, -1])})
    yield single("flatten_9_axis_0", 9, "Flatten", {"x": x}, {"y": x.reshape(1, 6)}, axis=0)
    yield single("transpose_7_default", 7, "Transpose", {"x": numbers(2, 3)}, {"y": numbers(2, 3).T})
    yield single("expand_8_both_ways", 8, "Expand", {"x": numbers(3, 1)}, {"y": np.broadcast_to(numbers(3, 1), (2, 3, 4))},
                 {"s": np.array([2, 1, 4])})
    yield single("shape_13", 13, "Shape", {"x": x}, {"y": np.array([1, 3, 1, 2])})
    yield single("shape_15_range", 15, "Shape", {"x": x}, {"y": np.array([3, 1])}, start=1, end=-1)
    yield single("constant_of_shape_9_scalar", 9, "ConstantOfShape", {}, {"y": np.array(7, F32)}, {"s": np.zeros(0, np.int64)},
                 value=helper.make_tensor("v", TensorProto.FLOAT, [1], [7]))
    yield single("tile_6", 7, "Tile", {"x": numbers(2, 1, 3)}, {"y": np.tile(numbers(2, 1, 3), (1, 2, 2))}, {"r": np.array([1, 2, 2])})
    yield single("eye_like_9", 9, "EyeLike", {"x": numbers(2, 3)}, {"y": np.eye(2, 3, 1, F32)}, k=1)


def reduction_cases():
    x = numbers(2, 3, 4)
    yield single("reduce_sum_11_axes", 11, "ReduceSum", {"x": x}, {"y": x.sum(axis=(0, 2))}, axes=[0, -1], keepdims=0)
    yield single("reduce_sum_7_all", 7, "ReduceSum", {"x": x}, {"y": x.sum(keepdims=True)})
    yield single("reduce_mean_11_axes", 11, "ReduceMean", {"x": x}, {"y": x.mean(axis=1, keepdims=True)}, axes=[1])
    yield single("reduce_mean_13_axes", 13, "ReduceMean", {"x": x}, {"y": x.mean(axis=-1)}, axes=[-1], keepdims=0)
    yield single("reduce_max_12_axes", 12, "ReduceMax", {"x": x}, {"y": x.max(axis=2, keepdims=True)}, axes=[2])
    yield single("reduce_l2_11_axes", 11, "ReduceL2", {"x": x}, {"y": np.sqrt((x * x).sum(axis=0))}, axes=[0], keepdims=0)
    yield single("reduce_l1_13_axes", 13, "ReduceL1", {"x": x}, {"y": np.abs(x).sum(axis=(1, 2))}, axes=[1, 2], keepdims=0)
    yield single("reduce_log_sum_exp_11", 11, "ReduceLogSumExp", {"x": x}, {"y": np.log(np.exp(x).sum(axis=1))}, axes=[1], keepdims=0)
    positive = np.abs(x)
    yield single("reduce_log_sum_11", 11, "ReduceLogSum", {"x": positive}, {"y": np.log(positive.sum(axis=1))}, axes=[1], keepdims=0)
    yield single("arg_max_11", 11, "ArgMax", {"x": x}, {"y": x.argmax(axis=1)}, axis=1, keepdims=0)


def movement_cases():
    x = numbers(2, 6)
    yield single("split_7_sizes", 7, "Split", {"x": x}, {"a": x[:, :1], "b": x[:, 1:3], "c": x[:, 3:]}, axis=1, split=[1, 2, 3])
    yield single("split_11_equal", 11, "Split", {"x": x}, {"a": x[:, :3], "b": x[:, 3:]}, axis=-1)
    yield single("split_13_sizes", 13, "Split", {"x": x}, {"a": x[:, :2], "b": x[:, 2:]}, {"s": np.array([2, 4])}, axis=1)
    yield single("slice_9_attributes", 9, "Slice", {"x": x}, {"y": x[1:, -3:]}, starts=[1, -3], ends=[2**31 - 1, 6], axes=[0, 1])
    yield single("slice_9_default_axes", 9, "Slice", {"x": x}, {"y": x[:1, 2:5]}, starts=[0, 2], ends=[1, -1])
    ends = {"s": np.array([5]), "e": np.array([-(2**63)]), "a": np.array([1]), "t": np.array([-2])}
    yield single("slice_10_backwards", 10, "Slice", {"x": x}, {"y": x[:, 5::-2]}, ends)
    yield single("pad_7_constant", 7, "Pad", {"x": x}, {"y": np.pad(x, ((1, 0), (0, 2)), constant_values=F32(1.5))}, pads=[1, 0, 0, 2],
                 value=1.5)
    yield single("pad_7_reflect", 7, "Pad", {"x": x}, {"y": np.pad(x, ((0, 0), (2, 1)), "reflect")}, mode="reflect", pads=[0, 2, 0, 1])
    yield single("pad_7_crop", 7, "Pad", {"x": x}, {"y": x[:, 1:-2]}, in_reference=False, pads=[0, -1, 0, -2])
    yield single("pad_11_edge", 11, "Pad", {"x": x}, {"y": np.pad(x, ((1, 2), (0, 0)), "edge")}, {"p": np.array([1, 0, 2, 0])}, mode="edge")
    yield single("pad_13_value_as_input", 13, "Pad", {"x": x, "p": np.array([0, 1, 0, 0]), "v": np.array(3, F32)},
                 {"y": np.pad(x, ((0, 0), (1, 0)), constant_values=F32(3))})


def arithmetic_cases():
    x, y = numbers(2, 3), numbers(3, seed=1)
    yield single("clip_6_both", 7, "Clip", {"x": x}, {"y": np.clip(x, -0.5, 0.5)}, min=-0.5, max=0.5)
    yield single("clip_6_min", 7, "Clip", {"x": x}, {"y": np.maximum(x, F32(0.25))}, min=0.25)
    yield single("clip_11_max_only", 11, "Clip", {"x": x, "": None, "m": np.array(0.5, F32)}, {"y": np.minimum(x, F32(0.5))})
    yield single("pow_7", 7, "Pow", {"x": np.abs(x), "e": y}, {"y": np.abs(x) ** y})
    yield single("pow_12_integer_exponent", 12, "Pow", {"x": x, "e": np.array(3)}, {"y": x**3})
    integers = np.array([7, -7, 7, -7])
    yield single("div_7_truncates", 7, "Div", {"a": integers, "b": np.array([2, 2, -2, -2])}, {"y": np.array([3, -3, -3, 3])},
                 in_reference=False)
    yield single("mod_10", 10, "Mod", {"a": integers, "b": np.array([3, 3, -3, -3])}, {"y": np.array([1, 2, -2, -1])})
    yield single("mod_10_fmod", 10, "Mod", {"a": integers, "b": np.array([3, 3, -3, -3])}, {"y": np.array([1, -1, 1, -1])}, fmod=1)
    yield single("max_8_three", 8, "Max", {"x": x, "y": y, "z": np.array(0, F32)}, {"m": np.maximum(np.maximum(x, y), 0)})
    yield single("mean_8", 8, "Mean", {"x": x, "y": y}, {"m": (x + y) / 2})
    yield single("dropout_7", 7, "Dropout", {"x": x}, {"y": x}, ratio=0.7)
    yield single("dropout_10_mask", 10, "Dropout", {"x": x}, {"y": x, "m": np.ones((2, 3), bool)}, ratio=0.7)
    yield single("cast_9_truncates", 9, "Cast", {"x": np.array([1.9, -1.9, 0.2], F32)}, {"y": np.array([1, -1, 0])}, to=TensorProto.INT64)
    yield single("not_equal_nan_where", 12, "Where", {"c": np.array([True, False, True]), "x": y, "z": np.full(3, np.nan, F32)},
                 {"y": np.where([True, False, True], y, F32(np.nan))})


def indexing_cases():
    x = np.array([[3, 1, 2], [0, 5, 4]], F32)
    values, indices = np.array([[3, 2], [5, 4]], F32), np.array([[0, 2], [1, 2]])
    yield single("top_k_1", 9, "TopK", {"x": x}, {"v": values, "i": indices}, k=2)
    yield single("top_k_10", 10, "TopK", {"x": x}, {"v": values, "i": indices}, {"k": np.array([2])})
    yield single("top_k_11_smallest", 11, "TopK", {"x": x}, {"v": x.min(axis=0, keepdims=True), "i": np.array([[1, 0, 0]])},
                 {"k": np.array([1])}, axis=0, largest=0)
    yield single("gather_7_negative", 7, "Gather", {"x": x, "i": np.array([[-1, 0]])}, {"y": x[:, [[-1, 0]]]}, axis=1)
    # the reference evaluator has no Scatter
    yield single("scatter_9", 9, "Scatter", {"x": x, "i": np.array([[1, 0]]), "u": np.array([[8, 9]], F32)},
                 {"y": np.array([[3, 9, 2], [8, 5, 4]], F32)}, in_reference=False)
    yield single("one_hot_9_negative", 9, "OneHot", {"i": np.array([0, -1, 5])}, {"y": np.array([[9, 1, 1], [1, 1, 9], [1, 1, 1]], F32)},
                 {"d": np.array(3), "v": np.array([1, 9], F32)}, in_reference=False)
    yield single("cumsum_11_reverse", 11, "CumSum", {"x": x}, {"y": np.array([[6, 3, 2], [9, 9, 4]], F32)}, {"a": np.array(1)}, reverse=1)
    yield single("non_zero_9_known", 9, "NonZero", {}, {"y": np.array([[0, 1, 1], [1, 0, 1]])}, {"x": np.array([[0, 2], [3, 4]])})
    yield single("gather_nd_11", 11, "GatherND", {"x": x, "i": np.array([[1, 2], [0, -1]])}, {"y": np.array([4, 2], F32)})


def linear_cases():
    a, b, c = numbers(3, 2), numbers(4, 3, seed=1), numbers(2, 1, seed=2)
    yield single("gemm_7", 7, "Gemm", {"a": a, "b": b, "c": c}, {"y": F32(0.5) * (a.T @ b.T) + F32(2) * c}, transA=1, transB=1, alpha=0.5,
                 beta=2.0)
    yield single("gemm_9_bias", 9, "Gemm", {"a": a, "b": b[:, :2].T.copy(), "c": numbers(4, seed=3)},
                 {"y": a @ b[:, :2].T + numbers(4, seed=3)})
    yield single("gemm_11_no_c", 11, "Gemm", {"a": a, "b": numbers(2, 5)}, {"y": a @ numbers(2, 5)})
    yield single("matmul_9_vector", 9, "MatMul", {"a": numbers(2, 3, 4), "b": numbers(4)}, {"y": numbers(2, 3, 4) @ numbers(4)})
    terms = {"ij,jk": [(2, 3), (3, 4)], "ij,jk->ki": [(2, 3), (3, 4)], "i,j->ij": [(2,), (3,)], "ii->i": [(3, 3)], "ii": [(3, 3)],
             "...ij,...jk->...ik": [(2, 1, 3, 4), (1, 5, 4, 2)], "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)], "bchw->bhw": [(2, 3, 2, 2)],
             "iij,jk->ik": [(2, 2, 3), (3, 2)], "ba": [(2, 3)], "b...,b...->...": [(2, 3, 4), (2, 3, 4)]}
    for index, (equation, shapes) in enumerate(terms.items()):
        operands = {f"x{i}": numbers(*shape, seed=i) for i, shape in enumerate(shapes)}
        expected = np.asarray(np.einsum(equation, *operands.values()), F32)
        yield single(f"einsum_12_{index}", 12, "Einsum", operands, {"y": expected}, equation=equation)


def convolution(x, w, strides, low, high, dilations, group):
    """Every output element as the sum over its window of the padded input."""
    x = np.pad(x, [(0, 0), (0, 0), *zip(low, high)])
    kernel = w.shape[2:]
    size = [(n - (k - 1) * d - 1) // s + 1 for n, k, d, s in zip(x.shape[2:], kernel, dilations, strides)]
    y = np.zeros((x.shape[0], w.shape[0], *size))
    per_group = w.shape[0] // group
    for m in range(w.shape[0]):
        first = m // per_group * w.shape[1]
        channels = x[:, first : first + w.shape[1]]
        for at in np.ndindex(*size):
            window = tuple(slice(p * s, p * s + (k - 1) * d + 1, d) for p, s, k, d in zip(at, strides, kernel, dilations))
            y[(slice(None), m, *at)] = (channels[(slice(None), slice(None), *window)] * w[m]).sum(axis=tuple(range(1, x.ndim)))
    return y.astype(F32)


def convolution_cases():
    x, w, bias = numbers(2, 4, 6), numbers(4, 2, 3, seed=1), numbers(4, seed=2)
    yield single("conv_7_grouped_1d", 7, "Conv", {"x": x, "w": w, "b": bias},
                 {"y": convolution(x, w, [1], [2], [0], [1], 2) + bias[:, None]}, group=2, pads=[2, 0], kernel_shape=[3])
    image, kernel = numbers(1, 2, 5, 6), numbers(3, 2, 3, 2, seed=1)
    yield single("conv_11_same_upper", 11, "Conv", {"x": image, "w": kernel},
                 {"y": convolution(image, kernel, [2, 2], [1, 0], [1, 0], [1, 1], 1)}, auto_pad="SAME_UPPER", strides=[2, 2])
    yield single("conv_11_same_lower", 11, "Conv", {"x": image, "w": kernel},
                 {"y": convolution(image, kernel, [1, 1], [1, 1], [1, 0], [1, 1], 1)}, auto_pad="SAME_LOWER")
    yield single("conv_22_dilated", 22, "Conv", {"x": image, "w": kernel},
                 {"y": convolution(image, kernel, [1, 2], [1, 0], [0, 2], [2, 3], 1)}, dilations=[2, 3], strides=[1, 2], pads=[1, 0, 0, 2])


def norm_cases():
    x, scale, bias = numbers(2, 4, 3), numbers(4, seed=1), numbers(4, seed=2)
    mean, variance = numbers(4, seed=3), np.abs(numbers(4, seed=4))

    def channels(v):
        return v[:, None]

    normalized = (x - channels(mean)) / np.sqrt(channels(variance) + F32(1e-5))
    yield single("batch_norm_9", 9, "BatchNormalization", {"x": x, "s": scale, "b": bias, "m": mean, "v": variance},
                 {"y": normalized * channels(scale) + channels(bias)}, in_reference=False)
    whole = (x - x.mean(axis=(1, 2), keepdims=True)) / np.sqrt(x.var(axis=(1, 2), keepdims=True) + F32(1e-5))
    w, b = numbers(4, 3, seed=5), numbers(4, 3, seed=6)
    yield single("layer_norm_17_axis_1", 17, "LayerNormalization", {"x": x, "w": w, "b": b}, {"y": whole * w + b}, axis=1)


def loss_cases():
    scores, labels = numbers(2, 3, 2), np.array([[0, 2], [1, -1]])
    log_prob = np.log(softmax(scores, 1))
    picked = np.array([[log_prob[0, 0, 0], log_prob[0, 2, 1]], [log_prob[1, 1, 0], 0]], F32)
    weights = np.array([1, 2, 3], F32)
    of_label = np.array([[1, 3], [2, 0]], F32)
    yield single("softmax_cross_entropy_12_ignored", 12, "SoftmaxCrossEntropyLoss", {"x": scores, "t": labels},
                 {"y": np.asarray(-picked.sum() / 3, F32)}, ignore_index=-1)
    yield single("softmax_cross_entropy_12_weights", 12, "SoftmaxCrossEntropyLoss", {"x": scores, "t": labels, "w": weights},
                 {"y": np.asarray(-(picked * of_label).sum() / of_label.sum(), F32), "p": log_prob}, ignore_index=-1)
    yield single("nll_12_sum", 12, "NegativeLogLikelihoodLoss", {"x": log_prob, "t": labels, "w": weights},
                 {"y": np.asarray(-(picked * of_label).sum(), F32)}, reduction="sum", ignore_index=-1)


def sequence_cases():
    x = numbers(2, 5)
    split = helper.make_node("SplitToSequence", ["x", "size"], ["parts"], name="split", axis=1)
    at = helper.make_node("SequenceAt", ["parts", "position"], ["y"], name="at")
    size, position = np.array(2), np.array(-1)
    yield Case("chunk_by_sequence_11", 11, [split, at], {"x": x}, {"y": x[:, 4:]}, {"size": size, "position": position})
    build = helper.make_node("SequenceConstruct", ["x", "z"], ["parts"], name="build")
    join = helper.make_node("ConcatFromSequence", ["parts"], ["y"], name="join", axis=1, new_axis=1)
    z = numbers(2, 5, seed=1)
    yield Case("stack_by_sequence_11", 11, [build, join], {"x": x, "z": z}, {"y": np.stack([x, z], axis=1)})


def all_cases():
    for group in (softmax_cases, shape_cases, reduction_cases, movement_cases, arithmetic_cases, indexing_cases, linear_cases,
                  convolution_cases, norm_cases, loss_cases, sequence_cases):
        yield from group()
