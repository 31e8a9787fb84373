import { randomBytes } from 'node:crypto'
import { slugify } from '#client/slug.ts'

const MAX_COUNTED = 5

/**
 * Inserts a row with the first free slug of its name: `shop`, `shop-2`, … and, when many have that name, one with a
 * random suffix. `insert` returns undefined when the slug is taken.
 */
export async function insertWithSlug<Row>(name: string, insert: (slug: string) => Promise<Row | undefined>) {
  const slug = slugify(name)
  for (let number = 1; ; number++) {
    const suffix =
      number === 1 ? '' : number <= MAX_COUNTED ? `-${number}` : `-${randomBytes(4).toString('hex')}`
    const row = await insert(slug + suffix)
    if (row) return row
  }
}
