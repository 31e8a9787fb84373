import { readSource } from '#adapters/repositories/source.ts'
import { pushCall } from '#model/connections/push-call.ts'
import { compileVariable } from '#model/hooks/compile-variable.ts'
import type { HookVariable } from '#model/hooks/schemas.ts'
import { extractVariables } from '#model/payload/extract-variables.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { FieldErrors, type HttpProblem } from '#platform/http/problems.ts'

type PolledSettings = { poll?: { refs?: string[] }; variables?: HookVariable[] }

/** Why a hook with these settings cannot poll; undefined when it can, or does not want to. */
export async function checkPoll(
  trx: Transaction,
  pipelineId: number,
  { poll, variables = [] }: PolledSettings,
  isConnected: boolean,
): Promise<HttpProblem | undefined> {
  if (!poll) return undefined
  const source = await trx
    .selectFrom('pipelines')
    .leftJoin('applications', 'applications.id', 'pipelines.application_id')
    .leftJoin('credentials', 'credentials.id', 'applications.credential_id')
    .select(['applications.repository', 'credentials.provider_code'])
    .where('pipelines.id', '=', pipelineId)
    .executeTakeFirstOrThrow()
  const errors = new FieldErrors()
  if (source.repository === null)
    errors.add('settings.poll', 'is for hooks of applications: servers have no repository')
  if (isConnected)
    errors.add('settings.poll', 'cannot be combined with a connection: the webhook makes the same calls')
  poll.refs?.forEach((branch, index) => {
    const read = readSource({ type: 'branch', ref: branch })
    if (read.kind === 'impossible') errors.add(`settings.poll.refs.${index}`, read.message)
  })
  // What a poll would send: its shape does not depend on the push.
  const hash = '0'.repeat(40)
  const repository = { address: '', owner: 'owner', name: 'name' }
  const push = { repository, branch: 'main', before: hash, after: hash, moves: 0 }
  const text = pushCall(source.provider_code, push).body.toString()
  const extracted = extractVariables(variables.map(compileVariable), JSON.parse(text), text)
  if (extracted.kind === 'invalid')
    for (const [name, messages] of Object.entries(extracted.errors)) {
      const index = variables.findIndex((variable) => variable.name === name)
      errors.add(`settings.variables.${index}`, `${messages[0]} when Gantry polls the repository`)
    }
  return errors.problem
}
