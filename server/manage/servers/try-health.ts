// "Try it now": one try of a health check that need not be saved, on one server, as the step check-health does it.
// Nothing is stored, except that someone ran a command.
import { sql } from 'kysely'
import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { can, type Scope } from '#access/authorization/permissions.ts'
import { hasScope } from '#access/authorization/token-limits.ts'
import { asSentence } from '#adapters/executors/connect.ts'
import type { CommandEnd, CommandRequest } from '#adapters/executors/executor.ts'
import { healthTry, httpAnswer, TRY_GRACE_MS } from '#model/deploy/check-health.ts'
import { baseFolder } from '#model/deploy/layout.ts'
import { stepEnvironment } from '#model/deploy/variables.ts'
import { LOCAL_ONLY } from '#model/inventory/local-servers.ts'
import { variableAad } from '#model/inventory/sealed-aad.ts'
import { normalizeHealthCheck } from '#model/pipelines/health-check.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { HealthCheck } from '#platform/database/tables.ts'
import { conflict, GONE, type HttpProblem, invalidAt, unknownAt } from '#platform/http/problems.ts'
import { createMask } from '#platform/masking/mask.ts'
import { COLORS, createSanitizer } from '#platform/masking/sanitize.ts'
import { findServer, type ServerRow } from './read-servers.ts'
import type { HealthTry, HealthTryBody } from './schemas.ts'
import { type Failed, type ReachDeps, withServer } from './with-server.ts'

type Call = {
  caller: Caller
  actor: Actor
  scope: Scope
  id: number
  body: HealthTryBody
  signal: AbortSignal
}

type Subject = {
  name: string
  folder: string
  environment: string
  variables: { name: string; hidden: boolean; value: string }[]
}

const CONNECT_MS = 8_000
/** For what ends a command that took too long. */
const ENDING_MS = 4_000

export async function tryHealth(
  deps: ReachDeps,
  { caller, actor, scope, id, body, signal }: Call,
): Promise<{ kind: 'tried'; result: HealthTry } | HttpProblem> {
  const { application_id = null } = body
  const need = application_id === null ? 'application:add' : 'application:edit'
  if (!can(caller, need, scope)) return { kind: 'forbidden', reason: `You need the permission ${need} here.` }
  // To run what one writes takes both scopes.
  if (!hasScope(caller.token, 'run'))
    return { kind: 'forbidden', reason: 'This requires a personal access token with the scope run, too.' }
  const normalized = normalizeHealthCheck(body.health_check)
  if (normalized.kind === 'invalid') return normalized
  const { check } = normalized
  if (check.type === 'command' && application_id === null)
    return invalidAt('application_id', 'is required for a command: it runs in the live release')

  const server = await findServer(deps.db, id)
  if (!server) return GONE
  if (check.type === 'command' && (await needsApproval(deps.db, server)))
    return conflict('Runs need approval in this environment, and so do commands: nothing was tried.')
  if (server.provider_code === 'local' && !caller.is_instance_admin)
    return { kind: 'forbidden', reason: LOCAL_ONLY }
  if (await isArchived(deps.db, server)) return conflict('The environment of the server is archived.')
  const subject = application_id === null ? null : await loadSubject(deps, application_id, server)
  if (subject === undefined)
    return unknownAt('application_id', `${application_id} is not an application of this environment`)

  if (check.type === 'command')
    await deps.db.transaction().execute((trx) =>
      recordAudit(trx, actor, {
        organizationId: scope.organization_id,
        verb: 'tried',
        subject: { type: 'server', id, name: server.name },
        before: null,
        after: { application_id, command: check.command },
      }),
    )
  return { kind: 'tried', result: await tryOn(deps, server, check, subject, signal) }
}

async function tryOn(
  deps: ReachDeps,
  server: ServerRow,
  check: HealthCheck,
  subject: Subject | null,
  left: AbortSignal,
): Promise<HealthTry> {
  const attempt = healthTry(check)
  // It gets the variables of the application: not before it is known who answers there.
  if (check.type === 'command' && server.provider_code === 'ssh' && server.host_key === null)
    return unreached('its host key is not known yet: test the server and pin its key first')
  const prepared = check.type === 'command' ? prepareCommand(server, subject!) : attempt.asks
  if ('message' in prepared) return unreached(prepared.message)
  const totalMs = CONNECT_MS + attempt.timeoutMs + ENDING_MS
  const limits = { connectMs: CONNECT_MS, totalMs, signal: left, onNewHostKey: async () => {} }
  const outcome = await withServer(deps, server, limits, async (executor, signal) => {
    const printed = collect()
    const startedAt = performance.now()
    const end = await executor.run({
      workingFolder: null,
      runAsUser: null,
      command: attempt.asks.command,
      ...prepared,
      onOutput: printed.add,
      signal,
      timeoutMs: attempt.timeoutMs,
      graceMs: TRY_GRACE_MS,
    })
    return { kind: 'ended' as const, end, output: printed.bytes(), elapsedMs: performance.now() - startedAt }
  })
  if (outcome.kind === 'failed') return unreached(outcome.message)
  const { end, output, elapsedMs } = outcome
  if (end.kind === 'unreachable' || end.kind === 'impossible') return unreached(end.message)
  if (end.kind === 'cancelled') return unreached('the try was stopped')
  const hidden = subject?.variables.filter((variable) => variable.hidden) ?? []
  return describe(check, end, output, elapsedMs, createMask(hidden.map(({ value }) => value)).text)
}

/** In the directory of the live release. Of a step's environment, what comes from a run is missing. */
function prepareCommand(
  server: ServerRow,
  { name, folder, environment, variables }: Subject,
): Pick<CommandRequest, 'environment' | 'workingFolder'> | Failed {
  const base = baseFolder(server.root_directory, folder)
  const current = `${base}/current`
  const prepared = stepEnvironment({
    hookVariables: {},
    applicationVariables: variables,
    facts: {
      ...{ actionId: null, targetId: null, source: null, commit: null, release: null },
      environment,
      server: server.name,
      application: name,
      paths: { release: current, current, shared: `${base}/shared` },
    },
  })
  if (prepared.kind === 'too-large') return { kind: 'failed', message: prepared.message }
  return { environment: prepared.environment, workingFolder: current }
}

/** More than the answer that curl is asked for. */
const MAX_BYTES = 512 * 1024
const MAX_SHOWN = 2_000

function collect() {
  const chunks: Buffer[] = []
  let size = 0
  return {
    add(chunk: Buffer) {
      if (size < MAX_BYTES) chunks.push(chunk)
      size += chunk.length
    },
    bytes: () => Buffer.concat(chunks),
  }
}

/** Pure. */
function describe(
  check: HealthCheck,
  end: CommandEnd,
  output: Buffer,
  elapsedMs: number,
  mask: (text: string) => string,
): HealthTry {
  const tried = healthTry(check).read(end, output, elapsedMs)
  const answer = check.type === 'http' ? httpAnswer(output) : null
  const shown = check.type === 'command' ? output : (answer?.body ?? Buffer.alloc(0))
  const text = mask(readable(shown))
  return {
    healthy: tried.isHealthy,
    // It can quote the answer: a redirect, for example.
    message: asSentence(mask(readable(Buffer.from(tried.text)))),
    reached: true,
    http_status: answer?.status ?? null,
    exit_code: check.type === 'command' && end.kind === 'exited' ? end.code : null,
    duration_ms: answer?.tookMs ?? Math.round(elapsedMs),
    output: text === '' ? null : text.slice(0, MAX_SHOWN).toWellFormed(),
    output_truncated: text.length > MAX_SHOWN,
  }
}

function readable(bytes: Buffer): string {
  const sanitizer = createSanitizer()
  return (sanitizer.push(bytes) + sanitizer.flush()).replaceAll(COLORS, '').trim()
}

const unreached = (message: string): HealthTry => ({
  healthy: false,
  message: asSentence(message),
  reached: false,
  http_status: null,
  exit_code: null,
  duration_ms: null,
  output: null,
  output_truncated: false,
})

/** A command of a person would run without approval. */
async function needsApproval(db: Database, { environment_id }: ServerRow): Promise<boolean> {
  const { rows } = await sql`
    select from environments where id = ${environment_id} and approval is not null`.execute(db)
  return rows.length > 0
}

async function isArchived(db: Database, { environment_id }: ServerRow): Promise<boolean> {
  const { rows } = await sql`
    select from environments where id = ${environment_id} and archived_at is not null`.execute(db)
  return rows.length > 0
}

async function loadSubject(
  { db, box }: { db: Database; box: SecretBox },
  applicationId: number,
  { environment_id }: ServerRow,
): Promise<Subject | undefined> {
  const { rows } = await sql<
    Omit<Subject, 'variables'> & { variables: { id: number; name: string; hidden: boolean; value: string }[] }
  >`
    select app.name, app.folder, e.name as environment, coalesce((
      select json_agg(json_build_object('id', v.id, 'name', v.name, 'hidden', v.hidden, 'value', encode(v.value, 'hex')))
      from application_variables v where v.application_id = app.id), '[]') as variables
    from applications app join environments e on e.id = app.environment_id
    where app.id = ${applicationId} and app.environment_id = ${environment_id} and app.deleted_at is null`.execute(
    db,
  )
  const [row] = rows
  return (
    row && {
      ...row,
      variables: row.variables.map(({ id, value, ...variable }) => ({
        ...variable,
        value: box.open(Buffer.from(value, 'hex'), variableAad(id)),
      })),
    }
  )
}
