import { errors } from 'undici'
import type { Failure } from './outcome.ts'

/** A failure that can be shown to people as it is. */
export class SendFault extends Error {
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

/** Why no connection came about. Pure. */
export function connectFault(error: unknown, wanted: Endpoint, address: string): SendFault {
  if (error instanceof SendFault) return error
  const code = codeOf(error)
  const port = wanted.port || (wanted.protocol === 'https:' ? '443' : '80')
  const place = address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
  const fault = (kind: Failure, message: string) => new SendFault(kind, message, address)
  switch (code) {
    case 'ECONNREFUSED':
      return fault('unreachable', `The connection was refused by ${place}.`)
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return fault('unreachable', `There is no way to ${place} (${code}).`)
    case 'ETIMEDOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
      return fault('timed-out', `${place} did not take the connection in time.`)
    case 'ECONNRESET':
    case 'EPIPE':
      return fault('unreachable', `The connection was closed by ${place} before it could be used.`)
    case 'EMFILE':
    case 'ENFILE':
      return fault('unreachable', 'Gantry has too many connections open.')
  }
  const reason = certificateFault(code, wanted.hostname)
  if (reason !== null) return fault('unreachable', reason)
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_'))
    return fault('unreachable', `${place} and Gantry could not agree on TLS (${code}).`)
  return fault('unreachable', `${place} could not be connected to${inBrackets(code)}.`)
}

function certificateFault(code: string, host: string): string | null {
  const certificate = `The certificate of ${host} is not trusted`
  switch (code) {
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
      return `${certificate}: it is self-signed.`
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `${certificate}: its issuer is not known here.`
    case 'CERT_HAS_EXPIRED':
      return `${certificate}: it has expired.`
    case 'CERT_NOT_YET_VALID':
      return `${certificate}: it is not valid yet.`
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `${certificate}: it is for another name.`
  }
  return /^(CERT|UNABLE_TO|ERR_TLS_CERT|CRL|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH)/.test(code)
    ? `${certificate} (${code}).`
    : null
}

const NOT_HTTP = 'The answer is not proper HTTP.'

/** Why a request that was on its way got no whole answer. Pure. */
export function exchangeFault(error: unknown, hasStatus: boolean): SendFault {
  if (error instanceof SendFault) return error
  const fault = (message: string) => new SendFault('unreachable', message)
  const code = codeOf(error)
  // An interim answer that nobody asked for: 100, or 101.
  if (code === 'UND_ERR_SOCKET' && /^bad /.test((error as Error).message)) return fault(NOT_HTTP)
  switch (code) {
    case 'UND_ERR_SOCKET':
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
    case 'ECONNRESET':
    case 'ECONNABORTED':
    case 'EPIPE':
    case 'HPE_INVALID_EOF_STATE':
      return fault(
        hasStatus
          ? 'The receiver closed the connection in the middle of its answer.'
          : 'The receiver closed the connection before it answered.',
      )
    case 'UND_ERR_HEADERS_OVERFLOW':
      return fault('The headers of the answer are longer than 16 KiB.')
    case 'UND_ERR_DESTROYED':
      return fault('Gantry is stopping.')
    case 'UND_ERR_INVALID_ARG':
    case 'UND_ERR_NOT_SUPPORTED':
      return new SendFault('blocked', 'The request cannot be sent in this form.')
  }
  if (error instanceof errors.HTTPParserError) return fault(NOT_HTTP)
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO')
    return fault(`TLS failed during the answer (${code}).`)
  return fault(`The receiver could not be reached${inBrackets(code)}.`)
}

/** Codes are short words of our own libraries; anything else stays out of what people read. */
function codeOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException | null)?.code
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : ''
}

function inBrackets(code: string): string {
  return code === '' ? '' : ` (${code})`
}
