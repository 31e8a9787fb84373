import { credentialSchema as shownInActions } from '#model/actions/schemas.ts'
import * as t from '#platform/http/schemas.ts'

export const CREDENTIAL_PROVIDERS = [
  'github',
  'gitlab',
  'bitbucket',
  'gitea',
  'git',
  'ssh',
  'slack',
  'discord',
] as const
export type CredentialProvider = (typeof CREDENTIAL_PROVIDERS)[number]

const fields = {
  name: t.Name(255, 'The name of the credential.'),
  provider_code: t.Word(CREDENTIAL_PROVIDERS, 'What it gives access to. Cannot be changed later.'),
  ...t.optionalFields({
    base_url: t.TextOrNull({
      maxLength: 2048,
      description:
        'The URL of a self-hosted instance: required for `gitea` and `git`, optional for the others with a token. The token is sent only to this host, so changing it requires the token again.',
    }),
    username: t.TextOrNull({
      minLength: 1,
      maxLength: 255,
      pattern: '^[^\\s:\\x00-\\x1f\\x7f-\\x9f]+$',
      'x-hint': 'must not contain spaces or colons',
      description: 'For `git` and `bitbucket`: the username that goes with the token.',
    }),
    token: t.TextOrNull({
      minLength: 1,
      maxLength: 4096,
      pattern: '^[\\x21-\\x7e]+$',
      'x-hint': 'must be printable ASCII without spaces',
      writeOnly: true,
      description:
        'The access token. Never returned. Null, or absent on creation: public repositories only. Required for `slack` and `discord`: the token of a bot.',
    }),
    private_key: t.Text({
      minLength: 1,
      maxLength: 20_000,
      writeOnly: true,
      description:
        'The private key, for `ssh`: in OpenSSH or PEM format, without a passphrase. Never returned.',
    }),
    generate: t.Flag(
      'For `ssh`: generates an ed25519 key instead of taking `private_key`; `public_key` returns the public half.',
    ),
    active: t.Flag({ default: true, description: 'Whether it may be used.' }),
    token_targets: t.Word(['anywhere', 'provider'] as const, {
      default: 'anywhere',
      description:
        'Where outgoing hooks may send its token as `application.source_provider.access_token`: to any allowed address, or only to the origins of its provider and its `base_url`. `credential.access_token` always goes only there.',
    }),
    ssh_hosts: t.List(
      t.Text({
        minLength: 1,
        maxLength: 255,
        pattern: '^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\\.?|\\[[0-9A-Fa-f:.]+\\])(?::[0-9]{1,5})?$',
        'x-hint': 'must be a host name or an IP address (IPv6 in brackets), with or without a port',
      }),
      {
        maxItems: 20,
        default: [],
        description:
          'For `github`, `gitlab` and `gitea`: other hosts under which its repositories are known, such as the SSH host of the service. Hooks that report on commits send its token only if the repository is at the host of the credential or at one of these.',
      },
    ),
  }),
}

export const credentialBody = t.Exactly(fields)
export type CredentialBody = t.Static<typeof credentialBody>

/** Each field that is given replaces what is stored. */
export const credentialChange = t.Partial(credentialBody, { additionalProperties: false })
export type CredentialChange = t.Static<typeof credentialChange>

export const stopHooksQuery = t.Exactly({
  stop_hooks: t.Optional(
    t.Flag({
      default: false,
      description:
        'Limits the token to its provider although active hooks send it elsewhere: their deliveries are `blocked` from now on. Without it, 409 lists them.',
    }),
  ),
})

export const credentialRecordSchema = t.namedObject('CredentialRecord', {
  ...shownInActions.properties,
  base_url: t.TextOrNull('The URL of a self-hosted instance; null: that of the provider.'),
  username: t.TextOrNull('The username that goes with the token; null when it needs none.'),
  token_targets: t.Word(
    ['anywhere', 'provider'] as const,
    'Where outgoing hooks may send its token. `GANTRY_TOKEN_TARGETS=provider` limits the tokens of all credentials, whatever this says.',
  ),
  ssh_hosts: t.List(t.Text('A host, in lower case.'), 'Other hosts under which its repositories are known.'),
  public_key: t.TextOrNull(
    'For SSH keys: the line for `authorized_keys`, or for the deploy keys of a repository. Null for tokens.',
  ),
  public_key_fingerprint: t.TextOrNull('The fingerprint of the public key; null for tokens.'),
  used_by: t.List(
    t.Exactly({
      resource_type: t.Word(['application', 'server'] as const, 'The kind of resource.'),
      resource_id: t.described(t.Id, 'The id of the resource.'),
      name: t.Text('The name of the resource.'),
    }),
    'The applications and servers that use it and that you can view.',
  ),
  used_by_hooks: t.List(
    t.Exactly({
      hook_id: t.described(t.Uuid, 'The id of the hook.'),
      name: t.Text('The name of the hook.'),
      pipeline_id: t.idOf('pipeline that it belongs to'),
    }),
    'The outgoing hooks that name it as `credential_id` and that you can view.',
  ),
})
export type CredentialRecord = t.Static<typeof credentialRecordSchema>

export const credentialCheckBody = t.Exactly({
  ...t.optionalFields({
    repository: t.Text({
      minLength: 1,
      maxLength: 2048,
      description: 'Lists the branches of this repository. Required for `git`, optional otherwise.',
    }),
    server_id: t.described(t.Id, 'For an SSH key: logs in to this server.'),
    host: t.Text({
      minLength: 1,
      maxLength: 253,
      description: 'For an SSH key: logs in to this host name or IP address.',
    }),
    port: t.Integer({ minimum: 1, maximum: 65_535, default: 22, description: 'The SSH port of `host`.' }),
    user: t.Text({
      pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,31}$',
      'x-hint': 'must be an account name',
      description: 'The account to log in as on `host`.',
    }),
  }),
})
export type CredentialCheckBody = t.Static<typeof credentialCheckBody>

export const credentialCheckSchema = t.namedObject('CredentialCheck', {
  ok: t.Flag('Whether the credential works.'),
  message: t.Text('The result as a sentence.'),
  checked_at: t.Time('When the check ended.'),
  details: t.Record(t.Text(), t.Anything(), {
    description: 'Further results: `account`, `status`, `references`, `host_key_fingerprint`.',
  }),
})
export type CredentialCheck = t.Static<typeof credentialCheckSchema>

export const credentialSchemas = [credentialRecordSchema, credentialCheckSchema]
