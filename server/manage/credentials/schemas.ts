// The credentials room: tokens and keys with which Gantry gets into repositories and servers. They come in, and
// never go out again.
import { type Static, Type } from 'typebox'
import { credentialSchema as shownInActions } from '#model/actions/schemas.ts'
import { Exactly, Id, Name, named, TextOrNull, Timestamp, Word } from '#platform/http/schemas.ts'

export const CREDENTIAL_PROVIDERS = ['github', 'gitlab', 'bitbucket', 'gitea', 'git', 'ssh'] as const
export type CredentialProvider = (typeof CREDENTIAL_PROVIDERS)[number]

const name = Name()

const newFields = {
  name,
  provider_code: Word(CREDENTIAL_PROVIDERS, { description: 'What it opens. It cannot be changed later.' }),
  base_url: Type.Optional(
    TextOrNull({
      maxLength: 2048,
      description:
        'Where a host of your own is: needed for `gitea` and `git`, possible for `github`, `gitlab` and `bitbucket`. The token is sent to this host and to no other, so a change needs the token again.',
    }),
  ),
  username: Type.Optional(
    TextOrNull({
      minLength: 1,
      maxLength: 255,
      pattern: '^[^\\s:\\p{Cc}]+$',
      'x-hint': 'must not contain spaces or colons',
      description: 'Of `git` and `bitbucket`: the name that goes with the token.',
    }),
  ),
  token: Type.Optional(
    TextOrNull({
      minLength: 1,
      maxLength: 4096,
      pattern: '^[\\x21-\\x7e]+$',
      'x-hint': 'must be printable characters without spaces',
      writeOnly: true,
      description: 'Never shown again. Null, or left out at creation: public repositories only.',
    }),
  ),
  private_key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 20_000,
      writeOnly: true,
      description: 'Of `ssh`: in OpenSSH or PEM format, without a passphrase. Never shown again.',
    }),
  ),
  generate: Type.Optional(
    Type.Boolean({
      description:
        'Of `ssh`: makes an ed25519 key here, instead of `private_key`; `public_key` shows its other half.',
    }),
  ),
  active: Type.Optional(Type.Boolean({ default: true })),
}

export const credentialBody = Exactly(newFields, {
  examples: [
    { name: 'GitHub', provider_code: 'github', token: 'ghp_example' },
    { name: 'Our Gitea', provider_code: 'gitea', base_url: 'https://git.example.com', token: 'example' },
    { name: 'Web servers', provider_code: 'ssh', generate: true },
  ],
})

/** A change takes the fields of creation; each one that is given replaces what is stored. */
export const credentialChange = Exactly(
  {
    ...newFields,
    name: Type.Optional(newFields.name),
    provider_code: Type.Optional(newFields.provider_code),
  },
  { examples: [{ token: 'ghp_example' }, { active: false }] },
)

export const credentialRecordSchema = named(
  'CredentialRecord',
  Exactly({
    ...shownInActions.properties,
    base_url: TextOrNull(),
    username: TextOrNull(),
    public_key: TextOrNull({
      description: 'Of an SSH key: the line for `authorized_keys`, or for the deploy keys of a repository.',
    }),
    public_key_fingerprint: TextOrNull(),
  }),
)

export const credentialCheckBody = Exactly(
  {
    repository: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description: 'Lists the branches of this repository. Needed for `git`, possible for all.',
      }),
    ),
    server_id: Type.Optional(Id),
    host: Type.Optional(Type.String({ minLength: 1, maxLength: 253 })),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, default: 22 })),
    user: Type.Optional(
      Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_.-]{0,31}$', 'x-hint': 'must be the name of an account' }),
    ),
  },
  {
    examples: [
      {},
      { repository: 'https://git.example.com/acme/shop.git' },
      { server_id: 7 },
      { host: 'web-1.example.com', port: 22, user: 'deploy' },
    ],
  },
)

export const credentialCheckSchema = named(
  'CredentialCheck',
  Exactly({
    ok: Type.Boolean(),
    message: Type.String({ description: 'What was found out, in words.' }),
    checked_at: Timestamp,
    details: Type.Record(Type.String(), Type.Unknown(), {
      description: 'What else was learned: `account`, `status`, `references`, `host_key_fingerprint`.',
    }),
  }),
)

export type CredentialBody = Static<typeof credentialBody>
export type CredentialChange = Static<typeof credentialChange>
export type CredentialRecord = Static<typeof credentialRecordSchema>
export type CredentialCheckBody = Static<typeof credentialCheckBody>
export type CredentialCheck = Static<typeof credentialCheckSchema>

export const credentialSchemas = [credentialRecordSchema, credentialCheckSchema]
