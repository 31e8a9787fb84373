// What the palette offers. Items are plain data, so that recent ones can be kept. Pure.
import type { NameEntry } from '#web/base/api/types.ts'
import { type Scope, scopeSearch } from '#web/shared/scope/scope.ts'
import { COLOR_SCHEMES } from './color-schemes.ts'
import { ACCOUNT, INSTANCE_ITEMS, ORGANIZATION_ITEMS, SCOPED_ITEMS } from './nav-items.ts'

export type Choice =
  | { kind: 'go'; to: string }
  /** A page outside of the dashboard. */
  | { kind: 'open'; href: string }
  /** The deploy pipeline of an application is found when it is chosen. */
  | { kind: 'roll-back'; applicationId: number }
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

/** What was typed: a number, a command and what it is about, or words. */
export type Request = { kind: 'action'; id: string } | { kind: 'run' | 'roll-back' | 'find'; text: string }

const COMMANDS = [
  { kind: 'run', pattern: /^run\s+(.*)$/i },
  { kind: 'roll-back', pattern: /^roll\s?-?back\s+(?:to\s+)?(.*)$/i },
] as const

export function readRequest(input: string): Request {
  const text = input.trim()
  const number = /^#?(\d{1,15})$/.exec(text)
  if (number) return { kind: 'action', id: number[1]! }
  for (const { kind, pattern } of COMMANDS) {
    const match = pattern.exec(text)
    if (match) return { kind, text: match[1]!.trim() }
  }
  return { kind: 'find', text }
}

/** What `GET /names` has to return for it. */
export function typesFor({ kind }: Request): NameEntry['type'][] | undefined {
  if (kind === 'run') return ['pipeline']
  if (kind === 'roll-back') return ['application']
  return undefined
}

export function itemFor(entry: FoundName, { kind }: Request): Item {
  if (kind === 'run') return runItem(entry)
  if (kind === 'roll-back')
    return {
      key: `roll-back ${entry.id}`,
      icon: 'roll-back',
      label: `Roll back ${entry.name}`,
      detail: entry.where,
      choice: { kind: 'roll-back', applicationId: Number(entry.id) },
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
  return all.filter(({ label }) => words.every((word) => label.toLocaleLowerCase().includes(word)))
}

/** Those chosen before come first, the latest at the top; the others keep their order. */
export function recentFirst(items: Item[], recent: Item[]): Item[] {
  const rank = ({ key }: Item) => {
    const index = recent.findIndex((one) => one.key === key)
    return index === -1 ? recent.length : index
  }
  return items.toSorted((one, other) => rank(one) - rank(other))
}
