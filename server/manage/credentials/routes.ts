import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { toApiError } from '#platform/http/problems.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { type CredentialRow, findCredential, listCredentials } from './find-credentials.ts'
import { changeCredential, createCredential, removeCredential } from './manage-credentials.ts'
import { presentCredentials, type ShowCredentials } from './present-credentials.ts'
import {
  credentialBody,
  credentialChange,
  credentialCheckBody,
  credentialCheckSchema,
  credentialRecordSchema,
} from './schemas.ts'
import { tryCredential } from './try-credential.ts'

export type CredentialRoutes = ShowCredentials & { guard: AddressGuard }

const tags = ['Credentials']
const params = Exactly({ id: Id })
const record = ref(credentialRecordSchema)

export const credentialRoutes: FastifyPluginAsyncTypebox<CredentialRoutes> = async (app, deps) => {
  const { db, box, baseUrl } = deps
  const answer = answerRecords({
    db,
    baseUrl,
    present: (request, rows: readonly CredentialRow[]) => presentCredentials(deps, callerOf(request), rows),
    refuse: toApiError,
  })

  app.get(
    '/organizations/:id/credentials',
    {
      config: { access: permissions('organization', 'id', 'credential:view') },
      schema: {
        tags,
        operationId: 'listCredentials',
        summary: 'List the credentials of an organization',
        description: 'Newest first. Tokens and private keys are never shown.',
        params,
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(record), ...errorResponses(401, 403, 404, 422) },
      },
    },
    (request, reply) =>
      answer.list(request, reply, (page, name) => listCredentials(db, request.params.id, name, page)),
  )

  app.post(
    '/organizations/:id/credentials',
    {
      config: { access: permissions('organization', 'id', 'credential:add') },
      schema: {
        tags,
        operationId: 'createCredential',
        summary: 'Create a credential',
        description:
          'A token for a source provider, or an SSH key: one of your own, or one made here with `generate`. The token and the private key are stored encrypted and never shown again.',
        params,
        body: credentialBody,
        response: { 201: record, ...errorResponses(400, 401, 403, 404, 415, 422) },
      },
    },
    (request, reply) => {
      const by = { box, actor: actorOf(request) }
      return answer.create(request, reply, (trx) =>
        createCredential(trx, by, callerOf(request), request.params.id, request.body),
      )
    },
  )

  app.get(
    '/credentials/:id',
    {
      config: { access: permissions('credential', 'id', 'credential:view') },
      schema: {
        tags,
        operationId: 'readCredential',
        summary: 'Read a credential',
        description: 'The token or private key is not among it; of an SSH key the public half is.',
        params,
        response: { 200: record, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => answer.read(request, reply, findCredential(db, request.params.id)),
  )

  app.put(
    '/credentials/:id',
    {
      config: { access: permissions('credential', 'id', 'credential:edit') },
      schema: {
        tags,
        operationId: 'changeCredential',
        summary: 'Change a credential',
        description:
          'A field that is given replaces what is stored; others stay. Another `base_url` needs the token again. Runs that begin afterwards use what is stored then.',
        params,
        body: credentialChange,
        response: { 200: record, ...errorResponses(400, 401, 403, 404, 412, 415, 422) },
      },
    },
    (request, reply) => {
      const by = { box, actor: actorOf(request) }
      return answer.change(request, reply, (trx, ifMatch) =>
        changeCredential(trx, by, callerOf(request), request.params.id, request.body, ifMatch),
      )
    },
  )

  app.delete(
    '/credentials/:id',
    {
      config: { access: permissions('credential', 'id', 'credential:remove') },
      schema: {
        tags,
        operationId: 'removeCredential',
        summary: 'Remove a credential',
        description: 'Its secret is erased. Refused while servers or applications use it.',
        params,
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.remove(request, reply, (trx, ifMatch) =>
        removeCredential(trx, by, callerOf(request), request.params.id, ifMatch),
      )
    },
  )

  app.post(
    '/credentials/:id/check',
    {
      config: { access: permissions('credential', 'id', 'credential:run'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'checkCredential',
        summary: 'Try a credential',
        description:
          'Really uses it. Tokens: asks the API of the provider whose token it is or, with `repository`, lists its branches. SSH keys: logs in to `server_id`, or to `host` and `port` as `user`. That it does not work is an answer as well: 200 with `ok` false and a message.',
        params,
        body: credentialCheckBody,
        response: { 200: ref(credentialCheckSchema), ...errorResponses(400, 401, 403, 404, 415, 422) },
      },
    },
    async (request) => {
      const outcome = await tryCredential(deps, callerOf(request), request.params.id, request.body ?? {})
      if (outcome.kind !== 'tried') throw toApiError(outcome)
      return outcome.check
    },
  )
}
