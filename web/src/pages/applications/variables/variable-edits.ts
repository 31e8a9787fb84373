// The variables of an application while somebody edits them. Pure.
import type { components } from '#client/index.ts'
import type { DotenvEntry } from './dotenv.ts'

export type Variable = components['schemas']['ApplicationVariable']
type Body = components['schemas']['CreateVariableRequest']
type Change = components['schemas']['ChangeVariableRequest']

export type Edit = {
  /** As it was when the person began; null for a new one. */
  base: Variable | null
  name: string
  /** Empty for a hidden one until a new value is typed: the API never returns it. */
  value: string
  hidden: boolean
  isRemoved: boolean
}

/** By the id of the variable, or by `new-1` for those that do not exist yet. */
export type Edits = Readonly<Record<string, Edit>>
export type EditRow = Edit & { key: string }

export function editOf(variable: Variable): Edit {
  const { name, value, hidden } = variable
  return { base: variable, name, value: hidden ? '' : value, hidden, isRemoved: false }
}

/** Stored ones by name, then new ones in the order in which they were added. */
export function rowsOf(variables: readonly Variable[], edits: Edits): EditRow[] {
  const stored = variables
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .map((variable) => ({ key: String(variable.id), ...(edits[variable.id] ?? editOf(variable)) }))
  const added = Object.entries(edits).flatMap(([key, edit]) => (edit.base ? [] : [{ key, ...edit }]))
  return [...stored, ...added]
}

export type Operation =
  | { kind: 'remove'; key: string; id: number; base: Variable }
  | { kind: 'change'; key: string; id: number; base: Variable; body: Change }
  | { kind: 'create'; key: string; body: Body }

const ORDER = { remove: 0, change: 1, create: 2 }

/** What to send. Removals come first: a new variable may take the name of one that goes. */
export function operationsOf(edits: Edits): Operation[] {
  return Object.entries(edits)
    .flatMap(([key, edit]): Operation[] => {
      const { base, name, value, hidden, isRemoved } = edit
      if (!base)
        return name.trim() === '' && value === ''
          ? []
          : [{ kind: 'create', key, body: { name: name.trim(), value, hidden } }]
      if (isRemoved) return [{ kind: 'remove', key, id: base.id, base }]
      const body = changeOf(edit, base)
      return Object.keys(body).length === 0 ? [] : [{ kind: 'change', key, id: base.id, base, body }]
    })
    .sort((one, other) => ORDER[one.kind] - ORDER[other.kind])
}

function changeOf({ name, value, hidden }: Edit, base: Variable): Change {
  const isNewValue = base.hidden ? value !== '' : value !== base.value
  return {
    ...(name.trim() === base.name ? {} : { name: name.trim() }),
    ...(isNewValue ? { value } : {}),
    ...(hidden === base.hidden ? {} : { hidden }),
  }
}

/** Somebody else saved it after the person began. */
export function isOutdated(edit: Pick<Edit, 'base'>, stored: Variable): boolean {
  return edit.base !== null && edit.base.updated_at !== stored.updated_at
}

export type PastedRow = DotenvEntry & { change: 'added' | 'changed' | 'unchanged'; hidden: boolean }

/** What a pasted file would do. */
export function comparePasted(entries: readonly DotenvEntry[], rows: readonly EditRow[]): PastedRow[] {
  return entries.map((entry) => {
    const row = findRow(rows, entry.name)
    if (!row) return { ...entry, change: 'added', hidden: looksSecret(entry) }
    // A hidden value is not known: it is replaced.
    const isSame = row.value === entry.value && !(row.base?.hidden && row.value === '')
    return { ...entry, change: isSame ? 'unchanged' : 'changed', hidden: row.hidden }
  })
}

/** The edits with the pasted values; `nextKey` names new rows. */
export function withPasted(
  edits: Edits,
  rows: readonly EditRow[],
  pasted: readonly PastedRow[],
  nextKey: () => string,
): Edits {
  const after: Record<string, Edit> = { ...edits }
  for (const { name, value, hidden, change } of pasted) {
    if (change === 'unchanged') continue
    const row = findRow(rows, name)
    if (row) {
      const { key, ...edit } = row
      after[key] = { ...edit, value }
    } else after[nextKey()] = { base: null, name, value, hidden, isRemoved: false }
  }
  return after
}

/** Names are case-insensitive. */
function findRow(rows: readonly EditRow[], name: string): EditRow | undefined {
  return rows.find((row) => !row.isRemoved && row.name.trim().toLowerCase() === name.toLowerCase())
}

const SECRET = /secret|token|passw|private|credential|api_?key|_key$|_dsn$|^dsn$/i

/** A proposal that people can change. Shorter values cannot be hidden. */
function looksSecret({ name, value }: Pick<DotenvEntry, 'name' | 'value'>): boolean {
  return SECRET.test(name) && value.trim().length >= 6
}
