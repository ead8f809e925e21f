"""tools.cold: functions that can raise are marked, others are not."""

from tools.cold import mark_cold, raising

TEXT = """static int prepare(struct Context *c, struct Node *n); /*proto*/
static int run(struct Context *c, struct Node *n); /*proto*/
static CYTHON_INLINE int check(int a); /*proto*/

static int prepare(struct Context *c, struct Node *n) {
  if (check(1)) {
    __Pyx_AddTraceback("prepare", 1, 2, "a.pyx");
  }
}

static int run(struct Context *c, struct Node *n) {
  return 0;
}

static CYTHON_INLINE int check(int a) {
  __Pyx_AddTraceback("check", 1, 2, "a.pyx");
}
"""


def test_what_raises_is_found():
    assert raising(TEXT) == {"prepare", "check"}


def test_declarations_are_marked_and_nothing_else():
    marked = mark_cold(TEXT)
    assert "static int prepare(struct Context *c, struct Node *n) __attribute__((cold)); /*proto*/" in marked
    assert "static CYTHON_INLINE int check(int a) __attribute__((cold)); /*proto*/" in marked
    assert marked.replace(" __attribute__((cold))", "") == TEXT
    assert mark_cold(TEXT.replace("__Pyx_AddTraceback", "other")).count("cold") == 0
