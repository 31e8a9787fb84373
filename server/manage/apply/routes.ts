import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, publicly, signedIn } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { ApiError, notFound } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import { type ApplyDeps, applyDocument, presentApplied } from './apply-document.ts'
import { createEditorSchema } from './editor-schema.ts'
import { exportDocument } from './export-document.ts'
import { describeProblems, type Problem } from './problems.ts'
import { type ReadInput, readInput } from './read-input.ts'
import { APPLY_BODY_LIMIT, type ApplyBody, appliedSchema, applyBody, MAX_DOCUMENT_BYTES } from './schemas.ts'

const operation = operationsOf('Projects')

type Input = Extract<ReadInput, { kind: 'input' }>

export const applyRoutes: FastifyPluginAsyncTypebox<ApplyDeps> = async (app, deps) => {
  app.post(
    '/apply',
    {
      bodyLimit: APPLY_BODY_LIMIT,
      ...operation(signedIn, 'apply', {
        summary: 'Apply a project document',
        description:
          'Applies everything or nothing, in one transaction. Each change requires the permissions of its own route; missing ones are listed with 403. Idempotent: applying a document again changes nothing. Errors come with line and column. Removes nothing without `prune`; with it, returns 409 while runs of what would be removed are unfinished.',
        body: applyBody,
        response: { 200: t.ref(appliedSchema), ...t.errorResponses(400, 401, 403, 409, 413, 415, 422) },
      }),
    },
    async (request) => {
      const input = read(request.body)
      const outcome = await applyDocument(deps, callerOf(request), actorOf(request), input)
      if (outcome.kind === 'rejected') throw toError(outcome.problems, input)
      return presentApplied(deps, outcome, input)
    },
  )

  app.get(
    '/organizations/:id/export',
    operation(permissions('organization', 'id', 'organization:edit'), 'exportProject', {
      summary: 'Export a project as a document',
      traits: { notJson: true },
      description:
        'YAML for `POST /apply`, limited to what you may view. Tokens, keys and hidden variables are placeholders, listed at the top; secrets of hooks are left out, and a generated key is `generate: true`. Returns 409 `ambiguous_names` when several pipelines of one resource, or several hooks of one pipeline, have the same name: a document could contain only one of them.',
      params: t.Exactly({ id: t.Id }),
      querystring: t.Exactly({
        project: t.Text({ minLength: 1, maxLength: 255, description: 'The name of the project.' }),
      }),
      response: {
        200: { description: 'The document', content: { 'application/yaml': { schema: t.Text() } } },
        ...t.errorResponses(401, 403, 404, 409, 422),
      },
    }),
    async (request, reply) => {
      const { params, query } = request
      const exported = await exportDocument(deps.db, deps.box, callerOf(request), params.id, query.project)
      switch (exported.kind) {
        case 'unknown project':
          throw notFound()
        case 'ambiguous':
          throw new ApiError('ambiguous_names', AMBIGUOUS, { errors: exported.errors })
        case 'exported':
          return reply.type('application/yaml; charset=utf-8').send(exported.text)
      }
    },
  )

  const editorSchema = createEditorSchema()
  app.get(
    '/gantry.schema.json',
    operation(publicly, 'readDocumentSchema', {
      summary: 'JSON Schema of gantry.yaml, for editors',
      traits: { compress: true },
      description: 'Editors complete and check a `gantry.yaml` with it.',
      response: { 200: t.AnyObject(), ...t.errorResponses(406, 422) },
    }),
    async () => editorSchema,
  )
}

function read(body: ApplyBody): Input {
  if (Buffer.byteLength(body.document) > MAX_DOCUMENT_BYTES)
    throw new ApiError('too_large', 'The document is larger than 1 MiB.')
  const input = readInput(body)
  if (input.kind !== 'input') throw new ApiError('invalid', INVALID, { errors: input.errors })
  return input
}

/** In the contract's order: missing permissions, errors of the document, what the current state does not allow. */
function toError(problems: readonly Problem[], { locate, hide }: Input): ApiError {
  const { forbidden, invalid, conflict = [] } = Object.groupBy(problems, ({ kind = 'invalid' }) => kind)
  const listed = (found: readonly Problem[]) => ({ errors: describeProblems(found, locate, hide) })
  if (forbidden) return new ApiError('forbidden', FORBIDDEN, listed(forbidden))
  if (invalid) return new ApiError('invalid', INVALID, listed(invalid))
  const reason = hide(conflict[0]?.message ?? '')
  return new ApiError('conflict', `The document cannot be applied now: ${reason}`, listed(conflict))
}

const INVALID = 'The document cannot be applied; `errors` lists what is wrong, and where.'
const AMBIGUOUS =
  'Several pipelines of one resource, or hooks of one pipeline, have the same name, and a document could contain only one of them. Rename those that `errors` lists, then export again.'
const FORBIDDEN = 'You lack permissions for parts of this document; `errors` lists which, and where.'
