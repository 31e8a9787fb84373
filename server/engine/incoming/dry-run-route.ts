import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { permissions } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { receptionOf } from '#manage/hooks/hook-columns.ts'
import { validateIncoming } from '#manage/hooks/validate-hook.ts'
import { incomingHookBody } from '#model/hooks/schemas.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import { parseJsonBody } from '#platform/http/json-body.ts'
import { FieldErrors, type HttpProblem, toApiError, unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { loadHook } from './compiled-hook.ts'
import { type DryRun, dryRun, dryRunSchema, signCall } from './dry-run.ts'
import { readRecordedCall } from './recorded-call.ts'

const operation = operationsOf('Hook requests')

const { settings, trigger_when } = incomingHookBody.properties

const dryRunBody = t.Exactly(
  t.optionalFields({
    headers: t.Record(
      t.Text({ maxLength: 256 }),
      t.Text({ maxLength: 8192, description: 'The value of the header.' }),
      { description: 'The headers of the call; some senders put the event into one.' },
    ),
    body: t.Anything('The payload, as JSON. Required unless you name a recorded call.'),
    hook_request_id: t.described(
      t.Uuid,
      'A recorded call to this hook: evaluates its headers and body instead of given ones.',
    ),
    settings: t.Unsafe<t.Static<typeof settings>>({
      ...settings,
      description:
        'Evaluates with these settings instead of the stored ones; validated as if they were saved.',
    }),
    trigger_when: t.Unsafe<t.Static<typeof trigger_when>>({
      ...trigger_when,
      description:
        'Evaluates with these conditions instead of the stored ones; validated as if they were saved.',
    }),
    sign: t.Flag({
      default: false,
      description: "Sign the given body with the hook's secret, and return the call as `signed_call`.",
    }),
  }),
)

/** What Node supports and the types do not know yet. */
const exactJson = JSON as unknown as {
  parse(text: string, revive: (key: string, value: unknown, context: { source: string }) => unknown): unknown
  rawJSON(text: string): unknown
}

/** The `body` field of a request, as text with its numbers as written: parsing would round large ones. */
function payloadOf(rawBody: string): string {
  const exact = exactJson.parse(rawBody, (_key, value, { source }) =>
    typeof value === 'number' ? exactJson.rawJSON(source) : value,
  )
  return JSON.stringify((exact as { body: unknown }).body)
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Dry runs: the body as received. */
    rawBody: string
  }
}

export const dryRunRoute: FastifyPluginAsyncTypebox<{ db: Database; box: SecretBox }> = async (
  app,
  { db, box },
) => {
  app.decorateRequest('rawBody', '')
  // Like everywhere else, but the text is stored: parsing rounds large numbers.
  app.addContentTypeParser(
    /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      const parsed = parseJsonBody(bytes)
      if (parsed.kind === 'malformed') throw new ApiError('malformed', parsed.message)
      if (parsed.kind === 'unstorable') throw invalid({ [parsed.field]: [parsed.message] })
      request.rawBody = bytes.toString()
      return parsed.value
    },
  )

  app.post(
    '/hooks/incoming/:hook_id/dry-run',
    operation(permissions('incoming hook', 'hook_id', 'hook:edit'), 'dryRunHook', {
      summary: 'Show what a call would do, without doing it',
      description:
        'Evaluates a given payload, or that of a recorded call, with the hook as it is stored or with unsaved `settings` and `trigger_when`. Starts and records nothing. With `sign`, the response contains the call as its sender would sign it, to send it to the URL of the hook.',
      params: t.Exactly({ hook_id: t.Uuid }),
      body: dryRunBody,
      response: { 200: t.ref(dryRunSchema), ...t.errorResponses(400, 401, 403, 404, 409, 422) },
    }),
    async (request): Promise<DryRun> => {
      const { params, body } = request
      const errors = validateInput(body)
      if (errors.problem) throw toApiError(errors.problem)
      const hook = await loadHook(db, box, { hookId: params.hook_id }, receptionOf(body))
      if (!hook) throw notFound()
      if (body.hook_request_id !== undefined) {
        const recorded = await readRecordedCall(db, body.hook_request_id, hook.id)
        return {
          ...dryRun(hook, unwrap(recorded.kind === 'gone' ? NOT_A_CALL : recorded)),
          signed_call: null,
        }
      }
      const call = { headers: withType(body.headers ?? {}), body: payloadOf(request.rawBody) }
      const signed_call = body.sign
        ? signCall(hook, call, { now: Date.now(), id: `msg_${randomUUID()}` })
        : null
      return { ...dryRun(hook, { ...call, body: Buffer.from(call.body) }), signed_call }
    },
  )
}

/** What the schema cannot express; the rules for saved settings apply to unsaved ones. */
function validateInput(input: t.Static<typeof dryRunBody>): FieldErrors {
  const errors = new FieldErrors()
  const { hook_request_id, settings, trigger_when } = input
  if (hook_request_id === undefined && !Object.hasOwn(input, 'body')) errors.add('body', 'is required')
  for (const field of ['headers', 'body', 'sign'] as const)
    if (hook_request_id !== undefined && Object.hasOwn(input, field))
      errors.add(field, 'cannot be combined with hook_request_id')
  const invalid = validateIncoming({ settings, trigger_when }, null)
  for (const [field, messages] of Object.entries(invalid))
    for (const message of messages) errors.add(field, message)
  return errors
}

/** Those of other hooks do not exist here. */
const NOT_A_CALL: HttpProblem = {
  kind: 'unknown',
  errors: { hook_request_id: ['is not a call to this hook'] },
}

function withType(headers: Record<string, string>): Record<string, string> {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return { 'content-type': 'application/json', ...Object.fromEntries(given) }
}
