# tflm_cy: optimize=speed
"""Is this a flatbuffer of the .tflite schema? Every offset, vtable, field, vector, string and union that `layouts`
names is in bounds.

    Structure(base, size).walk()        # raises ValueError: what, at which byte, in which field

All arithmetic is on 64-bit positions counted from `base`, each the sum of at most three 32-bit numbers, so nothing
wraps. Alignment is not asked for: readers load through memcpy. Flatbuffers may refer to one object from many places,
and a small file can unfold that way into more work than the universe has time for; two budgets, a few times what an
unshared file of this size can hold, keep the walk, and everything later that walks the same references, linear in the
size of the file.

Source of the format: google/flatbuffers:docs/source/internals.md.
"""
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport malloc

from tflm_cy.schema.once cimport publish, seen
from tflm_cy.schema.table cimport load_i32, load_u16, load_u32

cdef enum Kind:
    SCALAR                   # `width` bytes in the table
    STRING
    VECTOR                   # of elements of `width` bytes
    TABLE                    # a `child`
    VECTOR_OF_TABLES
    UNION                    # value of the union `child`; its type is the slot before


cdef struct Field:
    uint8_t kind
    uint8_t width
    int child


cdef struct Layout:
    int count                # -1: not compiled yet
    Field* fields


cdef struct Union:
    int count                # members, with "none"
    int* layouts


cdef enum:
    MOST_TABLES = 256
    MOST_UNIONS = 8

cdef Layout layouts[MOST_TABLES]
cdef Union unions[MOST_UNIONS]
cdef int initial
for initial in range(MOST_TABLES):
    layouts[initial].count = -1
for initial in range(MOST_UNIONS):
    unions[initial].count = -1

TABLES = UNIONS = TABLE_NUMBERS = {}
TABLE_NAMES = UNION_NAMES = []
WIDTHS = {"i8": 1, "u8": 1, "bool": 1, "i16": 2, "u16": 2, "i32": 4, "u32": 4, "f32": 4, "i64": 8, "u64": 8}


cdef int read_layouts() except -1:
    """Take in the schema: with the first file, so that importing the package does not pay for it."""
    global TABLES, UNIONS, TABLE_NAMES, UNION_NAMES, TABLE_NUMBERS
    from tflm_cy.schema.layouts import TABLES as tables, UNIONS as members
    assert len(tables) <= MOST_TABLES and len(members) <= MOST_UNIONS
    TABLES, UNIONS, UNION_NAMES = tables, members, list(members)
    TABLE_NUMBERS = {name: number for number, name in enumerate(tables)}
    TABLE_NAMES = list(tables)
    return 0


def field_names(int layout):
    """Names of a table's slots; both slots of a union carry a name."""
    names = []
    for word in TABLES[TABLE_NAMES[layout]].split():
        name, kind = word.split(":")
        if kind[0] == "<":
            names.append(name + "_type")
        names.append(name)
    return names


cdef int compile_layout(int layout) except -1:
    """Fill `layouts[layout]` from its line of words: most files need a few of the many tables."""
    cdef Field* fields
    cdef int count = len(field_names(layout)), slot = 0
    fields = <Field*>malloc((count + 1) * sizeof(Field))
    if fields == NULL:
        raise MemoryError()
    for word in TABLES[TABLE_NAMES[layout]].split():
        kind = word.split(":")[1]
        fields[slot].child = 0
        fields[slot].width = 4
        if kind in WIDTHS:
            fields[slot].kind = SCALAR
            fields[slot].width = WIDTHS[kind]
        elif kind == "str":
            fields[slot].kind = STRING
        elif kind[0] == "<":
            fields[slot].kind = SCALAR
            fields[slot].width = 1
            slot += 1
            fields[slot].kind = UNION
            fields[slot].width = 4
            fields[slot].child = UNION_NAMES.index(kind.strip("[<>]"))
        elif kind[0] != "[":
            fields[slot].kind = TABLE
            fields[slot].child = TABLE_NUMBERS[kind]
        elif kind.strip("[<>]") in WIDTHS:
            fields[slot].kind = VECTOR
            fields[slot].child = WIDTHS[kind.strip("[<>]")]
        else:
            fields[slot].kind = VECTOR_OF_TABLES
            fields[slot].child = TABLE_NUMBERS[kind.strip("[<>]")]
        slot += 1
    layouts[layout].fields = fields
    publish(&layouts[layout].count, count)
    return 0


cdef int compile_union(int union) except -1:
    members = UNIONS[UNION_NAMES[union]].split()
    cdef int* numbers = <int*>malloc((len(members) + 1) * sizeof(int))
    cdef int member
    if numbers == NULL:
        raise MemoryError()
    numbers[0] = -1
    for member in range(len(members)):
        numbers[member + 1] = TABLE_NUMBERS[members[member]]
    unions[union].layouts = numbers
    publish(&unions[union].count, len(members) + 1)
    return 0


cdef class Structure:
    """One walk over one file; `path` says where it is, for errors."""

    cdef int walk(self) except -1:
        """Check everything reachable from the root, which is a Model."""
        if not TABLE_NAMES:
            read_layouts()
        self.depth = 0
        # A table and the offset that refers to it take eight bytes; some writers share equal tables or vectors.
        self.tables_left = self.size // 8 + 1024
        self.bytes_left = 8 * self.size + 65536
        return self.table(self.follow(0), 0)

    cdef int spend(self, uint64_t at, uint64_t count) except -1:
        """Count `count` bytes at `at` against what a file of this size may refer to."""
        if count > self.bytes_left:
            return self.fail(at, "the objects referred to are together far larger than the file: too much sharing")
        self.bytes_left -= count
        return 0

    cdef uint64_t follow(self, uint64_t at) except 0:
        """Position of the object that the offset at `at` (in bounds) refers to."""
        cdef uint64_t offset = load_u32(self.base + at), target = at + offset
        if offset == 0:
            self.fail(at, "an offset of 0 refers to itself")
        if target + 4 > self.size:
            self.fail(at, f"an offset leads to byte {target}, past the end of the file ({self.size} bytes): "
                          f"the file is truncated or damaged")
        return target

    cdef int table(self, uint64_t at, int layout) except -1:
        """The table at `at` (four bytes in bounds) and everything below it."""
        cdef int64_t vtable = <int64_t>at - load_i32(self.base + at)
        cdef uint64_t vtable_length, table_length, offset
        cdef int slot, count
        cdef Field* wanted
        cdef Place* place = &self.path[self.depth]
        place.layout = layout
        place.slot = -1
        place.index = -1
        if self.tables_left == 0:
            return self.fail(at, f"more than {self.size // 8 + 1024} tables are referred to: too much sharing")
        self.tables_left -= 1
        if vtable < 0 or <uint64_t>vtable + 4 > self.size:
            return self.fail(at, f"the table's vtable would be at byte {vtable} of {self.size}")
        vtable_length = load_u16(self.base + vtable)
        table_length = load_u16(self.base + vtable + 2)
        if vtable_length < 4 or vtable_length & 1 or <uint64_t>vtable + vtable_length > self.size:
            return self.fail(vtable, f"a vtable of {vtable_length} bytes is not possible here")
        if table_length < 4 or at + table_length > self.size:
            return self.fail(at, f"a table of {table_length} bytes is not possible here (the file has {self.size})")
        if seen(&layouts[layout].count) < 0:
            compile_layout(layout)
        count = min(layouts[layout].count, <int>(vtable_length - 4) // 2)
        for slot in range(count):
            offset = load_u16(self.base + vtable + 4 + 2 * slot)
            if offset == 0:
                continue
            wanted = &layouts[layout].fields[slot]
            place.slot = slot
            if offset < 4 or offset + wanted.width > table_length:
                return self.fail(vtable + 4 + 2 * slot, f"the field is at byte {offset} of its {table_length} bytes")
            if wanted.kind == SCALAR:
                continue
            if wanted.kind == UNION:
                self.union_value(vtable, at, offset, slot, wanted.child)
            else:
                self.field(at + offset, wanted.kind, wanted.child)
        return 0

    cdef int field(self, uint64_t at, int kind, int child) except -1:
        """What the offset at `at` refers to, by kind."""
        cdef uint64_t start = self.follow(at), length, index
        cdef Place* place = &self.path[self.depth]
        if kind == TABLE:
            self.depth += 1
            self.table(start, child)
            self.depth -= 1
            return 0
        if kind == STRING:
            length = self.vector(start, 1, "string")
            if start + 4 + length >= self.size or self.base[start + 4 + length] != 0:
                return self.fail(start, "the string has no closing zero byte")
            return 0
        if kind == VECTOR:
            self.vector(start, child, "vector")
            return 0
        length = self.vector(start, 4, "vector")
        self.depth += 1
        for index in range(length):
            place.index = index
            self.table(self.follow(start + 4 + 4 * index), child)
        self.depth -= 1
        place.index = -1
        return 0

    cdef int64_t vector(self, uint64_t start, int width, str what) except -1:
        """Length of the vector at `start`, all of whose elements are in bounds."""
        cdef uint64_t length = load_u32(self.base + start), end = start + 4 + length * width
        if end > self.size:
            self.fail(start, f"the {what} of {length} elements would end at byte {end}, past the end of the file "
                             f"({self.size} bytes): the file is truncated or damaged")
        self.spend(start, length * width)
        return length

    cdef int union_value(self, uint64_t vtable, uint64_t at, uint64_t offset, int slot, int union) except -1:
        """The value of a union by its type; of a type that nobody here knows only that it is a table."""
        cdef uint64_t kind = load_u16(self.base + vtable + 4 + 2 * (slot - 1))
        cdef int member = self.base[at + kind] if kind else 0
        cdef uint64_t start
        if member == 0:
            return 0
        start = self.follow(at + offset)
        if seen(&unions[union].count) < 0:
            compile_union(union)
        if member >= unions[union].count:
            return 0
        self.depth += 1
        self.table(start, unions[union].layouts[member])
        self.depth -= 1
        return 0

    cdef int fail(self, uint64_t at, str reason) except -1:
        """Raise ValueError naming the reason, the byte and the field."""
        cdef int level
        cdef Place place
        where = "Model"
        for level in range(self.depth + 1):
            place = self.path[level]
            if level:
                where += f" > {TABLE_NAMES[place.layout]}" if self.path[level - 1].index < 0 else ""
            if place.slot >= 0:
                where += "." + field_names(place.layout)[place.slot]
            if place.index >= 0:
                where += f"[{place.index}]"
        raise ValueError(f"The model is not a valid Flatbuffer buffer: {reason} (at byte {at}, {where})")
