"""TFLM_DECODE, which expands compressed constants: per output a pointer, a state and, with pruning, zero points."""

from tflm_cy.micro.decode_requests import HEADER, method, pairs, refusal


def decode(w):
    reason = refusal(w.node)
    w.ensure(reason is None, reason)
    w.keep(w.machine.size("pointer") * len(w.node.outputs))
    for i, (_, ancillary, decoded) in enumerate(pairs(w.node)):
        w.open(f"i{2 * i} i{2 * i + 1} o{i}")
        w.hold()
        name = method(bytes(ancillary.data[:HEADER]))
        w.keep(w.machine.op_data[name])
        if name == "DecodePrune" and len(decoded.scales) > 1 and any(decoded.zero_points):
            w.keep(len(decoded.scales))


WALKS = {"TFLM_DECODE": decode}
