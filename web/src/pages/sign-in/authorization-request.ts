// What `gantry login` asks for in the URL that it opens. Anybody can write such a URL. Pure.

export type AuthorizationRequest = { redirectUri: string; state: string; codeChallenge: string; name: string }

/** The parameters of the URL; `problems` says what is wrong with them. */
export function readAuthorizationRequest(search: string): AuthorizationRequest | { problems: string[] } {
  const given = new URLSearchParams(search)
  const read = (name: string) => {
    const values = given.getAll(name)
    return values.length === 1 ? values[0]! : ''
  }
  const redirectUri = read('redirect_uri')
  const state = read('state')
  const codeChallenge = read('code_challenge')
  const name = cleanName(read('name'))
  const problems: string[] = []
  if (!isLoopback(redirectUri))
    problems.push('redirect_uri must be a port of your machine, such as http://127.0.0.1:8400/callback')
  if (!/^[\x21-\x7e]{1,512}$/.test(state)) problems.push('state must have 1 to 512 visible ASCII characters')
  if (!/^[\w-]{43}$/.test(codeChallenge))
    problems.push('code_challenge must be the SHA-256 of the code verifier, in base64url')
  if (given.has('code_challenge_method') && read('code_challenge_method') !== 'S256')
    problems.push('code_challenge_method must be S256')
  if (name === '') problems.push('name must be the name of the machine')
  return problems.length > 0 ? { problems } : { redirectUri, state, codeChallenge, name }
}

/** The same rule as the API's. Denying leads there without asking the API. */
function isLoopback(uri: string): boolean {
  const [, port] = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([1-9]\d{0,4})\/[\w.~/-]*$/.exec(uri) ?? []
  return port !== undefined && Number(port) <= 65_535 && uri.length <= 255
}

const MAX_NAME = 50

/** A host name, as a rule: on one line, visible, no change of direction, and as long as the API accepts. */
function cleanName(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu, ' ')
    .trim()
  const name = [...line].slice(0, MAX_NAME).join('').trim()
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(name) ? name : ''
}

/** Where the command line waits for the answer. */
export function answerUrl(
  { redirectUri, state }: AuthorizationRequest,
  answer: { code: string } | { error: 'access_denied' },
): string {
  return `${redirectUri}?${new URLSearchParams({ ...answer, state })}`
}
