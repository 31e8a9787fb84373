import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { resourceRoutes } from '#access/resource-routes.ts'
import { changeCredential, createCredential, removeCredential } from './manage-credentials.ts'
import { type ProbeDeps, probeCredential } from './probe-credential.ts'
import {
  type CredentialRow,
  findCredential,
  listCredentials,
  type PresentCredentials,
  presentCredentials,
} from './read-credentials.ts'
import {
  credentialBody,
  credentialChange,
  credentialCheckBody,
  credentialCheckSchema,
  credentialRecordSchema,
  stopHooksQuery,
} from './schemas.ts'

export type CredentialRoutes = PresentCredentials & ProbeDeps

export const credentialRoutes: FastifyPluginAsyncTypebox<CredentialRoutes> = async (app, deps) => {
  const { db, box } = deps
  const credentials = resourceRoutes(app, deps, {
    tag: 'Credentials',
    name: 'credential',
    record: credentialRecordSchema,
    present: ({ caller }, rows: readonly CredentialRow[]) => presentCredentials(deps, caller, rows),
  })

  credentials.list('/organizations/:id/credentials', {
    description: 'Newest first. Tokens and private keys are never returned.',
    find: ({ id }, name, page) => listCredentials(db, id, name, page),
  })

  credentials.create('/organizations/:id/credentials', {
    description:
      'A token for a source provider, or an SSH key: send an existing one, or set `generate` to create one. The token or private key is stored encrypted and never returned.',
    body: credentialBody,
    errors: [415],
    run: (trx, call) => createCredential(trx, { ...call, box }),
  })

  credentials.read('/credentials/:id', {
    description: 'Without the token or private key. For an SSH key, includes the public key.',
    find: ({ id }) => findCredential(db, id),
  })

  credentials.change('/credentials/:id', {
    description:
      'A new `base_url` requires the token again. The change applies to runs that start afterward. Setting `token_targets` to `provider` returns 409 with the hooks that it would stop, unless `stop_hooks` is true.',
    body: credentialChange,
    query: stopHooksQuery,
    errors: [409, 415],
    run: (trx, call) => changeCredential(trx, { ...call, box }),
  })

  credentials.remove('/credentials/:id', {
    description: 'Erases its secret. Returns 409 while servers, applications or hooks use it.',
    errors: [409],
    run: removeCredential,
  })

  credentials.check('/credentials/:id/check', {
    access: permissions('credential', 'id', 'credential:run'),
    description:
      "Uses the credential for real. Token: requests its owner from the provider's API or, with `repository`, lists the branches. SSH key: logs in to `server_id`, or to `host` and `port` as `user`. A credential that does not work is a valid result: 200 with `ok` false and a message.",
    body: credentialCheckBody,
    report: credentialCheckSchema,
    errors: [415],
    run: ({ caller, id, body }) => probeCredential(deps, caller, id, body),
  })
}
