"""The library through ctypes: only what the test uses, written from the public header."""
import ctypes
from ctypes import POINTER, byref, c_char_p, c_float, c_int32, c_int64, c_size_t, c_uint64, c_void_p, sizeof

CUDA, REFERENCE = 1, 2
NN, TN, NT = 1, 2, 3
NO_COMPILER = 204


class ContextOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("device_kind", c_int32),
        ("ordinal", c_int32),
        ("cu_context", c_uint64),
        ("stream_kind", c_int32),
        ("profile", c_int32),
        ("stream", c_uint64),
        ("cache_dir", c_char_p),
        ("threads", c_int32),
        ("reserved0", c_int32),
        ("reserved", c_uint64 * 4),
    ]


class Problem(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("op", c_int32),
        ("in_type", c_int32),
        ("out_type", c_int32),
        ("bias", c_int32),
        ("m", c_int64),
        ("k", c_int64),
        ("n", c_int64),
        ("lda", c_int64),
        ("ldb", c_int64),
        ("ldout", c_int64),
        ("alpha", c_float),
        ("beta", c_float),
        ("reserved", c_uint64 * 4),
    ]


class Operands(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("a", c_uint64),
        ("b", c_uint64),
        ("bias", c_uint64),
        ("out", c_uint64),
        ("reserved", c_uint64 * 4),
    ]


SIGNATURES = {
    "mgemm_device_count": [POINTER(c_int32)],
    "mgemm_context_options_init": [POINTER(ContextOptions), c_size_t, c_int32],
    "mgemm_context_create": [POINTER(c_uint64), POINTER(ContextOptions)],
    "mgemm_context_destroy": [c_uint64],
    "mgemm_alloc": [c_uint64, c_int64, POINTER(c_uint64)],
    "mgemm_free": [c_uint64, c_uint64],
    "mgemm_upload": [c_uint64, c_uint64, c_void_p, c_int64],
    "mgemm_download": [c_uint64, c_void_p, c_uint64, c_int64],
    "mgemm_problem_init": [POINTER(Problem), c_size_t, c_int32],
    "mgemm_gemm": [c_uint64, POINTER(Problem), POINTER(Operands)],
    "mgemm_prepare": [POINTER(c_uint64), c_uint64, POINTER(Problem), POINTER(Operands)],
    "mgemm_launch_run_on": [c_uint64, c_uint64],
    "mgemm_launch_describe_json": [c_uint64, c_char_p, c_size_t, POINTER(c_size_t)],
    "mgemm_launch_destroy": [c_uint64],
}


class Failure(Exception):
    def __init__(self, name, status, text):
        super().__init__(f"{name}: {status}: {text}")
        self.status = status


class Library:
    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        self._library.mgemm_last_error.restype = c_char_p
        for name, arguments in SIGNATURES.items():
            function = getattr(self._library, name)
            function.argtypes = arguments
            function.restype = c_int32

    def call(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            raise Failure(name, status, self._library.mgemm_last_error().decode())

    def device_count(self):
        count = c_int32(-1)
        self.call("mgemm_device_count", byref(count))
        return count.value


class Context:
    """A context on one device; product() takes and gives NumPy arrays."""

    def __init__(self, library, device_kind):
        self._library = library
        options = ContextOptions()
        library.call("mgemm_context_options_init", byref(options), sizeof(options), device_kind)
        handle = c_uint64()
        library.call("mgemm_context_create", byref(handle), byref(options))
        self._handle = handle.value

    def close(self):
        self._library.call("mgemm_context_destroy", self._handle)

    def _put(self, array):
        address = c_uint64()
        self._library.call("mgemm_alloc", self._handle, array.nbytes, byref(address))
        self._library.call("mgemm_upload", self._handle, address, array.ctypes.data, array.nbytes)
        return address.value

    def product(self, op, sizes, a, b, out, bias=None, alpha=1.0, beta=0.0):
        """A new array: the product computed over a copy of `out`."""
        problem = Problem()
        self._library.call("mgemm_problem_init", byref(problem), sizeof(problem), op)
        problem.m, problem.k, problem.n = sizes
        problem.alpha, problem.beta, problem.bias = alpha, beta, int(bias is not None)
        result = out.copy()
        operands = Operands(struct_size=sizeof(Operands), a=self._put(a), b=self._put(b), out=self._put(result))
        if bias is not None:
            operands.bias = self._put(bias)
        self._library.call("mgemm_gemm", self._handle, byref(problem), byref(operands))
        self._library.call("mgemm_download", self._handle, result.ctypes.data, operands.out, result.nbytes)
        for address in (operands.a, operands.b, operands.bias, operands.out):
            self._library.call("mgemm_free", self._handle, address)
        return result
