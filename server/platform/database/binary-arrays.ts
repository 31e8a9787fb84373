/**
 * Columns of many rows as arrays in PostgreSQL's binary format: `unnest($1::uuid[], $2::text[])` then reads them
 * without parsing text. Measured for incoming calls, this costs a fifth of passing the rows as one JSON value.
 */
type ElementType = 'int4' | 'int8' | 'uuid' | 'text' | 'bytea' | 'json' | 'jsonb'

const OIDS: Record<ElementType, number> = {
  int4: 23,
  int8: 20,
  uuid: 2950,
  text: 25,
  bytea: 17,
  json: 114,
  jsonb: 3802,
}
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL_LENGTH = -1
const JSONB_VERSION = '\u0001'

export const int4s = (values: readonly (number | null)[]) => encode('int4', values, 4, writeInt4)
export const int8s = (values: readonly (number | null)[]) => encode('int8', values, 8, writeInt8)
export const uuids = (values: readonly (string | null)[]) => encode('uuid', values, 16, writeUuid)
export const texts = (values: readonly (string | null)[]) => encodeTexts('text', values)
export const byteas = (values: readonly (Buffer | null)[]) => encodeBytes(values)
export const jsons = (values: readonly (object | null)[]) => encodeTexts('json', values.map(jsonText))
/** The text, after one byte with the version of the format. */
export const jsonbs = (values: readonly (object | null)[]) =>
  encodeTexts('jsonb', values.map(jsonText), JSONB_VERSION)

function encode<Value>(
  type: ElementType,
  values: readonly (Value | null)[],
  size: number,
  write: (into: Buffer, value: Value, at: number) => void,
): Buffer {
  const present = values.reduce((count, value) => (value === null ? count : count + 1), 0)
  const into = Buffer.allocUnsafe(HEADER_BYTES + values.length * LENGTH_BYTES + present * size)
  let at = writeHeader(into, type, values.length, present < values.length)
  for (const value of values) {
    at = into.writeInt32BE(value === null ? NULL_LENGTH : size, at)
    if (value === null) continue
    write(into, value, at)
    at += size
  }
  return into
}

function encodeBytes(values: readonly (Buffer | null)[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + LENGTH_BYTES + (value?.length ?? 0), HEADER_BYTES)
  const into = Buffer.allocUnsafe(bytes)
  let at = writeHeader(into, 'bytea', values.length, values.includes(null))
  for (const value of values) {
    at = into.writeInt32BE(value?.length ?? NULL_LENGTH, at)
    if (value) at += value.copy(into, at)
  }
  return into
}

/** Written directly into the target: one buffer per value would be most of the work. */
function encodeTexts(type: ElementType, values: readonly (string | null)[], prefix?: string): Buffer {
  const texts = prefix === undefined ? values : values.map((value) => value && prefix + value)
  const lengths = texts.map((value) => (value === null ? NULL_LENGTH : Buffer.byteLength(value)))
  const bytes = lengths.reduce((sum, length) => sum + LENGTH_BYTES + Math.max(0, length), HEADER_BYTES)
  const into = Buffer.allocUnsafe(bytes)
  let at = writeHeader(into, type, values.length, values.includes(null))
  for (const [index, value] of texts.entries()) {
    at = into.writeInt32BE(lengths[index]!, at)
    if (value) at += into.write(value, at)
  }
  return into
}

function writeHeader(into: Buffer, type: ElementType, length: number, hasNull: boolean): number {
  const dimensions = 1
  const firstIndex = 1
  let at = into.writeInt32BE(dimensions, 0)
  at = into.writeInt32BE(hasNull ? 1 : 0, at)
  at = into.writeInt32BE(OIDS[type], at)
  at = into.writeInt32BE(length, at)
  return into.writeInt32BE(firstIndex, at)
}

function writeInt4(into: Buffer, value: number, at: number): void {
  into.writeInt32BE(value, at)
}

function writeInt8(into: Buffer, value: number, at: number): void {
  into.writeBigInt64BE(BigInt(value), at)
}

function writeUuid(into: Buffer, value: string, at: number): void {
  into.write(value.replaceAll('-', ''), at, 'hex')
}

function jsonText(value: object | null): string | null {
  return value && JSON.stringify(value)
}
