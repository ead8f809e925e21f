"""tools.cold: functions that can raise are marked cold, what works for them hot, others are not marked."""

import re

from tools.cold import attributes, mark_cold

TEXT = """static int __pyx_f_prepare(struct Context *c, struct Node *n); /*proto*/
static int __pyx_f_run(struct Context *c, struct Node *n); /*proto*/
static CYTHON_INLINE int __pyx_f_check(int a); /*proto*/
static int __pyx_f_pack(int a); /*proto*/
static CYTHON_INLINE void __pyx_f_fill_table(int *a); /*proto*/
static CYTHON_INLINE int __pyx_f_twice(int a); /*proto*/
static CYTHON_INLINE int __pyx_f_scan(int *a); /*proto*/
static CYTHON_INLINE int __Pyx_Find(int *a); /*proto*/

static int __pyx_f_prepare(struct Context *c, struct Node *n) {
  if (__pyx_f_check(__pyx_f_twice(1))) {
    __pyx_f_fill_table(c->table);
    __Pyx_AddTraceback("prepare", 1, 2, "a.pyx");
  }
}

static int __pyx_f_run(struct Context *c, struct Node *n) {
  for (i = 0; i < 9; i += 1) {
  }
  return 0;
}

static CYTHON_INLINE int __pyx_f_check(int a) {
  __Pyx_AddTraceback("check", 1, 2, "a.pyx");
}

static int __pyx_f_pack(int a) {
  while (1) {
  }
  __Pyx_AddTraceback("pack", 1, 2, "a.pyx");
}

static CYTHON_INLINE void __pyx_f_fill_table(int *a) {
  for (i = 0; i < 256; i += 1) {
  }
}

static CYTHON_INLINE int __pyx_f_twice(int a) {
  return 2 * __pyx_f_scan(&a) + __Pyx_Find(&a);
}

static CYTHON_INLINE int __pyx_f_scan(int *a) {
  for (i = 0; i < 9; i += 1) {
  }
}

static CYTHON_INLINE int __Pyx_Find(int *a) {
  for (i = 0; i < 9; i += 1) {
  }
}
"""


def test_what_raises_is_cold_and_what_works_for_it_is_hot():
    assert attributes(TEXT) == {
        "__pyx_f_prepare": "cold",
        "__pyx_f_check": "cold",
        "__pyx_f_fill_table": "hot, noinline",
        "__pyx_f_scan": "hot",
    }


def test_what_kernels_share_may_be_inlined():
    shared = TEXT.replace("  for (i = 0; i < 9", "  __pyx_f_fill_table(c->table);\n  for (i = 0; i < 9", 1)
    assert attributes(shared)["__pyx_f_fill_table"] == "hot"


def test_declarations_are_marked_and_nothing_else():
    marked = mark_cold(TEXT)
    assert "static int __pyx_f_prepare(struct Context *c, struct Node *n) __attribute__((cold)); /*proto*/" in marked
    assert "static void __pyx_f_fill_table(int *a) __attribute__((hot, noinline)); /*proto*/" in marked
    assert "static void __pyx_f_fill_table(int *a) {" in marked
    assert re.sub(r" __attribute__\(\([a-z, ]+\)\)", "", marked) == TEXT.replace(
        "static CYTHON_INLINE void", "static void"
    )
    assert mark_cold(TEXT.replace("__Pyx_AddTraceback", "other")) == TEXT.replace("__Pyx_AddTraceback", "other")
