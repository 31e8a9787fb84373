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

const MOST_COUNTED = 5

/**
 * Inserts something under the first slug of its name that nobody has: `shop`, `shop-2`, … and, when many have
 * that name, one with an ending by chance. `insert` says undefined when the slug is taken.
 */
export async function insertWithSlug<Row>(
  name: string,
  insert: (slug: string) => Promise<Row | undefined>,
): Promise<Row> {
  const slug = slugify(name)
  for (let number = 1; ; number++) {
    const ending =
      number === 1 ? '' : number <= MOST_COUNTED ? `-${number}` : `-${randomBytes(4).toString('hex')}`
    const row = await insert(slug + ending)
    if (row) return row
  }
}
