/**
 * Columns of many rows as arrays in PostgreSQL's binary format: `unnest($1::uuid[], $2::text[])` then reads them
 * without parsing text. Measured for incoming calls, this costs a fifth of passing the rows as one JSON value.
 */
const OIDS = { int4: 23, int8: 20, uuid: 2950, text: 25, bytea: 17, json: 114, jsonb: 3802 } as const
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1
const JSONB_VERSION = '\u0001'

export const int4s = (values: readonly (number | null)[]) =>
  encode('int4', values, sized(4), (into, value, at) => into.writeInt32BE(value, at))
export const int8s = (values: readonly (number | null)[]) =>
  encode('int8', values, sized(8), (into, value, at) => into.writeBigInt64BE(BigInt(value), at))
export const uuids = (values: readonly (string | null)[]) =>
  encode('uuid', values, sized(16), (into, value, at) => into.write(value.replaceAll('-', ''), at, 'hex'))
export const byteas = (values: readonly (Buffer | null)[]) =>
  encode('bytea', values, Buffer.byteLength, (into, value, at) => value.copy(into, at))
export const texts = (values: readonly (string | null)[]) => encodeTexts('text', values)
export const jsons = (values: readonly (object | null)[]) => encodeTexts('json', values.map(jsonText))
/** The text, after one byte with the version of the format. */
export const jsonbs = (values: readonly (object | null)[]) =>
  encodeTexts(
    'jsonb',
    values.map((value) => value && JSONB_VERSION + jsonText(value)),
  )

const sized = (bytes: number) => () => bytes
const jsonText = (value: object | null) => value && JSON.stringify(value)

/** Written directly into the target: one buffer per value would be most of the work. */
const encodeTexts = (type: keyof typeof OIDS, values: readonly (string | null)[]) =>
  encode(type, values, Buffer.byteLength, (into, value, at) => into.write(value, at))

function encode<Value extends {}>(
  type: keyof typeof OIDS,
  values: readonly (Value | null)[],
  sizeOf: (value: Value) => number,
  write: (into: Buffer, value: Value, at: number) => void,
): Buffer {
  const sizes: number[] = []
  let bytes = HEADER_BYTES + values.length * LENGTH_BYTES
  let hasNull = false
  // Plain loops: a call has two dozen columns, and what they allocate adds up.
  for (const value of values) {
    const size = value === null ? NULL_LENGTH : sizeOf(value)
    sizes.push(size)
    if (value === null) hasNull = true
    else bytes += size
  }
  const into = Buffer.allocUnsafe(bytes)
  let at = writeHeader(into, type, values.length, hasNull)
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index]!
    const size = sizes[index]!
    at = into.writeInt32BE(size, at)
    if (size === NULL_LENGTH) continue
    write(into, value, at)
    at += size
  }
  return into
}

function writeHeader(into: Buffer, type: keyof typeof OIDS, length: number, hasNull: boolean): number {
  const dimensions = 1
  const firstIndex = 1
  let at = into.writeInt32BE(dimensions, 0)
  at = into.writeInt32BE(hasNull ? 1 : 0, at)
  at = into.writeInt32BE(OIDS[type], at)
  at = into.writeInt32BE(length, at)
  return into.writeInt32BE(firstIndex, at)
}
