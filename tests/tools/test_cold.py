"""tools.cold: functions that can raise are marked cold, what works for them hot, others are not marked."""

from tools.cold import attributes, mark_cold

TEXT = """static int prepare(struct Context *c, struct Node *n); /*proto*/
static int run(struct Context *c, struct Node *n); /*proto*/
static CYTHON_INLINE int check(int a); /*proto*/
static int pack(int a); /*proto*/
static CYTHON_INLINE void fill_table(int *a); /*proto*/
static CYTHON_INLINE int twice(int a); /*proto*/

static int prepare(struct Context *c, struct Node *n) {
  if (check(twice(1))) {
    fill_table(c->table);
    __Pyx_AddTraceback("prepare", 1, 2, "a.pyx");
  }
}

static int run(struct Context *c, struct Node *n) {
  for (i = 0; i < 9; i += 1) {
  }
  return 0;
}

static CYTHON_INLINE int check(int a) {
  __Pyx_AddTraceback("check", 1, 2, "a.pyx");
}

static int pack(int a) {
  while (1) {
  }
  __Pyx_AddTraceback("pack", 1, 2, "a.pyx");
}

static CYTHON_INLINE void fill_table(int *a) {
  for (i = 0; i < 256; i += 1) {
  }
}

static CYTHON_INLINE int twice(int a) {
  return 2 * a;
}
"""


def test_what_raises_is_cold_and_what_works_for_it_is_hot():
    assert attributes(TEXT) == {"prepare": "cold", "check": "cold", "fill_table": "hot"}


def test_declarations_are_marked_and_nothing_else():
    marked = mark_cold(TEXT)
    assert "static int prepare(struct Context *c, struct Node *n) __attribute__((cold)); /*proto*/" in marked
    assert "static CYTHON_INLINE void fill_table(int *a) __attribute__((hot)); /*proto*/" in marked
    assert marked.replace(" __attribute__((cold))", "").replace(" __attribute__((hot))", "") == TEXT
    assert mark_cold(TEXT.replace("__Pyx_AddTraceback", "other")) == TEXT.replace("__Pyx_AddTraceback", "other")
