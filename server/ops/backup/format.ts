// The backup room: exports everything that Gantry stores to one file, and restores it. This is the file format:
//
//   first line | section | section | … | contents (JSON) | length of the contents (8) | their SHA-256 (32) | last line
//
// Sections are zstd streams. The contents come last, when everything about the sections is known: the file is written
// in one pass, and a truncated file has no contents. Their checksum covers the checksums of all sections, and so the
// whole file.
import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'

const FORMAT = 1

export const FIRST_LINE = Buffer.from(`GANTRY BACKUP ${FORMAT}\n`)
const LAST_LINE = Buffer.from('GANTRY BACKUP END\n')
const DIGEST_BYTES = 32
const LENGTH_BYTES = 8
export const FOOTER_BYTES = LENGTH_BYTES + DIGEST_BYTES + LAST_LINE.length

const Count = Type.Integer({ minimum: 0 })
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' })
const Section = Type.Object({ offset: Count, bytes: Type.Integer({ minimum: 1 }), sha256: Hash })

const Contents = Type.Object({
  gantry: Type.String(),
  created_at: Type.String(),
  /** The migrations that had run, in order: they define the tables. */
  schema: Type.Array(Type.String()),
  /** The home that contained the sample repository: applications refer to it by path. */
  home: Type.String(),
  /** The keys that open the sealed values: one, or all of an unfinished rotation. */
  key_ids: Type.Array(Type.String()),
  /** Rows in the text format of COPY. */
  tables: Type.Array(
    Type.Object({ name: Type.String(), columns: Type.Array(Type.String()), rows: Count, section: Section }),
  ),
  /** The next value of each. */
  sequences: Type.Array(
    Type.Object({ name: Type.String(), next: Type.String({ pattern: '^-?\\d{1,19}$' }) }),
  ),
  /** Unfinished jobs of the queue. */
  jobs: Type.Object({ rows: Count, section: Section }),
  /** A git bundle. */
  sample_repository: Type.Union([Section, Type.Null()]),
  /** The master key itself, only with `--with-key`. */
  key: Type.Union([Section, Type.Null()]),
})

export type Section = Static<typeof Section>
export type Contents = Static<typeof Contents>

const contentsCheck = Compile(Contents)

export class UnusableFileError extends Error {}

export function encodeEnd(contents: Contents): Buffer {
  const text = Buffer.from(JSON.stringify(contents))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeBigUInt64BE(BigInt(text.length))
  return Buffer.concat([text, length, digest(text), LAST_LINE])
}

/** Throws when the file is not a backup, or has a later format. */
export function checkFirstLine(start: Buffer): void {
  if (start.equals(FIRST_LINE)) return
  const later = /^GANTRY BACKUP (\d+)\n/.test(start.toString('latin1'))
  throw new UnusableFileError(
    later
      ? 'was written by a newer Gantry in a format that this version does not know: restore it with that version'
      : 'is not a Gantry backup',
  )
}

export function decodeFooter(footer: Buffer) {
  const at = LENGTH_BYTES + DIGEST_BYTES
  if (footer.length !== FOOTER_BYTES || !footer.subarray(at).equals(LAST_LINE)) {
    throw new UnusableFileError('is incomplete: its end is missing')
  }
  return { contentsBytes: Number(footer.readBigUInt64BE()), sha256: footer.subarray(LENGTH_BYTES, at) }
}

/** `end` is where the contents start: the sections must fill the file up to there, without gaps. */
export function decodeContents(
  text: Buffer,
  { sha256 }: ReturnType<typeof decodeFooter>,
  end: number,
): Contents {
  const damaged = new UnusableFileError('is damaged: its table of contents does not match its checksum')
  if (!digest(text).equals(sha256)) throw damaged
  const contents = parseJson(text)
  if (!contentsCheck.Check(contents)) throw damaged
  let position = FIRST_LINE.length
  for (const { offset, bytes } of sectionsOf(contents)) {
    if (offset !== position) throw damaged
    position += bytes
  }
  if (position !== end) throw damaged
  return contents
}

/** In file order. */
export function sectionsOf(contents: Contents): Section[] {
  const { tables, jobs, sample_repository, key } = contents
  return [...tables.map((table) => table.section), jobs.section, sample_repository, key].filter(
    (section) => section !== null,
  )
}

function parseJson(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString())
  } catch {
    return undefined
  }
}

function digest(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
