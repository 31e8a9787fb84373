// Names instead of ids: `shop/production/web`, the beginning of it while that is unique, or `#42`.
import type { components, Gantry } from '@gantry/client'
import { distance } from '@gantry/client/nearest'
import { slugifyAnyScript as slug } from '@gantry/client/slug'
import { Failure } from './ending.ts'
import { EXIT } from './exit-codes.ts'

export type Named = components['schemas']['NameEntry']
export type Kind = Named['type']

const LABELS: Record<Kind, string> = {
  organization: 'organization',
  project: 'project',
  environment: 'environment',
  application: 'application',
  server: 'server',
  pipeline: 'pipeline',
  incoming_hook: 'incoming hook',
  outgoing_hook: 'outgoing hook',
  credential: 'credential',
}

const SHOWN = 5

/** The one resource of these kinds that `given` names. */
export async function findNamed(gantry: Gantry, kinds: readonly Kind[], given: string): Promise<Named> {
  return chooseNamed(await readNames(gantry, kinds), kinds, given)
}

/** The same, with the name that only it has: its path, if no other one has that. */
export async function findUnambiguous(
  gantry: Gantry,
  kinds: readonly Kind[],
  given: string,
): Promise<Named & { called: string }> {
  const all = await readNames(gantry, kinds)
  const found = chooseNamed(all, kinds, given)
  return { ...found, called: unambiguous(found, all) }
}

export function chooseNamed(all: readonly Named[], kinds: readonly Kind[], given: string): Named {
  const matches = matching(all, given)
  if (matches.length === 1) return matches[0]!
  if (matches.length > 1) throw ambiguous(given, matches, all)
  const label = labelOf(kinds)
  const near = nearest(all, given)
  throw new Failure(`There is no ${label} "${given}", or you cannot view it.`, {
    exit: EXIT.refused,
    hint: near.length > 0 ? `Did you mean:\n${listed(near)}` : `There is no ${label} yet that you can view.`,
  })
}

const labelOf = (kinds: readonly Kind[]) =>
  kinds
    .map((kind) => LABELS[kind])
    .join(', ')
    .replace(/, ([^,]*)$/, ' or $1')

/** Lists each of them by a name that only it has. */
export const ambiguous = (given: string, matches: readonly Named[], all: readonly Named[]) =>
  new Failure(`"${given}" matches ${matches.length} names. Which one?`, {
    exit: EXIT.refused,
    hint: `Give one of these:\n${listed(matches, (entry) => unambiguous(entry, all))}`,
  })

function unambiguous(entry: Named, all: readonly Named[]): string {
  const names = [entry.path, withOrganization(entry), idName(entry)]
  const isOnlyOne = (name: string) => matching(all, name).length === 1 && matching(all, name)[0] === entry
  return names.find(isOnlyOne) ?? `#${entry.id}`
}

const withOrganization = ({ path, organization }: Named) => `${slug(organization.name)}/${path}`

/** As in paths, where a name cannot be shown: `environment-7`. */
const idName = ({ type, id }: Pick<Named, 'type' | 'id'>) => `${type.replace('_', '-')}-${id}`

export async function readNames(gantry: Gantry, kinds: readonly Kind[]): Promise<Named[]> {
  const names: Named[] = []
  const query = { type: kinds.join(','), per_page: 1_000 }
  for await (const named of gantry.list('/names', { params: { query } })) names.push(named)
  return names
}

/**
 * From exact to loose: an id, the whole path, also after the name of its organization, its end, its beginning, then every word
 * as the beginning of a part, in order, then an id without its #, or with its type. The first rule that matches anything
 * decides, so a name never becomes ambiguous because a longer one is added.
 */
export function matching<Entry extends Nameable>(all: readonly Entry[], given: string): Entry[] {
  const id = /^#?([0-9a-f-]+)$/i.exec(given)?.[1]
  const wanted = partsOf(given)
  const rules: ((entry: Entry, parts: string[]) => boolean)[] = [
    (entry) => id !== undefined && String(entry.id) === id && (given.startsWith('#') || id.length === 36),
    (_, parts) => same(parts, wanted),
    (entry, parts) => same(inOrganization(entry, parts), wanted),
    (_, parts) => same(parts.slice(-wanted.length), wanted),
    (_, parts) => same(parts.slice(0, wanted.length), wanted),
    (_, parts) => isLoosely(parts, wanted),
    (entry, parts) => isLoosely(inOrganization(entry, parts), wanted),
    // Shells take an unquoted # for a comment.
    (entry) => String(entry.id) === id,
    ({ type, id }) => type !== undefined && idName({ type, id }) === given.toLowerCase(),
  ]
  for (const rule of rules) {
    const found = all.filter((entry) => rule(entry, partsOf(entry.path)))
    if (found.length > 0) return found
  }
  return []
}

type Nameable = Pick<Named, 'id' | 'path' | 'name'> & Partial<Pick<Named, 'type' | 'organization'>>

/** Paths begin below the organization. */
const inOrganization = ({ type, organization }: Nameable, parts: string[]) =>
  organization && type !== 'organization' ? [slug(organization.name), ...parts] : parts

const partsOf = (text: string) =>
  text
    .split('/')
    .map(slug)
    .filter((part) => part !== '')

const same = (parts: string[], wanted: string[]) =>
  wanted.length > 0 && parts.length === wanted.length && parts.every((part, n) => part === wanted[n])

/** The last word begins the last part; the others begin earlier parts, in order. */
function isLoosely(parts: string[], wanted: string[]): boolean {
  const [last, ...rest] = wanted.toReversed()
  const [lastPart, ...restParts] = parts.toReversed()
  if (last === undefined || !lastPart?.startsWith(last)) return false
  let at = 0
  for (const word of rest) {
    while (at < restParts.length && !restParts[at]!.startsWith(word)) at += 1
    if (at === restParts.length) return false
    at += 1
  }
  return true
}

/** What somebody may have meant: the fewest changed characters, of the whole path or of its last part. */
export function nearest<Entry extends Pick<Named, 'path'>>(all: readonly Entry[], given: string): Entry[] {
  const wanted = partsOf(given).join('/')
  const distanceTo = ({ path }: Entry) =>
    Math.min(distance(path, wanted), distance(path.split('/').at(-1)!, wanted.split('/').at(-1) ?? ''))
  return all
    .map((entry) => ({ entry, distance: distanceTo(entry) }))
    .sort((one, other) => one.distance - other.distance)
    .slice(0, SHOWN)
    .map(({ entry }) => entry)
}

const listed = (entries: readonly Named[], nameOf = ({ path }: Named) => path) =>
  [
    ...entries.slice(0, SHOWN).map((entry) => `  ${nameOf(entry)}  (#${entry.id})`),
    ...(entries.length > SHOWN ? [`  and ${entries.length - SHOWN} more`] : []),
  ].join('\n')
