// What applying a document changes, for people. Pure.
import type { components } from '@gantry/client'
import { plain, type Style } from '../screen.ts'

export type Change = components['schemas']['AppliedChange']
export type Line = { text: string; style?: Style }

const SIGNS = { create: '+', change: '~', delete: '-' } as const
const STYLES = { create: 'green', change: 'yellow', delete: 'red' } as const
const MAX_TEXT = 200

/** One line per resource; below one that changes, its fields before and after. */
export function describeChanges(changes: readonly Change[]): Line[] {
  return changes.flatMap((change) => {
    const { verb, type, fields } = change
    const head = { text: `${SIGNS[verb]} ${type} ${plain(pathOf(change))}`, style: STYLES[verb] }
    const details = verb === 'change' ? fields.flatMap(describeField) : []
    return [head, ...details]
  })
}

const SECTION =
  /(?:^|\.)(?:credentials|environments|servers|applications|variables|pipelines|steps|hooks\.incoming|hooks\.outgoing)\./g

/** 'environments.production.servers.web-1' → 'production/web-1' */
export function pathOf({ path, name, type }: Pick<Change, 'path' | 'name' | 'type'>): string {
  if (type === 'organization' || type === 'project') return name
  return path.replaceAll(SECTION, '/').replace(/^\//, '')
}

export function summaryOf(changes: readonly Change[], { isDone }: { isDone: boolean }): string {
  const count = (verb: Change['verb']) => changes.filter((change) => change.verb === verb).length
  const parts = [
    [count('create'), isDone ? 'created' : 'to create'],
    [count('change'), isDone ? 'changed' : 'to change'],
    [count('delete'), isDone ? 'removed' : 'to remove'],
  ] as const
  return `${parts
    .filter(([number]) => number > 0)
    .map(([number, what]) => `${number} ${what}`)
    .join(', ')}.`
}

function describeField({ field, before, after }: Change['fields'][number]): Line[] {
  return leaves(field, before, after).flatMap(({ path, from, to }) => {
    if (isLong(from) || isLong(to)) return describeText(path, from, to)
    return [{ text: `    ${plain(path)}: ${show(from)} → ${show(to)}` }]
  })
}

type Leaf = { path: string; from: unknown; to: unknown }

/** The parts of two values that differ. */
function leaves(path: string, from: unknown, to: unknown): Leaf[] {
  if (!isNested(from) || !isNested(to) || Array.isArray(from) !== Array.isArray(to))
    return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to }]
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  const parts = keys.flatMap((key) =>
    leaves(`${path}.${key}`, (from as Fields)[key] ?? null, (to as Fields)[key] ?? null),
  )
  // The same parts in another order.
  return parts.length > 0 || JSON.stringify(from) === JSON.stringify(to) ? parts : [{ path, from, to }]
}

type Fields = Record<string, unknown>

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null
const isLong = (value: unknown): value is string => typeof value === 'string' && value.includes('\n')

/** Text of several lines: those that differ. */
function describeText(path: string, from: unknown, to: unknown): Line[] {
  const [old, fresh] = [linesOf(from), linesOf(to)]
  let start = 0
  while (start < Math.min(old.length, fresh.length) && old[start] === fresh[start]) start += 1
  let end = 0
  while (
    end < Math.min(old.length, fresh.length) - start &&
    old[old.length - 1 - end] === fresh[fresh.length - 1 - end]
  )
    end += 1
  const listed = (lines: string[], sign: string, style: Style): Line[] =>
    lines.slice(start, lines.length - end).map((line) => ({ text: `      ${sign} ${plain(line)}`, style }))
  return [{ text: `    ${plain(path)}:` }, ...listed(old, '-', 'red'), ...listed(fresh, '+', 'green')]
}

function linesOf(value: unknown): string[] {
  if (value === null) return []
  return (typeof value === 'string' ? value.replace(/\n$/, '') : JSON.stringify(value)).split('\n')
}

function show(value: unknown): string {
  if (value === null || value === undefined) return 'none'
  const text = plain(typeof value === 'string' ? value : JSON.stringify(value))
  if (text === '') return '""'
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}
