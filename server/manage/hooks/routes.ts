import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Caller } from '#access/authorization/caller.ts'
import { permissions, sufficientPermissions } from '#access/authorization/enforce.ts'
import { knownNames } from '#access/authorization/known-names.ts'
import { seesHookSecrets } from '#access/authorization/token-limits.ts'
import { type Context, type ResourceDeps, resourceRoutes, searchText } from '#access/resource-routes.ts'
import { connectBody } from '#model/connections/schema.ts'
import { type HookRow, presentHooks } from '#model/hooks/present-hook.ts'
import {
  hookSchema,
  incomingHookBody,
  incomingHookChange,
  outgoingHookBody,
  outgoingHookChange,
  rotateSecretBody,
} from '#model/hooks/schemas.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { HookType } from '#platform/database/tables.ts'
import * as t from '#platform/http/schemas.ts'
import { checkConnection, connectHook, disconnectHook } from './connect-hook.ts'
import { ejectHook } from './eject-hook.ts'
import type { HookChange } from './hook-columns.ts'
import {
  changeHook,
  createHook,
  type HookDeps,
  MAX_HOOKS_PER_PIPELINE,
  type NewHook,
  removeHookOf,
  rotateSecret,
} from './manage-hooks.ts'
import { findHook, type HookFilters, listHooks } from './read-hooks.ts'
import { checkReceiver, checkReceivers } from './validate-hook.ts'
import { targetUrlsOf } from './validate-requests.ts'

export type HookRoutes = ResourceDeps & {
  box: SecretBox
  guard: AddressGuard
  tokenTargets: HookDeps['tokenTargets']
  /** How many events an outgoing hook has missed since then. */
  countMissed: (hookId: string, since: string) => Promise<number>
}

/** What receivers get: ids in it may be larger than JavaScript's numbers. */
export const REQUEST_BODIES = [
  ['settings', 'request_body'],
  ['settings', 'requests', 'create', 'request_body'],
  ['settings', 'requests', 'update', 'request_body'],
] as const

const TYPES = [
  { type: 'incoming', word: 'Incoming', body: incomingHookBody, change: incomingHookChange, changing: '' },
  {
    type: 'outgoing',
    word: 'Outgoing',
    body: outgoingHookBody,
    change: outgoingHookChange,
    changing:
      ' When a hook is switched on again, `X-Missed-Deliveries` says how many events it missed; `redeliver` sends them.',
  },
] as const

const hookFilters = {
  'filter[type]': t.Optional(t.Word(['incoming', 'outgoing'] as const, 'Only hooks of this type.')),
  'filter[active]': t.Optional(t.Flag('Only active or disabled hooks.')),
}

function filtersOf(query: { 'filter[type]'?: HookType; 'filter[active]'?: boolean }): HookFilters {
  return { type: query['filter[type]'], active: query['filter[active]'] }
}

export const hookRoutes: FastifyPluginAsyncTypebox<HookRoutes> = async (app, deps) => {
  const { db, box, guard, tokenTargets, baseUrl } = deps

  const hooks = resourceRoutes(app, deps, { tag: 'Hooks', name: 'hook', record: hookSchema, present })
  hooks.list('/pipelines/:id/hooks', {
    description: 'Incoming and outgoing, newest first; all of them unless you send `per_page`.',
    filters: {
      per_page: t.Optional(
        t.Integer({ minimum: 1, maximum: 100, description: 'Items per page. Absent: all on one page.' }),
      ),
      ...hookFilters,
    },
    async find({ id, query }, _, asked) {
      const isPaged = query.per_page !== undefined || asked.offset > 0
      const page = isPaged ? asked : { limit: MAX_HOOKS_PER_PIPELINE, offset: 0 }
      const found = await listHooks(db, { column: 'pipeline_id', id }, filtersOf(query), page)
      return { ...found, page }
    },
  })

  hooks.list('/environments/:id/hooks', {
    operationId: 'listEnvironmentHooks',
    description: 'Incoming and outgoing, of all its pipelines, newest first.',
    filters: {
      ...hookFilters,
      q: searchText('Part of the name of the hook, its pipeline, or its application or server'),
    },
    find({ caller, scope, id, query }, _, page) {
      const search = query.q === undefined ? undefined : { text: query.q, names: knownNames(caller, scope) }
      const of = { column: 'environment_id', id } as const
      return listHooks(db, of, { ...filtersOf(query), search }, page)
    },
  })

  for (const { type, word, body, change, changing } of TYPES) {
    const of = `${type} hook` as const
    const hooks = resourceRoutes(app, deps, { tag: 'Hooks', name: of, record: hookSchema, present })

    hooks.create(`/pipelines/:id/hooks/${type}`, {
      access: sufficientPermissions('pipeline', 'id', 'resource:view', 'hook:add'),
      description:
        'Only this response contains `secret` in plain text. It also shows `url` and `target_url` in full, whatever else the caller may do.',
      body,
      exactNumbersAt: REQUEST_BODIES,
      errors: [409],
      prepare: ({ caller, body }) => receiverErrors(caller, body),
      run: (trx, { parentId, body, ...by }, receiver) =>
        createHook(trx, { ...by, box, receiver, tokenTargets }, parentId, { type, body } as NewHook),
    })

    hooks.read(`/hooks/${type}/:hook_id`, {
      access: permissions(of, 'hook_id', 'hook:view'),
      description: `Never contains the secret. Callers without \`hook:edit\` see \`${type === 'incoming' ? 'url' : 'target_url'}\` masked.`,
      find: ({ id }) => findHook(db, type, id),
    })

    hooks.change(`/hooks/${type}/:hook_id`, {
      access: permissions(of, 'hook_id', 'hook:edit'),
      description: `An object or list is replaced as a whole.${changing}`,
      body: change,
      exactNumbersAt: REQUEST_BODIES,
      prepare: ({ caller, body }) => receiverErrors(caller, body),
      run: (trx, { body, ...by }, receiver) =>
        changeHook(trx, { ...by, box, receiver, tokenTargets }, { type, body } as HookChange),
      respond: async (reply, { id }, { wasOffSince }) => {
        if (!wasOffSince) return
        const missed = await deps.countMissed(id, wasOffSince)
        reply.header('x-missed-deliveries', missed)
        if (missed > 0) reply.header('link', `<${baseUrl()}/hooks/outgoing/${id}/redeliver>; rel="redeliver"`)
      },
    })

    hooks.remove(`/hooks/${type}/:hook_id`, {
      access: permissions(of, 'hook_id', 'hook:remove'),
      description: 'Its past calls or deliveries remain.',
      run: (trx, call) => removeHookOf(trx, type, call),
    })

    hooks.command(`/hooks/${type}/:hook_id/rotate-secret`, {
      access: permissions(of, 'hook_id', 'hook:edit'),
      operationId: `rotate${word}HookSecret`,
      summary: `Rotate the secret of an ${of}`,
      description:
        'Only this response contains the new secret. The previous secret stays valid for `overlap_seconds`.',
      body: rotateSecretBody,
      errors: [409],
      run: (trx, call) => rotateSecret(trx, type, { ...call, box }),
    })

    if (type === 'incoming') {
      const access = permissions(of, 'hook_id', 'hook:edit')
      hooks.command(
        '/hooks/incoming/:hook_id/connection',
        {
          access,
          operationId: 'connectIncomingHook',
          summary: 'Connect a hook to its repository',
          description:
            "Creates the webhook at the host of the application's repository, with the application's credential (`credential:run`), or adopts one that already calls this hook. The same request repairs a connection that is not `connected`. It happens in the background: `connection.state` is `connecting` until then.",
          body: connectBody,
          errors: [409],
          run: connectHook,
        },
        202,
      )
      hooks.command(
        '/hooks/incoming/:hook_id/connection/check',
        {
          access,
          operationId: 'checkIncomingHookConnection',
          summary: 'Check the connection of a hook',
          description:
            'Asks the host now, and not only every hour. It happens in the background: `connection.checked_at` changes when it is done.',
          errors: [409],
          run: checkConnection,
        },
        202,
      )
      hooks.remove('/hooks/incoming/:hook_id/connection', {
        access,
        operationId: 'disconnectIncomingHook',
        summary: 'Disconnect a hook from its repository',
        description:
          'Removes the webhook at the host, in the background. If the host refuses for a day, the audit log names what was left behind. The hook itself stays.',
        errors: [409],
        run: disconnectHook,
      })
    }

    if (type === 'outgoing')
      hooks.command('/hooks/outgoing/:hook_id/eject', {
        access: permissions(of, 'hook_id', 'hook:edit'),
        operationId: 'ejectOutgoingHook',
        summary: 'Make a hook with a preset an ordinary one',
        description:
          'Its `effective_settings` become its `settings`, which you can then change. It sends the same as before; what the answers of the service mean beyond their status is no longer known.',
        errors: [409],
        run: ejectHook,
      })
  }

  /**
   * The result of a change may have a secret to show this once. Nothing in it is masked: the caller just sent it, and
   * without its URL a new hook could not be used.
   */
  function present(
    { caller, scope }: Context,
    rows: readonly HookRow[],
    result?: { secret?: string; wasOffSince?: string },
  ) {
    const mayEdit = result !== undefined || seesHookSecrets(caller, scope)
    const names = knownNames(caller, scope)
    return presentHooks(db, rows, { baseUrl: baseUrl(), box, mayEdit, names, secret: result?.secret })
  }

  async function receiverErrors(caller: Caller, body: object) {
    return checkReceivers(targetUrlsOf(body), (url) => checkReceiver(guard, caller, url))
  }
}
