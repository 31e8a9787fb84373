// What a dry run says, in words. Pure.
import type { components } from '@gantry/client'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { plain, type Style } from '../screen.ts'
import { valueAt } from './payload-value.ts'

type Schemas = components['schemas']
export type DryRun = Schemas['DryRun']
type Condition = { path: string; accepted_values: unknown[] }

export type Line = { text: string; style?: Style }

const MAX_TEXT = 200

export function explainVerdict(dryRun: DryRun, conditions: readonly Condition[], payload: unknown): Line[] {
  const { verdict, message, errors, variables, source, targets } = dryRun
  const isGood = verdict === 'accepted' || verdict === 'ping'
  const lines: Line[] = [{ text: `${isGood ? '✓' : '✗'} ${plain(message)}`, style: isGood ? 'green' : 'red' }]
  for (const { path, accepted_values } of conditions) {
    const found = valueAt(payload, path)
    const isMet = accepted_values.some((value) => sameJson(value, found))
    // What comes after the first one that is not met does not matter.
    lines.push({
      text: `  ${isMet ? '✓' : '✗'} condition ${plain(path)}: the payload has ${show(found)}${isMet ? '' : `, accepted: ${accepted_values.map(show).join(', ')}`}`,
      ...(!isMet && { style: 'red' as const }),
    })
  }
  for (const [name, problems] of Object.entries(errors ?? {}))
    lines.push({ text: `  ✗ variable ${plain(name)}: ${plain(problems.join('; '))}`, style: 'red' })
  for (const [name, value] of Object.entries(variables ?? {}))
    lines.push({ text: `  variable ${plain(name)} = ${show(value)}` })
  if (source) lines.push({ text: `  deploys ${source.source_type} ${plain(source.source_ref)}` })
  if (targets.length > 0)
    lines.push({ text: `  on ${targets.map(({ resource_name }) => plain(resource_name)).join(', ')}` })
  return lines
}

/** A call that starts nothing on purpose is neither success nor failure. */
export function exitCodeOfVerdict(verdict: string): ExitCode {
  if (verdict === 'accepted' || verdict === 'ping') return EXIT.completed
  return verdict === 'ignored' ? EXIT.ended : EXIT.failed
}

function show(value: unknown): string {
  if (value === undefined) return 'no such value'
  const text = plain(JSON.stringify(value))
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}

/** Equal as JSON: the order of keys does not matter. */
function sameJson(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other
  const keys = Object.keys(one)
  return (
    Array.isArray(one) === Array.isArray(other) &&
    keys.length === Object.keys(other).length &&
    keys.every((key) => sameJson((one as never)[key], (other as never)[key]))
  )
}
