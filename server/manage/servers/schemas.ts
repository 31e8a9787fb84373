import { type Static, Type } from 'typebox'
import { userSchema } from '#access/accounts/user-schema.ts'
import { serverProviderFields } from '#model/actions/summary-schemas.ts'
import {
  described,
  Exactly,
  IntegerOrNull,
  idOf,
  idOrNullOf,
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
  name: Name(255, 'The name of the server.'),
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
  port: Type.Optional(
    IntegerOrNull({ minimum: 1, maximum: 65_535, description: 'The SSH port; default 22. For `ssh`.' }),
  ),
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
    pattern: '^/[^\\x00-\\x1f\\x7f-\\x9f]*$',
    'x-hint': 'must be an absolute path',
    description: 'The folder that applications are deployed to.',
  }),
  worker_name: Type.Optional(
    TextOrNull({
      pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}$',
      'x-hint': 'must be the name of a worker',
      description:
        'For `local`: the machine, by the name of the workers on it (`GANTRY_WORKER_NAME`). By default that of the workers that are online, if they share one. Null: runs start only while all workers that are online share one name. Always null with the embedded database.',
    }),
  ),
  max_parallel_actions: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 10_000,
      default: 1,
      description: 'How many actions may run on it at the same time. 0: no limit.',
    }),
  ),
}

export const serverBody = Exactly(fields)
export type ServerBody = Static<typeof serverBody>

/** Each field that is given replaces what is stored. */
export const serverChange = Type.Partial(serverBody, {
  additionalProperties: false,
})
export type ServerChange = Static<typeof serverChange>

export const serverSchema = namedObject('Server', {
  id: idOf('server'),
  name: Type.String({ description: 'The name of the server.' }),
  environment_id: idOf('environment'),
  project_id: idOf('project'),
  ...serverProviderFields,
  host: TextOrNull({ description: 'The host name or IP address; null for local servers.' }),
  port: IntegerOrNull({ description: 'The SSH port; null for local servers.' }),
  login_name: TextOrNull({ description: 'The account that Gantry logs in as; null for local servers.' }),
  credential_id: idOrNullOf('SSH key', 'null for local servers'),
  host_key: TextOrNull({
    description: 'The pinned key of the host, or its fingerprint; null until one is pinned.',
  }),
  host_key_fingerprint: TextOrNull({
    description: 'The fingerprint of the pinned key; null until one is pinned.',
  }),
  root_directory: Type.String({ description: 'The folder that applications are deployed to.' }),
  worker_name: TextOrNull({
    description:
      'Of a local server: the name of the workers that run it; null for the one name that all workers share. Null for SSH servers.',
  }),
  max_parallel_actions: Type.Integer({
    description: 'How many actions may run on it at the same time. 0: no limit.',
  }),
  linked_resources: Type.Array(
    Exactly({
      resource_type: Word(['application'], { description: 'The kind of resource: always `application`.' }),
      resource_id: idOf('application'),
    }),
    { description: 'The applications deployed here, as far as the caller may see them.' },
  ),
  created_by_user: described(ref(userSchema), 'Who created the server.'),
  ...timestamps,
})
export type Server = Static<typeof serverSchema>

export const serverCheckBody = Exactly({
  pin_host_key: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Pins the key that the host presents if none is pinned yet; requires `server:edit`.',
    }),
  ),
})
export type ServerCheckBody = Static<typeof serverCheckBody>

export const serverCheckSchema = namedObject('ServerCheck', {
  ok: Type.Boolean({ description: 'Whether runs can use the server.' }),
  message: Type.String({ description: 'The result as a sentence.' }),
  host_key_fingerprint: TextOrNull({
    description: 'The fingerprint of the key that the host presents now; null when there is none.',
  }),
  pinned: Type.Boolean({ description: 'Whether a host key is pinned after this check.' }),
  user: TextOrNull({
    description: 'The account that commands run as; null when the server was not reached.',
  }),
  free_disk_bytes: IntegerOrNull({
    description: 'Free bytes on the volume of the root directory; null when unknown.',
  }),
  root_directory_writable: Type.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description: 'Whether applications can be deployed to the root directory; null when unknown.',
  }),
  checked_at: described(Timestamp, 'When the check ended.'),
})
export type ServerCheck = Static<typeof serverCheckSchema>

export const serverSchemas = [serverSchema, serverCheckSchema]
