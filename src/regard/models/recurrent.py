"""Recurrent encoder and decoder: with LSTMs and one vector between them (2014), or with additive attention (2015)."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from regard.attention.dropout import drop
from regard.models.config import RecurrentConfig
from regard.models.layers import Projection
from regard.models.seam import Seam


class State(NamedTuple):
    """What a recurrent decoder carries from word to word."""

    hidden: Tensor  # with attention (B, hidden); without (layers, B, hidden)
    cell: Tensor | None  # of the LSTM
    memory: Tensor | None  # with attention: what the encoder said of every word, (B, N, 2 * hidden)
    mask: Tensor | None

    def select(self, index: Tensor) -> State:
        """The state of other rows of the batch, in the order of `index`."""
        rows = 0 if self.cell is None else 1
        return State(
            self.hidden.index_select(rows, index),
            None if self.cell is None else self.cell.index_select(1, index),
            None if self.memory is None else self.memory.index_select(0, index),
            None if self.mask is None else self.mask.index_select(0, index),
        )


class Recurrent(nn.Module):
    """Source ids and target ids in, logits for the next target word out."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.config = config
        self.source = nn.Embedding(config.source_vocabulary, config.dim)
        self.target = nn.Embedding(config.target_vocabulary, config.dim)
        self.cells = AdditiveCells(config) if config.attention else PlainCells(config)
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=config.dim**-0.5)

    def forward(
        self, source_BN: Tensor, target_BT: Tensor, source_mask: Tensor | None = None, project: Projection = F.linear
    ) -> Tensor:
        """Logits (B, T, vocabulary), or what else `project` makes."""
        return self.advance(target_BT, self.start(source_BN, source_mask), project)[0]

    def start(self, source_BN: Tensor, source_mask: Tensor | None = None) -> State:
        """Read the source."""
        if source_mask is None:
            source_mask = torch.ones_like(source_BN, dtype=torch.bool)
            source_mask = source_mask if self.config.pad is None else source_BN != self.config.pad
        state: State = self.cells.read(self.drop(self.source(source_BN)), source_mask)
        return state

    def advance(self, target_BT: Tensor, state: State, project: Projection = F.linear) -> tuple[Tensor, State]:
        """Logits after each of some more target words, and the state behind the last."""
        vectors, state = self.cells.write(self.drop(self.target(target_BT)), state)
        output = self.cells.output
        return project(self.drop(vectors), output.weight, output.bias), state

    def drop(self, x: Tensor) -> Tensor:
        return drop(x, self.config.dropout, self.training)


class PlainCells(nn.Module):
    """The whole source in the last state of one LSTM, unrolled by another."""

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        self.encoder = nn.LSTM(config.dim, config.hidden, config.layers, batch_first=True)
        self.decoder = nn.LSTM(config.dim, config.hidden, config.layers, batch_first=True)
        self.output = nn.Linear(config.hidden, config.target_vocabulary)

    def read(self, x_BND: Tensor, mask: Tensor) -> State:
        """Run over the words only: padding must change nothing."""
        _, (hidden, cell) = self.encoder(packed(x_BND, mask)[0])
        return State(hidden, cell, None, None)

    def write(self, x_BTD: Tensor, state: State) -> tuple[Tensor, State]:
        out, (hidden, cell) = self.decoder(x_BTD, (state.hidden, state.cell))
        return out, State(hidden, cell, None, None)


class AdditiveCells(nn.Module):
    """A bidirectional GRU reads; at every step the decoder looks back at all of it.

    The score of a source word is w . tanh(W s + U h), with s the decoder's last state and h what the encoder said of
    the word. It goes through the same door as every attention: as the bias of a query and a key that are zero.
    """

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__()
        wide = 2 * config.hidden
        self.encoder = nn.GRU(config.dim, config.hidden, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(config.hidden, config.hidden)
        self.asks = nn.Linear(config.hidden, config.hidden, bias=False)  # W
        self.offers = nn.Linear(wide, config.hidden)  # U
        self.scores = nn.Linear(config.hidden, 1, bias=False)  # w
        self.decoder = nn.GRUCell(config.dim + wide, config.hidden)
        self.inner = nn.Linear(config.hidden + wide + config.dim, config.dim)
        self.output = nn.Linear(config.dim, config.target_vocabulary)
        self.seam = Seam("decoder.0.cross")

    def read(self, x_BND: Tensor, mask: Tensor) -> State:
        """Both directions over the words only; the decoder starts from what the backward one saw last."""
        words, order = packed(x_BND, mask)
        out, last = self.encoder(words)
        closed_up, _ = pad_packed_sequence(out, batch_first=True, total_length=x_BND.shape[1])
        back = order.argsort(-1)[..., None].expand_as(closed_up)
        memory = closed_up.gather(1, back)  # each word's vector at the word's own place again
        return State(torch.tanh(self.bridge(last[1])), None, memory, mask)

    def write(self, x_BTD: Tensor, state: State) -> tuple[Tensor, State]:
        memory, mask, hidden = state.memory, state.mask, state.hidden
        assert memory is not None
        offered = self.offers(memory)
        steps = []
        for x_BD in x_BTD.unbind(1):
            context = self.look(hidden, memory, offered, mask)
            hidden = self.decoder(torch.cat([x_BD, context], -1), hidden)
            steps.append(torch.tanh(self.inner(torch.cat([hidden, context, x_BD], -1))))
        return torch.stack(steps, 1), State(hidden, None, memory, mask)

    def look(self, hidden: Tensor, memory: Tensor, offered: Tensor, mask: Tensor | None) -> Tensor:
        """The mean of the memory, weighted by the additive scores."""
        bias = self.scores(torch.tanh(self.asks(hidden)[:, None] + offered)).mT[:, None]  # (B, 1 head, 1 query, N)
        nothing = memory.new_zeros(len(memory), 1, 1, 1)
        key = nothing.expand(-1, -1, memory.shape[1], -1)
        shown = None if mask is None else mask[:, None, None]
        return self.seam(nothing, key, memory[:, None], bias=bias, mask=shown, scale=1.0)[:, 0, 0]


def packed(x_BND: Tensor, mask: Tensor) -> tuple[PackedSequence, Tensor]:
    """Only the words, closed up wherever the padding stood, and the positions they came from.

    A text without any words counts as one of padding, since a recurrent net must read something.
    """
    order = (~mask).to(torch.uint8).argsort(stable=True, dim=-1)
    closed_up = x_BND.gather(1, order[..., None].expand_as(x_BND))
    lengths = mask.sum(-1).clamp(min=1).cpu()
    return pack_padded_sequence(closed_up, lengths, batch_first=True, enforce_sorted=False), order
