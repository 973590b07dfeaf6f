// One flat array with strides: a row, a head or a rectangle of it costs no copy.

type Floats = Float32Array | Float64Array;

export class Tensor<Data extends Floats = Float32Array> {
  constructor(
    readonly data: Data,
    readonly shape: readonly number[],
    readonly strides: readonly number[] = stridesOf(shape),
    readonly offset = 0,
  ) {}

  get size(): number {
    return this.shape.reduce((size, dim) => size * dim, 1);
  }

  /** One number; negative indices count from the end. */
  at(...indices: number[]): number {
    return this.data[this.position(indices)];
  }

  /** Along the first dims: `row(head)` of (heads, queries, keys) is the map of that head. */
  row(...indices: number[]): Tensor<Data> {
    const rest = indices.length;
    return new Tensor(this.data, this.shape.slice(rest), this.strides.slice(rest), this.position(indices));
  }

  /** From `start` to before `stop` along one dim. */
  slice(dim: number, start: number, stop: number): Tensor<Data> {
    const shape = this.shape.map((length, index) => (index === dim ? Math.max(0, stop - start) : length));
    return new Tensor(this.data, shape, this.strides, this.offset + start * this.strides[dim]);
  }

  transpose(): Tensor<Data> {
    return new Tensor(this.data, [...this.shape].reverse(), [...this.strides].reverse(), this.offset);
  }

  /** The numbers in order: a view where they lie together, else a copy. */
  flat(): Data {
    const plain = stridesOf(this.shape);
    if (this.strides.every((stride, dim) => stride === plain[dim] || this.shape[dim] === 1)) {
      return this.data.subarray(this.offset, this.offset + this.size) as Data;
    }
    const out = new (this.data.constructor as new (size: number) => Data)(this.size);
    const indices = this.shape.map(() => 0);
    for (let index = 0; index < out.length; index++) {
      out[index] = this.at(...indices);
      for (let dim = indices.length - 1; dim >= 0; dim--) {
        if (++indices[dim] < this.shape[dim]) break;
        indices[dim] = 0;
      }
    }
    return out;
  }

  private position(indices: readonly number[]): number {
    let position = this.offset;
    for (let dim = 0; dim < indices.length; dim++) {
      const index = indices[dim] < 0 ? indices[dim] + this.shape[dim] : indices[dim];
      position += index * this.strides[dim];
    }
    return position;
  }
}

function stridesOf(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1);
  for (let dim = shape.length - 2; dim >= 0; dim--) strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}
