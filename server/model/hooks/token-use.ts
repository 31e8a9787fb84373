import type { TokenTargets } from '#platform/database/tables.ts'
import { apiBase, PUBLIC_APIS, type TokenOwner } from './presets/api-base.ts'

// Which credential's token a request sends, and where it may go. Pure.

export const APPLICATION_TOKEN = 'application.source_provider.access_token'
export const CREDENTIAL_TOKEN = 'credential.access_token'

/** The tokens that templates use, from the names that they read. */
export function tokensIn(reads: Iterable<string>): { application: boolean; credential: boolean } {
  const names = new Set(reads)
  return { application: names.has(APPLICATION_TOKEN), credential: names.has(CREDENTIAL_TOKEN) }
}

/** Whose token a hook sends: `credential` means that of its own credential, if it has one. */
export function senderOf<Credential>(
  uses: { application: boolean; credential: boolean },
  own: Credential | null,
  ofApplication: Credential | null,
): Credential | null {
  if (!uses.application && !uses.credential) return null
  return uses.credential ? (own ?? ofApplication) : ofApplication
}

/** Two credentials in one request would share a rate budget and a refusal: such a hook is never sent. */
export function mixesTokens(
  uses: { application: boolean; credential: boolean },
  ownId: number | null,
  applicationsId: number | null,
): boolean {
  return uses.application && uses.credential && ownId !== null && ownId !== applicationsId
}

/** The origins that `credential.access_token` may be sent to: those of the provider, and that of its `base_url`. */
export function tokenOrigins({ provider, baseUrl }: TokenOwner): string[] {
  const origins = [
    PUBLIC_APIS[provider],
    baseUrl,
    provider === 'github' ? apiBase({ provider, baseUrl }) : null,
  ]
  return [...new Set(origins.flatMap((url) => URL.parse(url ?? '')?.origin ?? []))]
}

/** The installation can limit the tokens of all credentials to their providers. */
export function isLimited(ofCredential: TokenTargets, ofInstallation: TokenTargets): boolean {
  return ofCredential === 'provider' || ofInstallation === 'provider'
}

/** Those of the origins that are not the provider's, each once. */
export function outsideOrigins(owner: TokenOwner, origins: readonly string[]): string[] {
  const allowed = tokenOrigins(owner)
  return [...new Set(origins)].filter((origin) => !allowed.includes(origin))
}

type Reading = { reads: ReadonlySet<string>; usesAccessToken: boolean; url: { origin: string } }

/** Where those of the requests go that send `credential.access_token`. */
export function originsOf(requests: readonly Reading[]): string[] {
  return requests.filter(({ reads }) => reads.has(CREDENTIAL_TOKEN)).map(({ url }) => url.origin)
}

/** Where those go that send any token. */
export function allOriginsOf(requests: readonly Reading[]): string[] {
  return requests.filter(({ usesAccessToken }) => usesAccessToken).map(({ url }) => url.origin)
}

/** Undefined when the token may go to all of these origins. */
export function originProblem(owner: TokenOwner, origins: readonly string[]): string | undefined {
  const allowed = tokenOrigins(owner)
  const [other] = outsideOrigins(owner, origins)
  if (other === undefined) return undefined
  const where = allowed.length > 0 ? allowed.join(' or ') : 'the base_url of the credential, which has none'
  return `sends the token of a ${owner.provider} credential to ${other}; it may only go to ${where}`
}
