"""Taking hold of a model, whoever wrote it: one session under three thin adapters.

Our models are reached by their seam, Hugging Face's by their attention interface, plain PyTorch ones by a function mode
over `scaled_dot_product_attention`. Each attention is put into the options of `regard.attention.attend`, computed once,
and shown to the session. `attach` is the door.
"""

from regard.lens.hooks.attach import attach, module_of

__all__ = ["attach", "module_of"]
