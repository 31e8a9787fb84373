// What a dry run says, in words. Pure.
import type { components } from '@gantry/client'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { plain, type Style } from '../screen.ts'
import { valueAt } from './payload-value.ts'

type Schemas = components['schemas']
export type DryRun = Schemas['DryRun']
type Condition = Schemas['HookCondition']

export type Line = { text: string; style?: Style }

const MAX_TEXT = 200
const GOOD: readonly string[] = ['accepted', 'ping', 'checks']

export function explainVerdict(dryRun: DryRun, conditions: readonly Condition[], payload: unknown): Line[] {
  const { verdict, message, errors, variables, source, targets } = dryRun
  const isGood = GOOD.includes(verdict)
  const lines: Line[] = [{ text: `${isGood ? '✓' : '✗'} ${plain(message)}`, style: isGood ? 'green' : 'red' }]
  for (const [index, condition] of conditions.entries())
    lines.push(...explainCondition(condition, dryRun.conditions?.[index], payload))
  for (const [name, problems] of Object.entries(errors ?? {}))
    lines.push({ text: `  ✗ variable ${plain(name)}: ${plain(problems.join('; '))}`, style: 'red' })
  for (const [name, value] of Object.entries(variables ?? {}))
    lines.push({ text: `  variable ${plain(name)} = ${show(value)}` })
  if (source) lines.push({ text: `  deploys ${source.source_type} ${plain(source.source_ref)}` })
  if (targets.length > 0)
    lines.push({ text: `  on ${targets.map(({ resource_name }) => plain(resource_name)).join(', ')}` })
  return lines
}

type ConditionResult = DryRun['conditions'][number]

/** Compares with `accepted_values` here, to show the value found. Otherwise prints the server's result, which older servers do not send. */
function explainCondition(
  { path, accepted_values, not }: Condition,
  result: ConditionResult | undefined,
  payload: unknown,
): Line[] {
  if (path !== undefined && accepted_values && !not) {
    const found = valueAt(payload, path)
    const isMet = accepted_values.some((value) => sameJson(value, found))
    const accepted = isMet ? '' : `, accepted: ${accepted_values.map(show).join(', ')}`
    return [resultLine('  ', isMet, `condition ${plain(path)}: the payload has ${show(found)}${accepted}`)]
  }
  if (!result) return []
  const describe = (one: Omit<ConditionResult, 'group'>) =>
    `condition ${plain(one.condition)}${one.reason === null ? '' : `: ${plain(one.reason)}`}`
  return [
    resultLine('  ', result.met, describe(result)),
    ...result.group.map((one) => resultLine('    ', one.met, describe(one))),
  ]
}

function resultLine(indent: string, isMet: boolean, text: string): Line {
  return { text: `${indent}${isMet ? '✓' : '✗'} ${text}`, ...(!isMet && { style: 'red' as const }) }
}

/** A call that starts nothing on purpose is neither success nor failure. */
export function exitCodeOfVerdict(verdict: string): ExitCode {
  if (GOOD.includes(verdict)) return EXIT.completed
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
