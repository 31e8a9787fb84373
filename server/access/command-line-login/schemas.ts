import { issuedPersonalToken } from '#access/accounts/personal-token-schema.ts'
import { userSchema } from '#access/accounts/user-schema.ts'
import * as t from '#platform/http/schemas.ts'

const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'

/**
 * RFC 8252, 7.3: an address of this machine itself, which no other machine can answer at. Not `localhost`, which a
 * resolver may send elsewhere. The page `/app/authorize` applies the same rule.
 */
const redirectUri = t.Text({
  maxLength: 255,
  pattern: `^http://(?:127\\.0\\.0\\.1|\\[::1\\]):${PORT}/[\\w.~/-]*$`,
  'x-hint':
    'must be http://127.0.0.1:<port>/<path> or http://[::1]:<port>/<path>, without a query or fragment',
  description: 'Where the command line listens: a port and a path of `http://127.0.0.1` or `http://[::1]`.',
})

/** The longest that fits into the name of a token. */
export const tokenNameOf = (name: string) => `gantry on ${name}`
const MAX_NAME = 60 - tokenNameOf('').length

const mayApprove = t.Optional(
  t.Flag(
    'Whether the token may approve runs: it then has the scopes `read`, `run`, `hooks`, `manage` and `approve`. Default: false.',
  ),
)

export const authorizationInput = t.namedObject('LoginAuthorizationInput', {
  redirect_uri: redirectUri,
  code_challenge: t.Text({
    pattern: '^[\\w-]{43}$',
    'x-hint': 'must be the SHA-256 of the code verifier in base64url: 43 characters',
    description: 'Base64url of the SHA-256 of the code verifier (PKCE, method S256).',
  }),
  name: {
    ...t.Name(MAX_NAME),
    description: 'The machine that asks, as people call it. The token is named `gantry on <name>`.',
  },
  may_approve: mayApprove,
})

export const authorizationSchema = t.namedObject('LoginAuthorization', {
  code: t.Text('Works once, for the command line that has the code verifier.'),
  expires_at: t.Time('When the code expires: after two minutes.'),
})

export const exchangeInput = t.namedObject('LoginExchangeInput', {
  code: t.Text({ minLength: 1, maxLength: 512, description: 'The code that the browser brought.' }),
  code_verifier: t.Text({
    minLength: 43,
    maxLength: 128,
    pattern: '^[\\w.~-]*$',
    'x-hint': 'must consist of letters, digits and -._~',
    description: 'The secret whose SHA-256 was the code challenge.',
  }),
  redirect_uri: { ...redirectUri, description: 'The one of the approval.' },
})

export const deviceInput = t.namedObject('DeviceLoginInput', {
  name: authorizationInput.properties.name,
})

export const deviceLogin = t.namedObject('DeviceLogin', {
  device_code: t.Text('What the command line asks for its token with. Keep it secret.'),
  user_code: t.Text('What a person enters at `verification_url`, such as `WDJB-MJHT`.'),
  verification_url: t.Text('The page to open on any machine with a browser.'),
  expires_in: t.Integer('In how many seconds both codes expire.'),
  interval: t.Integer('How many seconds to wait between two requests for the token.'),
})

export const userCodeInput = t.namedObject('UserCodeInput', {
  user_code: t.Text({
    minLength: 1,
    maxLength: 40,
    description: 'The code that the command line shows. Case, spaces and dashes do not matter.',
  }),
})

export const deviceApproval = t.namedObject('DeviceApproval', {
  ...userCodeInput.properties,
  may_approve: mayApprove,
})

export const deviceSchema = t.namedObject('Device', {
  name: t.Text('The machine that asks, as it calls itself.'),
  ip_address: t.Text('The address that it asked from.'),
  expires_at: t.Time('When its code expires.'),
})

export const deviceTokenInput = t.namedObject('DeviceTokenInput', {
  device_code: t.Text({ minLength: 1, maxLength: 512, description: 'The `device_code` of the login.' }),
})

export const loginSchemas = [
  authorizationInput,
  authorizationSchema,
  exchangeInput,
  deviceInput,
  deviceLogin,
  userCodeInput,
  deviceApproval,
  deviceSchema,
  deviceTokenInput,
]

export const exchanged = t.Exactly(
  { ...issuedPersonalToken, user: t.described(t.ref(userSchema), 'Who approved the login.') },
  { title: 'ExchangedLogin' },
)
