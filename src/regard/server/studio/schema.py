"""What the page asks and what it gets: the one source of its types, by way of /openapi.json."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

StudioTask = Literal["translate", "generate", "classify", "mask", "other"]
ModelKind = Literal["ships", "folder", "huggingface", "run"]
TextSide = Literal["source", "target"]
SiteKind = Literal["encoder", "decoder", "cross", "self"]
PageName = Literal["steps", "translate", "heads", "map", "compare", "training"]
NumberMatrix = list[list[float]] | list[list[list[float]]]  # with several heads, a matrix for each

Name = Annotated[str, Field(min_length=1, max_length=200)]
Position = Annotated[int, Field(ge=0, le=1 << 31)]
TokenId = Annotated[int, Field(ge=0, le=1 << 31)]
LONGEST = 200_000  # characters that a field may have at all; how many are read is a limit of the server


class AskedModel(BaseModel):
    """A request: what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class StudioError(BaseModel):
    """Why there is no answer, in a sentence."""

    error: str


class ModelInfo(BaseModel):
    """A model that can be looked at."""

    name: str
    kind: ModelKind
    family: str
    task: StudioTask
    languages: tuple[str, str] | None = None
    parameters: int
    examples: list[str] = Field(description="Texts to begin with.")
    problem: str | None = Field(None, description="Why it cannot be used, if so.")
    searches: bool = Field(description="Can /api/searches show its beams?")


class RecordingInfo(BaseModel):
    """A recording that was given on the command line; `recording:NAME` is its name as a model."""

    name: str
    calls: int
    sites: int
    tokens: int


class RunInfo(BaseModel):
    """A training run in the folder of runs."""

    name: str
    status: str
    step: int
    steps: int | None
    family: str
    best: float | None = Field(description="The best validation's score: BLEU, accuracy, else the loss.")
    measure: str | None = Field(description="What `best` measures.")


class StudioStart(BaseModel):
    """What the page opens with."""

    page: PageName
    model: str | None = None
    recording: str | None = None
    text: str | None = None


class StudioBounds(BaseModel):
    """How much may be asked at once."""

    characters: int
    tokens: int
    beams: int
    candidates: int
    cells: int = Field(description="Numbers of one binary answer.")


class StudioInfo(BaseModel):
    """All there is here."""

    version: str
    models: list[ModelInfo]
    recordings: list[RecordingInfo]
    runs: list[RunInfo]
    start: StudioStart
    limits: StudioBounds


class ExampleMistake(BaseModel):
    """A wrong number of an example, and what it should be. Without a column, a row that does not sum to 1."""

    step: str
    row: int
    column: int | None
    given: float
    written: str = Field(description="As the notes have it.")
    expected: float
    carried_on: bool
    sentence: str


class StatedNumber(BaseModel):
    """A number as the notes wrote it."""

    step: str
    row: int
    column: int
    written: str
    value: float


class WorkedExample(BaseModel):
    """An example worked by hand: its right numbers, what the notes wrote, and where they slipped."""

    name: str
    title: str
    note: str
    tokens: list[str]
    queries: list[str] = Field(description="The words that look; nearly always the tokens.")
    heads: int
    causal: bool
    temperature: float
    scale: float | None = Field(description="What scores are multiplied by; null: not known.")
    x: NumberMatrix | None = None
    w_q: NumberMatrix | None = None
    w_k: NumberMatrix | None = None
    w_v: NumberMatrix | None = None
    w_o: NumberMatrix | None = None
    q: NumberMatrix | None = None
    k: NumberMatrix | None = None
    v: NumberMatrix | None = None
    scores: list[list[float | None]] | None = None
    scaled: list[list[float | None]] | None = None
    weights: list[list[float | None]] | None = None
    output: list[list[float | None]] | None = None
    stated: list[StatedNumber]
    mistakes: list[ExampleMistake]
    toml: str = Field(description="The file itself, as `regard check` reads it.")


class CheckRequest(AskedModel):
    """A learner's numbers: as a TOML file, or as the sheet's numbers under the same names."""

    toml: str | None = Field(None, max_length=LONGEST)
    tokens: list[Annotated[str, Field(max_length=100)]] | None = Field(None, min_length=1, max_length=64)
    inputs: dict[str, list[list[int | float | str]]] | None = Field(
        None, description="x, w_q, w_k, w_v, or q, k, v: taken as they are."
    )
    stated: dict[str, list[list[int | float | str | None]]] | None = Field(
        None, description="What was computed, by step (q, k, v, scores, scaled, weights, output); null: left open."
    )
    scale: float | None = Field(None, description="What scores are multiplied by (1 / sqrt(d)).")
    causal: bool = False


class CheckFinding(BaseModel):
    """A wrong number, and what it should be. Without a column, a row that does not sum to 1."""

    step: str
    row: int
    column: int | None
    given: float
    expected: float
    carried_on: bool
    sentence: str


class CheckAnswer(BaseModel):
    """Every wrong number, once."""

    findings: list[CheckFinding]
    right: bool
    checked: int
    unchecked: int = Field(description="Numbers that nothing given leads to.")


class LookRequest(AskedModel):
    """A text to be read by a model, while every head is watched."""

    model: Name
    text: str = Field("", max_length=LONGEST)
    target: str | None = Field(None, max_length=LONGEST, description="What a translator is made to say.")
    target_ids: list[TokenId] | None = Field(
        None, max_length=4096, description="The same in ids, as /api/searches gives them, with or without the end."
    )
    call: int | None = Field(None, description="Which call of a recording (the last).")


class SiteInfo(BaseModel):
    """An attention layer, and which texts its rows and columns are."""

    site: str
    kind: SiteKind
    heads: int
    head_numbers: list[int] = Field(description="Of the heads that were kept, as the model counts them.")
    queries: int
    keys: int
    rows: TextSide
    columns: TextSide
    causal: bool
    writes: bool = Field(description="Does row i write the token after it?")
    values: bool = Field(description="Can weights be had by value?")
    pooled: int | None = Field(None, description="Cells of so many tokens were pooled when it was recorded.")


class TokenProbability(BaseModel):
    """A token that may come, and how likely."""

    token: str
    token_id: int
    probability: float


class AlignmentHeads(BaseModel):
    """Where the links between the words of two texts are read, as `regard align` chose it."""

    site: str
    heads: list[int] = Field(description="None: the mean of all heads.")
    row: Literal["output", "input"] = Field(
        description="Whose row it is: of the token it writes, or of the one it read."
    )
    how: str = Field(description="How it was chosen.")


class LookAnswer(BaseModel):
    """What a model did with a text. A model of one text has it as its source; its target is empty."""

    id: str
    model: str
    text: str
    output: str | None = Field(None, description="What it says: a translation, a continuation, a label.")
    task: StudioTask
    source: list[str]
    target: list[str] = Field(description="What the decoder read, from its start on.")
    written: list[str] = Field(description="What each row of the decoder writes: the token after it.")
    source_count: int = Field(description="Tokens in all: of a long text, /text gives them piece by piece.")
    target_count: int
    sites: list[SiteInfo]
    badge: str
    true: bool = Field(description="Are these the weights that the model used, by the badge?")
    next: list[TokenProbability] | None = Field(None, description="What comes next, of a model that goes on.")
    notes: list[str] = []
    alignment: AlignmentHeads | None = None


class HeadRow(BaseModel):
    """What one head does, on average over its rows; null where a measure has no meaning."""

    site: str
    head: int
    entropy: float | None
    top_weight: float | None
    distance: float | None
    first: float | None
    own: float | None = Field(description="On the token itself.")
    previous: float | None
    induction: float | None


class HeadsAnswer(BaseModel):
    """The table of heads."""

    columns: list[str]
    rows: list[HeadRow]


class HeadEffectRow(BaseModel):
    """What a head's silence does to the mean log probability of what the model says."""

    site: str
    head: int
    effect: float
    by_token: list[float] = Field(description="The change of each token's log probability.")


class HeadEffectsAnswer(BaseModel):
    """The effect of each head; the lower, the more the model needed it."""

    baseline: float
    tokens: list[str] = Field(description="What the model says.")
    rows: list[HeadEffectRow]


class WeightOnColumn(BaseModel):
    """A key, and the weight on it."""

    column: int
    token: str
    weight: float


class CellAnswer(BaseModel):
    """Why this cell: its score, product by product, and its place in its row."""

    site: str
    head: int
    row: int
    column: int
    row_token: str
    column_token: str
    query: list[float]
    key: list[float]
    products: list[float]
    score: float = Field(description="q.k: the sum of the products.")
    scaled: float | None = Field(description="After scale, softcap and bias; null where the cell is masked.")
    masked: bool
    weight: float
    lse: float | None = Field(description="Log of the sum of exp(score): weight = exp(scaled - lse).")
    scale: float
    softcap: float | None
    bias: float
    value_norm: float | None = Field(description="The norm of the key's value through W_O, where it was kept.")
    rank: int = Field(description="1 for the largest weight of the row.")
    row_top: list[WeightOnColumn]


class StrongCell(BaseModel):
    """One cell, its tokens and its weight."""

    row: int
    column: int
    row_token: str
    column_token: str
    weight: float


class TextPart(BaseModel):
    """Tokens of one side, from `start` on."""

    start: int
    tokens: list[str]


class FoundPositions(BaseModel):
    """Where a search matched: the position of the first token of each match."""

    positions: list[int]
    more: bool = Field(description="Were there more than are given?")


class HeadChange(AskedModel):
    """One change of what a head does. Rows and keys are positions; without them, all of them."""

    site: Name
    head: Annotated[int, Field(ge=0, le=4096)] | None = None
    kind: Literal["silence", "sharpen", "pin", "forbid"]
    factor: Annotated[float, Field(ge=-1e4, le=1e4, allow_inf_nan=False)] | None = None
    row: Position | None = None
    column: Position | None = None


class EffectRequest(AskedModel):
    """Changes, all at once, of the model of a look."""

    look: Name
    changes: list[HeadChange] = Field(max_length=256)


class Prediction(BaseModel):
    """What the model says."""

    output: str
    tokens: list[str]
    probabilities: list[float]
    next: list[TokenProbability] | None = None


class KeptToken(BaseModel):
    """A token that the model said before the change, and its probability before and after."""

    position: int
    token: str
    before: float
    after: float


class EffectAnswer(BaseModel):
    """Before and after."""

    before: Prediction
    after: Prediction
    tokens: list[KeptToken] = Field(alias="kept", description="Of the first output, under both.")


class VectorPlace(AskedModel):
    """A token of a look."""

    look: Name
    side: TextSide = "source"
    position: Position


class SimilarityRequest(AskedModel):
    """Two tokens whose vectors are compared."""

    left: VectorPlace
    right: VectorPlace


class LayerSimilarity(BaseModel):
    """How alike two vectors are after a layer."""

    name: str
    cosine: float
    distance: float


class SimilarityAnswer(BaseModel):
    """Layer by layer, the embedding first."""

    left: str
    right: str
    layers: list[LayerSimilarity]


class ForcedToken(AskedModel):
    """At this step of the search, this token and no other."""

    step: Annotated[int, Field(ge=0, le=4095)]
    token_id: TokenId


class SearchRequest(AskedModel):
    """A text to translate, or to go on with, and how many beams to follow."""

    model: Name
    text: str = Field(max_length=LONGEST)
    beams: int = Field(4, ge=1, le=16)
    forced: list[ForcedToken] = Field([], max_length=512)
    prefix: list[TokenId] = Field([], max_length=512, description="Forced tokens from step 0 on.")


class TypedRequest(AskedModel):
    """Words that a person puts behind the first tokens of a translation."""

    model: Name
    words: str = Field(min_length=1, max_length=200)
    prefix: list[TokenId] = Field([], max_length=512, description="What stands before them.")
    instead: TokenId | None = Field(None, description="The token that stood there.")


class TypedAnswer(BaseModel):
    """What to search with: the ids of all that is written so far."""

    ids: list[int]
    unchanged: int = Field(description="How many of them are as they were; those behind are the words'.")
    tokens: list[str] = Field(description="Of the words.")


class SearchCandidate(BaseModel):
    """A text that the search thought of: its parent's, and one token more."""

    id: int
    parent: int | None = Field(description="The id of the candidate it goes on from; null at the first step.")
    token: str
    token_id: int
    logprob: float = Field(description="Of this token.")
    total: float = Field(description="Of the whole text so far: the sum of its tokens' logprobs.")
    score: float = Field(description="What texts are ordered by: the total over the penalty for length.")
    survives: bool = Field(alias="kept", description="Was it gone on with, or kept as an ended text?")
    finished: bool


class SearchStep(BaseModel):
    """All candidates of a step, the best first."""

    candidates: list[SearchCandidate]


class SearchAnswer(BaseModel):
    """The whole tree of a beam search, with what was given up."""

    source: list[str]
    steps: list[SearchStep]
    best: int = Field(description="The id of the last candidate of the output.")
    path: list[int] = Field(description="The ids of the candidates of the output, first to last.")
    output: str
    tokens: list[str]
    ids: list[int] = Field(description="Of the output, its end included where it has one.")
    top: list[list[TokenProbability]] = Field(description="The likeliest tokens at each position of the output.")


class CurveSeries(BaseModel):
    """A number that changed while a model was trained."""

    name: str
    points: list[tuple[int, float]]


class RunSample(BaseModel):
    """What a model made of a text at a step."""

    step: int
    source: str
    reference: str
    output: str


class CheckpointInfo(BaseModel):
    """Weights that were kept, and can be looked at."""

    step: int
    name: str


class CurvesAnswer(BaseModel):
    """How a model learned."""

    run: RunInfo
    series: list[CurveSeries]
    samples: list[RunSample]
    checkpoints: list[CheckpointInfo]


class CheckpointLookRequest(AskedModel):
    """A text to be read by a run's model as it was at a checkpoint."""

    checkpoint: Name
    text: str = Field(max_length=LONGEST)
    target: str | None = Field(None, max_length=LONGEST)
    target_ids: list[TokenId] | None = Field(None, max_length=4096)
