// What the palette offers. Items are plain data, so that recent ones can be kept. Pure.
import { closest, distance } from '#client/index.ts'
import type { NameEntry } from '#web/base/api/types.ts'
import { type Scope, scopeSearch } from '#web/shared/scope/scope.ts'
import { COLOR_SCHEMES } from './color-schemes.ts'
import { ACCOUNT, INSTANCE_ITEMS, ORGANIZATION_ITEMS, SCOPED_ITEMS } from './nav-items.ts'

export type Choice =
  | { kind: 'go'; to: string }
  /** A page outside of the dashboard. */
  | { kind: 'open'; href: string }
  /** The deploy pipeline of an application is found when it is chosen. */
  | { kind: 'deploy' | 'roll-back'; applicationId: number }
  | { kind: 'color-scheme'; value: string }
  | { kind: 'sign-out' }

export type Icon =
  | NameEntry['type']
  | 'action'
  | 'add'
  | 'go'
  | 'run'
  | 'roll-back'
  | 'color-scheme'
  | 'sign-out'

/** With where it is, in names. */
export type FoundName = NameEntry & { where: string }

export type Item = { key: string; icon: Icon; label: string; detail: string; choice: Choice }
export type Group = { title: string; items: Item[] }

type Verb = 'run' | 'deploy' | 'roll-back'
/** What was typed: a number, a commit, a command and what it is about, or words. */
export type Request = { kind: 'action'; id: string } | { kind: Verb | 'commit' | 'find'; text: string }

const COMMANDS = [
  { kind: 'run', pattern: /^run(?:\s+(.*))?$/i },
  { kind: 'deploy', pattern: /^deploy(?:\s+(.*))?$/i },
  { kind: 'roll-back', pattern: /^roll[\s-]?back(?:\s+(?:to\s+)?(.*))?$/i },
] as const

export function readRequest(input: string): Request {
  const text = input.trim()
  const number = /^#?(\d{1,15})$/.exec(text)
  if (number) return { kind: 'action', id: number[1]! }
  for (const { kind, pattern } of COMMANDS) {
    const match = pattern.exec(text)
    if (match) return { kind, text: match[1]?.trim() ?? '' }
  }
  return { kind: /^[0-9a-f]{7,40}$/i.test(text) ? 'commit' : 'find', text }
}

/** Long enough that a typo does not make another word of them. */
const VERBS: Record<string, Verb> = { deploy: 'deploy', rollback: 'roll-back' }

/** What was probably meant by a verb with a typo; otherwise the same. */
export function correctRequest(request: Request): Request {
  if (request.kind !== 'find') return request
  const words = request.text.split(/\s+/)
  for (const count of [1, 2]) {
    const verb = closest(words.slice(0, count).join('').toLowerCase(), Object.keys(VERBS))
    if (verb) return { kind: VERBS[verb]!, text: words.slice(count).join(' ') }
  }
  return request
}

/** Of these, those whose names have a similar word for every word of the text. */
export function similarNames<One extends { name: string }>(entries: readonly One[], text: string): One[] {
  const wanted = wordsOf(text)
  return entries.filter(({ name }) => isSimilar(wanted, name))
}

function isSimilar(wanted: string[], name: string): boolean {
  const words = wordsOf(name)
  return wanted.every((word) => {
    const allowed = Math.min(2, Math.floor(word.length / 3))
    return words.some((one) => one.includes(word) || distance(word, one) <= allowed || isSwapped(word, one))
  })
}

/** Two neighboring letters in the wrong order: the most common typo. */
function isSwapped(word: string, meant: string): boolean {
  const at = [...word].findIndex((letter, index) => letter !== meant[index])
  return at >= 0 && word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2) === meant
}

function wordsOf(text: string): string[] {
  return text
    .toLocaleLowerCase()
    .split(/[\s/_-]+/)
    .filter((word) => word !== '')
}

/** What `GET /names` has to return for it. */
export function typesFor({ kind }: Request): NameEntry['type'][] | undefined {
  if (kind === 'run') return ['pipeline']
  // Many pipelines are called "Deploy …".
  if (kind === 'deploy') return ['application', 'pipeline']
  if (kind === 'roll-back') return ['application']
  return undefined
}

export function itemFor(entry: FoundName, { kind }: Request): Item {
  if (kind === 'run' || (kind === 'deploy' && entry.type === 'pipeline')) return runItem(entry)
  if (kind === 'deploy' || kind === 'roll-back')
    return {
      key: `${kind} ${entry.id}`,
      icon: kind === 'deploy' ? 'run' : 'roll-back',
      label: `${kind === 'deploy' ? 'Deploy' : 'Roll back'} ${entry.name}`,
      detail: entry.where,
      choice: { kind, applicationId: Number(entry.id) },
    }
  const { type, id, name, where } = entry
  return {
    key: `${type} ${id}`,
    icon: type,
    label: name,
    detail: where,
    choice: { kind: 'go', to: pathTo(entry) },
  }
}

export function runItem({ id, name, where }: FoundName): Item {
  const to = `/pipelines/${id}?run=1`
  return { key: `run ${id}`, icon: 'run', label: `Run ${name}`, detail: where, choice: { kind: 'go', to } }
}

/** The page of an entry or, where it has none, the page that shows it. */
export function pathTo({ type, id, organization, project_id, environment_id }: NameEntry): string {
  const scope: Scope = { organization: organization.id }
  if (project_id !== null) scope.project = project_id
  if (environment_id !== null) scope.environment = environment_id
  if (type === 'incoming_hook') return `/hooks/incoming/${id}`
  if (type === 'outgoing_hook') return `/hooks/outgoing/${id}`
  if (type === 'application' || type === 'server' || type === 'pipeline') return `/${type}s/${id}`
  if (type === 'credential') return `/credentials${scopeSearch(scope)}`
  return `/overview${scopeSearch(scope)}`
}

/** Commands and pages whose words all occur. `scope` is the query that links carry. */
export function commandsFor(text: string, scope: string, isInstanceAdmin: boolean): Item[] {
  const words = text.toLocaleLowerCase().split(/\s+/)
  const adds = scope === '' ? '?add=1' : `${scope}&add=1`
  const go = (icon: Icon, label: string, to: string): Item => {
    return { key: `go ${to.split('?')[0]} ${label}`, icon, label, detail: '', choice: { kind: 'go', to } }
  }
  const all: Item[] = [
    go('add', 'Add application', `/new${scope}`),
    go('add', 'Add server', `/servers${adds}`),
    go('add', 'Add pipeline', `/pipelines${adds}`),
    go('add', 'Add hook', `/hooks/new${scope}`),
    ...[...SCOPED_ITEMS, ...ORGANIZATION_ITEMS].map(({ path, label }) =>
      go('go', `Go to ${label}`, path + scope),
    ),
    ...(isInstanceAdmin ? INSTANCE_ITEMS : []).map(({ path, label }) => go('go', `Go to ${label}`, path)),
    go('go', `Go to ${ACCOUNT.label}`, ACCOUNT.path),
    {
      key: 'guides',
      icon: 'go',
      label: 'Open guides',
      detail: '',
      choice: { kind: 'open', href: '/docs/guides' },
    },
    {
      key: 'docs',
      icon: 'go',
      label: 'Open API reference',
      detail: '',
      choice: { kind: 'open', href: '/docs' },
    },
    ...COLOR_SCHEMES.map(({ value, label }) => ({
      key: `color-scheme ${value}`,
      icon: 'color-scheme' as const,
      label: `Color scheme: ${label.toLowerCase()}`,
      detail: '',
      choice: { kind: 'color-scheme' as const, value },
    })),
    { key: 'sign-out', icon: 'sign-out', label: 'Sign out', detail: '', choice: { kind: 'sign-out' } },
  ]
  const found = all.filter(({ label }) => words.every((word) => label.toLocaleLowerCase().includes(word)))
  return found.length > 0 || text === '' ? found : all.filter(({ label }) => isSimilar(wordsOf(text), label))
}

/** Those chosen before come first, the latest at the top; the others keep their order. */
export function recentFirst(items: Item[], recent: Item[]): Item[] {
  const rank = ({ key }: Item) => {
    const index = recent.findIndex((one) => one.key === key)
    return index === -1 ? recent.length : index
  }
  return items.toSorted((one, other) => rank(one) - rank(other))
}
