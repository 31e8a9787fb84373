import { randomBytes } from 'node:crypto'

/** 'Sample Organization' → 'sample-organization'; never empty. */
export function slugify(name: string): string {
  return joinWords(name, /[^a-z0-9]+/g).slice(0, 60) || 'unnamed'
}

/** Like a slug, but keeps the letters of every script: 'Магазин 2' → 'магазин-2'. Empty without letters and digits. */
export function slugifyAnyScript(name: string): string {
  return joinWords(name, /[^\p{L}\p{M}\p{N}]+/gu)
}

function joinWords(name: string, separators: RegExp): string {
  return (
    name
      .normalize('NFKD')
      .replaceAll(/[\u0300-\u036f]/g, '')
      // NFKD takes apart more than accents: Korean syllables, for example.
      .normalize('NFC')
      .toLowerCase()
      .replaceAll(separators, '-')
      .replaceAll(/^-+|-+$/g, '')
  )
}

const MAX_COUNTED = 5

/**
 * Inserts a row with the first free slug of its name: `shop`, `shop-2`, … and, when many have that name, one with a
 * random suffix. `insert` returns undefined when the slug is taken.
 */
export async function insertWithSlug<Row>(
  name: string,
  insert: (slug: string) => Promise<Row | undefined>,
): Promise<Row> {
  const slug = slugify(name)
  for (let number = 1; ; number++) {
    const suffix =
      number === 1 ? '' : number <= MAX_COUNTED ? `-${number}` : `-${randomBytes(4).toString('hex')}`
    const row = await insert(slug + suffix)
    if (row) return row
  }
}
