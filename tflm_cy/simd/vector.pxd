"""`simd.h` for the kernels' loops: opaque vectors and their operations. Read the header for what each does.

Only `isa_*.pyx` include the families that use these; each defines SIMD_ISA before the header is read.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, uint8_t

cdef extern from "simd.h" nogil:
    enum:
        VL                       # lanes of 32 bits
        VB                       # bytes
    ctypedef struct vf:
        pass
    ctypedef struct vi:
        pass
    ctypedef vi vb

    vf vf_load(const float* p) noexcept
    void vf_store(float* p, vf a) noexcept
    vf vf_load_part(const float* p, ptrdiff_t n) noexcept
    void vf_store_part(float* p, vf a, ptrdiff_t n) noexcept
    vf vf_set1(float x) noexcept
    vf vf_add(vf a, vf b) noexcept
    vf vf_sub(vf a, vf b) noexcept
    vf vf_mul(vf a, vf b) noexcept
    vf vf_div(vf a, vf b) noexcept
    vf vf_fma(vf a, vf b, vf c) noexcept
    vf vf_min(vf a, vf b) noexcept
    vf vf_max(vf a, vf b) noexcept
    vf vf_from_vi(vi a) noexcept
    vi vi_from_vf(vf a) noexcept

    vi vi_load(const int32_t* p) noexcept
    void vi_store(int32_t* p, vi a) noexcept
    vi vi_load_part(const int32_t* p, ptrdiff_t n) noexcept
    void vi_store_part(int32_t* p, vi a, ptrdiff_t n) noexcept
    vi vi_set1(int32_t x) noexcept
    vi vi_add(vi a, vi b) noexcept
    vi vi_sub(vi a, vi b) noexcept
    vi vi_mul(vi a, vi b) noexcept
    vi vi_min(vi a, vi b) noexcept
    vi vi_max(vi a, vi b) noexcept
    vi vi_sra(vi a, int n) noexcept
    vi vi_from_s8(const void* p) noexcept
    vi vi_from_u8(const void* p) noexcept
    vi vi_dot4(vi acc, vb u, vb s) noexcept
    int32_t vi_sum(vi a) noexcept

    vb vb_load(const void* p) noexcept
    void vb_store(void* p, vb a) noexcept
    vb vb_load_part(const void* p, ptrdiff_t n) noexcept
    void vb_store_part(void* p, vb a, ptrdiff_t n) noexcept
    vb vb_set1(int x) noexcept
    vb vb_set1_16(int x) noexcept
    vb vb_set1_32(const void* p) noexcept
    vb vb_xor(vb a, vb b) noexcept
    vb vb_and(vb a, vb b) noexcept
    vb vb_min_s(vb a, vb b) noexcept
    vb vb_max_s(vb a, vb b) noexcept
    vb vb_min_u(vb a, vb b) noexcept
    vb vb_max_u(vb a, vb b) noexcept
    vb vb_zip8_low(vb a, vb b) noexcept
    vb vb_zip8_high(vb a, vb b) noexcept
    vb vb_zip16_low(vb a, vb b) noexcept
    vb vb_zip16_high(vb a, vb b) noexcept
    vb vb_pack_s(vi a, vi b, vi c, vi d, vb zero) noexcept
    vb vb_pack_u(vi a, vi b, vi c, vi d, vb zero) noexcept
    vb vb_unlane(vb a) noexcept
    vb vb_lane(vb a) noexcept
    vb vb_gather(const uint8_t* p, ptrdiff_t step, int pieces) noexcept
    void vb_scatter(uint8_t* p, ptrdiff_t step, vb a, int pieces, ptrdiff_t count) noexcept
