import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { issuedTokens } from '#access/accounts/routes.ts'
import type { TokenLives } from '#access/accounts/sessions.ts'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, publicly } from '#access/authorization/enforce.ts'
import type { Database } from '#platform/database/connect.ts'
import { invalid, notFound } from '#platform/http/errors.ts'
import { readIfMatch, sendWithETag } from '#platform/http/if-match.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { addMember, inviteAgain } from './add-member.ts'
import { changeMember, removeMember } from './change-member.ts'
import { acceptInvitation } from './invitations.ts'
import { listMembers, readMember } from './list-members.ts'
import { type MemberOutcome, refuse } from './outcomes.ts'
import { roleRoutes } from './role-routes.ts'
import { invitationBody, type Member, memberBody, memberChange, memberSchema } from './schemas.ts'

export type MemberRoutes = { db: Database; lives: TokenLives; baseUrl: () => string }

const tags = ['Members']
const organizationParams = Exactly({ id: Id })
const memberParams = Exactly({ id: Id, user_id: Id })
const shown = ref(memberSchema)

export const memberRoutes: FastifyPluginAsyncTypebox<MemberRoutes> = async (app, { db, lives, baseUrl }) => {
  await app.register(roleRoutes, { db, baseUrl })

  app.get(
    '/organizations/:id/members',
    {
      config: { access: permissions('organization', 'id', 'member:view') },
      schema: {
        tags,
        operationId: 'listMembers',
        summary: 'List the members of an organization',
        description: 'Everybody who has a role in it or in a part of it; those who came last first.',
        params: organizationParams,
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(shown), ...errorResponses(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const page = pageOf(request.query)
      const filters = { name: request.query['filter[name]'] }
      const { items, extent } = await listMembers(db, request.params.id, filters, page)
      describePage(request, reply, baseUrl(), page, extent)
      return items
    },
  )

  app.post(
    '/organizations/:id/members',
    {
      config: { access: permissions('organization', 'id', 'member:add') },
      schema: {
        tags,
        operationId: 'addMember',
        summary: 'Give a person a role',
        description:
          'On the organization, or on one project or environment of it. A person with an account only gets the role. For others an account is made, and `invitation_url` is a link, good for seven days and one use, by which they choose their password: hand it to them. Nobody gives what they do not have.',
        params: organizationParams,
        body: memberBody,
        response: { 201: shown, ...errorResponses(400, 401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const outcome = await db
        .transaction()
        .execute((trx) => addMember(trx, { actor: actorOf(request) }, callerOf(request), params.id, body))
      return show(reply.code(201), params.id, outcome)
    },
  )

  app.get(
    '/organizations/:id/members/:user_id',
    {
      config: { access: permissions('organization', 'id', 'member:view') },
      schema: {
        tags,
        operationId: 'readMember',
        summary: 'Read a member',
        description: 'With everything that they have been given in the organization.',
        params: memberParams,
        response: { 200: shown, ...errorResponses(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { id, user_id } = request.params
      return show(reply, id, { kind: 'done', userId: user_id })
    },
  )

  app.put(
    '/organizations/:id/members/:user_id',
    {
      config: { access: permissions('organization', 'id', 'member:edit') },
      schema: {
        tags,
        operationId: 'changeMember',
        summary: 'Change what a member has been given',
        description:
          '`grants` replaces all of it. You need what you take as well as what you give, and one owner must remain. `If-Match` with the `ETag` of your last read is optional.',
        params: memberParams,
        body: memberChange,
        response: { 200: shown, ...errorResponses(400, 401, 403, 404, 409, 412, 422) },
      },
    },
    async (request, reply) => {
      const { id, user_id } = request.params
      const [deps, caller, ifMatch] = [{ actor: actorOf(request) }, callerOf(request), readIfMatch(request)]
      const outcome = await db
        .transaction()
        .execute((trx) => changeMember(trx, deps, caller, id, user_id, request.body, ifMatch))
      return show(reply, id, outcome)
    },
  )

  app.delete(
    '/organizations/:id/members/:user_id',
    {
      config: { access: permissions('organization', 'id', 'member:remove') },
      schema: {
        tags,
        operationId: 'removeMember',
        summary: 'Remove a member',
        description:
          'Takes everything that they have been given in the organization, at once. One owner must remain. An account that was never used goes altogether.',
        params: memberParams,
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    async (request, reply) => {
      const { id, user_id } = request.params
      const [deps, caller, ifMatch] = [{ actor: actorOf(request) }, callerOf(request), readIfMatch(request)]
      const outcome = await db
        .transaction()
        .execute((trx) => removeMember(trx, deps, caller, id, user_id, ifMatch))
      if (outcome.kind !== 'removed') throw refuse(outcome)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/organizations/:id/members/:user_id/invitation',
    {
      config: { access: permissions('organization', 'id', 'member:add'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'inviteAgain',
        summary: 'Make a new link for somebody who has not come yet',
        description: 'Earlier links stop working.',
        params: memberParams,
        response: { 201: shown, ...errorResponses(401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const { id, user_id } = request.params
      const outcome = await db
        .transaction()
        .execute((trx) => inviteAgain(trx, { actor: actorOf(request) }, callerOf(request), id, user_id))
      return show(reply.code(201), id, outcome)
    },
  )

  app.post(
    '/users/accept-invitation',
    {
      config: { access: publicly },
      schema: {
        tags: ['Accounts'],
        operationId: 'acceptInvitation',
        summary: 'Accept an invitation: choose a password, and log in',
        description: 'Works once, within seven days of the invitation. The answer is that of a login.',
        security: [],
        body: invitationBody,
        response: { 200: issuedTokens, ...errorResponses(400, 422) },
      },
    },
    async (request) => {
      const outcome = await acceptInvitation(db, request.body, lives, actorOf(request))
      switch (outcome.kind) {
        case 'in':
          return outcome.tokens
        case 'invalid':
          throw invalid({ token: ['is unknown, used or expired: ask for a new invitation'] })
      }
    },
  )

  async function show(reply: FastifyReply, organizationId: number, outcome: MemberOutcome): Promise<Member> {
    if (outcome.kind !== 'done') throw refuse(outcome)
    const read = await readMember(db, organizationId, outcome.userId)
    if (!read) throw notFound()
    sendWithETag(reply, read.version)
    const { link } = outcome
    const invitation_url = link === undefined ? null : `${baseUrl()}/app/invitation/${link}`
    return { ...read.member, invitation_url }
  }
}
