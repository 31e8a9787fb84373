import { SIGNATURE_SCHEMES } from '#model/hooks/signature-schemes.ts'
import { chooseSource } from '#model/payload/choose-source.ts'
import { type ConditionResult, describeUnmet } from '#model/payload/conditions.ts'
import * as t from '#platform/http/schemas.ts'
import { MASK } from '#platform/masking/masked.ts'
import type { CompiledHook } from './compiled-hook.ts'
import { evaluateConditions, evaluatePayload, type PayloadVerdict } from './evaluate-call.ts'
import type { Headers } from './sender-headers.ts'

const signedCallSchema = t.namedObject('SignedCall', {
  headers: t.Record(t.Text(), t.Text('The value of the header.'), {
    description: 'The given headers and those of the signature. Valid now: some schemes sign the time.',
  }),
  body: t.Text('Exactly what is signed: send it as it is.'),
  masked_header: t.TextOrNull(
    'The header that the sender fills with the secret itself (scheme `token`): replace its value before you send the call. Null when the headers are complete.',
  ),
})
type SignedCall = t.Static<typeof signedCallSchema>

const conditionResult = {
  condition: t.Text('What the condition is about: a path, or `header` and its name.'),
  met: t.Flag('Whether the call meets it.'),
  reason: t.TextOrNull('Why the call does not meet it, as a sentence; null when it does.'),
}

const source = t.Exactly({
  source_type: t.Text('`branch`, `tag` or `commit`.'),
  source_ref: t.Text('The name of the branch or tag, or the commit hash.'),
})

export const dryRunSchema = t.namedObject('DryRun', {
  verdict: t.Text('The outcome of a correctly signed call with this payload.'),
  message: t.Text('The verdict as a sentence.'),
  errors: t.Unsafe<Record<string, string[]> | null>({
    type: ['object', 'null'],
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'Why variables cannot be read from the payload, by name; null when all can.',
  }),
  conditions: t.List(
    t.Exactly({
      ...conditionResult,
      group: t.List(t.Exactly(conditionResult), 'The conditions of a group (`any_of`); empty for others.'),
    }),
    'What becomes of each condition of the hook, in order; empty when the payload cannot be read. Values of the call are not shown.',
  ),
  variables: t.AnyObjectOrNull(
    'The variables that the hook reads from the payload, by name; null when nothing would run.',
  ),
  source: t.Unsafe<t.Static<typeof source> | null>({
    ...source,
    type: ['object', 'null'],
    description: 'What a deploy would use; null for other operations, and when nothing would run.',
  }),
  targets: t.List(
    t.Exactly({
      resource_id: t.idOf('server'),
      resource_name: t.Text('The name of the server.'),
      batch: t.Integer('Its batch, from 1; batches run one after another.'),
      steps: t.List(
        t.Exactly({
          order: t.Integer('Its position, from 1.'),
          name: t.Text('The name of the step.'),
          description: t.TextOrNull('What the step does; null without a description.'),
        }),
        'The steps that would run there, in order.',
      ),
    }),
    'One per server that the run would use; empty when nothing would run.',
  ),
  signed_call: t.refOrNull(
    signedCallSchema,
    'The call as its sender would sign it; null unless you asked for it with `sign`.',
  ),
})

export const dryRunSchemas = [signedCallSchema, dryRunSchema]
export type DryRun = t.Static<typeof dryRunSchema>

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

function presentResult(result: ConditionResult): DryRun['conditions'][number] {
  const present = ({ label, isMet, reason }: ConditionResult) => ({ condition: label, met: isMet, reason })
  return { ...present(result), group: result.group.map(present) }
}

function messageOf(verdict: Exclude<PayloadVerdict, { kind: 'accepted' }>): string {
  switch (verdict.kind) {
    case 'ping':
      return 'Ping: nothing is started.'
    case 'checks':
      return 'Checks have changed: nothing is started.'
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
