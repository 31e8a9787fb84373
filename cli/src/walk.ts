// Lists that the API has per environment or organization, read across all that the caller may see.
import type { Data, Gantry } from '@gantry/client'
import { slugifyAnyScript as slug } from '@gantry/client/slug'

type Environment = Data<'get', '/projects/{id}/environments'>[number]

/** Which part of the tree a list is about: names, as given with --project and --environment. */
export type Scope = { project?: string; environment?: string }

const AT_ONCE = 8

export async function organizationsOf(gantry: Gantry) {
  return collect(gantry.list('/organizations'))
}

export async function environmentsOf(
  gantry: Gantry,
  { project, environment }: Scope,
): Promise<Environment[]> {
  const organizations = await organizationsOf(gantry)
  const projects = await eachAtOnce(organizations, ({ id }) =>
    collect(gantry.list('/organizations/{id}/projects', { params: { path: { id } } })),
  )
  const wanted = projects.filter(({ name }) => matches(name, project))
  const environments = await eachAtOnce(wanted, ({ id }) =>
    collect(gantry.list('/projects/{id}/environments', { params: { path: { id } } })),
  )
  return environments.filter(({ name }) => matches(name, environment))
}

const matches = (name: string, wanted: string | undefined) =>
  wanted === undefined || slug(name) === slug(wanted)

/** `load` for every item, a few at a time; the results in the order of the items. */
export async function eachAtOnce<Item, Result>(
  items: readonly Item[],
  load: (item: Item) => Promise<Result[]>,
): Promise<Result[]> {
  const results: Result[][] = []
  let next = 0
  const work = async () => {
    for (let index = next++; index < items.length; index = next++) results[index] = await load(items[index]!)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return results.flat()
}

export async function collect<Item>(
  items: AsyncIterable<Item>,
  limit = Number.POSITIVE_INFINITY,
): Promise<Item[]> {
  const collected: Item[] = []
  for await (const item of items) {
    if (collected.push(item) >= limit) break
  }
  return collected
}
