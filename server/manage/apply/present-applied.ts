import { presentHooks } from '#model/hooks/present-hook.ts'
import type { ApplyDeps, ApplyOutcome } from './apply-document.ts'
import type { Task } from './plan.ts'
import type { Applied, AppliedChange } from './schemas.ts'

type Done = Extract<ApplyOutcome, { kind: 'applied' }>

/** What was done, or would be, as the API tells it. */
export async function presentApplied(
  deps: ApplyDeps,
  { plan, made }: Done,
  { dryRun, unusedValues }: { dryRun: boolean; unusedValues: string[] },
): Promise<Applied> {
  const changes = plan.tasks.map(presentTask)
  const count = (verb: AppliedChange['verb']) => changes.filter((change) => change.verb === verb).length
  return {
    dry_run: dryRun,
    changes,
    summary: { create: count('create'), change: count('change'), delete: count('delete') },
    // What a dry run made is gone again.
    secrets: dryRun ? [] : await presentSecrets(deps, made),
    unused_values: unusedValues,
  }
}

function presentTask(task: Task): AppliedChange {
  const { type, name, path } = task.verb === 'delete' ? task.stored : task.wanted
  return { verb: task.verb, type, name, path: path.join('.'), fields: task.fields }
}

async function presentSecrets(
  { db, box, baseUrl }: ApplyDeps,
  made: Done['made'],
): Promise<Applied['secrets']> {
  const rows = made.map(({ row }) => row)
  const hooks = await presentHooks(db, rows, { baseUrl: baseUrl(), box, mayEdit: true })
  return made.map(({ path, secret, showsUrl }, index) => ({
    path: path.join('.'),
    secret,
    url: showsUrl ? hooks[index]!.url : null,
  }))
}
