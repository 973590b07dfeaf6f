"""The models of the lectures, each small and readable: Transformer, decoder-only, encoder-only and recurrent.

They share one set of blocks, call `attend` for every attention through a seam that can be held from outside, and know
nothing of looking, decoding or files of other libraries.
"""

from regard.models.checkpoint import build, load_model, save_model
from regard.models.config import DecoderConfig, EncoderConfig, RecurrentConfig, TransformerConfig
from regard.models.decoder import Decoder
from regard.models.encoder import Encoder
from regard.models.recurrent import Recurrent
from regard.models.seam import Seam, seams
from regard.models.transformer import Transformer

__all__ = [
    "Decoder",
    "DecoderConfig",
    "Encoder",
    "EncoderConfig",
    "Recurrent",
    "RecurrentConfig",
    "Seam",
    "Transformer",
    "TransformerConfig",
    "build",
    "load_model",
    "save_model",
    "seams",
]
