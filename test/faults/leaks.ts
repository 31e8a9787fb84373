// Looks for secrets in everything that a run has left behind.
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

export type Leak = { secret: string; where: string }
export type LeakSearch = (where: string, value: unknown) => Leak[]

/** `secrets`: each with a name to tell it by. Found in whatever form it is written. */
export function createLeakSearch(secrets: Record<string, string>): LeakSearch {
  const needles = Object.entries(secrets).flatMap(([name, text]) =>
    formsOf(text).map((form) => ({ name, form })),
  )
  return (where, value) => {
    const hay = Buffer.concat(bytesIn(value))
    const found = new Set(needles.filter(({ form }) => hay.includes(form)).map(({ name }) => name))
    return [...found].map((secret) => ({ secret, where }))
  }
}

function formsOf(text: string): Buffer[] {
  const key = text.startsWith('whsec_') ? text.slice('whsec_'.length) : null
  const bytes = Buffer.from(text)
  const forms = [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    new URLSearchParams({ '': text }).toString().slice(1),
    bytes.toString('hex'),
    ...transformsOf(text).filter((form) => form.length >= MIN_TRANSFORMED),
    ...(['base64', 'base64url'] as const).flatMap((encoding) =>
      [0, 1, 2].map((before) => within(encoding, before)),
    ),
  ].map((form) => Buffer.from(form))
  return key === null ? forms : [...forms, Buffer.from(key, 'base64'), ...formsOf(key)]

  /** Inside of something longer, without the characters that it shares with its neighbors. */
  function within(encoding: 'base64' | 'base64url', before: number): string {
    return Buffer.concat([Buffer.alloc(before), bytes])
      .toString(encoding)
      .slice(4, -4)
  }
}

/** Shorter ones are found where no secret is. */
const MIN_TRANSFORMED = 16

/** What the filters of templates make of a secret, which no search for its value finds. */
export function transformsOf(text: string): string[] {
  const letters = [...text]
  return [
    letters.join(' '),
    letters.toReversed().join(''),
    text.slice(0, -1),
    text.slice(1),
    text.replaceAll(text.at(-2)!, ''),
    text.replaceAll(text.at(-2)!, '*'),
    Buffer.from(Buffer.from(text).toString('base64')).toString('base64'),
  ]
}

/** Everything that can be read in a value, one line each. */
function bytesIn(value: unknown): Buffer[] {
  if (value === null || value === undefined) return []
  if (Buffer.isBuffer(value)) return [value, Buffer.from('\n')]
  if (typeof value !== 'object') return [Buffer.from(`${value}\n`)]
  return Object.entries(value).flatMap(([name, inner]) => [Buffer.from(`${name}\n`), ...bytesIn(inner)])
}

const AT_ONCE = 500

/** Every column of every row of a table. */
export function searchTable(db: Database, table: string, search: LeakSearch): Promise<Leak[]> {
  return db.transaction().execute(async (trx) => {
    await sql`declare hay no scroll cursor for select * from ${sql.table(table)}`.execute(trx)
    const leaks: Leak[] = []
    for (;;) {
      const { rows } = await sql`fetch ${sql.lit(AT_ONCE)} from hay`.execute(trx)
      for (const row of rows) leaks.push(...search(table, row))
      if (rows.length < AT_ONCE) return leaks
    }
  })
}
