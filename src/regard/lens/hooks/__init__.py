"""Taking hold of a model's attention from outside, whoever wrote the model.

Hugging Face's models are held through their own attention interface, plain PyTorch ones through a function mode over
`scaled_dot_product_attention`. Each call is put into the options of `regard.attention.attend`, computed once, and shown
to whoever holds the model. `hold` is the door.
"""

from regard.lens.hooks.attach import hold

__all__ = ["hold"]
