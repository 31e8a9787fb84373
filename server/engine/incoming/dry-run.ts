import { type Static, Type } from 'typebox'
import { SIGNATURE_SCHEMES } from '#model/hooks/signature-schemes.ts'
import { chooseSource } from '#model/payload/choose-source.ts'
import { type ConditionResult, describeUnmet } from '#model/payload/conditions.ts'
import {
  AnyObjectOrNull,
  described,
  Exactly,
  idOf,
  named,
  namedObject,
  refOrNull,
  TextOrNull,
} from '#platform/http/schemas.ts'
import { MASK } from '#platform/masking/masked.ts'
import type { CompiledHook } from './compiled-hook.ts'
import { evaluateConditions, evaluatePayload, type PayloadVerdict } from './evaluate-call.ts'
import type { Headers } from './sender-headers.ts'

const signedCallSchema = namedObject('SignedCall', {
  headers: Type.Record(Type.String(), Type.String({ description: 'The value of the header.' }), {
    description: 'The given headers and those of the signature. Valid now: some schemes sign the time.',
  }),
  body: Type.String({ description: 'Exactly what is signed: send it as it is.' }),
  masked_header: TextOrNull({
    description:
      'The header that the sender fills with the secret itself (scheme `token`): replace its value before you send the call. Null when the headers are complete.',
  }),
})
type SignedCall = Static<typeof signedCallSchema>

const conditionResult = {
  condition: Type.String({ description: 'What the condition is about: a path, or `header` and its name.' }),
  met: Type.Boolean({ description: 'Whether the call meets it.' }),
  reason: TextOrNull({ description: 'Why the call does not meet it, as a sentence; null when it does.' }),
}

export const dryRunSchema = named(
  'DryRun',
  Exactly({
    verdict: Type.String({ description: 'The outcome of a correctly signed call with this payload.' }),
    message: Type.String({ description: 'The verdict as a sentence.' }),
    errors: Type.Unsafe<Record<string, string[]> | null>({
      type: ['object', 'null'],
      additionalProperties: { type: 'array', items: { type: 'string' } },
      description: 'Why variables cannot be read from the payload, by name; null when all can.',
    }),
    conditions: Type.Array(
      Exactly({
        ...conditionResult,
        group: Type.Array(Exactly(conditionResult), {
          description: 'The conditions of a group (`any_of`); empty for others.',
        }),
      }),
      {
        description:
          'What becomes of each condition of the hook, in order; empty when the payload cannot be read. Values of the call are not shown.',
      },
    ),
    variables: AnyObjectOrNull({
      description:
        'The variables that the hook reads from the payload, by name; null when nothing would run.',
    }),
    source: Type.Unsafe<{ source_type: string; source_ref: string } | null>({
      type: ['object', 'null'],
      description: 'What a deploy would use; null for other operations, and when nothing would run.',
      additionalProperties: false,
      required: ['source_type', 'source_ref'],
      properties: {
        source_type: { type: 'string', description: '`branch`, `tag` or `commit`.' },
        source_ref: { type: 'string', description: 'The name of the branch or tag, or the commit hash.' },
      },
    }),
    targets: Type.Array(
      Exactly({
        resource_id: idOf('server'),
        resource_name: Type.String({ description: 'The name of the server.' }),
        batch: Type.Integer({ description: 'Its batch, from 1; batches run one after another.' }),
        steps: Type.Array(
          Exactly({
            order: Type.Integer({ description: 'Its position, from 1.' }),
            name: Type.String({ description: 'The name of the step.' }),
            description: TextOrNull({ description: 'What the step does; null without a description.' }),
          }),
          { description: 'The steps that would run there, in order.' },
        ),
      }),
      { description: 'One per server that the run would use; empty when nothing would run.' },
    ),
    signed_call: described(
      refOrNull(signedCallSchema),
      'The call as its sender would sign it; null unless you asked for it with `sign`.',
    ),
  }),
)

export const dryRunSchemas = [signedCallSchema, dryRunSchema]
export type DryRun = Static<typeof dryRunSchema>

/** What a call with this payload would do. Pure: starts nothing, records nothing. */
export function dryRun(
  hook: CompiledHook,
  call: { headers: Headers; body: Buffer },
): Omit<DryRun, 'signed_call'> {
  const verdict = evaluatePayload(hook, call)
  const conditions = evaluateConditions(hook, call).map(presentResult)
  const nothing = { conditions, errors: null, variables: null, source: null, targets: [] }
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
      ? `A call with this payload starts the pipeline${hook.hasPaths ? ', unless no file that the paths match has changed since what is live' : ''}.`
      : 'The hook is disabled: calls get a 404 response.',
    errors: null,
    conditions,
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

function presentResult({ label, isMet, reason, group }: ConditionResult): DryRun['conditions'][number] {
  const present = (one: Omit<ConditionResult, 'group'>) => ({
    condition: one.label,
    met: one.isMet,
    reason: one.reason,
  })
  return { ...present({ label, isMet, reason }), group: group.map(present) }
}

function messageOf(verdict: Exclude<PayloadVerdict, { kind: 'accepted' }>): string {
  switch (verdict.kind) {
    case 'ping':
      return 'Ping: nothing is started.'
    case 'ignored':
      return `Nothing is started: ${describeUnmet(verdict.unmet)}.`
    case 'rejected_variables':
      return 'Some variables cannot be read from this payload.'
    case 'rejected_payload':
      return verdict.message
  }
}

/** The call as its sender would make it. Pure: `now` in milliseconds, `id` for schemes that sign one. */
export function signCall(
  { signature }: CompiledHook,
  { headers, body }: { headers: Record<string, string>; body: string },
  { now, id }: { now: number; id: string },
): SignedCall {
  if (signature === null) return { headers, body, masked_header: null }
  const given = signature.idHeader === null ? undefined : headers[signature.idHeader]
  const signing = { body, id: given ?? id, now: now / 1000 }
  const signed = SIGNATURE_SCHEMES[signature.scheme].sign(signature, signing)
  return signed === null
    ? { headers: { ...headers, [signature.header]: MASK }, body, masked_header: signature.header }
    : { headers: { ...headers, ...signed }, body, masked_header: null }
}
