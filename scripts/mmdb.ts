/** Writes databases in MaxMind DB format 2.0 (https://maxmind.github.io/MaxMind-DB/), without pointers between records. */

/** Consecutive IP addresses, as integers, with the same record. */
export interface AddressRange {
  readonly first: bigint
  readonly last: bigint
  readonly record: Buffer
}

export interface DatabaseFacts {
  readonly ipVersion: 4 | 6
  readonly type: string
  readonly description: string
  readonly builtAt: Date
}

/**
 * Encodes a database. The ranges must be sorted and must not overlap. In a database of IPv6, IPv4 addresses belong to ::/96.
 */
export function encodeDatabase(ranges: readonly AddressRange[], facts: DatabaseFacts): Buffer {
  const { nodes, records } = buildTree(ranges, facts.ipVersion === 4 ? 32n : 128n)
  const describeLocation = placesAfter(nodes.length, records)
  const tree = Buffer.alloc(nodes.length * 6)
  // The root is the node added last, and readers start at node 0.
  const encoded = (child: number) => (child >= 0 ? nodes.length - 1 - child : (describeLocation[-child - 1] as number))
  for (const [at, [left, right]] of nodes.toReversed().entries()) {
    tree.writeUIntBE(encoded(left), at * 6, 3)
    tree.writeUIntBE(encoded(right), at * 6 + 3, 3)
  }
  const marker = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')
  return Buffer.concat([tree, Buffer.alloc(separatorSize), ...records, marker, encodeMetadata(nodes.length, facts)])
}

export function encodeText(text: string): Buffer {
  return Buffer.concat([control(2, Buffer.byteLength(text)), Buffer.from(text)])
}

export function encodeMap(fields: Readonly<Record<string, Buffer>>): Buffer {
  const entries = Object.entries(fields)
  return Buffer.concat([control(7, entries.length), ...entries.flatMap(([name, field]) => [encodeText(name), field])])
}

export function encodeInteger(value: number, type: 'uint16' | 'uint32' | 'uint64'): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(value))
  const size = { uint16: 2, uint32: 4, uint64: 8 }[type]
  return Buffer.concat([control({ uint16: 5, uint32: 6, uint64: 9 }[type], size), bytes.subarray(8 - size)])
}

const separatorSize = 16

/** Children are indexes of nodes, or negative: -1 for unknown addresses, -2 for the first record, and so on. */
type Node = readonly [left: number, right: number]

const unknown = -1

/** Builds the search tree. Equal subtrees share their nodes, which halves the file. */
function buildTree(ranges: readonly AddressRange[], bits: bigint): { nodes: Node[]; records: Buffer[] } {
  const nodes: Node[] = []
  const records: Buffer[] = []
  const known = new Map<string, number>()
  const once = (key: string, add: () => number): number => {
    const value = known.get(key) ?? add()
    known.set(key, value)
    return value
  }
  const leafOf = (record: Buffer) => once(record.toString('latin1'), () => -records.push(record) - 1)
  const nodeOf = (left: number, right: number) => once(`${left} ${right}`, () => nodes.push([left, right]) - 1)
  const build = (first: bigint, depth: bigint, from: number, to: number): number => {
    const range = ranges[from]
    if (range === undefined || from === to) return unknown
    const size = 1n << (bits - depth)
    const isCovered = range.first <= first && range.last >= first + size - 1n
    // The root is a node even if all addresses have the same record.
    if (isCovered && depth > 0n) return leafOf(range.record)
    const middle = first + size / 2n
    const right = firstFrom(ranges, middle, from, to)
    const isSplit = right > from && (ranges[right - 1] as AddressRange).last >= middle
    const children = [
      build(first, depth + 1n, from, right),
      build(middle, depth + 1n, isSplit ? right - 1 : right, to),
    ] as const
    return children[0] === children[1] && children[0] < 0 && depth > 0n ? children[0] : nodeOf(...children)
  }
  build(0n, 0n, 0, ranges.length)
  return { nodes, records }
}

/** Returns the index of the first range that starts at `address` or later. */
function firstFrom(ranges: readonly AddressRange[], address: bigint, from: number, to: number): number {
  let [low, high] = [from, to]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ranges[middle] as AddressRange).first < address) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the tree values for unknown addresses and for each record. */
function placesAfter(nodeCount: number, records: readonly Buffer[]): number[] {
  const places = [nodeCount]
  let next = nodeCount + separatorSize
  for (const record of records) {
    places.push(next)
    next += record.length
  }
  return places
}

function encodeMetadata(nodeCount: number, { ipVersion, type, description, builtAt }: DatabaseFacts): Buffer {
  return encodeMap({
    binary_format_major_version: encodeInteger(2, 'uint16'),
    binary_format_minor_version: encodeInteger(0, 'uint16'),
    build_epoch: encodeInteger(builtAt.getTime() / 1000, 'uint64'),
    database_type: encodeText(type),
    description: encodeMap({ en: encodeText(description) }),
    ip_version: encodeInteger(ipVersion, 'uint16'),
    languages: control(11, 0),
    node_count: encodeInteger(nodeCount, 'uint32'),
    record_size: encodeInteger(24, 'uint16'),
  })
}

/**
 * Encodes a field's type and size. Types above 7 take another byte, and so do sizes from 29 to 284. Throws `RangeError`
 * for larger sizes, which no field of ours has.
 */
function control(type: number, size: number): Buffer {
  if (size > 284) throw new RangeError(`A field has the size ${size}. The largest supported size is 284.`)
  const isExtended = type > 7
  const first = ((isExtended ? 0 : type) << 5) | Math.min(size, 29)
  return Buffer.from([first, ...(isExtended ? [type - 7] : []), ...(size >= 29 ? [size - 29] : [])])
}
