import { type Static, Type } from 'typebox'
import { chooseSource } from '#model/payload/choose-source.ts'
import { Exactly, Id, named, TextOrNull } from '#platform/http/schemas.ts'
import type { CompiledHook } from './compiled-hook.ts'
import { judgePayload, type Verdict } from './judge-call.ts'

export const dryRunSchema = named(
  'DryRun',
  Exactly({
    verdict: Type.String({ description: 'What a properly signed call with this payload would meet.' }),
    message: Type.String(),
    errors: Type.Unsafe<Record<string, string[]> | null>({ type: ['object', 'null'] }),
    variables: Type.Unsafe<Record<string, unknown> | null>({ type: ['object', 'null'] }),
    source: Type.Unsafe<{ source_type: string; source_ref: string } | null>({
      type: ['object', 'null'],
      description: 'What a deploy would take.',
      properties: { source_type: { type: 'string' }, source_ref: { type: 'string' } },
    }),
    targets: Type.Array(
      Exactly({
        resource_id: Id,
        resource_name: Type.String(),
        batch: Type.Integer(),
        steps: Type.Array(Exactly({ order: Type.Integer(), name: Type.String(), description: TextOrNull() })),
      }),
    ),
  }),
)

export type DryRun = Static<typeof dryRunSchema>

/** What Node can do with JSON and the types do not know yet. */
const exactJson = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, context: { source: string }) => unknown): unknown
  rawJSON(text: string): unknown
}

/** The `body` of a wish, as text, its numbers as they were written: parsed, large ones would be rounded. */
export function payloadOf(wish: string): string {
  const exact = exactJson.parse(wish, (_key, value, { source }) =>
    typeof value === 'number' ? exactJson.rawJSON(source) : value,
  )
  return JSON.stringify((exact as { body: unknown }).body)
}

/** What a call with this payload would do. Pure: starts nothing, records nothing. */
export function dryRun(hook: CompiledHook, payload: string, headers: Record<string, string>): DryRun {
  const lowerCase = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const call = {
    headers: { 'content-type': 'application/json', ...lowerCase },
    body: Buffer.from(payload),
  }
  const verdict = judgePayload(hook, call)
  const nothing = { errors: null, variables: null, source: null, targets: [] }
  if (verdict.kind !== 'accepted') {
    const errors = verdict.kind === 'rejected_variables' ? verdict.errors : null
    return { ...nothing, verdict: verdict.kind, message: messageOf(verdict), errors }
  }
  const { variables } = verdict
  if (hook.plan.kind === 'impossible')
    return { ...nothing, verdict: 'rejected_state', message: hook.plan.reason, variables }
  const steps = hook.plan.steps.map(({ order, name, description }) => ({ order, name, description }))
  return {
    verdict: 'accepted',
    message: hook.active
      ? 'A call with this payload starts the pipeline.'
      : 'The hook is switched off: calls are answered with 404.',
    errors: null,
    variables,
    source:
      hook.application && hook.pipeline.operation === 'deploy'
        ? chooseSource(variables, hook.application.defaultBranch)
        : null,
    targets: hook.plan.targets.map(({ serverId, serverName, batch }) => ({
      resource_id: serverId,
      resource_name: serverName,
      batch,
      steps,
    })),
  }
}

function messageOf(verdict: Exclude<Verdict, { kind: 'accepted' }>): string {
  switch (verdict.kind) {
    case 'ping':
      return 'A ping: nothing is started.'
    case 'ignored':
      return `Nothing is started: the condition on ${verdict.path} is not met.`
    case 'rejected_variables':
      return 'Some variables cannot be read from this payload.'
    case 'rejected_payload':
      return verdict.message
    case 'rejected_signature':
    case 'rate_limited':
      throw new Error('a dry run is neither signed nor limited')
  }
}
