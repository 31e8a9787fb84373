// The servers room: the machines that pipelines run on, how people set them up, and whether they can be reached.
import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import {
  Exactly,
  Id,
  IdOrNull,
  IntegerOrNull,
  Name,
  named,
  ref,
  TextOrNull,
  Timestamp,
  Word,
} from '#platform/http/schemas.ts'

export const SERVER_PROVIDERS = ['local', 'ssh'] as const
export type ServerProvider = (typeof SERVER_PROVIDERS)[number]

const HOST = '^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\\.?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$'

const newFields = {
  name: Name(),
  provider_code: Word(SERVER_PROVIDERS, {
    description:
      '`ssh`, or `local`: the machine of this installation, for its administrators to set up. It cannot be changed later.',
  }),
  host: Type.Optional(
    TextOrNull({
      maxLength: 253,
      pattern: HOST,
      'x-hint': 'must be the name or the IP address of a host',
      description: 'Of `ssh`, and needed there.',
    }),
  ),
  port: Type.Optional(
    IntegerOrNull({ minimum: 1, maximum: 65_535, description: 'Of `ssh`; 22 unless given.' }),
  ),
  login_name: Type.Optional(
    TextOrNull({
      pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,31}$',
      'x-hint': 'must be the name of an account',
      description: 'Of `ssh`, and needed there: the account that logs in.',
    }),
  ),
  credential_id: Type.Optional(
    IntegerOrNull({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Of `ssh`: an SSH key of the same organization. To use it, or to use it in another place, takes `credential:run`.',
    }),
  ),
  host_key: Type.Optional(
    TextOrNull({
      maxLength: 4096,
      description:
        'Of `ssh`: the public key of the host (`ssh-ed25519 AAAA…`), or the fingerprint (`SHA256:…`) of the one that it shows first. Without it, the key of the first contact is pinned. Another `host` or `port` clears it.',
    }),
  ),
  root_directory: Type.String({
    maxLength: 1024,
    pattern: '^/[^\\p{Cc}]*$',
    'x-hint': 'must be an absolute path',
    description: 'Where applications are deployed to.',
  }),
  max_parallel_actions: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 10_000, default: 1, description: '0: no limit.' }),
  ),
}

export const serverBody = Exactly(newFields, {
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

/** A change takes the fields of creation; each one that is given replaces what is stored. */
export const serverChange = Exactly(
  {
    ...newFields,
    name: Type.Optional(newFields.name),
    provider_code: Type.Optional(newFields.provider_code),
    root_directory: Type.Optional(newFields.root_directory),
  },
  { examples: [{ host: 'web-1.example.net' }, { max_parallel_actions: 2 }] },
)

export const serverSchema = named(
  'Server',
  Exactly({
    id: Id,
    name: Type.String(),
    environment_id: Id,
    project_id: Id,
    provider_type: Type.String(),
    provider_code: Word(SERVER_PROVIDERS),
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
      description: 'The applications that are deployed here, as far as the caller may see them.',
    }),
    created_by_user: ref(userSchema),
    created_at: Timestamp,
    updated_at: Timestamp,
  }),
)

export const serverCheckBody = Exactly(
  {
    pin_host_key: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Pins the key that the host shows, when none is pinned yet; takes `server:edit`.',
      }),
    ),
  },
  { examples: [{ pin_host_key: true }] },
)

export const serverCheckSchema = named(
  'ServerCheck',
  Exactly({
    ok: Type.Boolean(),
    message: Type.String({ description: 'What was found out, in words.' }),
    host_key_fingerprint: TextOrNull({ description: 'Of the key that the host shows now.' }),
    pinned: Type.Boolean({ description: 'Whether a host key is pinned, now that this check is over.' }),
    user: TextOrNull({ description: 'The account that commands run as.' }),
    free_disk_bytes: IntegerOrNull({ description: 'Where the root directory is, or will be made.' }),
    root_directory_writable: Type.Unsafe<boolean | null>({ type: ['boolean', 'null'] }),
    checked_at: Timestamp,
  }),
)

export type ServerBody = Static<typeof serverBody>
export type ServerChange = Static<typeof serverChange>
export type Server = Static<typeof serverSchema>
export type ServerCheckBody = Static<typeof serverCheckBody>
export type ServerCheck = Static<typeof serverCheckSchema>

export const serverSchemas = [serverSchema, serverCheckSchema]
