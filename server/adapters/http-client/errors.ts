// What went wrong with a request, in words for people.
import { errors } from 'undici'

export type Failure = 'timed-out' | 'unreachable' | 'blocked'

/** A failure whose message can be shown to people. */
export class RequestError extends Error {
  readonly kind: Failure
  readonly address: string | null

  constructor(kind: Failure, message: string, address: string | null = null) {
    super(message)
    this.kind = kind
    this.address = address
  }
}

type Endpoint = { hostname: string; port: string; protocol: string }

/** Whether a connection failed in a way that another address of the same name may not. */
export function isWorthAnotherAddress(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).syscall === 'connect' || codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT'
}

/** Why there is no connection. */
export function connectError(error: unknown, wanted: Endpoint, address: string): RequestError {
  if (error instanceof RequestError) return error
  const code = codeOf(error)
  const port = wanted.port || (wanted.protocol === 'https:' ? '443' : '80')
  const endpoint = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  const kind = /TIMEDOUT|TIMEOUT/.test(code) ? 'timed-out' : 'unreachable'
  return new RequestError(kind, connectMessage(code, endpoint, wanted.hostname), address)
}

function connectMessage(code: string, endpoint: string, host: string): string {
  if (code === 'ECONNREFUSED') return `${endpoint} refused the connection.`
  if (/^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/.test(code)) return `No route to ${endpoint} (${code}).`
  if (/^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT)$/.test(code))
    return `${endpoint} did not accept the connection in time.`
  if (/^(ECONNRESET|EPIPE)$/.test(code)) return `${endpoint} closed the connection before it could be used.`
  if (/^(EMFILE|ENFILE)$/.test(code)) return 'Gantry has too many open connections.'
  const problem = CERTIFICATE_PROBLEMS[code]
  if (problem) return `The certificate of ${host} is not trusted: ${problem}.`
  if (/^(CERT|UNABLE_TO|ERR_TLS_CERT|CRL|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH)/.test(code))
    return `The certificate of ${host} is not trusted (${code}).`
  return isTls(code)
    ? `${endpoint} and Gantry could not agree on TLS (${code}).`
    : `Could not connect to ${endpoint}${inBrackets(code)}.`
}

const UNKNOWN_ISSUER = 'its issuer is unknown'
const CERTIFICATE_PROBLEMS: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_ISSUER,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_ISSUER,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_ISSUER,
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'it is for another name',
}

const CLOSED =
  /^(UND_ERR_SOCKET|UND_ERR_RES_CONTENT_LENGTH_MISMATCH|ECONNRESET|ECONNABORTED|EPIPE|HPE_INVALID_EOF_STATE)$/

/** Why a request in flight got no complete response. */
export function exchangeError(error: unknown, hasStatus: boolean): RequestError {
  if (error instanceof RequestError) return error
  const code = codeOf(error)
  if (/^UND_ERR_(INVALID_ARG|NOT_SUPPORTED)$/.test(code))
    return new RequestError('blocked', 'The request cannot be sent in this form.')
  return new RequestError('unreachable', exchangeMessage(error as Error, code, hasStatus))
}

function exchangeMessage(error: Error, code: string, hasStatus: boolean): string {
  // Bad: an unexpected interim response, 100 or 101.
  if (code === 'UND_ERR_SOCKET' && /^bad /.test(error.message)) return 'The response is not valid HTTP.'
  if (CLOSED.test(code))
    return hasStatus
      ? 'The receiver closed the connection in the middle of its response.'
      : 'The receiver closed the connection before it responded.'
  if (code === 'UND_ERR_HEADERS_OVERFLOW') return 'The response headers are longer than 16 KiB.'
  if (code === 'UND_ERR_DESTROYED') return 'Gantry is stopping.'
  if (error instanceof errors.HTTPParserError) return 'The response is not valid HTTP.'
  return isTls(code)
    ? `TLS failed during the response (${code}).`
    : `The receiver could not be reached${inBrackets(code)}.`
}

const isTls = (code: string) => code === 'EPROTO' || code.startsWith('ERR_SSL_')
const inBrackets = (code: string) => (code === '' ? '' : ` (${code})`)

/** Codes are short words of our libraries; anything else stays out of what people read. */
function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : ''
}
