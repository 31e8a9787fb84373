import { isLargeInteger } from '#platform/exact-json.ts'
import type { Compiled } from './text.ts'

/** A body as JSON with holes: finished JSON, and templates whose texts are inserted, quoted, when it is rendered. */
export type BodyPiece = string | { field: string; text: Compiled }

const MAX_BYTES = 128 * 1024
const MAX_DEPTH = 20

/** A problem of the whole body, before its texts are checked. */
export function bodyProblem(body: unknown, at: string): { field: string; message: string } | undefined {
  const deep = findTooDeep(body, at, 1)
  if (deep) return { field: deep, message: `is nested deeper than ${MAX_DEPTH} levels` }
  if (Buffer.byteLength(JSON.stringify(body)) > MAX_BYTES)
    return { field: at, message: 'must not be longer than 128 KiB as JSON' }
  return undefined
}

function findTooDeep(value: unknown, field: string, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null || isLargeInteger(value)) return undefined
  if (depth > MAX_DEPTH) return field
  for (const [key, inside] of Object.entries(value)) {
    const found = findTooDeep(inside, `${field}.${key}`, depth + 1)
    if (found) return found
  }
  return undefined
}

/**
 * Keys and structure are fixed here, so no value can change them later. `read` returns a template for a text, or
 * undefined for a plain one.
 */
export function splitBody(
  body: unknown,
  at: string,
  read: (text: string, field: string) => Compiled | undefined,
): BodyPiece[] {
  const pieces: BodyPiece[] = []
  let json = ''
  write(body, at)
  return json ? [...pieces, json] : pieces

  function write(value: unknown, field: string): void {
    if (typeof value === 'string') writeText(value, field)
    else if (typeof value === 'object' && value !== null && !isLargeInteger(value)) writeAll(value, field)
    else json += JSON.stringify(value)
  }

  function writeText(value: string, field: string): void {
    const text = read(value, field)
    if (text === undefined) {
      json += JSON.stringify(value)
      return
    }
    pieces.push(json, { field, text })
    json = ''
  }

  function writeAll(values: object, field: string): void {
    const [open, close] = Array.isArray(values) ? '[]' : '{}'
    json += open
    for (const [index, [key, value]] of Object.entries(values).entries()) {
      if (index > 0) json += ','
      if (open === '{') json += `${JSON.stringify(key)}:`
      write(value, `${field}.${key}`)
    }
    json += close
  }
}
