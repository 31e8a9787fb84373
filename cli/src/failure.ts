// What can go wrong, in words that say what to do next, each with its exit code.
import { GantryError, UnreachableError } from '@gantry/client'
import { Failure } from './ending.ts'
import { EXIT, type ExitCode } from './exit-codes.ts'

export { Failure, Interrupted, usage } from './ending.ts'

/** Every error as a failure. One that is not expected here has no hint: it is a bug of this program. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error
  if (error instanceof UnreachableError)
    return new Failure(error.message, {
      exit: EXIT.unreachable,
      hint: 'Check the address and whether the instance runs. `gantry context ls` shows which one is used.',
    })
  if (error instanceof GantryError) return refusal(error)
  const { message } = error instanceof Error ? error : { message: String(error) }
  return new Failure(message, { exit: EXIT.failed })
}

function refusal(error: GantryError): Failure {
  const fields = Object.entries(error.errors).flatMap(([field, problems]) =>
    problems.map((problem) => `  ${field}: ${problem}`),
  )
  // What the API says about its own body does not help here.
  const isAboutFields = fields.length > 0 && error.code === 'invalid'
  const isAboutPath = fields.length === 0
  const heading = isAboutFields
    ? 'The request was rejected:'
    : ((isAboutPath ? missing(error) : undefined) ?? error.message)
  const message = [
    error.status === 401 ? 'The token is not valid, or has expired.' : heading,
    ...fields,
  ].join('\n')
  return new Failure(message, { exit: exitCodeOf(error), hint: hintFor(error) })
}

/** 'There is no run #42, or you cannot view it.' The API says only that something was not found: of two, not which. */
function missing({ code, call }: GantryError): string | undefined {
  const [, segment, name] = /^\/([a-z-]+)(?:\/[a-z-]+)*\/\{(\w+)\}[^{]*$/.exec(call?.path ?? '') ?? []
  if (code !== 'not_found' || segment === undefined) return undefined
  const id = String(call!.params[name!])
  const what = segment === 'actions' ? 'run' : segment.replaceAll('-', ' ').replace(/s$/, '')
  return `There is no ${what} ${/^\d+$/.test(id) ? '#' : ''}${id}, or you cannot view it.`
}

/** What an error response means for scripts. */
export function exitCodeOf({ status, code }: Pick<GantryError, 'status' | 'code'>): ExitCode {
  if (status === 401 || status === 403) return EXIT.notAllowed
  if (status === 500) return EXIT.failed
  return status > 500 || code === 'unknown' ? EXIT.unreachable : EXIT.refused
}

function hintFor({ status, code, retryAfterSeconds, requestId }: GantryError): string | undefined {
  if (code === 'unknown' && status >= 502)
    return 'A proxy responded, but no instance behind it: check that Gantry runs and that its `/readyz` is green.'
  if (code === 'unknown') return 'Not a Gantry server, or a proxy in front of it responded. Check the URL.'
  if (code === 'unknown_route')
    return 'The instance may be older than this command: compare `gantry version` with `gantry doctor`.'
  if (code === 'token_expired') return 'The token has expired. Sign in again with `gantry login`.'
  if (status === 401) return 'Sign in with `gantry login`, or set GANTRY_TOKEN.'
  if (status === 403)
    return 'Ask an administrator of the organization for the permission, or use a token with the scope.'
  if (status === 429 && retryAfterSeconds) return `Try again in ${Math.ceil(retryAfterSeconds)} s.`
  if (status === 500) return `The log of the instance says more about request ${requestId}.`
  return undefined
}
