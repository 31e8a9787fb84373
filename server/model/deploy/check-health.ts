import type { CommandEnd } from '#adapters/executors/executor.ts'
import type { HealthCheck } from '#platform/database/tables.ts'
import { readScript } from '#platform/scripts.ts'
import type { DeployCommand } from './layout.ts'

// How one try of a health check asks the application, from the server that it runs on, and what the answer means.

const ASK_HTTP = readScript('./ask-http.sh', import.meta.url)
const ASK_TCP = readScript('./ask-tcp.sh', import.meta.url)

type HttpCheck = Extract<HealthCheck, { type: 'http' }>

/** `text` says what was found: "HTTP 503 in 12 ms". `isFinal`: another try would find the same. */
export type Tried = { isHealthy: boolean; text: string; isFinal?: boolean }

/** Of an answer, with its head: enough for any page that says how the application is. */
const MAX_ANSWER_BYTES = 256 * 1024

/** After the answer: what curl complained about, then a line with its exit code and the milliseconds that it took. */
const REPORT = '\ngantry-curl\n'

/** A try that was timed out has no more to say: what it started ends soon. */
export const TRY_GRACE_MS = 1_000
/** The command that asks ends a moment after curl's own timeout. */
const OVERHEAD_MS = 2_000

/** How one try runs, how long it may take, and what its end means. A check of the type `command` has no environment here. */
export type HealthTry = {
  asks: DeployCommand
  timeoutMs: number
  read(end: CommandEnd, output: Buffer, elapsedMs: number): Tried
}

export function healthTry(check: HealthCheck): HealthTry {
  const timeoutMs = check.timeout_seconds * 1_000
  switch (check.type) {
    case 'http':
      return {
        asks: askHttp(check, timeoutMs),
        timeoutMs: timeoutMs + OVERHEAD_MS,
        read: (end, output, elapsedMs) =>
          end.kind === 'timed-out'
            ? unhealthy(`no answer within ${check.timeout_seconds} s`)
            : readHttpAnswer(output, check, elapsedMs),
      }
    case 'tcp':
      return { asks: askTcp(check.port), timeoutMs, read: (end) => readConnection(end, check) }
    case 'command':
      return {
        asks: { command: check.command, environment: {} },
        timeoutMs,
        read: (end) => readCommand(end, check),
      }
  }
}

function readConnection(end: CommandEnd, check: Extract<HealthCheck, { type: 'tcp' }>): Tried {
  const { port, timeout_seconds } = check
  if (end.kind === 'exited' && end.code === 0) return { isHealthy: true, text: `port ${port} is open` }
  return unhealthy(
    end.kind === 'timed-out'
      ? `port ${port} did not answer within ${timeout_seconds} s`
      : `cannot connect to port ${port}`,
  )
}

function readCommand(end: CommandEnd, { timeout_seconds }: HealthCheck): Tried {
  if (end.kind === 'exited')
    return end.code === 0
      ? { isHealthy: true, text: 'the command succeeded' }
      : unhealthy(`the command exited with code ${end.code}`)
  if (end.kind === 'signalled') return unhealthy(`the command was killed by ${end.signal}`)
  return unhealthy(`the command did not end within ${timeout_seconds} s; its processes were ended`)
}

/** The URL is a word of the environment, never part of a script. Exits with 0 whatever the answer is. */
export function askHttp({ url }: HttpCheck, timeoutMs: number): DeployCommand {
  return {
    command: ASK_HTTP,
    environment: {
      GANTRY_HEALTH_URL: url,
      GANTRY_HEALTH_TIMEOUT: (timeoutMs / 1_000).toFixed(3),
      GANTRY_HEALTH_BYTES: String(MAX_ANSWER_BYTES),
    },
  }
}

const CURL_FAILURES: Record<string, string> = {
  6: 'the name of the host cannot be resolved on this server',
  7: 'the connection was refused, or the host cannot be reached',
  35: 'the TLS handshake failed',
  52: 'the connection was closed without an answer',
  56: 'the connection broke',
  60: 'the certificate is not valid',
}
/** `head` has read enough. */
const CUT_OFF = '23'
const TIMED_OUT = '28'

/** `elapsedMs` is shown where the server's bash cannot measure it. */
export function readHttpAnswer(output: Buffer, check: HttpCheck, elapsedMs: number): Tried {
  const at = output.lastIndexOf(REPORT)
  const report = output
    .subarray(at + REPORT.length)
    .toString()
    .split('\n')
  const [code = '', took] = report.at(-1)!.split(' ')
  if (at === -1) return unhealthy('asking with curl failed')
  if (code === 'missing')
    return {
      ...unhealthy('curl is not installed on this server: install it, or use a check of another type'),
      isFinal: true,
    }
  const time = `in ${took || Math.round(elapsedMs)} ms`
  const answer = readAnswer(output.subarray(0, at))
  if (!answer) return unhealthy(describeFailure(code, report[0] ?? '', check))
  const shown = `HTTP ${answer.status}`
  if (!isExpected(answer.status, check.expect_status)) {
    const target = answer.status >= 300 && answer.status < 400 ? answer.location : null
    return unhealthy(
      `${shown} ${time}${target === null ? '' : `, redirects to ${target}, which is not followed`}`,
    )
  }
  if (code === TIMED_OUT)
    return unhealthy(`${shown}, but its body did not end within ${check.timeout_seconds} s`)
  if (code !== '0' && code !== CUT_OFF) return unhealthy(`${shown}, but ${describeFailure(code, '', check)}`)
  if (check.expect_body !== null && !answer.body.includes(check.expect_body))
    return unhealthy(`${shown} ${time}, without the expected text in its body`)
  return { isHealthy: true, text: `${shown} ${time}` }
}

function describeFailure(code: string, complaint: string, { timeout_seconds }: HttpCheck): string {
  if (code === TIMED_OUT) return `no answer within ${timeout_seconds} s`
  return (
    CURL_FAILURES[code] ?? (complaint.replace(/^curl: /, '').slice(0, 200) || `curl exited with code ${code}`)
  )
}

type Answer = { status: number; location: string | null; body: Buffer }

/** The beginning of the answer, and how long it took if the server could measure that; null without an answer. */
export function httpAnswer(output: Buffer): { status: number; body: Buffer; tookMs: number | null } | null {
  const at = output.lastIndexOf(REPORT)
  const answer = at === -1 ? null : readAnswer(output.subarray(0, at))
  const [, took] = / (\d+)$/.exec(output.subarray(at).toString('latin1')) ?? []
  return answer && { ...answer, tookMs: took === undefined ? null : Number(took) }
}

/** The last head of an answer that has several, such as `103 Early Hints`; null without a complete one. */
function readAnswer(bytes: Buffer): Answer | null {
  let rest = bytes
  for (;;) {
    const [status] = /^HTTP\/[\d.]+ \d{3}/.exec(rest.subarray(0, 40).toString('latin1')) ?? []
    const end = endOfHead(rest)
    if (!status || end === -1) return null
    const code = Number(status.slice(-3))
    const head = rest.subarray(0, end).toString('latin1')
    rest = rest.subarray(end)
    if (code >= 200) return { status: code, location: readLocation(head), body: rest }
  }
}

function endOfHead(bytes: Buffer): number {
  const ends = ['\r\n\r\n', '\n\n'].map((mark) => [bytes.indexOf(mark), mark.length] as const)
  const [first] = ends.filter(([at]) => at !== -1).sort(([one], [other]) => one - other)
  return first ? first[0] + first[1] : -1
}

/** Without its query, which may hold what others must not see. */
function readLocation(head: string): string | null {
  const [, target] = /^location:[ \t]*([^\r\n?#]*)/im.exec(head) ?? []
  return target === undefined ? null : target.trim().slice(0, 200) || 'nowhere'
}

/** `expected`: 204, "204" or "200-299". */
export function isExpected(status: number, expected: number | string): boolean {
  const [from, to = from] = String(expected).split('-').map(Number)
  return status >= from! && status <= to!
}

/** Exits with 0 once connected. Only bash is needed. */
export function askTcp(port: number): DeployCommand {
  return { command: ASK_TCP, environment: { GANTRY_HEALTH_PORT: String(port) } }
}

function unhealthy(text: string): Tried {
  return { isHealthy: false, text }
}
