import { randomBytes } from 'node:crypto'

/** 'Sample Organization' → 'sample-organization'; never empty. */
export function slugify(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60)
  return slug === '' ? 'unnamed' : slug
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
