// The crypto room: random tokens, password hashes, and secrets at rest, all on node:crypto.
import { hash, randomBytes } from 'node:crypto'

export type TokenKind = 'access' | 'refresh' | 'personal'

const PREFIXES: Record<TokenKind, string> = {
  access: 'gty_at_',
  refresh: 'gty_rt_',
  personal: 'gty_pat_',
}

/** 256 bits of chance behind a prefix by which a leaked token can be recognised. */
export function newToken(kind: TokenKind): string {
  return PREFIXES[kind] + randomBytes(32).toString('base64url')
}

/** What is stored instead of a token: tokens are random, so one plain hash is enough. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The unguessable part of an incoming hook's URL. */
export function newUrlToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Signing key of an incoming hook: 256 bits, as the 64 characters that the sender is given. */
export function newHookSecret(): string {
  return randomBytes(32).toString('hex')
}

/** Signing key of an outgoing hook, in the form that Standard Webhooks libraries take. */
export function newDeliverySecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}
