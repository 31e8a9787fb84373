// Cryptography: random tokens, password hashes and secrets at rest, built on node:crypto.
import { hash, randomBytes } from 'node:crypto'

export type TokenKind = 'access' | 'refresh'

const PREFIXES: Record<TokenKind, string> = {
  access: 'gty_at_',
  refresh: 'gty_rt_',
}

/** 256 random bits after a prefix by which a leaked token can be recognized. */
export function newToken(kind: TokenKind): string {
  return PREFIXES[kind] + randomBytes(32).toString('base64url')
}

/** What is stored instead of a token: tokens are random, so a plain hash is enough. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/** The unguessable part of an incoming hook's URL. */
export function newUrlToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Signing key of an incoming hook: 256 bits as 64 hex characters. */
export function newHookSecret(): string {
  return randomBytes(32).toString('hex')
}

/** Signing key of an outgoing hook, in the format of Standard Webhooks libraries. */
export function newDeliverySecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}
