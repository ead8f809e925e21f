class Packing:
    unit: int
    count: int
    nodes: int
