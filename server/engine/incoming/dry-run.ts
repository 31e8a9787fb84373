import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { chooseSource } from '#model/payload/choose-source.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import { parseJsonBody } from '#platform/http/json-body.ts'
import {
  AnyObjectOrNull,
  Exactly,
  errorResponses,
  idOf,
  named,
  ref,
  TextOrNull,
  Uuid,
} from '#platform/http/schemas.ts'
import { type CompiledHook, loadHook } from './compiled-hook.ts'
import { evaluatePayload, type PayloadVerdict } from './evaluate-call.ts'

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

/** What a call with this payload would do. Pure: starts nothing, records nothing. */
function dryRun(
  hook: CompiledHook,
  payload: string,
  headers: Record<string, string>,
): Static<typeof dryRunSchema> {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  const verdict = evaluatePayload(hook, {
    headers: { 'content-type': 'application/json', ...Object.fromEntries(given) },
    body: Buffer.from(payload),
  })
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
      : 'The hook is disabled: calls get a 404 response.',
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

function messageOf(verdict: Exclude<PayloadVerdict, { kind: 'accepted' }>): string {
  switch (verdict.kind) {
    case 'ping':
      return 'Ping: nothing is started.'
    case 'ignored':
      return `Nothing is started: the condition on ${verdict.path} is not met.`
    case 'rejected_variables':
      return 'Some variables cannot be read from this payload.'
    case 'rejected_payload':
      return verdict.message
  }
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
    {
      config: { access: permissions('incoming hook', 'hook_id', 'hook:edit') },
      schema: {
        tags: ['Hook requests'],
        operationId: 'dryRunHook',
        summary: 'Show what a call would do, without doing it',
        params: Exactly({ hook_id: Uuid }),
        body: Exactly({
          headers: Type.Optional(
            Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 8192 }), {
              description: 'The headers of the call, by name.',
            }),
          ),
          body: Type.Unknown({ description: 'The payload, as JSON.' }),
        }),
        response: { 200: ref(dryRunSchema), ...errorResponses(400, 401, 403, 404, 422) },
      },
    },
    async (request) => {
      const hook = await loadHook(db, box, { hookId: request.params.hook_id })
      if (!hook) throw notFound()
      return dryRun(hook, payloadOf(request.rawBody), request.body.headers ?? {})
    },
  )
}
