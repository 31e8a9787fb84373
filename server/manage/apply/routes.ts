import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, publicly, signedIn } from '#access/authorization/enforce.ts'
import { ApiError, notFound } from '#platform/http/errors.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { type ApplyDeps, applyDocument } from './apply-document.ts'
import { createEditorSchema } from './editor-schema.ts'
import { exportDocument } from './export-document.ts'
import { presentApplied } from './present-applied.ts'
import { describeFaults, type Problems } from './problems.ts'
import { type ReadWish, readWish } from './read-wish.ts'
import { APPLY_BODY_LIMIT, type ApplyBody, appliedSchema, applyBody, MOST_DOCUMENT_BYTES } from './schemas.ts'

const tags = ['Projects']

export const applyRoutes: FastifyPluginAsyncTypebox<ApplyDeps> = async (app, deps) => {
  app.post(
    '/apply',
    {
      bodyLimit: APPLY_BODY_LIMIT,
      config: { access: signedIn },
      schema: {
        tags,
        operationId: 'apply',
        summary: 'Make a project as a document says',
        description:
          'All of it or nothing, in one transaction. Each change takes what its own route takes; what is lacking is listed with 403. Applied twice, the second time changes nothing. Faults are told with line and column. Without `prune` nothing is removed; with it, 409 while runs of what would go are not finished.',
        body: applyBody,
        response: { 200: ref(appliedSchema), ...errorResponses(400, 401, 403, 409, 413, 415, 422) },
      },
    },
    async (request) => {
      const wish = read(request.body)
      const outcome = await applyDocument(deps, callerOf(request), actorOf(request), wish)
      if (outcome.kind === 'refused') throw refuse(outcome.problems, wish)
      return presentApplied(deps, outcome, wish)
    },
  )

  app.get(
    '/organizations/:id/export',
    {
      config: { access: permissions('organization', 'id', 'organization:edit'), notJson: true },
      schema: {
        tags,
        operationId: 'exportProject',
        summary: 'A project as the document that would make it',
        description:
          'YAML for `POST /apply`, with what you may see. Tokens, keys and hidden variables are placeholders, listed at the top; secrets of hooks are not in it.',
        params: Exactly({ id: Id }),
        querystring: Exactly({
          project: Type.String({ minLength: 1, maxLength: 255, description: 'Its name.' }),
        }),
        response: { 200: Type.String(), ...errorResponses(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { params, query } = request
      const text = await exportDocument(deps.db, deps.box, callerOf(request), params.id, query.project)
      if (text === undefined) throw notFound()
      return reply.type('application/yaml; charset=utf-8').send(text)
    },
  )

  const editorSchema = createEditorSchema()
  app.get(
    '/gantry.schema.json',
    {
      config: { access: publicly },
      schema: {
        tags,
        operationId: 'readDocumentSchema',
        summary: 'JSON Schema of gantry.yaml, for editors',
        security: [],
        response: { 200: Type.Record(Type.String(), Type.Unknown()), ...errorResponses(406, 422) },
      },
    },
    async () => editorSchema,
  )
}

function read(body: ApplyBody): Extract<ReadWish, { kind: 'wish' }> {
  if (Buffer.byteLength(body.document) > MOST_DOCUMENT_BYTES)
    throw new ApiError('too_large', 'The document is larger than 1 MiB.')
  const wish = readWish(body)
  if (wish.kind === 'wish') return wish
  throw new ApiError('invalid', 'The document cannot be applied; `errors` tells what is wrong, and where.', {
    errors: wish.errors,
  })
}

/** In the contract's order: what the caller may not do, what is wrong, what the state forbids. */
function refuse(
  { lacking, faults, conflicts }: Problems,
  { locate, hide }: Extract<ReadWish, { kind: 'wish' }>,
): ApiError {
  const tell = (found: Problems['faults']) => ({ errors: describeFaults(found, locate, hide) })
  if (lacking.length > 0)
    return new ApiError(
      'forbidden',
      'You may not do all of this; `errors` tells what you lack, and where.',
      tell(lacking),
    )
  if (faults.length > 0)
    return new ApiError(
      'invalid',
      'The document cannot be applied; `errors` tells what is wrong, and where.',
      tell(faults),
    )
  const [first] = conflicts
  return new ApiError(
    'conflict',
    `The document cannot be applied now: ${hide(first?.message ?? '')}`,
    tell(conflicts),
  )
}
