"""Vector kernels: loops once per family (`*.pxi`), one thin module per instruction set (`isa_*.pyx`), the choice (`table.pyx`)."""
