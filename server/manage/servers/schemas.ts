import { userSchema } from '#access/accounts/user-schema.ts'
import { serverProviderFields } from '#model/actions/summary-schemas.ts'
import { requiredHealthCheck } from '#model/pipelines/health-check.ts'
import * as t from '#platform/http/schemas.ts'
import { SERVER_KINDS } from '#platform/vocabulary.ts'

export type ServerProvider = keyof typeof SERVER_KINDS
const providers = Object.keys(SERVER_KINDS) as ServerProvider[]

const HOST = '^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\\.?|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*)$'

const fields = {
  name: t.Name(255, 'The name of the server.'),
  provider_code: t.Word(
    providers,
    '`ssh`, or `local`: the machine that Gantry runs on, set up by instance administrators. Cannot be changed later.',
  ),
  ...t.optionalFields({
    host: t.TextOrNull({
      maxLength: 253,
      pattern: HOST,
      'x-hint': 'must be a host name or an IP address',
      description:
        'Required for `ssh`. Link-local and metadata addresses are rejected; loopback addresses take an instance administrator; `GANTRY_SSH_TARGETS` can restrict the rest. Checked again at every connection.',
    }),
    port: t.IntegerOrNull({
      minimum: 1,
      maximum: 65_535,
      description: 'The SSH port; default 22. For `ssh`.',
    }),
    login_name: t.TextOrNull({
      pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,31}$',
      'x-hint': 'must be an account name',
      description: 'Required for `ssh`: the account to log in as.',
    }),
    credential_id: t.described(
      t.IdOrNull,
      'For `ssh`: an SSH key of the same organization. Using it, or using it for another destination, requires `credential:run`.',
    ),
    host_key: t.TextOrNull({
      maxLength: 4096,
      description:
        'For `ssh`: the public key of the host (`ssh-ed25519 AAAA…`) or its fingerprint (`SHA256:…`). Without it, the key seen on first connection is pinned. Changing `host` or `port` clears it.',
    }),
  }),
  root_directory: t.Text({
    maxLength: 1024,
    pattern: '^/[^\\x00-\\x1f\\x7f-\\x9f]*$',
    'x-hint': 'must be an absolute path',
    description: 'The folder that applications are deployed to.',
  }),
  ...t.optionalFields({
    worker_name: t.TextOrNull({
      pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}$',
      'x-hint': 'must be the name of a worker',
      description:
        'For `local`: the machine, by the name of the workers on it (`GANTRY_WORKER_NAME`). By default that of the workers that are online, if they share one. Null: runs start only while all workers that are online share one name. Always null with the embedded database.',
    }),
    max_parallel_actions: t.Integer({
      minimum: 0,
      maximum: 10_000,
      default: 1,
      description: 'How many actions may run on it at the same time; 0 = unlimited.',
    }),
  }),
}

export const serverBody = t.Exactly(fields)
export type ServerBody = t.Static<typeof serverBody>

/** Each field that is given replaces what is stored. */
export const serverChange = t.Partial(serverBody, { additionalProperties: false })
export type ServerChange = t.Static<typeof serverChange>

export const serverSchema = t.namedObject('Server', {
  id: t.idOf('server'),
  name: t.Text('The name of the server.'),
  environment_id: t.idOf('environment'),
  project_id: t.idOf('project'),
  ...serverProviderFields,
  host: t.TextOrNull('The host name or IP address; null for local servers.'),
  port: t.IntegerOrNull('The SSH port; null for local servers.'),
  login_name: t.TextOrNull('The account that Gantry logs in as; null for local servers.'),
  credential_id: t.idOrNullOf('SSH key', 'null for local servers'),
  host_key: t.TextOrNull('The pinned key of the host, or its fingerprint; null until one is pinned.'),
  host_key_fingerprint: t.TextOrNull('The fingerprint of the pinned key; null until one is pinned.'),
  root_directory: t.Text('The folder that applications are deployed to.'),
  worker_name: t.TextOrNull(
    'Of a local server: the name of the workers that run it; null for the one name that all workers share. Null for SSH servers.',
  ),
  max_parallel_actions: t.Integer('How many actions may run on it at the same time; 0 = unlimited.'),
  linked_resources: t.List(
    t.Exactly({
      resource_type: t.Word(['application'], 'The kind of resource: always `application`.'),
      resource_id: t.idOf('application'),
    }),
    'The applications deployed here that the caller can view.',
  ),
  created_by_user: t.described(t.ref(userSchema), 'Who created the server.'),
  ...t.timestamps,
})
export type Server = t.Static<typeof serverSchema>

export const serverCheckBody = t.Exactly({
  pin_host_key: t.Optional(
    t.Flag({
      default: false,
      description: 'Pins the key that the host presents if none is pinned yet; requires `server:edit`.',
    }),
  ),
})
export type ServerCheckBody = t.Static<typeof serverCheckBody>

export const serverCheckSchema = t.namedObject('ServerCheck', {
  ok: t.Flag('Whether runs can use the server.'),
  message: t.Text('The result as a sentence.'),
  host_key_fingerprint: t.TextOrNull(
    'The fingerprint of the key that the host presents now; null when there is none.',
  ),
  pinned: t.Flag('Whether a host key is pinned after this check.'),
  user: t.TextOrNull('The account that commands run as; null when the server was not reached.'),
  free_disk_bytes: t.IntegerOrNull('Free bytes on the volume of the root directory; null when unknown.'),
  root_directory_writable: t.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description: 'Whether applications can be deployed to the root directory; null when unknown.',
  }),
  steps_survive: t.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description:
      'Whether steps outlive a lost connection or worker; null for local servers, and when unknown.',
  }),
  attached_because: t.TextOrNull('Why they do not, as a sentence; null when they do, or when unknown.'),
  checked_at: t.Time('When the check ended.'),
})
export type ServerCheck = t.Static<typeof serverCheckSchema>

export const healthTryBody = t.Exactly({
  application_id: t.Optional(
    t.described(
      t.IdOrNull,
      'The application, which must be in the same environment; requires `application:edit`. Null, or left out, before there is one: requires `application:add`. A check of the type `command` needs it.',
    ),
  ),
  health_check: requiredHealthCheck(
    'The check to try. It need not be the one of the application. One try is made: only `timeout_seconds` counts.',
  ),
})
export type HealthTryBody = t.Static<typeof healthTryBody>

export const healthTrySchema = t.namedObject('HealthTry', {
  healthy: t.Flag('Whether the check found what it expects.'),
  message: t.Text('The result as a sentence: `HTTP 503 in 12 ms.` for example.'),
  reached: t.Flag('Whether Gantry could ask from the server at all.'),
  http_status: t.IntegerOrNull('Of a check of the type `http`: the status of the answer; null without one.'),
  exit_code: t.IntegerOrNull('Of a check of the type `command`: its exit code; null if it was ended.'),
  duration_ms: t.IntegerOrNull(
    'How long the try took, in milliseconds; null when the server was not reached.',
  ),
  output: t.TextOrNull(
    'The beginning of the body of the answer, or of what the command printed, at most 2,000 characters; null if there was none. Hidden variables of the application are masked.',
  ),
  output_truncated: t.Flag('Whether `output` is only the beginning.'),
})
export type HealthTry = t.Static<typeof healthTrySchema>

export const serverSchemas = [serverSchema, serverCheckSchema, healthTrySchema]
