import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { toApiError } from '#platform/http/problems.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { type ApplicationRow, findApplication, listApplications } from './find-applications.ts'
import { linkRoutes } from './link-routes.ts'
import { changeApplication, createApplication } from './manage-applications.ts'
import { presentApplications, type ShowApplications } from './present-applications.ts'
import { removeApplication } from './remove-applications.ts'
import { applicationBody, applicationChange, applicationRecordSchema } from './schemas.ts'
import { variableRoutes } from './variable-routes.ts'

export type ApplicationRoutes = ShowApplications & { box: SecretBox }

const tags = ['Applications']
const params = Exactly({ id: Id })
const applicationReply = ref(applicationRecordSchema)

export const applicationRoutes: FastifyPluginAsyncTypebox<ApplicationRoutes> = async (app, deps) => {
  const { db, baseUrl } = deps
  const answer = answerRecords({
    db,
    baseUrl,
    present: (request, rows: readonly ApplicationRow[]) =>
      presentApplications(deps, callerOf(request), scopeOf(request), rows),
    refuse: toApiError,
  })
  await app.register(variableRoutes, deps)
  await app.register(linkRoutes, deps)

  app.get(
    '/environments/:id/applications',
    {
      config: { access: permissions('environment', 'id', 'application:view') },
      schema: {
        tags,
        operationId: 'listApplications',
        summary: 'List the applications of an environment',
        description: 'Newest first, each with its last deployments as far as you may see actions.',
        params,
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(applicationReply), ...errorResponses(401, 403, 404, 422) },
      },
    },
    (request, reply) =>
      answer.list(request, reply, (page, name) => listApplications(db, request.params.id, name, page)),
  )

  app.post(
    '/environments/:id/applications',
    {
      config: { access: permissions('environment', 'id', 'application:add') },
      schema: {
        tags,
        operationId: 'createApplication',
        summary: 'Create an application',
        description:
          'What it is deployed from and, with `linked_resources`, where to. Giving it a credential takes `credential:run`; a repository on this machine and local servers are for instance administrators.',
        params,
        body: applicationBody,
        response: { 201: applicationReply, ...errorResponses(400, 401, 403, 404, 415, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.create(request, reply, (trx) =>
        createApplication(trx, by, callerOf(request), request.params.id, request.body),
      )
    },
  )

  app.get(
    '/applications/:id',
    {
      config: { access: permissions('application', 'id', 'application:view') },
      schema: {
        tags,
        operationId: 'readApplication',
        summary: 'Read an application',
        description: 'With its last deployments as far as you may see actions.',
        params,
        response: { 200: applicationReply, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => answer.read(request, reply, findApplication(db, request.params.id)),
  )

  app.put(
    '/applications/:id',
    {
      config: { access: permissions('application', 'id', 'application:edit') },
      schema: {
        tags,
        operationId: 'changeApplication',
        summary: 'Change an application',
        description:
          'A field that is given replaces what is stored, whole; others stay. Another repository takes `credential:run` when the application has a credential. What runs on a local server is for instance administrators to decide. Send `If-Match` with the `ETag` of your last read to be sure that nobody changed it meanwhile.',
        params,
        body: applicationChange,
        response: { 200: applicationReply, ...errorResponses(400, 401, 403, 404, 409, 412, 415, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx, ifMatch) =>
        changeApplication(trx, by, callerOf(request), request.params.id, request.body, ifMatch),
      )
    },
  )

  app.delete(
    '/applications/:id',
    {
      config: { access: permissions('application', 'id', 'application:remove') },
      schema: {
        tags,
        operationId: 'removeApplication',
        summary: 'Remove an application',
        description:
          'Its runs stay, and what it left on servers; its variables go. While it has pipelines or is linked to servers, this is 409; with `cascade` these go too, and the hooks of the pipelines, which takes `pipeline:remove` and `hook:remove`. Never while a run is unfinished.',
        params,
        querystring: Exactly({ cascade: Type.Optional(Type.Boolean({ default: false })) }),
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      const { cascade = false } = request.query
      return answer.remove(request, reply, (trx, ifMatch) =>
        removeApplication(trx, by, callerOf(request), request.params.id, { cascade, ifMatch }),
      )
    },
  )
}
