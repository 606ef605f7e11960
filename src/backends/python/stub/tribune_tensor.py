"""pb_utils.Tensor, the datatypes, and the exchange of memory by DLPack."""

import ctypes
import struct

import numpy as np


class TritonModelException(Exception):
    """What the Python API raises; a model may raise it too."""


# Numbers of model_config.proto's DataType. BF16 has no numpy type of its own.
_NUMPY_BY_CODE = {
    1: np.bool_,
    2: np.uint8,
    3: np.uint16,
    4: np.uint32,
    5: np.uint64,
    6: np.int8,
    7: np.int16,
    8: np.int32,
    9: np.int64,
    10: np.float16,
    11: np.float32,
    12: np.float64,
    13: np.object_,
}
BYTES, BF16 = 13, 14
_CODE_BY_DTYPE = {np.dtype(kind): code for code, kind in _NUMPY_BY_CODE.items()}
_DTYPE_BY_CODE = {code: np.dtype(kind) for code, kind in _NUMPY_BY_CODE.items()}
_RAW_BF16 = np.dtype(np.uint16)
_NUMPY_BY_NAME = {
    "TYPE_BOOL": bool,
    "TYPE_UINT8": np.uint8,
    "TYPE_UINT16": np.uint16,
    "TYPE_UINT32": np.uint32,
    "TYPE_UINT64": np.uint64,
    "TYPE_INT8": np.int8,
    "TYPE_INT16": np.int16,
    "TYPE_INT32": np.int32,
    "TYPE_INT64": np.int64,
    "TYPE_FP16": np.float16,
    "TYPE_FP32": np.float32,
    "TYPE_FP64": np.float64,
    "TYPE_STRING": np.object_,
}
_LENGTH = struct.Struct("<I")


def triton_to_numpy_type(data_type):
    """The numpy type of a DataType number."""
    return _NUMPY_BY_CODE[data_type]


def numpy_to_triton_type(data_type):
    """The DataType number of a numpy type."""
    return _CODE_BY_DTYPE[np.dtype(data_type)]


def triton_string_to_numpy(triton_type_string):
    """The numpy type of a name such as TYPE_FP32; KeyError for names without one."""
    return _NUMPY_BY_NAME[triton_type_string]


def _bytes_of(value):
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8")
    return str(value).encode("utf-8")


def serialize_byte_tensor(input_tensor):
    """The elements of an array in row order, each after its uint32 length; an empty tuple for an empty array."""
    if input_tensor.size == 0:
        return ()
    return _serialize(input_tensor)


def _serialize(array):
    parts = []
    pack = _LENGTH.pack
    for value in array.ravel().tolist():
        data = value if type(value) is bytes else _bytes_of(value)
        parts.append(pack(len(data)))
        parts.append(data)
    return b"".join(parts)


def deserialize_bytes_tensor(encoded_tensor):
    """The elements of a serialized byte tensor as a one-dimensional object array of bytes."""
    data = bytes(encoded_tensor)
    elements, at, end = [], 0, len(data)
    unpack = _LENGTH.unpack_from
    while at < end:
        start = at + 4
        at = start + unpack(data, at)[0]
        elements.append(data[start:at])
    array = np.empty(len(elements), dtype=np.object_)
    array[:] = elements
    return array


class Tensor:
    """A named array. Shares the memory of the array it was made of until it is sent."""

    __slots__ = ("_name", "_code", "_array", "_raw", "_shape", "__weakref__")

    def __init__(self, name, array, /):
        if not isinstance(name, str) or not isinstance(array, np.ndarray):
            raise TypeError(
                "pb_utils.Tensor takes a name (str) and a NumPy array, "
                f"not ({type(name).__name__}, {type(array).__name__})"
            )
        dtype = array.dtype
        code = _CODE_BY_DTYPE.get(dtype)
        if code is None:
            if dtype.kind == "S":
                code, array = BYTES, array.astype(np.object_)
            elif dtype.name == "bfloat16":
                code, array = BF16, array.view(_RAW_BF16)
            else:
                raise TritonModelException("NumPy dtype is not supported.")
        self._name, self._code, self._array, self._raw = name, code, array, None
        self._shape = array.shape

    @classmethod
    def _received(cls, name, code, shape, raw):
        """A tensor over bytes that came from the server; BYTES are taken apart when they are asked for."""
        tensor = cls.__new__(cls)
        tensor._name, tensor._code, tensor._raw, tensor._shape = name, code, raw, tuple(shape)
        tensor._array = None
        if code != BYTES:
            tensor._array = np.ndarray(tensor._shape, _DTYPE_BY_CODE.get(code, _RAW_BF16), raw)
        return tensor

    def name(self):
        return self._name

    def triton_dtype(self):
        return self._code

    def shape(self):
        return list(self._shape)

    def is_cpu(self):
        return True

    def as_numpy(self):
        if self._code == BF16:
            raise TritonModelException("Tensor dtype is BF16 and cannot be converted to NumPy.")
        return self._values()

    def _values(self):
        if self._array is None:
            self._array = deserialize_bytes_tensor(self._raw).reshape(self._shape)
        return self._array

    def _place(self, channel, tail):
        """[name, datatype, shape, where, offset, size] after putting the bytes where the server can read them."""
        if self._code == BYTES:
            # Strings that nobody looked at go on as they came.
            data = self._raw if self._array is None else _serialize(self._array)
            place = channel.place(data, len(data), tail)
        else:
            place = channel.place_array(self._array, tail)
        return [self._name, self._code, list(self._shape), *place]

    # ---- DLPack

    def to_dlpack(self):
        return self.__dlpack__()

    def __dlpack__(self, *, stream=None, **_):
        if self._code == BYTES:
            raise TritonModelException("DLPack does not have support for string tensors.")
        return _capsule(self._array, self._code)

    def __dlpack_device__(self):
        return (_DL_CPU, 0)

    @staticmethod
    def from_dlpack(name, obj):
        """A tensor over the memory of a DLPack capsule, or of an object with `__dlpack__`."""
        array, code = _from_capsule(obj if type(obj).__name__ == "PyCapsule" else obj.__dlpack__())
        tensor = Tensor._received(name, code, array.shape, array)
        tensor._array = array
        return tensor


# ---- DLPack structures, version 0.x: the one that every exporter and importer knows.

_DL_CPU, _DL_CUDA_HOST = 1, 3
_DL_INT, _DL_UINT, _DL_FLOAT, _DL_BFLOAT, _DL_BOOL = 0, 1, 2, 4, 6


class _DLDataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", _DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_DLManagedTensor))
_DLManagedTensor._fields_ = [("dl_tensor", _DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", _DELETER)]

_python = ctypes.pythonapi
_python.PyCapsule_New.restype = ctypes.py_object
_python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_python.PyCapsule_GetPointer.restype = ctypes.c_void_p
_python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
_UNUSED, _USED = b"dltensor", b"used_dltensor"

# Structures handed out, by address, with what keeps their memory alive; an importer's deleter takes them out.
_exported = {}


@_DELETER
def _forget(managed):
    _exported.pop(ctypes.addressof(managed.contents), None)


def _dl_type(code):
    if code == BF16:
        return _DLDataType(_DL_BFLOAT, 16, 1)
    dtype = _DTYPE_BY_CODE[code]
    kind = {"b": _DL_BOOL, "i": _DL_INT, "u": _DL_UINT, "f": _DL_FLOAT}[dtype.kind]
    return _DLDataType(kind, dtype.itemsize * 8, 1)


def _capsule(array, code):
    ndim = array.ndim
    shape = (ctypes.c_int64 * max(1, ndim))(*array.shape)
    strides = (ctypes.c_int64 * max(1, ndim))(*(s // array.itemsize for s in array.strides))
    managed = _DLManagedTensor()
    tensor = managed.dl_tensor
    tensor.data = array.ctypes.data
    tensor.device_type, tensor.device_id = _DL_CPU, 0
    tensor.ndim, tensor.dtype = ndim, _dl_type(code)
    tensor.shape, tensor.strides, tensor.byte_offset = shape, strides, 0
    managed.deleter = _forget
    address = ctypes.addressof(managed)
    _exported[address] = (managed, array, shape, strides)
    return _python.PyCapsule_New(address, _UNUSED, None)


class _Imported:
    """Owner of memory that another library exported; calls its deleter at the end."""

    def __init__(self, managed, address, size):
        self._managed = managed
        self.buffer = (ctypes.c_uint8 * max(1, size)).from_address(address)

    def __del__(self):
        if self._managed.contents.deleter:
            self._managed.contents.deleter(self._managed)


def _from_capsule(capsule):
    managed = ctypes.cast(_python.PyCapsule_GetPointer(capsule, _UNUSED), ctypes.POINTER(_DLManagedTensor))
    tensor = managed.contents.dl_tensor
    if tensor.device_type not in (_DL_CPU, _DL_CUDA_HOST):
        raise TritonModelException(f"DLPack device type {tensor.device_type} is not CPU memory.")
    code = _code_of(tensor.dtype)
    dtype = _DTYPE_BY_CODE.get(code, _RAW_BF16)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    count = int(np.prod(shape, dtype=np.int64)) if shape else 1
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
    extent = dtype.itemsize
    if count:
        extent += sum((n - 1) * s for n, s in zip(shape, strides)) if strides else (count - 1) * dtype.itemsize
    owner = _Imported(managed, (tensor.data or 0) + tensor.byte_offset, extent)
    _python.PyCapsule_SetName(capsule, _USED)
    # The Lease-like subclass instance stays the base of every view, so the owner lives as long as they do.
    base = np.ndarray.__new__(_Borrowed, (extent,), np.uint8, owner.buffer)
    base.owner = owner
    return np.ndarray(shape, dtype, base, 0, strides), code


class _Borrowed(np.ndarray):
    def __array_finalize__(self, _):
        self.owner = None


def _code_of(dtype):
    if dtype.lanes == 1:
        if dtype.code == _DL_BFLOAT and dtype.bits == 16:
            return BF16
        kind = {_DL_BOOL: "b", _DL_INT: "i", _DL_UINT: "u", _DL_FLOAT: "f"}.get(dtype.code)
        for code, candidate in _DTYPE_BY_CODE.items():
            if candidate.kind == kind and candidate.itemsize * 8 == dtype.bits:
                return code
    raise TritonModelException(f"DLPack data type (code {dtype.code}, {dtype.bits} bits) is not supported.")
