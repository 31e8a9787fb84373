import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import {
  Exactly,
  Id,
  IdOrNull,
  IntegerOrNull,
  Name,
  namedObject,
  ref,
  TextOrNull,
  Timestamp,
  timestamps,
  Word,
} from '#platform/http/schemas.ts'
import { SERVER_KINDS } from '#platform/vocabulary.ts'

export type ServerProvider = keyof typeof SERVER_KINDS
const providers = Object.keys(SERVER_KINDS) as ServerProvider[]

const HOST = '^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\\.?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$'

const fields = {
  name: Name(),
  provider_code: Word(providers, {
    description:
      '`ssh`, or `local`: the machine that Gantry runs on, set up by instance administrators. Cannot be changed later.',
  }),
  host: Type.Optional(
    TextOrNull({
      maxLength: 253,
      pattern: HOST,
      'x-hint': 'must be a host name or an IP address',
      description:
        'Required for `ssh`. Link-local and metadata addresses are rejected; loopback addresses take an instance administrator; `GANTRY_SSH_TARGETS` can restrict the rest. Checked again at every connection.',
    }),
  ),
  port: Type.Optional(IntegerOrNull({ minimum: 1, maximum: 65_535, description: 'For `ssh`; default 22.' })),
  login_name: Type.Optional(
    TextOrNull({
      pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,31}$',
      'x-hint': 'must be an account name',
      description: 'Required for `ssh`: the account to log in as.',
    }),
  ),
  credential_id: Type.Optional(
    IntegerOrNull({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'For `ssh`: an SSH key of the same organization. Using it, or using it for another destination, requires `credential:run`.',
    }),
  ),
  host_key: Type.Optional(
    TextOrNull({
      maxLength: 4096,
      description:
        'For `ssh`: the public key of the host (`ssh-ed25519 AAAA…`) or its fingerprint (`SHA256:…`). Without it, the key seen on first connection is pinned. Changing `host` or `port` clears it.',
    }),
  ),
  root_directory: Type.String({
    maxLength: 1024,
    pattern: '^/[^\\p{Cc}]*$',
    'x-hint': 'must be an absolute path',
    description: 'The folder that applications are deployed to.',
  }),
  max_parallel_actions: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10_000, default: 1, description: '0: no limit.' }),
  ),
}

export const serverBody = Exactly(fields, {
  examples: [
    {
      name: 'web-1',
      provider_code: 'ssh',
      host: 'web-1.example.com',
      login_name: 'deploy',
      credential_id: 3,
      root_directory: '/srv',
    },
    { name: 'here', provider_code: 'local', root_directory: '/srv/sites' },
  ],
})
export type ServerBody = Static<typeof serverBody>

/** Each field that is given replaces what is stored. */
export const serverChange = Type.Partial(serverBody, {
  additionalProperties: false,
  examples: [{ host: 'web-1.example.net' }, { max_parallel_actions: 2 }],
})
export type ServerChange = Static<typeof serverChange>

export const serverSchema = namedObject('Server', {
  id: Id,
  name: Type.String(),
  environment_id: Id,
  project_id: Id,
  provider_type: Type.String(),
  provider_code: Word(providers),
  provider_name: Type.String(),
  provider_name_human_readable: Type.String(),
  host: TextOrNull(),
  port: IntegerOrNull(),
  login_name: TextOrNull(),
  credential_id: IdOrNull,
  host_key: TextOrNull(),
  host_key_fingerprint: TextOrNull(),
  root_directory: Type.String(),
  max_parallel_actions: Type.Integer(),
  linked_resources: Type.Array(Exactly({ resource_type: Word(['application']), resource_id: Id }), {
    description: 'The applications deployed here, as far as the caller may see them.',
  }),
  created_by_user: ref(userSchema),
  ...timestamps,
})
export type Server = Static<typeof serverSchema>

export const serverCheckBody = Exactly(
  {
    pin_host_key: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Pins the key that the host presents if none is pinned yet; requires `server:edit`.',
      }),
    ),
  },
  { examples: [{ pin_host_key: true }] },
)
export type ServerCheckBody = Static<typeof serverCheckBody>

export const serverCheckSchema = namedObject('ServerCheck', {
  ok: Type.Boolean(),
  message: Type.String({ description: 'The result as a sentence.' }),
  host_key_fingerprint: TextOrNull({ description: 'Of the key that the host presents now.' }),
  pinned: Type.Boolean({ description: 'Whether a host key is pinned after this check.' }),
  user: TextOrNull({ description: 'The account that commands run as.' }),
  free_disk_bytes: IntegerOrNull({ description: 'On the volume of the root directory.' }),
  root_directory_writable: Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }),
  checked_at: Timestamp,
})
export type ServerCheck = Static<typeof serverCheckSchema>

export const serverSchemas = [serverSchema, serverCheckSchema]
